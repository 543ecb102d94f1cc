"""The records of a job on their way into files.

An ack adds the record of its page to a stream in its tag, in the step that ends the lease. One
process reads the streams and writes the files. For each tag it keeps a cursor: the id of the last
entry whose record is in the files.

Every record gets into the files exactly once, because three steps come in this order:

1. The records are written to the files, and the files are synced.
2. ``keep``: the marks of the files (how long they are) and the cursors are stored by one command.
3. ``trim``: entries up to the cursors are removed.

A crash between 1 and 2 leaves files that are longer than their marks say. On opening they are cut
back to the marks, and the same entries are read again, since the cursors are as old as the marks.
A crash between 2 and 3 leaves entries that are in the files already; the cursors are behind them,
so they are not read again, and the next ``trim`` removes them.

Ids only grow in a stream, even when the clock of a server goes back. After the failover to a
replica that lacked the last entries they can begin again below a cursor. ``trim`` notices it and
drops the cursor of that tag: all that is in the stream is read, and a record can come twice.
"""

import asyncio
import zlib
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.nodes import Call, Nodes
from skitter.types import JobNumber
from skitter.url.partition import TAGS

SWEEP_S: Final = 0.5
"""How long a stream that was empty may go unasked while others have much."""
_LEVEL = 1
_TRIM = function("trim")

_encode_cursors = msgspec.msgpack.Encoder().encode
_decode_cursors = msgspec.msgpack.Decoder(dict[int, bytes]).decode

Cursors = dict[int, bytes]
"""Tag to the id of the last entry that was read."""


class Entry(NamedTuple):
    """One record in a stream."""

    tag: int
    id: bytes
    record: bytes


def pack_note(note: bytes) -> bytes:
    """Return what is stored of a note or a record; they compress to less than half."""
    return zlib.compress(note, _LEVEL) if note else b""


def unpack_note(stored: bytes | None) -> bytes:
    """Read a stored note or record; b"" for none."""
    return zlib.decompress(stored) if stored else b""


def advance(cursors: Mapping[int, bytes], entries: Iterable[Entry]) -> Cursors:
    """Return the cursors behind entries that were read."""
    return {**cursors, **{entry.tag: entry.id for entry in entries}}


class RecordStream:
    """The streams of one job, for the one process that writes its files."""

    def __init__(self, nodes: Nodes, keys: Keys, job: JobNumber) -> None:
        self._nodes = nodes
        self._keys = keys
        self._job = job
        self._field = f"cursors:{job}"
        self._busy: list[int] = []
        """Tags that had more than was asked for."""
        self._trimmed: Cursors = {}
        self._sweep_at = 0.0
        self._first = 0
        """The tag that is asked first, another one each time."""

    async def read(self, cursors: Mapping[int, bytes], limit: int) -> list[Entry]:
        """Return up to ``limit`` entries behind the cursors, those of a tag in order.

        An empty answer means that no tag had any. Asking 256 empty streams costs the servers half a
        millisecond; while some tags have much, only those are asked.
        """
        loop = asyncio.get_running_loop()
        if self._busy and loop.time() < self._sweep_at:
            found = await self._read_from(self._busy, cursors, limit)
            if found:
                return found
        self._first = (self._first + 1) % TAGS
        self._sweep_at = loop.time() + SWEEP_S
        everyone = [*range(self._first, TAGS), *range(self._first)]
        return await self._read_from(everyone, cursors, limit)

    async def _read_from(
        self, tags: list[int], cursors: Mapping[int, bytes], limit: int
    ) -> list[Entry]:
        each = max(1, limit // len(tags))
        names = {tag: self._keys.records(tag, self._job) for tag in tags}
        asked = [
            (name, ("XRANGE", name, _behind(cursors.get(tag)), "+", "COUNT", each))
            for tag, name in names.items()
        ]
        answers = await self._nodes.run_many(asked)
        self._busy = [tag for tag, rows in zip(tags, answers, strict=True) if len(rows) == each]
        found = [
            Entry(tag, entry, _record_in(fields))
            for tag, rows in zip(tags, answers, strict=True)
            for entry, fields in rows
        ]
        # Where there are fewer places than tags, what is left over is read again next time.
        return found[:limit]

    async def keep(self, marks: Mapping[str, bytes], cursors: Mapping[int, bytes]) -> None:
        """Store the marks of the files and the cursors in one step."""
        spread = [name for name in marks if self._keys.tag_of_mark(name) is not None]
        if spread:
            raise ValueError(f"{spread[0]} cannot be kept with the cursors: it is elsewhere")
        words: list[str | bytes] = [self._field, _encode_cursors(dict(cursors))]
        for name, value in marks.items():
            words += (name, value)
        await self._nodes.run(self._keys.marks, "HSET", self._keys.marks, *words)

    async def cursors(self) -> Cursors:
        """Return the cursors that were kept last."""
        stored = await self._nodes.run(self._keys.marks, "HGET", self._keys.marks, self._field)
        return _decode_cursors(stored) if stored else {}

    async def trim(self, cursors: Cursors) -> None:
        """Remove what the files have for certain: give the cursors that were kept.

        The cursor of a tag whose ids have begun again is taken out of ``cursors``.
        """
        tags = [tag for tag, entry in cursors.items() if self._trimmed.get(tag) != entry]
        calls = [
            Call(
                self._keys.anchor(tag),
                _TRIM,
                (0, self._job, cursors[tag], _next_id(cursors[tag])),
            )
            for tag in tags
        ]
        for tag, again in zip(tags, await self._nodes.call_many(calls), strict=True):
            self._trimmed[tag] = cursors[tag]
            if again:
                del cursors[tag]

    async def backlog(self) -> int:
        """Return how many entries wait, with those that are read and not yet removed."""
        names = [self._keys.records(tag, self._job) for tag in range(TAGS)]
        lengths = await self._nodes.run_many([(name, ("XLEN", name)) for name in names])
        return sum(lengths)


def _behind(cursor: bytes | None) -> bytes:
    return b"(" + cursor if cursor else b"-"


def _record_in(fields: list[bytes]) -> bytes:
    return unpack_note(fields[2 * fields[::2].index(b"r") + 1])


def _next_id(entry: bytes) -> str:
    """Return the smallest id behind one."""
    ms, _, number = entry.decode().partition("-")
    return f"{ms}-{int(number) + 1}"
