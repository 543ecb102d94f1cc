"""Many visits at once: claims ahead of the workers, drains on stop, and knows when all is done.

Finished means: every seed was offered, nothing is leased, nothing is unsafe, and the frontier has
nothing queued or scheduled.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from contextlib import suppress

from skitter.cluster.effort import Counted, Effort
from skitter.crawl.doorbell import Doorbell
from skitter.crawl.in_hand import InHand
from skitter.crawl.load import loads, next_limit
from skitter.crawl.quota import Quota
from skitter.crawl.standing import Standings
from skitter.crawl.trip import Visit
from skitter.crawl.windows import wanted_by
from skitter.crawl.workforce import Workforce
from skitter.crawl.works import EngineOptions, Idleness, Patience, Works
from skitter.errors import Fenced, LeaseLost
from skitter.frontier.model import LEASE_MS, Ack, Claim, Freed, Lease, Result
from skitter.observability.stats import CrawlStats
from skitter.types import JobNumber

RENEW_S = LEASE_MS / 1000 / 3
IDLE_S = 1.0
"""How long a claim that brought nothing waits at most before the next look."""
UNUSABLE_MS = 5_000
"""How long a URL that this process cannot work on is left to others."""


class Engine:
    """Runs visits: those of one job until it is finished, or those of every job without end."""

    def __init__(
        self, works: Works, job: JobNumber | None, *, stats: CrawlStats, options: EngineOptions
    ) -> None:
        self._works = works
        self._frontier = works.frontier
        self._reader = works.reader
        self._clock = works.clock
        self._desks = works.desks
        self._holdings = works.holdings
        self._hand = InHand(works.rights)
        self._job, self._stats, self._options = job, stats, options
        self._limit = self._most = options.concurrency
        self._workforce = Workforce(self._worker)
        self._effort = Effort(works.clock)
        self._windows = works.windows
        self._freed = works.freed
        works.freed.on_new = self._claim_when_short
        self._doorbell = Doorbell(works.reader, self.offered)
        self._idle: deque[asyncio.Future[None]] = deque()
        self._claim_now = asyncio.Event()
        self._active = 0
        self._idleness = Idleness(options.idle_exit)
        self._version: int | None = None
        self._complete = False
        self._quota = Quota(stats, options)
        self.standings = Standings(works.reader, job, self.stop)
        self._stopping = asyncio.Event()
        self._patience = Patience(works.clock, options.drain_s)
        self.broken_off = False
        """Whether the run was ended without a word to the store, which did not answer."""
        self.stopped_by = ""
        self.seeding = True
        """Set to False by the seeder when every seed was offered."""

    def seeded(self) -> None:
        """Take note that every seed was offered."""
        self.seeding = False
        self.offered()

    def offered(self) -> None:
        """Take note that something may have become ready."""
        self._claim_now.set()

    def _claim_when_short(self) -> None:
        """Claim before workers have nothing: few claims of many cost less than many of few."""
        if len(self._hand.waiting) * 8 < self._limit:
            self._claim_now.set()

    def stop(self, why: str) -> None:
        """Claim nothing more; requests in flight may finish."""
        self.stopped_by = self.stopped_by or why
        self._stopping.set()
        self._claim_now.set()

    @property
    def is_stuck(self) -> bool:
        """Whether the run was told to stop and waits for a store that does not answer."""
        return self._patience.is_over(lasts=self._stopping.is_set() and bool(self._works.trouble))

    def break_off(self) -> None:
        """Wait for nothing more from a store that does not answer; others bring what was begun."""
        self.broken_off = bool(self._works.trouble)
        if self.broken_off:
            self._desks.break_off()

    def busy_slots(self) -> Collection[int]:
        """Return the slots in which leases are worked on."""
        return self._hand.slots

    @property
    def counted(self) -> Counted:
        """Pages ended in this run, leases held, and how fast it goes, for others to see."""
        return self._effort.counted(self._stats.run_pages, len(self._hand.live))

    def others_have(self, pages: int, leased: int) -> None:
        """Take note of how far the job is over all members: pages ended, URLs leased."""
        self._quota.others_have(pages, leased, self._own_live())

    def abort(self, slots: Collection[int]) -> None:
        """Give up everything in slots that passed to others: they bring those pages."""
        self._hand.abort(slots)
        self._claim_now.set()

    async def run(self) -> None:
        """Crawl until finished, stopped or out of patience; what was visited is then safe."""
        self._mind_limits()
        try:
            async with asyncio.TaskGroup() as helpers:
                beside = (self._renew(), self._follow_load(), self._keep_time())
                background = [helpers.create_task(work) for work in beside]
                self._desks.begin(helpers, self._committed, self._lost)
                self._workforce.begin(helpers, self._most)
                await self._claim_loop()
                await self._drain()
                self._workforce.end()
                for task in background:
                    task.cancel()
                self._desks.end()
        except* asyncio.CancelledError:
            pass
        finally:
            await self._doorbell.close()
            await self._desks.wind_up()
        if self.broken_off:
            return
        try:
            await self._desks.flush()
        finally:
            await self._desks.wind_up()
        await self._leave()

    async def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            await self._give_back(self._hand.take_returned())
            await self._desks.tend(lambda: self._hand.jobs)
            self._mind_limits()
            if self._stopping.is_set():
                return
            claim = await self._claim(wanted := self._wanted())
            if len(claim.leases) < wanted and await self._is_over(claim):
                return
            await self._rest(claim.next_ready_ms, got_all=len(claim.leases) == wanted)

    async def _claim(self, wanted: int) -> Claim:
        """Claim and begin; hosts that were freed are named again when the claim was refused."""
        freed = self._freed.take()
        asked_at = self._clock.boot()
        self._complete = self._holdings.complete
        try:
            claim = await self._frontier.claim(
                self._holdings.grants, wanted, lease_ms=self._options.lease_ms, freed=freed
            )
        except Fenced:
            self._freed.put_back(freed)
            await self._holdings.refresh()
            return Claim((), self._clock.now_ms())
        if claim.version != self._version:
            await self._take_up_news()
            self._version = claim.version
        self._hand.secure(claim.leases, asked_at)
        await self._begin(claim.leases)
        self._follow_settings()
        self._effort.look(busy=self._active + len(self._hand.waiting) >= self._limit)
        return claim

    async def _take_up_news(self) -> None:
        """Go by what others have told; what was claimed ahead of a paused job goes back."""
        await self._desks.take_up_news()
        await self._give_back(self._hand.take_waiting(await self.standings.look()))

    def _follow_settings(self) -> None:
        """Have as much under way as an operator lets this member have."""
        most = self._desks.concurrency or self._options.concurrency
        if most != self._most:
            self._most = self._limit = most
            self._workforce.grow(most)
            self._wake_workers()

    async def _begin(self, leases: Sequence[Lease]) -> None:
        """Hand leases to the workers; a job's first one opens its desk."""
        unusable: list[Lease] = []
        usable: list[Lease] = []
        for lease in leases:
            if lease.job in self._desks.open or await self._desks.of(lease.job) is not None:
                usable.append(lease)
            else:
                unusable.append(lease)
        granted = await self._granted(usable)
        unusable += [lease for lease in granted if not self._hand.begin(lease)]
        for lease in unusable:
            self._hand.end(lease)
        await self._give_back(unusable, self._clock.now_ms() + UNUSABLE_MS)
        self._wake_workers()

    async def _granted(self, leases: Sequence[Lease]) -> Sequence[Lease]:
        """Return the leases that rate windows allow now; the hosts of all others rest."""
        desks = self._desks.open
        wanted = wanted_by(leases, lambda lease: desks[lease.job].equipment.windows)
        if not wanted or self._windows is None:
            return leases
        refused = await self._windows.take(wanted)
        for lease in leases:
            if lease.id in refused:
                self._freed.add(Freed(lease.id, lease.host, None, refused[lease.id]))
                self._hand.end(lease)
        await self._give_back([lease for lease in leases if lease.id in refused])
        return [lease for lease in leases if lease.id not in refused]

    async def _give_back(self, leases: Sequence[Lease], at_ms: int | None = None) -> None:
        if leases:
            await self._frontier.ack([Ack(lease, Result.DEFER, at_ms) for lease in leases])

    def _wanted(self) -> int:
        """Return how many leases to claim: enough to keep the workers busy, and a few ahead."""
        # A lease claimed ahead starts when a worker is free, which need not keep a delay.
        ahead = 0 if self._desks.delayed else max(2, self._limit // self._options.ahead)
        wanted = self._limit + ahead - self._active - len(self._hand.waiting)
        return self._quota.most(wanted, self._own_live())

    def _is_own(self, lease: Lease) -> bool:
        """Tell whether a lease is one of the job this run is for; others are served beside it."""
        return self._job is None or lease.job == self._job

    def _own_live(self) -> int:
        """Return how many leases this run has of its own job."""
        live = self._hand.live
        return len(live) if len(self._desks.open) < 2 else sum(map(self._is_own, live.values()))

    async def _rest(self, next_ready_ms: int | None, *, got_all: bool) -> None:
        """Wait until there is a reason to claim again."""
        self._claim_now.clear()
        if not got_all:
            self._doorbell.listen()
            if not self._hand.waiting:
                self._desks.hurry()
        timeout = IDLE_S
        if next_ready_ms is not None and not got_all:
            timeout = min(timeout, max(0.0, (next_ready_ms - self._clock.now_ms()) / 1000))
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._claim_now.wait()

    async def _is_over(self, claim: Claim) -> bool:
        """Tell whether the run has ended, finished or out of patience."""
        if self._is_busy(claim):
            self._idleness.end()
            self._stats.waiting_until_ms = None
            return False
        if self._job is None:
            self.stopped_by = self._idleness.one_more() or self.stopped_by
            return bool(self.stopped_by)
        counts = await self._reader.counts(self._job)
        # A second look: counters of a shared store are not all read at one moment.
        if not counts.pending and await self._reader.counts(self._job) == counts:
            self.stopped_by = await self.standings.end()
            return True
        # Slots that came in only since the claim were not asked.
        complete = self._complete and self._holdings.complete
        busy = self._freed or counts.leased or not counts.pending or not complete
        if busy or await self.standings.is_paused():
            # Another member is at work on it, or may be; or somebody is to resume it.
            self._stats.waiting_until_ms = None
            return False
        self._stats.waiting_until_ms = next_ready_ms = claim.next_ready_ms
        wait_ms = (next_ready_ms or 0) - self._clock.now_ms()
        if next_ready_ms is None or wait_ms > self._options.patience_s * 1000:
            self.stopped_by = await self._quota.reached_by_all(self._reader, self._job) or "waiting"
            return True
        return False

    def _is_busy(self, claim: Claim) -> bool:
        """Tell whether something this run is for is under way in this process."""
        if self._job is None:
            return bool(claim.leases or self._hand.live or self._desks.unsafe or self._freed)
        if self.seeding or self._own_live() or self._desks.open[self._job].committer.unsafe:
            return True
        return any(map(self._is_own, claim.leases))

    def _wake_workers(self) -> None:
        awake = min(len(self._hand.waiting), max(0, self._limit - self._active), len(self._idle))
        for _ in range(awake):
            if not (waiter := self._idle.popleft()).done():
                waiter.set_result(None)

    async def _worker(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if not self._hand.waiting or self._active >= self._limit:
                waiter = loop.create_future()
                self._idle.append(waiter)
                await waiter
                continue
            lease = self._hand.waiting.popleft()
            self._claim_when_short()
            await self._work(lease)

    async def _work(self, lease: Lease) -> None:
        desk = self._desks.open[lease.job]
        self._active += 1
        try:
            with self._hand.visiting(lease):
                visit = await desk.visitor.visit(lease)
        except LeaseLost:
            # Whoever has it now brings the page and its links, but not those held back for it.
            await desk.queue_unheld()
            self._hand.lose(lease)
            self._claim_now.set()
            return
        finally:
            self._active -= 1
            if self._windows is not None:
                self._windows.end(lease.id)
        self._effort.ended(1)
        await desk.committer.add(visit)
        if self._options.best_first or desk.is_waited_for:
            desk.committer.hurry()

    def _committed(self, visits: list[Visit]) -> None:
        for visit in visits:
            self._hand.end(visit.lease)
            if self._is_own(visit.lease):
                self._quota.ended(visit)
        self._mind_limits()
        self._claim_when_short()

    def _mind_limits(self) -> None:
        """Stop when enough has come, in this run or before it."""
        if reached := self._quota.reached(self._own_live()):
            self.stop(reached)

    def _lost(self, visits: list[Visit]) -> None:
        for visit in visits:
            self._hand.end(visit.lease)
        self.offered()

    async def _renew(self) -> None:
        lease_ms = self._options.lease_ms
        while True:
            await asyncio.sleep(min(RENEW_S, lease_ms / 3000))
            leases = list(self._hand.live.values())
            asked_at = self._clock.boot()
            gone = set(await self._frontier.renew(leases, lease_ms))
            held = [lease for lease in leases if lease.id in self._hand.live]
            self._hand.secure([lease for lease in held if lease.id not in gone], asked_at)
            for lease in held:
                if lease.id in gone:
                    self._hand.drop(lease)
            self._claim_now.set()

    async def _keep_time(self) -> None:
        """Stop when the time is up."""
        if self._options.time_s is not None:
            await asyncio.sleep(self._options.time_s)
            self.stop("time limit")

    async def _follow_load(self) -> None:
        """Keep the limit on requests in flight in step with the machine."""
        async for load in loads():
            self._limit = next_limit(self._limit, self._most, load)
            self._stats.in_flight = self._active
            self._stats.limit = self._limit if self._limit < self._most else 0
            self._wake_workers()

    async def _drain(self) -> None:
        """Let requests in flight finish, then make everything safe; the rest stays queued."""
        await self._give_back(self._hand.take_waiting())
        deadline = self._clock.boot() + self._options.drain_s
        while self._active and self._clock.boot() < deadline:
            self._desks.hurry()
            await asyncio.sleep(0.02)
        await self._desks.settle()

    async def _leave(self) -> None:
        """Give back what was broken off; a back-off learned while draining must hold as well.

        What was counted of links is kept: a member may not come back.
        """
        for desk in self._desks.open.values():
            await desk.leave()
        await self._give_back([*self._hand.take_returned(), *self._hand.live.values()])
        if self._freed:
            # Slots that are another's by now were let go together with their hosts.
            with suppress(Fenced):
                await self._frontier.claim(self._holdings.grants, 0, freed=self._freed.take())
