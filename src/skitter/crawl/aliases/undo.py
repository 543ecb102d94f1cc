"""Takes back that a host is another name of a site: its URLs are crawled as they are again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass

import msgspec

from skitter.clock import Clock
from skitter.crawl.aliases.book import ALIAS_WORDS
from skitter.crawl.aliases.rows import (
    LINKS,
    AliasRow,
    LinksRow,
    aliases_mark,
    encode,
    in_force,
    links_mark,
    links_rows,
    read_aliases,
    undone_mark,
)
from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.errors import NotFound, UrlError
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.model import Link
from skitter.pipeline.record import SITEMAP_CLASS
from skitter.types import HostKey, JobNumber, Outcome, Role
from skitter.url.host import host_key
from skitter.url.normalise import Normaliser

HEARD_S = 3.5
"""After this long every member has heard of it, and what it ended before is in the store, as are
the links that it has turned."""
BATCH = 200
UNDO = "undo"
"""Stands for a member in the names of marks."""


class _Record(msgspec.Struct):
    url: str
    outcome: str
    depth: int
    page_class: str
    visit: int
    error: str | None = None
    referrer: str | None = None


_decode = msgspec.json.Decoder(_Record).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class AliasDesk:
    """Tells an operator about the aliases of one job, and undoes them."""

    job: str
    number: JobNumber
    reader: FrontierReader
    frontier: Frontier
    control: FrontierControl
    normaliser: Normaliser
    judge: Judge
    finder: LinkFinder
    clock: Clock
    heard: Callable[[AliasRow], Mapping[str, bytes]] = lambda _: {}
    """Tells this process at once, if it crawls; answers marks that it has to store then."""
    heard_s: float = HEARD_S

    async def undo(self, host: str) -> dict[str, object]:
        """Undo an alias for good; answers how many of its URLs are queued again.

        To undo it once more queues what was not queued again the first time.
        """
        row = await self._row(host)
        if not row.undone_ms:
            row = msgspec.structs.replace(row, undone_ms=self.clock.now_ms())
        name = undone_mark(self.number, row.alias)
        await self.frontier.ack([], news={name: encode(row)})
        marks = self.heard(row)
        if marks:
            await self.frontier.ack([], marks=marks)
        await asyncio.sleep(self.heard_s)
        queued = (await self.frontier.offer(await self._turned(row.alias))).new
        async for links in self._left_out(row.alias):
            queued += await self._revive(row.alias, links)
        return {"alias": row.alias, "kept": row.kept, "job": self.job, "queued": queued}

    async def _revive(self, alias: HostKey, links: list[Link]) -> int:
        """Make URLs unknown and queue them anew; answers how many were new then."""
        # Who is killed in between finds them again among the links that were turned.
        urls = [(link.url, link.depth) for link in links]
        kept = LinksRow(alias=alias, count=0, urls=urls)
        await self.frontier.ack([], marks={links_mark(self.number, alias, UNDO): encode(kept)})
        forget = self.control.forget
        await asyncio.gather(*(forget(self.number, link.host, link.fp) for link in links))
        return (await self.frontier.offer(links)).new

    async def _row(self, host: str) -> AliasRow:
        rows = {row.alias: row for row in await read_aliases(self.reader, self.number)}
        found = rows.get(HostKey(host.strip().lower()))
        if found is None:
            known = ", ".join(sorted(in_force(rows.values()))) or "none"
            raise NotFound(f"{host}: is no alias in job {self.job}; aliases there: {known}")
        return found

    async def _left_out(self, alias: HostKey) -> AsyncIterator[list[Link]]:
        """Yield the URLs that ended for being under another name, as links."""
        needle, after = alias.encode(), b""
        while True:
            notes, after = await self.reader.notes(self.number, after)
            links = [
                link
                for note in notes
                if needle in note and (link := self._revived(alias, _decode(note))) is not None
            ]
            for at in range(0, len(links), BATCH):
                yield links[at : at + BATCH]
            if not after:
                return

    def _revived(self, alias: HostKey, record: _Record) -> Link | None:
        is_left_out = (
            record.outcome == Outcome.DUPLICATE
            and (record.error or "").startswith(ALIAS_WORDS)
            and host_key(record.url) == alias
        )
        if not is_left_out:
            return None
        is_list = record.page_class == SITEMAP_CLASS
        link = self._link(record.url, record.depth, record.referrer or "", is_list=is_list)
        return None if link is None else msgspec.structs.replace(link, visit=record.visit + 1)

    def _link(
        self, url: str, depth: int, referrer: str = "", *, is_list: bool = False
    ) -> Link | None:
        try:
            normal = self.normaliser.absolute(url)
        except UrlError:
            return None
        if is_list:
            link = self.finder.make_link(self.normaliser.as_sitemap(normal), depth, referrer, 0)
            return msgspec.structs.replace(link, role=Role.SITEMAP)
        return self.finder.make_link(normal, depth, referrer, self.finder.bare_rank(normal.url))

    async def _turned(self, alias: HostKey) -> list[Link]:
        """Return the links that led to the kept host instead."""
        prefix = f"{aliases_mark(self.number)}{LINKS}{alias} "
        rows = links_rows(await self.reader.marks(prefix))
        made = (self._link(url, depth) for row in rows for url, depth in row.urls)
        return [
            link
            for link in made
            if link is not None and self.judge.refusal(link.url, link.host, link.depth) is None
        ]


async def list_aliases(reader: FrontierReader, number: JobNumber) -> list[dict[str, object]]:
    """Return the aliases of a job, those undone among them, ready for JSON."""
    rows = await read_aliases(reader, number)
    turned: dict[HostKey, int] = {}
    for links in links_rows(await reader.marks(aliases_mark(number) + LINKS)):
        turned[links.alias] = turned.get(links.alias, 0) + links.count
    force = in_force(rows)
    return [_facts(row, force, turned.get(row.alias, 0)) for row in _sorted(rows)]


def _sorted(rows: Iterable[AliasRow]) -> list[AliasRow]:
    return sorted(rows, key=lambda row: (row.kept, row.alias))


def _facts(row: AliasRow, force: dict[HostKey, AliasRow], turned: int) -> dict[str, object]:
    return {
        "kept": force.get(row.alias, row).kept,
        "alias": row.alias,
        "since_ms": row.since_ms,
        "undone_ms": row.undone_ms or None,
        "in_force": row.alias in force,
        "equal": row.equal,
        "compared": row.common,
        "different": row.different,
        "links": turned,
        "samples": [{"path": one.path, "digest": one.digest} for one in row.samples],
    }
