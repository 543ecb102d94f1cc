"""How many more URLs may be leased of jobs that want a limited number of pages.

Pages and leases are counted by tag, so all tags have to be read for it. That is done the more often
the less room there is left. With several members the last pages can be a few too many: those that
others lease between a reading and the claim behind it.
"""

import asyncio
from collections.abc import Mapping

from skitter.frontier.model import LIMITED, JobEntry, JobState
from skitter.frontier.redis.core import Core
from skitter.types import JobNumber
from skitter.url.partition import TAGS

NEAR = 1_000
"""With less room than this, every claim is given what is left."""
CLOSE = 128
"""With less room than this, every claim reads anew what is left."""
CALM_S = 0.25
"""How old a reading may be at least, where not every claim counts."""
MOST_S = 5.0
"""How old a reading may be."""


class _Reading:
    __slots__ = ("at", "good_for", "used")

    def __init__(self, used: int, at: float, good_for: float) -> None:
        self.used = used
        self.at = at
        self.good_for = good_for


class Limits:
    """The room left under the page limits of jobs."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._readings: dict[JobNumber, _Reading] = {}
        self._changes = -1
        self._limited: dict[JobNumber, int] = {}

    async def reread(self, rooms: Mapping[JobNumber, int]) -> dict[JobNumber, int]:
        """Return rooms again before they are used: those that are close, as they are now.

        What a look at a job with nothing to do has told is no longer true when others begin it.
        """
        for job, room in rooms.items():
            reading = self._readings.get(job)
            if 0 < room <= CLOSE and reading is not None and reading.good_for:
                reading.good_for = 0.0
        return await self.rooms()

    async def rooms(self) -> dict[JobNumber, int]:
        """Return the room of every running job that has a limit."""
        if self._changes != self._core.changes:
            self._changes = self._core.changes
            self._limited = _limited(await self._core.entries())
        return {job: await self._room(job, pages) for job, pages in self._limited.items()}

    async def _room(self, job: JobNumber, pages: int) -> int:
        now = asyncio.get_running_loop().time()
        reading = self._readings.get(job)
        if reading is None or now - reading.at >= reading.good_for:
            reading = self._readings[job] = await self._read(job, pages, reading)
        return pages - reading.used

    async def _read(self, job: JobNumber, pages: int, last: _Reading | None) -> _Reading:
        keys = self._core.keys
        asked: list[tuple[str, tuple[str, ...]]]
        # Leases first: a page that is acked meanwhile counts twice for a moment, not never.
        asked = [(keys.counts(tag, job), ("l", "q", "s")) for tag in range(TAGS)]
        asked += [(keys.tallies(tag, job), LIMITED) for tag in range(TAGS)]
        rows = await self._core.nodes.run_many(
            [(key, ("HMGET", key, *fields)) for key, fields in asked]
        )
        used = sum(int(row[0] or 0) for row in rows[:TAGS])
        used += sum(int(n or 0) for row in rows[TAGS:] for n in row)
        lives = any(int(n or 0) > 0 for row in rows[:TAGS] for n in row)
        now = asyncio.get_running_loop().time()
        room = pages - used
        # Of a job that has ended, or has room for more than one claim takes, a little old will do.
        exact = self._core.virtual or (lives and 0 < room <= CLOSE)
        good_for = 0.0 if exact else CALM_S
        if room >= NEAR and last is not None and now > last.at:
            per_second = max(1.0, (used - last.used) / (now - last.at))
            good_for = min(MOST_S, (room - NEAR) / per_second / 4)
        return _Reading(used, now, good_for)


def _limited(entries: dict[JobNumber, JobEntry]) -> dict[JobNumber, int]:
    return {
        job: entry.pages
        for job, entry in entries.items()
        if entry.pages is not None and entry.state is JobState.RUN
    }
