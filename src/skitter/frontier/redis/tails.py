"""The tails of long queues: given to a cold store in chunks, and fetched back in good time.

In the list of a queue a marker stands for each chunk (lua/33_cold.lua), so order and counters stay
as they are. A chunk is stored before its marker is set, and kept for a while after its records are
back: whatever fails on the way, no URL is in neither place.
"""

import asyncio
import hashlib
import secrets
import struct
from collections.abc import Iterable
from typing import Final, NamedTuple

from skitter.errors import FrontierError, StoreUnavailable
from skitter.frontier.cold.base import Chunk, ChunkId, ColdStore
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.core import Core
from skitter.frontier.redis.keys import signed
from skitter.frontier.redis.records import fp_of
from skitter.frontier.redis.wire import read_hint
from skitter.types import Fingerprint, HostKey, JobNumber

CHUNKS_AT_ONCE: Final = 4
AGAIN_S: Final = 2.0
"""How long a cold store that failed is left alone."""

_marker = struct.Struct(">BBIQ")
_MARKER: Final = 255


class Sizes(NamedTuple):
    """What of a queue stays in Redis."""

    head: int = 256
    """As many records as stay whatever comes behind them."""
    chunk: int = 512
    """Records that leave together."""
    warm: int = 64
    """A chunk is fetched when a record is taken and no more than these stand before it."""

    def __str__(self) -> str:
        return f"{self.head}:{self.chunk}:{self.warm}"


USUAL_SIZES: Final = Sizes()


class Found(NamedTuple):
    """A URL in the cold store."""

    chunk: Chunk
    record: bytes
    rank: int


class Tails:
    """Moves chunks between the store and the cold store; without one it does nothing."""

    def __init__(self, core: Core, agenda: Agenda) -> None:
        self._core = core
        self._agenda = agenda
        self._cold: ColdStore | None = None
        self._giving = asyncio.Lock()
        self._fetching = asyncio.Lock()
        self._leave_alone_until = float("-inf")
        self._trouble = ""
        self._soon: dict[int, asyncio.Task[bool]] = {}

    def use(self, cold: ColdStore) -> None:
        """Keep tails in a store that is open."""
        self._cold = cold

    @property
    def trouble(self) -> str:
        """Why tails stay where they are, in words; "" while all is well."""
        return self._trouble

    async def close(self) -> None:
        """Break off what is under way: nothing is lost by that."""
        for task in self._soon.values():
            task.cancel()
        await asyncio.gather(*self._soon.values(), return_exceptions=True)

    def _is_at_work(self) -> bool:
        now = asyncio.get_running_loop().time()
        return self._cold is not None and now >= self._leave_alone_until

    def _leave_alone(self, why: StoreUnavailable) -> None:
        self._trouble = str(why)
        self._leave_alone_until = asyncio.get_running_loop().time() + AGAIN_S

    async def give(self, tags: Iterable[int]) -> None:
        """Shorten the lists of some tags that are too long.

        Whoever makes them long waits for it. Without the cold store they stay long: the store has
        room, or is full and says so.
        """
        for tag in tags:
            if self._is_at_work():
                async with self._giving:
                    try:
                        while await self._give_one(tag):
                            self._trouble = ""
                    except StoreUnavailable as error:
                        self._leave_alone(error)

    async def _give_one(self, tag: int) -> bool:
        """Move one chunk out; False when there is none."""
        cold = self._cold
        assert cold is not None
        picked: list[bytes] = await self._core.call(tag, "cold_pick")
        if not picked:
            return False
        line, *records = picked
        chunk = _chunk(line.decode(), records)
        await cold.put(chunk)
        digest = hashlib.sha1(b"".join(records), usedforsecurity=False).hexdigest()
        words = (line, _mark(chunk), records[0], digest, len(records))
        if not await self._core.call(tag, "cold_put", *words):
            await cold.drop([chunk.id])
        return True

    def fetch_soon(self, tag: int) -> None:
        """Fetch what a tag will need, while its members go on."""
        if tag not in self._soon and self._is_at_work():
            task = self._soon[tag] = asyncio.create_task(self.fetch(tag))
            task.add_done_callback(lambda _: self._soon.pop(tag))

    async def fetch(self, tag: int) -> bool:
        """Bring back the chunks a tag needs; tells whether some came."""
        if self._cold is None:
            self._trouble = "long queues are in a cold store: start this process with --cold"
        if not self._is_at_work():
            return False
        came = False
        async with self._fetching:
            try:
                while await self._fetch_some(tag):
                    came = True
                    self._trouble = ""
            except StoreUnavailable as error:
                self._leave_alone(error)
        await self.give([tag])
        return came

    async def _fetch_some(self, tag: int) -> bool:
        cold = self._cold
        assert cold is not None
        words: list[bytes] = await self._core.call(tag, "cold_wanted", CHUNKS_AT_ONCE)
        wanted = {_id(marker): (line, marker) for line, marker in _pairs(words)}
        if not wanted:
            return False
        chunks = await cold.get(list(wanted))
        for chunk_id, (line, marker) in wanted.items():
            if chunk_id not in chunks:
                raise StoreUnavailable(
                    f"the cold store lacks a part of the queue {line.decode()}: "
                    "is it the one that was used before?"
                )
            answer = await self._core.call(tag, "cold_warm", line, marker, *chunks[chunk_id])
            self._agenda.improve(tag, read_hint(answer))
        await cold.done(list(wanted))
        return True

    async def fetch_or_wait(self, tag: int) -> None:
        """Bring back what a tag needs, or wait a little: whoever asked looks again."""
        if self._cold is None:
            raise FrontierError("a part of this queue is in the cold store: name it with --cold")
        if not await self.fetch(tag):
            await asyncio.sleep(AGAIN_S / 10)

    async def drop_job(self, job: JobNumber) -> None:
        """Delete the chunks of a job, if the cold store can be reached: nothing refers to them."""
        if self._cold is not None:
            try:
                await self._cold.drop_job(job)
            except StoreUnavailable as error:
                self._leave_alone(error)

    async def find(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> list[Found]:
        """Return the chunks of a host that have a URL; all but one of them are out of use."""
        found: list[Found] = []
        if self._cold is not None:
            async for chunk in self._cold.chunks(job, host):
                same = [record for record in chunk.records if fp_of(record) == fp]
                found += [Found(chunk, record, _rank(chunk.line)) for record in same]
        return found

    async def forget(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bool:
        """Take a URL out of its chunk and make it unknown; False when it is in none."""
        cold = self._cold
        if cold is None:
            return False
        tag = self._core.keys.tag_of_host(host)
        for found in await self.find(job, host, fp):
            rest = [record for record in found.chunk.records if record != found.record]
            chunk = _chunk(found.chunk.line, rest)
            await cold.put(chunk)
            words = (found.chunk.line, _mark(found.chunk), _mark(chunk), signed(fp))
            if await self._core.call(tag, "cold_swap", *words):
                await cold.done([found.chunk.id])
                return True
            await cold.drop([chunk.id])
        return False


def _chunk(line: str, records: Iterable[bytes]) -> Chunk:
    job, _, _, host = line.split(":", 3)
    chunk_id = ChunkId(secrets.randbits(63))
    return Chunk(chunk_id, JobNumber(int(job)), HostKey(host), line, tuple(records))


def _mark(chunk: Chunk) -> bytes:
    return _marker.pack(_MARKER, 0, len(chunk.records), chunk.id)


def _id(marker: bytes) -> ChunkId:
    return ChunkId(_marker.unpack(marker)[3])


def _rank(line: str) -> int:
    return int(line.split(":", 3)[2]) & 0xFFFFFFFF


def _pairs(words: list[bytes]) -> Iterable[tuple[bytes, bytes]]:
    return zip(words[::2], words[1::2], strict=True)
