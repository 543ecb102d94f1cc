"""From a page's raw hrefs to the links that are worth offering.

Most hrefs of a page were on an earlier page of the site. They are remembered as written, so that
one set difference per page spares joining, fingerprinting and looking them up. Path-absolute
hrefs mean the same on every page of an origin, absolute ones everywhere; relative ones depend on
the page and are not remembered.
"""

from collections import Counter

from skitter.crawl.judge import Judge
from skitter.frontier.model import Link
from skitter.job.spec import Job, Order
from skitter.parse.page import ParsedPage
from skitter.politeness.decision import Code
from skitter.types import HostKey, JobNumber
from skitter.url.normalise import Normaliser, NormalUrl
from skitter.url.parse import Base
from skitter.url.partition import Partition, partition_key, slot_of

REMEMBERED = 400_000
"""Hrefs remembered over all origins; beyond it everything is forgotten and learned anew."""
MAX_REMEMBERED_CHARS = 300
"""Longer hrefs are rare on honest pages; remembering them would let a page fill the memory."""
_MAX_RANK = 0xFFFF_FFFF
_ABSOLUTE = ("http://", "https://")


class LinkFinder:
    """Finds the links of pages for one job."""

    def __init__(self, job: Job, number: JobNumber, judge: Judge, normaliser: Normaliser) -> None:
        self._job = job
        self._number = number
        self._judge = judge
        self._normaliser = normaliser
        self._depth_first = job.order is Order.DFS
        self._by_origin: dict[str, set[str]] = {}
        self._absolute: dict[str, set[str]] = {}
        self._remembered = 0
        self._slots: dict[HostKey, int] = {}
        self.cut: Counter[Code] = Counter()
        """Links not offered, by reason; each href counted when first met."""

    def forget(self) -> None:
        """Forget every href: links found earlier may not have been kept, or the scope has grown."""
        self._by_origin.clear()
        self._absolute.clear()
        self._remembered = 0

    def links(self, page: ParsedPage, url: str, depth: int) -> list[Link]:
        """Return the links of ``page``, fetched from ``url``, that may be new."""
        hrefs = page.hrefs
        if page.refresh:
            hrefs = [*hrefs, page.refresh]
        if not hrefs or not self._judge.follows_from(depth):
            return []
        if self._remembered > REMEMBERED:
            self.forget()
        base = page.joiner or Base(page.base or url, page.encoding)
        known = self._memory(self._by_origin, f"{page.encoding} {base.prefix}")
        absolute = self._memory(self._absolute, page.encoding)
        fresh = (set(hrefs) - known) - absolute
        if not fresh:
            return []
        links = []
        for href in hrefs:
            if href in fresh:
                fresh.remove(href)
                link = self._link(base, href, url, depth + 1)
                if link is not None:
                    links.append(link)
                self._remember(href, known, absolute)
        return links

    def _memory(self, memory: dict[str, set[str]], key: str) -> set[str]:
        found = memory.get(key)
        if found is None:
            found = memory[key] = set()
            self._remembered += 1
        return found

    def _remember(self, href: str, known: set[str], absolute: set[str]) -> None:
        if len(href) > MAX_REMEMBERED_CHARS:
            return
        if href[:1] == "/":
            # "//host/x" depends on the scheme alone, and an origin has one.
            known.add(href)
        elif href.startswith(_ABSOLUTE):
            absolute.add(href)
        else:
            return
        self._remembered += 1

    def _link(self, base: Base, href: str, referrer: str, depth: int) -> Link | None:
        normal = self._normaliser.link(base, href)
        if normal is None:
            self.cut[Code.SCHEME] += 1
            return None
        refusal = self._judge.refusal(normal.url, normal.host)
        if refusal is not None:
            self.cut[refusal] += 1
            return None
        return self.make_link(normal, depth, referrer)

    def make_link(self, normal: NormalUrl, depth: int, referrer: str = "") -> Link:
        """Return a link of this job, with the job's priority and order."""
        return Link(
            normal.url,
            normal.fp,
            normal.host,
            self._number,
            self._slot(normal),
            priority=self._job.priority,
            depth=depth,
            rank=_MAX_RANK - depth if self._depth_first else 0,
            referrer=referrer,
        )

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
