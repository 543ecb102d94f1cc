"""What is left to do over all jobs of a store: read now and then, for the person who watches."""

import time
from collections import Counter
from dataclasses import dataclass, field

from skitter.crawl.ends import Ends, Stand, stand_of
from skitter.crawl.totals import Totals
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import JobState, pages_used
from skitter.observability.stats import CrawlStats
from skitter.types import JobNumber

LOOK_S = 2.0
"""The least time between two looks."""
WORTH = 50
"""A look is followed by this many times its own length without one."""
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
        self, reader: FrontierReader, *, totals: bool = False, ends: Ends | None = None
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
        stands: dict[JobNumber, Stand] = {}
        total: Counter[str] = Counter()
        for job, entry in (await self._reader.jobs()).items():
            runs = entry.state is JobState.RUN
            limited = runs and entry.pages is not None
            counted = await self._reader.tallies(job) if limited or self._totals else {}
            total.update(counted)
            if not runs:
                continue
            counts, pages = await self._reader.counts(job), pages_used(counted)
            stands[job] = stand_of(entry, counts, pages)
            queued += counts.pending
            room = counts.pending if entry.pages is None else max(0, entry.pages - pages)
            left += min(counts.pending, room)
        if self._ends is not None:
            await self._ends.look(stands)
        hosts = await self._reader.hosts_with_work()
        return Found(queued, left, hosts, Totals.of(total))
