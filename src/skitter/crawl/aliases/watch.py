"""Watches the pages of a crawl for sites with several names, and decides.

What is decided is stored as news, so that every member goes by it; what was only noticed is stored
as well, so that a restart does not begin anew.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

from skitter.clock import Clock
from skitter.crawl.aliases.book import AliasBook, alias_of
from skitter.crawl.aliases.evidence import SAMPLE, Evidence, Pair
from skitter.crawl.aliases.facts import (
    LEAST_BYTES,
    Fact,
    Likeness,
    content_digest,
    fact_of,
    path_of,
    stored_fact,
)
from skitter.crawl.aliases.rows import (
    LINKS,
    PAIR,
    AliasRow,
    LinksRow,
    PairRow,
    Sample,
    aliases_mark,
    decode_alias,
    encode,
    host_mark,
    links_mark,
    links_rows,
    pair_mark,
    pair_rows,
    read_aliases,
    undone_mark,
)
from skitter.crawl.aliases.verdict import (
    HOME,
    Comparison,
    Facts,
    Seniority,
    compare,
    elder,
    objection,
)
from skitter.crawl.trip import Visit
from skitter.errors import UrlError
from skitter.frontier.base import FrontierReader
from skitter.pipeline.record import PageRecord
from skitter.types import HostKey, JobNumber
from skitter.url.host import host_key, origin
from skitter.url.normalise import Normaliser

log = logging.getLogger(__name__)

MOST_COMPARED = 40
"""Paths at which two hosts are compared."""
MOST_SAMPLES = 8
"""Equal pages that are named to a person who asks."""
READ_PAGES = 32
"""Of so many pages of a host its own address is left out before they are compared."""
MOST_PAIR_ROWS = 1_000
LINKS_S = 20.0
"""How often it is stored which links were turned."""


class AliasWatch:
    """Recognises aliases among the hosts of one job."""

    def __init__(
        self,
        number: JobNumber,
        *,
        reader: FrontierReader,
        normaliser: Normaliser,
        clock: Clock,
        seniority: Seniority,
        member: str = "",
    ) -> None:
        self.book = AliasBook()
        self._number = number
        self._reader = reader
        self._normaliser = normaliser
        self._clock = clock
        self._seniority = seniority
        self._member = member
        self._evidence = Evidence()
        self._news: dict[str, bytes] = {}
        self._pair_rows: set[str] = set()
        self._links_at = float("-inf")

    async def open(self) -> None:
        """Take up what earlier runs and other members have learned."""
        await self.take_up_news()
        prefix = aliases_mark(self._number)
        for row in pair_rows(await self._reader.marks(prefix + PAIR)):
            pair = Pair(row.one, row.other, dict.fromkeys(row.equal))
            self._evidence.restore(pair, zip(pair.hosts, row.origins, row.paths, strict=True))
        marks = await self._reader.marks(prefix + LINKS)
        own = {name: value for name, value in marks.items() if name.endswith(f" {self._member}")}
        self.book.restore_links({row.alias: row for row in links_rows(own)})

    async def take_up_news(self) -> dict[str, bytes]:
        """Go by what other members or an operator have decided; answers as ``take`` does."""
        return self.take(await read_aliases(self._reader, self._number))

    def take(self, rows: Iterable[AliasRow]) -> dict[str, bytes]:
        """Go by decisions from here on; answers marks that are to be stored at once.

        They are the links to hosts that are no aliases any more: whoever undid that waits for them.
        """
        before = self.book.names
        self.book.take(rows)
        for alias, row in self.book.names.items():
            if alias not in before:
                self._evidence.merged(alias, row.kept)
        return self._link_marks(self.book.links_of(before.keys() - self.book.names.keys()))

    def saw(self, record: PageRecord, body: bytes, plain: bytes, host: HostKey) -> bytes:
        """Take in a page as it was fetched; answers the digest by which others may know it.

        That is b"" where ``plain``, the digest of its body as it is, does as well. Equal pages of
        one host are always told by that.
        """
        if record.final_url != record.url:
            return b""
        digest = plain
        seen = self._evidence.pages(host)
        if plain and seen < READ_PAGES:
            digest = content_digest(body, plain, host)
        fact = fact_of(record, digest, plain if digest != plain else b"")
        if fact is None:
            return b""
        self._evidence.saw(host, record.url, path_of(record.url), fact)
        return digest if digest != plain and seen < SAMPLE else b""

    def named(self, visits: Sequence[Visit]) -> None:
        """Take in which pages have the content of an earlier one, as the store has told."""
        for visit in visits:
            record = visit.record
            if record is None or not visit.digest or record.final_url != record.url:
                continue
            host, path = visit.lease.host, path_of(record.url)
            if visit.alike:
                self._evidence.name(host, path, visit.first_alike)
            first = visit.first_alike or record.duplicate_of or record.url
            if first != record.url and (record.bytes or 0) >= LEAST_BYTES:
                self._same(host, path, first)

    def _same(self, host: HostKey, path: str, first: str) -> None:
        holder = host_key(first)
        row = self.book.names.get(holder)
        other, site = (holder, origin(first)) if row is None else (row.kept, row.origin)
        if other != host and path_of(first) == path:
            self._evidence.met(other, site)
            self._evidence.same(other, host, path)

    @property
    def is_due(self) -> bool:
        """Whether there is something to decide."""
        return self._evidence.has_ripe

    async def decide(self) -> None:
        """Look at the pairs of hosts that may be one site."""
        for pair in self._evidence.take_ripe():
            # Before it is looked at: more may be noticed meanwhile.
            self._evidence.put_off(pair)
            await self._look(pair)

    async def _look(self, pair: Pair) -> None:
        one, other = pair.hosts
        if self.book.is_full or any(host in self.book.names for host in pair.hosts):
            pair.closed = True
            return
        known = await self._known_equal(pair)
        home = {host: await self._facts(host, [HOME]) for host in pair.hosts}
        if compare(home[one], home[other], known).home is Likeness.DIFFERENT:
            pair.closed = True
            return
        paths = [*known, *self._evidence.facts(one), *self._evidence.facts(other)]
        wanted = list(dict.fromkeys([HOME, *paths]))[:MOST_COMPARED]
        facts = {host: await self._facts(host, wanted) for host in pair.hosts}
        kept, alias = elder((one, facts[one]), (other, facts[other]), self._seniority)
        found = compare(facts[kept], facts[alias], known)
        why = objection(found)
        if why is None and self.book.may_merge(alias, kept):
            await self._merge(alias, kept, found, facts[kept])
        else:
            log.debug("%s and %s stay two sites: %s", kept, alias, why or "as an operator said")

    async def _known_equal(self, pair: Pair) -> dict[str, None]:
        """Return where two hosts were found equal, by this member or others."""
        rows = pair_rows(await self._reader.marks(pair_mark(self._number, *pair.hosts)))
        return pair.paths | dict.fromkeys(path for row in rows for path in row.equal)

    async def _facts(self, host: HostKey, paths: Sequence[str]) -> Facts:
        """Return what is known of a host's pages, in this process or in the store."""
        known = self._evidence.facts(host)
        missing = [path for path in paths if known.get(path) is None]
        site = self._evidence.site(host)
        read = await asyncio.gather(*(self._stored(site, path) for path in missing))
        found = {**known, **dict(zip(missing, read, strict=True))}
        return {path: fact for path in paths if (fact := found.get(path)) is not None}

    async def _stored(self, site: str, path: str) -> Fact | None:
        try:
            normal = self._normaliser.absolute(site + path)
        except UrlError:
            return None
        return stored_fact(await self._reader.note(self._number, normal.host, normal.fp))

    async def _merge(self, alias: HostKey, kept: HostKey, found: Comparison, facts: Facts) -> None:
        samples = [Sample(path, facts[path].digest.hex()) for path in found.equal[:MOST_SAMPLES]]
        row = AliasRow(
            alias=alias,
            kept=kept,
            origin=self._evidence.site(kept),
            since_ms=self._clock.now_ms(),
            equal=len(found.equal),
            common=found.common,
            different=found.different,
            samples=tuple(samples),
        )
        name = host_mark(self._number, alias)
        undone = await self._reader.mark(undone_mark(self._number, alias))
        stored = decode_alias(undone or await self._reader.mark(name) or b"")
        if stored is None:
            self._news[name] = encode(row)
            log.info("%s is from here on crawled as %s: %s", alias, kept, alias_of(row))
        self.take([stored or row])

    def take_news(self) -> dict[str, bytes]:
        """Return what every member has to know, to be stored with the next ack."""
        news, self._news = self._news, {}
        return news

    def take_marks(self, boot: float, *, force: bool = False) -> dict[str, bytes]:
        """Return what is to be kept with the next ack."""
        marks = {}
        for pair in self._evidence.take_grown():
            name = pair_mark(self._number, *pair.hosts, self._member)
            if len(pair.paths) > 1 and (
                name in self._pair_rows or len(self._pair_rows) < MOST_PAIR_ROWS
            ):
                self._pair_rows.add(name)
                marks[name] = encode(self._row(pair))
        if force or boot - self._links_at >= LINKS_S:
            self._links_at = boot
            marks |= self._link_marks(self.book.take_links())
        return marks

    def _link_marks(self, rows: Iterable[LinksRow]) -> dict[str, bytes]:
        return {links_mark(self._number, row.alias, self._member): encode(row) for row in rows}

    def _row(self, pair: Pair) -> PairRow:
        one, other = pair.hosts
        return PairRow(
            one=one,
            other=other,
            origins=(self._evidence.site(one), self._evidence.site(other)),
            equal=list(pair.paths),
            paths=(list(self._evidence.facts(one)), list(self._evidence.facts(other))),
        )
