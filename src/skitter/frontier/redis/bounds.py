"""How many more URLs the queue of a job takes before its bound.

A queue is spread over all tags, so its length has to be read from all of them. Far from the bound
that is done now and then. Near a small bound it is done every time, so that one member alone keeps
it exactly; near a large one the last reading and what this member has queued since will do.
"""

import asyncio
from collections.abc import Iterable

from skitter.frontier.redis.core import Core
from skitter.types import JobNumber
from skitter.url.partition import TAGS

SMALL_BOUND = 10_000
NEAR_S = 1.0
FAR_S = 10.0
NEAR_SHARE = 0.8
CROWD = 20
"""How many times as much as this member all together may have queued since the last reading."""


class _Reading:
    __slots__ = ("added", "at", "queued")

    def __init__(self, queued: int, at: float) -> None:
        self.queued = queued
        self.at = at
        self.added = 0


class Bounds:
    """The room left in the queues of jobs."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._readings: dict[JobNumber, _Reading] = {}

    async def rooms(self, jobs: Iterable[JobNumber]) -> dict[JobNumber, int]:
        """Return the room of those jobs whose bound is near or passed."""
        found: dict[JobNumber, int] = {}
        for job in jobs:
            room = await self._room(job, (await self._core.entry(job)).queue_bound)
            if room is not None:
                found[job] = room
        return found

    async def _room(self, job: JobNumber, bound: int) -> int | None:
        reading = self._readings.get(job)
        age = asyncio.get_running_loop().time() - reading.at if reading else FAR_S
        if reading is None or age >= FAR_S or (age >= NEAR_S and _is_near(reading, bound)):
            reading = await self._read(job)
        if not _is_near(reading, bound):
            return None
        if bound <= SMALL_BOUND:
            reading = await self._read(job)
        return max(0, bound - reading.queued - reading.added)

    async def _read(self, job: JobNumber) -> _Reading:
        keys = [self._core.keys.counts(tag, job) for tag in range(TAGS)]
        rows = await self._core.nodes.run_many([(key, ("HGET", key, "q")) for key in keys])
        queued = sum(int(row) for row in rows if row is not None)
        reading = _Reading(queued, asyncio.get_running_loop().time())
        self._readings[job] = reading
        return reading

    def note(self, job: JobNumber, queued: int) -> None:
        """Count what this member has queued."""
        reading = self._readings.get(job)
        if reading is not None:
            reading.added += queued


def _is_near(reading: _Reading, bound: int) -> bool:
    return bound <= SMALL_BOUND or reading.queued + CROWD * reading.added >= NEAR_SHARE * bound
