"""Many visits at once: claims ahead of the workers, drains on stop, and knows when all is done.

Finished means: every seed was offered, nothing is leased, nothing is unsafe, and the frontier has
nothing queued or scheduled.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from skitter.crawl.commit import Committer
from skitter.crawl.equipment import Equipment
from skitter.crawl.load import next_limit, read_load
from skitter.crawl.trip import Visit
from skitter.crawl.visit import Visitor
from skitter.frontier.model import LEASE_MS, Freed, Grant, Lease, Result
from skitter.observability.stats import CrawlStats
from skitter.types import Role

RENEW_S = LEASE_MS / 1000 / 3
LOAD_S = 1.0
SETTLED = 16
"""A best-first crawl has one page under way for this many it has seen, and at least two."""
IDLE_S = 1.0
"""How long a claim that brought nothing waits at most before the next look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Bounds of one run."""

    concurrency: int = 64
    pages: int | None = None
    """Visits after which the run ends."""
    time_s: float | None = None
    """Seconds after which the run ends."""
    bytes: int | None = None
    """Bytes of pages after which the run ends, counted over all runs of the job."""
    ahead: bool = True
    """Claim more than the workers can begin at once; only without a delay between requests."""
    best_first: bool = False
    """Let what is under way not outrun what is known: the best link may be on a page to come."""
    patience_s: float = 180.0
    """When nothing can be fetched for longer than this, the run ends and leaves the rest queued."""
    drain_s: float = 4.0
    """How long a stopped run lets requests finish."""


class Engine:
    """Runs the visits of one job."""

    def __init__(
        self,
        equipment: Equipment,
        committer: Committer,
        *,
        stats: CrawlStats,
        options: EngineOptions,
    ) -> None:
        self._frontier = equipment.frontier
        self._reader = equipment.reader
        self._job = equipment.number
        self._clock = equipment.clock
        self._lease_ms = equipment.lease_ms
        self._committer = committer
        self._stats = stats
        self._options = options
        self._limit = options.concurrency
        self._leases: deque[Lease] = deque()
        self._live: dict[int, Lease] = {}
        self._freed: list[Freed] = []
        self._idle: deque[asyncio.Future[None]] = deque()
        self._claim_now = asyncio.Event()
        self._active = 0
        self._ended_pages = stats.pages
        self._ended_bytes = stats.bytes
        self._stopping = asyncio.Event()
        self.stopped_by = ""
        self.seeding = True
        """Set to False by the seeder when every seed was offered."""
        committer.on_commit = self._committed
        committer.on_lost = self._lost

    def free(self, item: Freed) -> None:
        """Take note that a host may be asked again."""
        self._freed.append(item)
        self._claim_now.set()

    def seeded(self) -> None:
        """Take note that every seed was offered."""
        self.seeding = False
        self._claim_now.set()

    def offered(self) -> None:
        """Take note that something may have become ready."""
        self._claim_now.set()

    def stop(self, why: str) -> None:
        """Claim nothing more; requests in flight may finish."""
        if not self.stopped_by:
            self.stopped_by = why
        self._stopping.set()
        self._claim_now.set()

    async def run(self, visitor: Visitor, grants: Sequence[Grant]) -> None:
        """Crawl until finished, stopped or out of patience; what was visited is then safe."""
        self._mind_bytes()
        try:
            async with asyncio.TaskGroup() as helpers:
                workers = [
                    helpers.create_task(self._worker(visitor))
                    for _ in range(self._options.concurrency)
                ]
                background = [
                    helpers.create_task(self._committer.run()),
                    helpers.create_task(self._renew()),
                    helpers.create_task(self._follow_load()),
                    helpers.create_task(self._keep_time()),
                ]
                await self._claim_loop(grants)
                await self._drain()
                for task in (*workers, *background):
                    task.cancel()
        except* asyncio.CancelledError:
            pass
        finally:
            await self._committer.wind_up()
        try:
            await self._committer.flush()
        finally:
            await self._committer.wind_up()
        # A back-off learned while draining must hold in the next run too.
        freed, self._freed = self._freed, []
        await self._frontier.claim(grants, 0, freed=freed)

    async def _claim_loop(self, grants: Sequence[Grant]) -> None:
        while not self._stopping.is_set():
            wanted = self._wanted()
            if self._stopping.is_set():
                return
            freed, self._freed = self._freed, []
            claim = await self._frontier.claim(grants, wanted, lease_ms=self._lease_ms, freed=freed)
            for lease in claim.leases:
                self._live[lease.id] = lease
            self._leases.extend(claim.leases)
            self._wake_workers()
            if len(claim.leases) < wanted and await self._is_over(claim.next_ready_ms):
                return
            await self._rest(claim.next_ready_ms, got_all=len(claim.leases) == wanted)

    def _wanted(self) -> int:
        """Return how many leases to claim: enough to keep the workers busy, and a few ahead."""
        # A lease claimed ahead starts when a worker is free, which need not keep a delay.
        ahead = max(2, self._limit // 4) if self._options.ahead else 0
        wanted = self._limit + ahead - self._active - len(self._leases)
        if self._options.best_first:
            wanted = min(wanted, max(2, self._ended_pages // SETTLED) - len(self._live))
        if self._options.pages is not None:
            left = self._options.pages - self._ended_pages - len(self._live)
            if left <= 0 and not self._live:
                self.stop("pages limit")
            wanted = min(wanted, left)
        return max(0, wanted)

    async def _rest(self, next_ready_ms: int | None, *, got_all: bool) -> None:
        """Wait until there is a reason to claim again."""
        self._claim_now.clear()
        if not got_all and not self._leases:
            self._committer.hurry()
        timeout = IDLE_S
        if next_ready_ms is not None and not got_all:
            timeout = min(timeout, max(0.0, (next_ready_ms - self._clock.now_ms()) / 1000))
        try:
            async with asyncio.timeout(timeout):
                await self._claim_now.wait()
        except TimeoutError:
            pass

    async def _is_over(self, next_ready_ms: int | None) -> bool:
        """Tell whether the run has ended, finished or out of patience."""
        if self._live or self.seeding or self._committer.unsafe or self._freed:
            self._stats.waiting_until_ms = None
            return False
        counts = await self._reader.counts(self._job)
        if not counts.pending:
            self.stopped_by = "finished"
            return True
        wait_ms = (next_ready_ms or 0) - self._clock.now_ms()
        self._stats.waiting_until_ms = next_ready_ms
        if next_ready_ms is None or wait_ms > self._options.patience_s * 1000:
            self.stopped_by = "waiting"
            return True
        return False

    def _wake_workers(self) -> None:
        awake = min(len(self._leases), max(0, self._limit - self._active), len(self._idle))
        for _ in range(awake):
            waiter = self._idle.popleft()
            if not waiter.done():
                waiter.set_result(None)

    async def _worker(self, visitor: Visitor) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._leases or self._active >= self._limit:
                waiter = loop.create_future()
                self._idle.append(waiter)
                await waiter
                continue
            lease = self._leases.popleft()
            if len(self._leases) * 8 < self._limit:
                self._claim_now.set()
            self._active += 1
            try:
                visit = await visitor.visit(lease)
            finally:
                self._active -= 1
            await self._committer.add(visit)
            if self._options.best_first:
                self._committer.hurry()

    def _committed(self, visits: list[Visit]) -> None:
        stats = self._stats
        for visit in visits:
            self._live.pop(visit.lease.id, None)
            record = visit.page
            if record is not None:
                self._ended_pages += 1
                self._ended_bytes += record.bytes or 0
                stats.run_pages += 1
                stats.run_bytes += record.bytes or 0
                if record.status is not None:
                    stats.status_codes[record.status] += 1
            # Most sitemaps are guessed at, and what the trap guard cuts has a list of its own.
            is_page = visit.lease.role is Role.PAGE and (
                visit.record is None or visit.page is not None
            )
            if visit.reason and is_page and visit.result is not Result.DEFER:
                stats.errors[visit.reason] += 1
        self._mind_bytes()
        self._claim_now.set()

    def _mind_bytes(self) -> None:
        """Stop when enough has come, in this run or before it."""
        if self._options.bytes is not None and self._ended_bytes >= self._options.bytes:
            self.stop("bytes limit")

    def _lost(self, visits: list[Visit]) -> None:
        for visit in visits:
            self._live.pop(visit.lease.id, None)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(min(RENEW_S, self._lease_ms / 3000))
            await self._frontier.renew(list(self._live.values()), self._lease_ms)

    async def _keep_time(self) -> None:
        """Stop when the time is up."""
        if self._options.time_s is not None:
            await asyncio.sleep(self._options.time_s)
            self.stop("time limit")

    async def _follow_load(self) -> None:
        """Keep the limit on requests in flight in step with the machine."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOAD_S
            await asyncio.sleep(LOAD_S)
            load = read_load(max(0.0, loop.time() - due))
            self._limit = next_limit(self._limit, self._options.concurrency, load)
            self._stats.in_flight = self._active
            self._stats.limit = self._limit if self._limit < self._options.concurrency else 0
            self._wake_workers()

    async def _drain(self) -> None:
        """Let requests in flight finish, then make everything safe; the rest stays queued."""
        self._leases.clear()
        deadline = self._clock.boot() + self._options.drain_s
        while self._active and self._clock.boot() < deadline:
            self._committer.hurry()
            await asyncio.sleep(0.02)
        await self._committer.settle()
