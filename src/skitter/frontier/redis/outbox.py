"""The records of a job on their way into the files of one process.

An ack adds the record of its page to a stream in its tag, in the step that ends the lease. One
process, the writer, reads the streams from their beginning, writes the files, and then:

1. ``keep`` stores by one command how long the files are and which entries they hold,
2. ``let_go`` removes the entries of the ``keep`` before, or of the last one when none came since.

A crash before 1 leaves files that are longer than their marks say: they are cut on opening, and the
same entries are read again. A crash after it leaves entries that are in the files: ``open`` removes
them by their names before anything is read. Entries stay one step longer than they would have to,
because a failover may forget the last ``keep``, and then the files are cut to the one before.

Nothing depends on the order of entry ids, so a failover to a replica whose clock is behind hides no
record; entries that the replica never had are those of pages whose ack it does not know either, and
they are fetched again.
"""

import asyncio
import secrets
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.base import Entry
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.line import Word
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.notes import unpack_note
from skitter.types import JobNumber
from skitter.url.partition import TAGS

LEASE_MS: Final = 6_000
RENEW_S: Final = 1.5
PATIENCE_S: Final = 8.0
"""How long an earlier writer that was killed may still seem to be there."""
CLOSE_S: Final = 2.0
HOLD_S: Final = 0.2
"""How long the servers of a Cluster are given to copy a ``keep`` when no other follows it."""
SWEEP_S: Final = 0.5
"""How long a stream that was empty may go unasked while others have much."""

MOST_RECENT: Final = 50_000
_BEGINNING: Final = b"0"

_Rows = list[tuple[bytes, list[bytes]]]
"""Entries of a stream: their ids and their fields."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode


class Outbox:
    """The streams of one job, for its writer."""

    def __init__(self, nodes: Nodes, keys: Keys, job: JobNumber, who: str) -> None:
        self._nodes = nodes
        self._keys = keys
        self._job = job
        self._who = who
        self._session = secrets.token_hex(8)
        self._writer = f"{keys.common}writer:{job}"
        self._held = f"outbox:{job}"
        """Under which mark the entries are named that the files hold."""
        self._written: list[tuple[int, bytes]] = []
        """Entries that are in the files and not removed yet."""
        self._recent: OrderedDict[tuple[int, bytes], None] = OrderedDict()
        """Entries that were removed: a store that forgets its last second has them again."""
        self._busy: dict[int, bytes] = {}
        """Tags that may have more than was asked for, and behind which entry."""
        self._one_server = False
        """Whether one command may read all streams."""
        self._kept_at = 0.0
        self._sweep_at = 0.0
        self._first = 0
        """The tag that is asked first, another one each time."""

    async def open(self) -> None:
        """Become the writer; raises ``ConfigError`` when another process is, and stays so."""
        deadline = asyncio.get_running_loop().time() + PATIENCE_S
        while True:
            taken, *other = await self._lease()
            if taken:
                break
            if asyncio.get_running_loop().time() > deadline:
                raise ConfigError(
                    f"the records of this job are being written by {other[1].decode()};"
                    " end that crawl first, or help it with: skitter node"
                )
            await asyncio.sleep(0.25)
        told = await self._nodes.run(self._keys.meta, "INFO", "cluster")
        self._one_server = b"cluster_enabled:1" not in told
        stored = await self._nodes.run(self._keys.marks, "HGET", self._keys.marks, self._held)
        if stored:
            await self._remove(_decode(stored))

    async def _lease(self) -> list[bytes]:
        name = function("write_lease")
        args = (0, self._session, LEASE_MS, self._who)
        answer: list[bytes] = await self._nodes.call(self._writer, name, *args)
        return answer

    async def run(self) -> None:
        """Stay the writer, until cancelled."""
        while True:
            await asyncio.sleep(RENEW_S)
            taken, *_ = await self._lease()
            if not taken:
                raise StoreUnavailable(
                    "another process has become the writer of this job's records while this one"
                    " did not answer; this one stops"
                )

    async def settle(self) -> None:
        """Keep the right to write: the last records come after this."""

    async def close(self) -> None:
        """Let another process become the writer; a store that is away finds out by itself."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await self._replace_written(())
                await self._nodes.call(self._writer, function("write_end"), 0, self._session)
        except TimeoutError:
            return

    async def read(self, limit: int) -> Sequence[Entry]:
        """Return up to ``limit`` entries, those of a tag in order; none when there are none.

        Asking 256 empty streams one by one costs the servers of a Cluster half a millisecond; while
        some tags have much, only those are asked.
        """
        loop = asyncio.get_running_loop()
        if self._busy and loop.time() < self._sweep_at:
            found = await self._read_from(dict.fromkeys(self._busy, _BEGINNING), limit)
            if found:
                return found
        self._first = (self._first + 1) % TAGS
        self._sweep_at = loop.time() + SWEEP_S
        tags = [*range(self._first, TAGS), *range(self._first)]
        found = await self._read_from(dict.fromkeys(tags, _BEGINNING), limit)
        if self._busy and len(found) < limit:
            found += await self._read_from(self._busy, limit - len(found))
        return found

    async def _read_from(self, places: Mapping[int, bytes], limit: int) -> list[Entry]:
        """Read from tags, each from a place on; take note of those that have more."""
        written = set(self._written)
        # What is written and not removed yet comes first in its stream.
        each = max(1, limit // len(places)) + max(
            Counter(tag for tag, _ in written).values(), default=0
        )
        answers = await self._rows(places, each)
        self._busy = {tag: rows[-1][0] for tag, rows in answers.items() if len(rows) == each}
        found = [
            Entry(tag, entry, _record_in(fields))
            for tag, rows in answers.items()
            for entry, fields in rows
            if (tag, entry) not in written
        ]
        again = [(entry.tag, entry.id) for entry in found if (entry.tag, entry.id) in self._recent]
        if again:
            await self._remove(again)
            found = [entry for entry in found if (entry.tag, entry.id) not in self._recent]
        # Where there are fewer places than tags, what is left over is read again next time.
        return found[:limit]

    async def _rows(self, places: Mapping[int, bytes], each: int) -> dict[int, _Rows]:
        """Return up to ``each`` entries of every tag behind a place, by tag."""
        names = {self._keys.records(tag, self._job): tag for tag in places}
        if self._one_server:
            words: list[Word] = ["XREAD", "COUNT", each, "STREAMS", *names, *places.values()]
            found = await self._nodes.run(next(iter(names)), *words)
            return {names[name.decode()]: rows for name, rows in found or ()}
        asked = [
            (name, ("XRANGE", name, b"(" + places[tag], "+", "COUNT", each))
            for name, tag in names.items()
        ]
        return dict(zip(places, await self._nodes.run_many(asked), strict=True))

    async def keep(self, marks: Mapping[str, bytes], entries: Sequence[Entry]) -> None:
        """Store in one step how far the files are and which entries they hold."""
        held = _encode([*self._written, *((entry.tag, entry.id) for entry in entries)])
        words: list[str | bytes] = [self._held, held]
        for name, value in marks.items():
            words += (name, value)
        kept = await self._nodes.call(
            self._writer, function("write_keep"), 0, self._session, self._keys.marks, *words
        )
        if not kept:
            raise StoreUnavailable(
                "another process has become the writer of this job's records; this one stops"
            )
        self._kept_at = asyncio.get_running_loop().time()

    async def let_go(self, entries: Sequence[Entry]) -> None:
        """Remove what was in the files before ``entries``; these follow next time.

        Without any, the last ones go: on one server at once, since whoever forgets that they are
        in the files forgets their removal, too.
        """
        now = asyncio.get_running_loop().time()
        if entries or self._one_server or now - self._kept_at >= HOLD_S:
            await self._replace_written(entries)

    async def _replace_written(self, entries: Sequence[Entry]) -> None:
        before, self._written = self._written, [(entry.tag, entry.id) for entry in entries]
        await self._remove(before)
        self._recent.update(dict.fromkeys(before))
        while len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)

    async def _remove(self, places: Sequence[tuple[int, bytes]]) -> None:
        by_tag: dict[int, list[bytes]] = {}
        for tag, entry in places:
            by_tag.setdefault(tag, []).append(entry)
        names = {tag: self._keys.records(tag, self._job) for tag in by_tag}
        await self._nodes.run_many(
            [(names[tag], ("XDEL", names[tag], *ids)) for tag, ids in by_tag.items()]
        )


def _record_in(fields: list[bytes]) -> bytes:
    return unpack_note(fields[2 * fields[::2].index(b"r") + 1])
