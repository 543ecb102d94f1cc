"""From a page's raw hrefs to the links that are worth offering.

Most hrefs of a page were on an earlier page of the site. They are remembered as written, so that
one set difference per page spares joining, fingerprinting and looking them up. Path-absolute
hrefs mean the same on every page of an origin, absolute ones everywhere; relative ones depend on
the page and are not remembered.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skitter.crawl.aliases.book import AliasBook
from skitter.crawl.judge import Judge, entry_class
from skitter.crawl.jumps import carried
from skitter.crawl.link_rules import Areas, RuledLink, Ruling
from skitter.crawl.linked import Linked
from skitter.crawl.news import News
from skitter.crawl.ordering import DOUBTFUL_RANK, DOUBTFUL_SCORE, LINK_RANK, depth_first_rank
from skitter.crawl.relevance import MOVE_UP, Relevance, best_texts, without_fragment
from skitter.crawl.traps.guard import TrapGuard
from skitter.errors import UrlError
from skitter.frontier.model import Lease, Link
from skitter.job.spec import Job, Order
from skitter.parse.page import ParsedPage
from skitter.politeness.decision import Code
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.host import host_key
from skitter.url.normalise import Normaliser, NormalUrl
from skitter.url.parse import Base
from skitter.url.partition import Partition, partition_key, slot_of

REMEMBERED = 400_000
"""Hrefs remembered over all origins; beyond it everything is forgotten and learned anew."""
MOST_LINKS = 20_000
"""Links taken of one page: their ack is one step, during which nothing else happens."""
MAX_REMEMBERED_CHARS = 300
"""Longer hrefs are rare on honest pages; remembering them would let a page fill the memory."""
_ABSOLUTE = ("http://", "https://")
_PASSING = (Code.TRAP, Code.DEPTH)
"""Refusals that hold for one page: another may have the same link for good reasons, or nearer."""
_Memory = dict[str, int | None]
"""What a remembered href leads to, as ``Linked`` counts it."""


class LinkFinder:
    """Finds the links of pages for one job."""

    def __init__(
        self,
        job: Job,
        number: JobNumber,
        judge: Judge,
        normaliser: Normaliser,
        *,
        guard: TrapGuard | None = None,
        relevance: Relevance | None = None,
    ) -> None:
        self._job = job
        self._number = number
        self._judge = judge
        self._normaliser = normaliser
        self._guard = guard
        self._relevance = relevance
        self.priority = job.priority
        """What links have that no rule gives another; an operator may change it meanwhile."""
        self._class = _default_class(job)
        self._jumps = bool(job.jump)
        self._rules = judge.links
        # A link that fits no rule may fit one elsewhere on another page.
        anywhere = self._rules is None or not self._rules.restricted
        self._passing = _PASSING if anywhere else (*_PASSING, Code.RULE)
        self._depth_first = job.order is Order.DFS
        self._by_origin: dict[str, _Memory] = {}
        self._absolute: dict[str, _Memory] = {}
        self._remembered = 0
        self._slots: dict[HostKey, int] = {}
        self.linked = Linked()
        self.news: News | None = None
        """Tells the links of a news job apart."""
        self.aliases = AliasBook()
        """Hosts whose pages are crawled under another name."""
        self._ranks: dict[Fingerprint, int] = {}
        """The best rank each URL was offered with, in a best-first crawl."""
        self.cut: Counter[Code] = Counter()
        """Links not offered, by reason; each href counted when first met."""

    def forget(self) -> None:
        """Forget every href: links found earlier may not have been kept, or the scope has grown."""
        self._by_origin.clear()
        self._absolute.clear()
        self._ranks.clear()
        self._remembered = 0

    def links(self, page: ParsedPage, url: str, depth: int, rank: int = 0) -> list[Link]:
        """Return the links of ``page``, fetched from ``url``, that may be new.

        In a best-first crawl, where the page was queued with ``rank``, known ones that look
        better from here are among them.
        """
        hrefs = self._hrefs(page)
        if not hrefs or not self._judge.follows_from(depth):
            return []
        if self._remembered > REMEMBERED:
            self.forget()
        base = page.joiner or Base(page.base or url, page.encoding)
        known = self._memory(self._by_origin, f"{page.encoding} {base.prefix}")
        absolute = self._memory(self._absolute, page.encoding)
        distinct = set(hrefs)
        keys = self._keys(distinct, known, absolute) if self.linked.wants_page() else None
        fresh = distinct.difference(known).difference(absolute)
        links: list[Link] = []
        if fresh or self._relevance is not None:
            origin = _Origin(base, url, depth + 1, hrefs)
            origin.known, origin.absolute = known, absolute
            links = self._found(origin, page, rank, fresh, keys)
        if keys is not None:
            self.linked.count(keys)
        return links

    def _found(
        self,
        origin: "_Origin",
        page: ParsedPage,
        rank: int,
        fresh: set[str],
        keys: set[int | None] | None,
    ) -> list[Link]:
        """Return the links among hrefs not met before; ``keys`` is told what they lead to."""
        if self._rules is not None:
            origin.areas = self._rules.areas(page.document)
        links = self._weighed(origin, page, rank, fresh)
        for href in origin.hrefs:
            if href in fresh:
                fresh.remove(href)
                found = self._link(origin, href)
                if keys is not None:
                    keys.add(found.key)
                if found.link is not None:
                    links.append(found.link)
                if found.refusal not in self._passing:
                    self._remember(href, found.key, origin)
        return links

    @staticmethod
    def _keys(distinct: set[str], known: _Memory, absolute: _Memory) -> set[int | None]:
        """Return what the known ones among hrefs lead to, as it is counted."""
        keys = set(map(known.get, distinct))
        if absolute:
            keys.update(map(absolute.get, distinct))
        return keys

    def _hrefs(self, page: ParsedPage) -> list[str]:
        hrefs = [*page.hrefs, page.refresh] if page.refresh else page.hrefs
        if len(hrefs) > MOST_LINKS:
            self.cut[Code.CROWD] += len(hrefs) - MOST_LINKS
            return hrefs[:MOST_LINKS]
        return hrefs

    def _memory(self, memory: dict[str, _Memory], key: str) -> _Memory:
        found = memory.get(key)
        if found is None:
            found = memory[key] = {}
            self._remembered += 1
        return found

    def _remember(self, href: str, key: int | None, origin: "_Origin") -> None:
        if len(href) > MAX_REMEMBERED_CHARS:
            return
        if href[:1] == "/":
            # "//host/x" depends on the scheme alone, and an origin has one.
            origin.known[href] = key
        elif href.startswith(_ABSOLUTE):
            origin.absolute[href] = key
        else:
            return
        self._remembered += 1

    def _link(self, origin: "_Origin", href: str) -> "_Found":
        normal = self._normaliser.link(origin.base, href)
        if normal is None:
            self.cut[Code.SCHEME] += 1
            return _Found(None, None, Code.SCHEME)
        is_jump = self._jumps and self._judge.is_jump(normal.url)
        if is_jump:
            self._judge.met(normal.url)
            normal, is_jump = self._landed(normal)
        if normal.host in self.aliases.names:
            normal = self.under_kept_name(normal, origin.depth, origin.url)
        refusal = self._judge.refusal(normal.url, normal.host, origin.depth)
        if refusal is None and self._guard is not None:
            why = self._guard.link(normal.url, found_on=origin.url, depth=origin.depth)
            refusal = Code.TRAP if why is not None else None
        ruling = None
        if refusal is None and self._rules is not None and not is_jump:
            ruling = self._rules.decide(normal.url, normal.host, href, origin.areas)
            refusal = None if ruling.follow else Code.RULE
        if refusal is None or ruling is not None:
            self._judge.met(normal.url, ruling, placed=origin.areas is not None)
        if refusal is not None:
            self.cut[refusal] += 1
            return _Found(self.linked.key(normal.url, None), None, refusal)
        rank = self._rank(origin, href, normal)
        data = b""
        if ruling is not None and self._rules is not None:
            data = self._rules.told(ruling)
        link = self.make_link(normal, origin.depth, origin.url, rank, ruling, data)
        return _Found(self.linked.key(normal.url, normal.fp), link, None)

    def _landed(self, normal: NormalUrl) -> tuple[NormalUrl, bool]:
        """Return where a jump link leads, as far as it says so, and whether that is another one."""
        target = carried(normal.url)
        try:
            normal = normal if target is None else self._normaliser.absolute(target)
        except UrlError:
            return normal, True
        return normal, self._judge.is_jump(normal.url)

    def jumped(self, target: NormalUrl, lease: Lease) -> Link | None:
        """Return the link that a jump link stands for; None where that is not to be followed."""
        normal = self.under_kept_name(target, lease.depth, lease.referrer)
        refusal = self._judge.listed_refusal(normal.url, normal.host, lease.depth)
        if self._judge.is_jump(normal.url):
            # Pages that send on to others of the kind might do so without end.
            refusal = Code.TRAP
        if refusal is not None:
            self.cut[refusal] += 1
            return None
        return self.make_link(normal, lease.depth, lease.referrer, data=lease.data)

    def under_kept_name(self, normal: NormalUrl, depth: int, found_on: str) -> NormalUrl:
        """Return where a link leads: to the name under which its site is crawled."""
        kept = self.aliases.turn(normal.url, normal.host, depth, host_key(found_on))
        return normal if kept is None else self._normaliser.absolute(kept)

    def _weighed(
        self, origin: "_Origin", page: ParsedPage, rank: int, fresh: set[str]
    ) -> list[Link]:
        """Weigh the page for a best-first crawl; answers known links that look better from it."""
        if self._relevance is None:
            return []
        origin.texts = best_texts(page.hrefs, page.texts)
        origin.promise = _promise(self._relevance, page, rank, origin, fresh)
        known = [href for href in dict.fromkeys(page.hrefs) if href not in fresh]
        return [link for href in known if (link := self._better(origin, href)) is not None]

    def _better(self, origin: "_Origin", href: str) -> Link | None:
        """Return a link offered before, when it is more promising than it was then."""
        normal = self._normaliser.link(origin.base, href)
        before = self._ranks.get(normal.fp) if normal is not None else None
        if normal is None or before is None:
            return None
        rank = self._scored(origin, href, normal)
        if rank is None or rank > before - MOVE_UP:
            return None
        self._ranks[normal.fp] = rank
        return self.make_link(normal, origin.depth, origin.url, rank)

    def _rank(self, origin: "_Origin", href: str, normal: NormalUrl) -> int | None:
        if self._guard is not None and self._guard.doubtful:
            return DOUBTFUL_RANK if self._relevance is None else DOUBTFUL_SCORE
        rank = self._scored(origin, href, normal)
        if rank is not None:
            if len(self._ranks) > REMEMBERED:
                self._ranks.clear()
            self._ranks[normal.fp] = min(rank, self._ranks.get(normal.fp, rank))
        return rank

    def _scored(self, origin: "_Origin", href: str, normal: NormalUrl) -> int | None:
        if self._relevance is None:
            return None
        text = origin.texts.get(without_fragment(href), "")
        return self._relevance.rank(self._relevance.link(text, normal.url, origin.promise))

    def bare_rank(self, url: str) -> int | None:
        """Return the rank of a URL that came without a page or a text; None for the job's own."""
        if self._relevance is None:
            return None
        return self._relevance.rank(self._relevance.link("", url, 0.0))

    def make_link(
        self,
        normal: NormalUrl,
        depth: int,
        referrer: str = "",
        rank: int | None = None,
        ruling: Ruling | None = None,
        data: bytes = b"",
    ) -> Link:
        """Return a link of this job: class and priority by its rules, else by the job."""
        if rank is None:
            rank = depth_first_rank(depth) if self._depth_first else LINK_RANK
        page_class, priority = self._class, self.priority
        if self.news is not None:
            page_class = self.news.class_of_link(normal.url)
        if ruling is None:
            ruling = self._judge.ruling(normal.url, normal.host)
        if ruling is not None:
            page_class = page_class if ruling.page_class is None else ruling.page_class
            priority = priority if ruling.priority is None else ruling.priority
        return Link(
            normal.url,
            normal.fp,
            normal.host,
            self._number,
            self._slot(normal),
            page_class,
            priority,
            depth=depth,
            rank=rank,
            referrer=referrer,
            data=data,
        )

    def entry_ruling(self, normal: NormalUrl) -> Ruling | None:
        """Return what the rules say of a start, which need not fit any."""
        ruling = None if self._rules is None else self._rules.decide(normal.url, normal.host)
        if ruling is not None and ruling.number is not None:
            return ruling
        return Ruling(None, follow=True, page_class=entry_class(self._job))

    def ruled_links(self, found: Iterable[RuledLink], url: str, depth: int) -> list[Link]:
        """Return the links that rules took of the page at ``url``, as far as they may be asked."""
        links = []
        for one in found:
            try:
                normal = self._normaliser.absolute(one.url)
            except UrlError:
                self.cut[Code.SCHEME] += 1
                continue
            deep = depth + one.deeper
            if normal.host in self.aliases.names:
                normal = self.under_kept_name(normal, deep, url)
            refusal = self._judge.refusal(normal.url, normal.host, deep)
            if refusal is not None:
                self.cut[refusal] += 1
                continue
            self._judge.met(normal.url)
            ruling = Ruling(None, follow=True, page_class=one.page_class)
            links.append(self.make_link(normal, deep, url, None, ruling, one.data))
        return links

    def _slot(self, normal: NormalUrl) -> int:
        kind = self._job.partition
        if kind is Partition.URL:
            return slot_of(normal.canonical)
        slot = self._slots.get(normal.host)
        if slot is None:
            if len(self._slots) > REMEMBERED:
                self._slots.clear()
            slot = self._slots[normal.host] = slot_of(partition_key(normal.url, kind))
        return slot


def _default_class(job: Job) -> PageClass:
    """Return the class of links that no rule speaks of."""
    # Pages that may come again wait in the queue for those that do.
    return PageClass.NAV if job.visits_all_again else PageClass.DATA


class _Found(NamedTuple):
    """What became of one href."""

    key: int | None
    """What it counts for; None for no target."""
    link: Link | None
    """To be offered."""
    refusal: Code | None


class _Origin:
    """The page that links are found on."""

    __slots__ = ("absolute", "areas", "base", "depth", "hrefs", "known", "promise", "texts", "url")

    def __init__(self, base: Base, url: str, depth: int, hrefs: Sequence[str]) -> None:
        self.base = base
        self.url = url
        self.depth = depth
        """Depth of its links."""
        self.hrefs = hrefs
        """As they are on the page, repeated ones included."""
        self.known: _Memory = {}
        """What is remembered of hrefs that mean the same on every page of its site."""
        self.absolute: _Memory = {}
        """The same of those that mean the same everywhere."""
        self.areas: Areas | None = None
        """Where on it link rules look, if that matters."""
        self.texts: dict[str, str] = {}
        self.promise = 0.0
        """What the page hands down to its links in a best-first crawl."""


def _promise(
    relevance: Relevance, page: ParsedPage, rank: int, origin: _Origin, fresh: set[str]
) -> float:
    own = relevance.page(page.title, page.description, page.sample)
    hub = relevance.hub(origin.texts.get(without_fragment(href), "") for href in fresh)
    return relevance.handed_down(max(own, hub), rank)
