"""What the parts of one crawl share; put together in ``wiring``."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from skitter.clock import Clock
from skitter.crawl.aliases.watch import AliasWatch
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.discover import LinkFinder
from skitter.crawl.drift import Drift
from skitter.crawl.extraction import Extraction
from skitter.crawl.hops import Reservations
from skitter.crawl.judge import Judge
from skitter.crawl.manners import Manners
from skitter.crawl.media import MediaFinder
from skitter.crawl.news import News
from skitter.crawl.refresh import Refresh
from skitter.crawl.relevance import Relevance
from skitter.crawl.rights import Rights
from skitter.crawl.sitemaps import SitemapFinder
from skitter.crawl.traps.guard import TrapGuard
from skitter.crawl.windows import JobWindows
from skitter.fetch.base import Fetcher
from skitter.fetch.browser.base import Renderer
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """One job's tools."""

    job: Job
    number: JobNumber
    frontier: Frontier
    reader: FrontierReader
    control: FrontierControl
    fetcher: Fetcher
    manners: Manners
    judge: Judge
    normaliser: Normaliser
    finder: LinkFinder
    reservations: Reservations
    blackbox: BlackBox
    clock: Clock
    rng: random.Random
    home: Scope
    """The registered domains of entries and seeds: where a job's own headers may go."""
    sitemaps: SitemapFinder
    guard: TrapGuard | None = None
    extraction: Extraction | None = None
    """What the job's rules take of pages; None where it has none."""
    drift: Drift | None = None
    """Notices fields that are found no more; None where nothing is taken of pages."""
    media: MediaFinder | None = None
    """Finds the files that pages show; None where the job asks for none."""
    news: News | None = None
    """Tells articles from pages of links; None unless the job is a news job."""
    refresh: Refresh | None = None
    """When pages come again; None where each is visited once."""
    aliases: AliasWatch | None = None
    """Recognises hosts that are one site; None where the job does not want that."""
    relevance: Relevance | None = None
    """How a best-first crawl scores pages; None in any other order."""
    renderer: Renderer | None = None
    """Shows pages as a browser does; None where the job wants that of none."""
    keeps_raw: bool = False
    """Whether exchanges are kept for an archive."""
    rights: Rights | None = None
    """Where others may take leases over: asked before every request."""
    windows: JobWindows | None = None
    """How often domains may be asked; None where nothing says so."""

    def widen(self, urls: Iterable[str]) -> None:
        """Take the hosts of ``urls`` into the scope."""
        for url in urls:
            if self.judge.scope.add(url):
                self.finder.forget()
