"""Where a job's sitemaps are, and what becomes of the URLs they list."""

from collections.abc import Callable, Iterable

import msgspec

from skitter.clock import Clock
from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.crawl.ordering import sitemap_rank
from skitter.errors import UrlError
from skitter.frontier.model import Link
from skitter.job.spec import Job, Order, Sitemaps
from skitter.parse.sitemap.dates import lastmod_ms
from skitter.parse.sitemap.model import SitemapEntry
from skitter.parse.sitemap.places import looks_like_sitemap, well_known
from skitter.politeness.robots_entry import AgentRobots
from skitter.types import HostKey, Role
from skitter.url.host import origin
from skitter.url.normalise import Normaliser, NormalUrl
from skitter.url.scope import Scope, ScopeKind

MAX_LEVELS = 5
"""Indexes of indexes beyond this are made by a program gone wrong."""
LISTED_DEPTH = 1
"""What a sitemap lists counts as linked from an entry."""
ENTRY = "entry"
"""Stands for the referrer of a sitemap that a person named."""
_ORIGINS_KEPT = 100_000


class SitemapFinder:
    """Finds the sitemaps of a job's sites."""

    def __init__(
        self, job: Job, *, judge: Judge, normaliser: Normaliser, finder: LinkFinder, clock: Clock
    ) -> None:
        self._job = job
        self._judge = judge
        self._normaliser = normaliser
        self._finder = finder
        self._clock = clock
        self._ranks = job.order is Order.BFS
        self._reads = job.sitemaps is not Sitemaps.NO and job.depth != 0
        self._best = job.order is Order.BEST
        self._only = job.sitemaps is Sitemaps.ONLY
        self._asked: set[str] = set()
        self.offered: Callable[[], None] = lambda: None
        """Called when something was queued outside an ack."""
        self.starts = Scope(ScopeKind.HOST)
        """The hosts of entries and seeds, where the usual places are tried."""

    def forget(self) -> None:
        """Announce every site anew: what was announced may not have been kept."""
        self._asked.clear()

    def entry(self, normal: NormalUrl) -> Link:
        """Return an entry as a link: a sitemap where only those are asked for, else a page."""
        if self._only and looks_like_sitemap(normal.url):
            return self.link(normal, 0, ENTRY)
        # What a person names comes before what relevance promises.
        return self._finder.make_link(normal, 0, rank=0 if self._best else None)

    def announced(self, url: str, host: HostKey, robots: AgentRobots | None) -> list[Link]:
        """Return the sitemaps of the site of ``url``, the first time the site is met."""
        site = origin(url)
        if not self._reads or site in self._asked:
            return []
        is_start = self.starts.contains(url, host)
        if not is_start and (
            self._judge.scope.kind is ScopeKind.ANY or not self._judge.scope.contains(url, host)
        ):
            return []
        if len(self._asked) >= _ORIGINS_KEPT:
            self._asked.clear()
        self._asked.add(site)
        named = robots.sitemaps if robots is not None else ()
        if named:
            return self.links(named, 0, f"{site}/robots.txt")
        return self.links(well_known(site)[:1], 0, "") if is_start else []

    def another_guess(self, url: str) -> list[Link]:
        """Return the next of the usual places after one that held nothing."""
        places = well_known(origin(url))
        at = places.index(url) + 1 if url in places else len(places)
        return self.links(places[at : at + 1], 0, "")

    def links(self, urls: Iterable[str], level: int, referrer: str) -> list[Link]:
        """Return the sitemaps among ``urls`` as links; what is no URL is left out."""
        found = []
        for url in urls:
            try:
                found.append(self.link(self._normaliser.absolute(url), level, referrer))
            except UrlError:
                continue
        return found if level <= MAX_LEVELS else []

    def link(self, normal: NormalUrl, level: int, referrer: str) -> Link:
        """Return a sitemap as a link that goes before the pages of its site."""
        link = self._finder.make_link(self._normaliser.as_sitemap(normal), level, referrer, 0)
        return msgspec.structs.replace(link, role=Role.SITEMAP)

    def listed(self, entries: Iterable[SitemapEntry], referrer: str) -> list[Link]:
        """Return the pages among ``entries`` that belong to the job, in the order of its choice."""
        found, now_ms = [], self._clock.now_ms()
        for entry in entries:
            try:
                normal = self._normaliser.absolute(entry.loc)
            except UrlError:
                continue
            refusal = self._judge.refusal(normal.url, normal.host, LISTED_DEPTH)
            if refusal is not None:
                self._finder.cut[refusal] += 1
                continue
            rank = self._finder.bare_rank(normal.url)
            if self._ranks:
                rank = sitemap_rank(entry.priority, lastmod_ms(entry.lastmod), now_ms)
            found.append(self._finder.make_link(normal, LISTED_DEPTH, referrer, rank))
        return found
