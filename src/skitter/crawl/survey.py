"""What is left to do over all jobs of a store: read now and then, for the person who watches."""

import time
from collections import Counter
from dataclasses import dataclass, field

from skitter.crawl.totals import Totals
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import PAGES, JobState
from skitter.observability.stats import CrawlStats

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

    def __init__(self, reader: FrontierReader, *, totals: bool = False) -> None:
        self._reader = reader
        self._totals = totals
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
        total: Counter[str] = Counter()
        for job, entry in (await self._reader.jobs()).items():
            runs = entry.state is JobState.RUN
            limited = runs and entry.pages is not None
            counted = await self._reader.tallies(job) if limited or self._totals else {}
            total.update(counted)
            if not runs:
                continue
            pending = (await self._reader.counts(job)).pending
            queued += pending
            room = pending if entry.pages is None else max(0, entry.pages - counted.get(PAGES, 0))
            left += min(pending, room)
        hosts = await self._reader.hosts_with_work()
        return Found(queued, left, hosts, Totals.of(total))
