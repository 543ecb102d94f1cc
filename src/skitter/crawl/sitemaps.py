"""Where a job's sitemaps are, and what becomes of the URLs they list."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec

from skitter.clock import Clock
from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.crawl.ordering import LINK_RANK, depth_first_rank, sitemap_rank
from skitter.errors import UrlError
from skitter.frontier.model import Link
from skitter.job.refresh import Policy
from skitter.job.spec import Job, Kind, Order, Sitemaps
from skitter.parse.sitemap.dates import lastmod_ms
from skitter.parse.sitemap.model import SitemapEntry
from skitter.parse.sitemap.places import looks_like_sitemap, well_known
from skitter.politeness.decision import Code
from skitter.politeness.robots_entry import AgentRobots
from skitter.types import Fingerprint, HostKey, PageClass, Role
from skitter.url.host import origin
from skitter.url.normalise import Normaliser, NormalUrl
from skitter.url.scope import Scope, ScopeKind

MAX_LEVELS = 5
"""Indexes of indexes beyond this are made by a program gone wrong."""
LISTED_DEPTH = 1
"""What a sitemap lists counts as linked from an entry."""
ENTRY = "entry"
"""Stands for the referrer of a sitemap that a person named."""
MAX_PER_SITE = 5_000
"""Sitemaps queued for one site: at 50,000 URLs each, more than anybody fetches of it."""
MAX_PER_JOB = 50_000
"""Sitemaps queued in one run: hosts without number cost an attacker nothing either."""
FIRST_PER_SITE = 5
"""Sitemaps of a site that go before its pages; the others take turns with them."""
_ORIGINS_KEPT = 100_000

log = logging.getLogger(__name__)


class SitemapQuota:
    """Numbers the sitemaps of each site, as far as there is room for them.

    It counts what a run finds: after a restart there is room anew, but a sitemap that has been
    read is not read again, so what was left out of it stays out.
    """

    def __init__(self) -> None:
        self._numbers: dict[Fingerprint, int] = {}
        self._counts: Counter[HostKey] = Counter()
        self._is_full = False

    def number(self, fp: Fingerprint, site: HostKey) -> int | None:
        """Return which of the sitemaps of ``site`` this is, from 0; None when it is one too many.

        A sitemap met again keeps its number.
        """
        number = self._numbers.get(fp)
        if number is not None:
            return number
        number = self._counts[site]
        if number >= MAX_PER_SITE:
            if number == MAX_PER_SITE:
                self._counts[site] += 1
                log.warning("%s has more than %s sitemaps; the rest is left", site, MAX_PER_SITE)
            return None
        if len(self._numbers) >= MAX_PER_JOB:
            if not self._is_full:
                log.warning("there are more than %s sitemaps; the rest is left", MAX_PER_JOB)
            self._is_full = True
            return None
        self._numbers[fp] = number
        self._counts[site] += 1
        return number


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
        self._late_rank = depth_first_rank(LISTED_DEPTH) if job.order is Order.DFS else LINK_RANK
        self._quota = SitemapQuota()
        self._only = job.sitemaps is Sitemaps.ONLY
        self._takes_feeds = self._only or job.kind is Kind.NEWS
        again = job.refresh.policy is not Policy.NEVER
        self._class = PageClass.NAV if again else PageClass.DATA
        self._asked: set[str] = set()
        self.offered: Callable[[], None] = lambda: None
        """Called when something was queued outside an ack."""
        self.starts = Scope(ScopeKind.HOST)
        """The hosts of entries and seeds, where the usual places are tried."""

    def forget(self) -> None:
        """Announce every site anew: what was announced may not have been kept."""
        self._asked.clear()

    def entry(self, normal: NormalUrl) -> Link:
        """Return an entry as a link: a sitemap or feed where the job takes those, else a page."""
        if self._takes_feeds and looks_like_sitemap(normal.url):
            return self.link(normal, 0, ENTRY)
        # What a person names comes before what relevance promises.
        return self._finder.make_link(
            normal, 0, rank=0 if self._best else None, ruling=self._finder.entry_ruling(normal)
        )

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
            # It may lie anywhere, as the protocol allows; what it lists is judged.
            return self._queueable(self._parsed(named), 0, f"{site}/robots.txt", host)
        return self._guess(well_known(site)[:1]) if is_start else []

    def another_guess(self, url: str) -> list[Link]:
        """Return the next of the usual places after one that held nothing."""
        places = well_known(origin(url))
        at = places.index(url) + 1 if url in places else len(places)
        return self._guess(places[at : at + 1])

    def children(self, urls: Iterable[str], level: int, referrer: str, host: HostKey) -> list[Link]:
        """Return the sitemaps that an index on ``host`` lists, as far as they are to be read."""
        if level > MAX_LEVELS:
            return []
        near = []
        for normal in self._parsed(urls):
            if self.is_near(normal, host):
                near.append(normal)
            else:
                self._finder.cut[Code.SCOPE] += 1
        return self._queueable(near, level, referrer, host)

    def is_near(self, normal: NormalUrl, host: HostKey) -> bool:
        """Tell whether a sitemap on ``host`` may lead to another: on its host, or in the scope.

        An index could otherwise turn the crawl on hosts that are none of its business.
        """
        return normal.host == host or self._judge.scope.contains(normal.url, normal.host)

    def _guess(self, places: Iterable[str]) -> list[Link]:
        return [self.link(normal, 0, "") for normal in self._parsed(places)]

    def _parsed(self, urls: Iterable[str]) -> Iterator[NormalUrl]:
        """Yield what is a URL, and not of a site that nothing is asked of."""
        for url in urls:
            try:
                normal = self._normaliser.absolute(url)
            except UrlError:
                continue
            if self._judge.sites.is_blacklisted(normal.host):
                self._finder.cut[Code.BLACKLIST] += 1
                continue
            yield normal

    def _queueable(
        self, normals: Iterable[NormalUrl], level: int, referrer: str, host: HostKey
    ) -> list[Link]:
        """Return sitemaps named on ``host`` as links, while there is room for them."""
        found = []
        for normal in normals:
            # What lies elsewhere counts for the site that names it: hosts are cheap to make up.
            in_scope = self._judge.scope.contains(normal.url, normal.host)
            number = self._quota.number(normal.fp, normal.host if in_scope else host)
            if number is None:
                self._finder.cut[Code.CROWD] += 1
                continue
            rank = 0 if number < FIRST_PER_SITE else self._rank_among_pages(normal.url)
            found.append(self.link(normal, level, referrer, rank))
        return found

    def _rank_among_pages(self, url: str) -> int:
        """Return the rank by which a sitemap takes turns with the pages it competes with."""
        rank = self._finder.bare_rank(url)
        return self._late_rank if rank is None else rank

    def link(self, normal: NormalUrl, level: int, referrer: str, rank: int = 0) -> Link:
        """Return a sitemap as a link; by its ``rank`` it goes before the pages of its site."""
        link = self._finder.make_link(self._normaliser.as_sitemap(normal), level, referrer, rank)
        return msgspec.structs.replace(link, role=Role.SITEMAP, page_class=self._class)

    def listed(self, entries: Iterable[SitemapEntry], referrer: str) -> list[Link]:
        """Return the pages among ``entries`` that belong to the job, in the order of its choice."""
        found, now_ms = [], self._clock.now_ms()
        for entry in entries:
            try:
                normal = self._normaliser.absolute(entry.loc)
            except UrlError:
                continue
            normal = self._finder.under_kept_name(normal, LISTED_DEPTH, referrer)
            refusal = self._judge.listed_refusal(normal.url, normal.host, LISTED_DEPTH)
            if refusal is not None:
                self._finder.cut[refusal] += 1
                continue
            rank = self._finder.bare_rank(normal.url)
            if self._ranks:
                rank = sitemap_rank(entry.priority, lastmod_ms(entry.lastmod), now_ms)
            found.append(self._finder.make_link(normal, LISTED_DEPTH, referrer, rank))
        return found
