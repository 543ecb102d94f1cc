"""Which pages and hosts are linked most, counted while a crawl runs in bounded memory.

Each page counts once for every target it links to. Counting is one C call per page over keys that
are remembered with the hrefs; looking these up costs more than all else that known links cost, so
of a large crawl one page in eight is counted, for eight. When the table is full the rarely linked
half is forgotten, so large counts are near the truth and small ones may be too low; sites met after
the first 200,000 are not counted. A kill loses the last seconds of counting.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from operator import itemgetter

import msgspec

from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.host import host_key

MOST_KEYS = 200_000
MOST_ORIGINS = 200_000
ALL_COUNTED = 2_000
"""So many pages are all counted; of those after them a sample."""
EVERY = 8
KEPT = 5_000
"""Pages and hosts that are stored."""
STORE_EVERY_S = 20.0
_FP_BITS = 64
_FP_MASK = (1 << _FP_BITS) - 1
_VERSION = 1


class LinkedPage(msgspec.Struct, frozen=True, array_like=True):
    """A page and how many pages link to it."""

    origin: str
    fp: Fingerprint
    links: int

    @property
    def host(self) -> HostKey:
        """The host key of the page."""
        return host_key(f"{self.origin}/")


class LinkedTable(msgspec.Struct, frozen=True, array_like=True):
    """What is stored: the most linked pages, and the links to each host."""

    version: int = _VERSION
    pages: list[LinkedPage] = []
    hosts: dict[str, int] = {}


class Linked:
    """Counts links of one job."""

    def __init__(self) -> None:
        self._counts: Counter[int | None] = Counter()
        self._hosts: Counter[str] = Counter()
        """Links counted earlier, by origin; those of ``_counts`` come on top."""
        self._origins: list[str] = []
        self._numbers: dict[str, int] = {}
        self._pages = 0
        self._stored_at: float | None = None
        self.mark_name = ""
        """Under which the table of this process is stored."""

    def wants_page(self) -> bool:
        """Tell whether the links of the next page are to be counted."""
        self._pages += 1
        return self._pages <= ALL_COUNTED or self._pages % EVERY == 0

    def key(self, url: str, fp: Fingerprint | None) -> int | None:
        """Return what stands for a target; without a fingerprint its host alone is counted.

        None, for which nothing is counted, when there are too many sites.
        """
        origin = url[: url.index("/", 8)]
        number = self._numbers.get(origin)
        if number is None:
            if len(self._origins) >= MOST_ORIGINS:
                return None
            number = self._numbers[origin] = len(self._origins)
            self._origins.append(origin)
        return (number << _FP_BITS) | (fp or 0)

    def count(self, keys: Iterable[int | None]) -> None:
        """Count the links of a page that was wanted to ``keys``; None stands for no target."""
        if self._pages <= ALL_COUNTED:
            self._counts.update(keys)
        else:
            counts = self._counts
            for key in keys:
                counts[key] += EVERY
        if len(self._counts) > MOST_KEYS:
            self._forget_rare()

    def _forget_rare(self) -> None:
        self._counts.pop(None, None)
        ranked = self._counts.most_common()
        self._counts = Counter(dict(ranked[: MOST_KEYS // 2]))
        self._hosts.update(self._by_origin(ranked[MOST_KEYS // 2 :]))

    def _by_origin(self, counts: Iterable[tuple[int | None, int]]) -> dict[str, int]:
        """Return links to each site; a list of numbers, because this holds up the crawl."""
        links = [0] * len(self._origins)
        for key, count in counts:
            if key is not None:
                links[key >> _FP_BITS] += count
        return {origin: count for origin, count in zip(self._origins, links, strict=True) if count}

    def table(self) -> LinkedTable:
        """Return the most linked pages and hosts, most linked first."""
        hosts = Counter(self._hosts)
        hosts.update(self._by_origin(self._counts.items()))
        targets = ((key, n) for key, n in self._counts.items() if key and key & _FP_MASK)
        pages = [
            LinkedPage(self._origins[key >> _FP_BITS], Fingerprint(key & _FP_MASK), links)
            for key, links in nlargest(KEPT, targets, key=itemgetter(1))
        ]
        return LinkedTable(_VERSION, pages, dict(hosts.most_common(KEPT)))

    def take_mark(self, now_s: float, *, force: bool = False) -> dict[str, bytes]:
        """Return what is to be stored with the next ack: nothing, or the table now and then."""
        if self._stored_at is None:
            self._stored_at = now_s
        if not self._counts or (not force and now_s - self._stored_at < STORE_EVERY_S):
            return {}
        self._stored_at = now_s
        return {self.mark_name: msgspec.msgpack.encode(self.table())}

    def restore(self, stored: bytes | None) -> None:
        """Go on counting from what an earlier run stored."""
        table = read_table(stored)
        self._hosts.update(table.hosts)
        for page in table.pages:
            self._counts[self.key(f"{page.origin}/", page.fp)] += page.links
            # A site may have a page among the first and not be among them itself.
            self._hosts[page.origin] = max(0, self._hosts[page.origin] - page.links)


def linked_mark(job: JobNumber, member: str = "") -> str:
    """Return the name under which a job's table is stored, by each member its own."""
    return f"linked:{job}:{member}"


def merged(tables: Iterable[LinkedTable]) -> LinkedTable:
    """Return the tables of several members as one, most linked first."""
    links: Counter[tuple[str, Fingerprint]] = Counter()
    hosts: Counter[str] = Counter()
    for table in tables:
        links.update({(page.origin, page.fp): page.links for page in table.pages})
        hosts.update(table.hosts)
    pages = [LinkedPage(origin, fp, n) for (origin, fp), n in links.most_common(KEPT)]
    return LinkedTable(_VERSION, pages, dict(hosts.most_common(KEPT)))


def read_table(stored: bytes | None) -> LinkedTable:
    """Return a stored table; an empty one where there is none."""
    if stored is None:
        return LinkedTable()
    return msgspec.msgpack.decode(stored, type=LinkedTable)


def host_ranking(table: LinkedTable) -> Mapping[str, int]:
    """Return links by origin, most linked first."""
    return dict(sorted(table.hosts.items(), key=lambda item: (-item[1], item[0])))
