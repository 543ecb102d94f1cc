"""What is left to do over all jobs of a store: read now and then, for the person who watches."""

import secrets
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from skitter.clock import Clock
from skitter.crawl.happenings import tell_job
from skitter.crawl.totals import Totals
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.model import PAGES, JobState
from skitter.observability.stats import CrawlStats

LOOK_S = 2.0
"""The least time between two looks."""
WORTH = 50
"""A look is followed by this many times its own length without one."""
ONCE_MS = 60_000
"""How long no other process tells of the same end: longer than it may go without a look."""
LONGEST_S = 20.0
"""But for no longer: one that took long because the store was away says nothing of the next."""


@dataclass(frozen=True, slots=True)
class Found:
    """How the jobs of a store stand."""

    queued: int = 0
    """URLs of running jobs that are not finished."""
    left: int = 0
    """How many of them may still be fetched under the page limits of their jobs."""
    hosts: int = 0
    totals: Totals = field(default_factory=Totals)
    """What was counted over all jobs; empty unless it was asked for."""

    def show(self, stats: CrawlStats) -> None:
        """Copy what a person watches."""
        stats.queued, stats.left, stats.hosts = self.queued, self.left, self.hosts


class Survey:
    """Looks at all jobs of a store."""

    def __init__(
        self, reader: FrontierReader, *, totals: bool = False, ends: "Ends | None" = None
    ) -> None:
        self._reader = reader
        self._totals = totals
        self._ends = ends
        """Who is told which jobs have come to their end; None where that is another's to tell."""
        self.pause_s = LOOK_S
        """How long to wait before the next look: it must cost next to nothing."""

    async def look(self) -> Found:
        """Ask the store."""
        began = time.monotonic()
        found = await self._look()
        self.pause_s = min(LONGEST_S, max(LOOK_S, (time.monotonic() - began) * WORTH))
        return found

    async def _look(self) -> Found:
        queued = left = 0
        pending_of: dict[str, int] = {}
        total: Counter[str] = Counter()
        for job, entry in (await self._reader.jobs()).items():
            runs = entry.state is JobState.RUN
            limited = runs and entry.pages is not None
            counted = await self._reader.tallies(job) if limited or self._totals else {}
            total.update(counted)
            if not runs:
                continue
            pending = pending_of[entry.id] = (await self._reader.counts(job)).pending
            queued += pending
            room = pending if entry.pages is None else max(0, entry.pages - counted.get(PAGES, 0))
            left += min(pending, room)
        if self._ends is not None:
            await self._ends.look(pending_of)
        hosts = await self._reader.hosts_with_work()
        return Found(queued, left, hosts, Totals.of(total))


class Ends:
    """Tells when jobs have come to their end, once, however many processes look."""

    def __init__(self, frontier: Frontier, clock: Clock) -> None:
        self._frontier = frontier
        self._clock = clock
        self._holder = secrets.randbits(48)
        self._busy: frozenset[str] = frozenset()
        """Jobs that had something left at the last look."""

    async def look(self, pending: Mapping[str, int]) -> None:
        """Take in how much each running job has left."""
        ended = [job for job in self._busy if pending.get(job) == 0]
        self._busy = frozenset(job for job, left in pending.items() if left)
        for job in ended:
            if await self._frontier.lock(f"finished:{job}", self._holder, ONCE_MS) == 0:
                await tell_job(self._frontier, self._clock, job, "finished")
