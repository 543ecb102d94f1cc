"""A crawl in virtual time: members of known speed, slots with URLs in them, and the real control.

Every second each member works through the URLs of its slots as fast as it can, and beats.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from membership import MemoryTable, in_virtual_time

from skitter.cluster.control import Control
from skitter.cluster.effort import Effort
from skitter.frontier.members import Beat, Plan
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import SLOTS


@dataclass(eq=False)
class Worker:
    """One member, as fast as it is told to be."""

    name: str
    speed: float
    """Pages a minute."""
    effort: Effort
    control: Control
    time: float = 0.0
    """Pages it has had the time for and not ended yet."""
    pages: int = 0
    backlog: int = 0
    line: deque[int] = field(default_factory=deque)
    """A slot for each URL that waits or waited for it."""
    tells_spare: bool = True

    def beat(self) -> Beat:
        counted = self.effort.counted(self.pages, 0)
        if not self.tells_spare:
            counted = counted._replace(spare_ms=0)
        return Beat(name=self.name, session=self.name, **counted._asdict())


class Crawl:
    """Members on one table."""

    def __init__(self, speeds: Mapping[str, float], urls: int = 0) -> None:
        self.rng = random.Random(1)
        self.clock = VirtualClock()
        self.table = MemoryTable(self.clock.now_ms)
        self.workers: dict[str, Worker] = {}
        for name, speed in speeds.items():
            self.join(name, speed)
        self.plan = Plan(0)
        self.owners = [""] * SLOTS
        self.waiting = Counter(self.rng.randrange(SLOTS) for _ in range(urls))
        """URLs by slot."""
        self.moves: list[tuple[float, int]] = []
        """When slots changed hands, in minutes, and how many."""
        self.refill = True
        """Whether every page brings a URL, in a slot drawn at random."""
        self._began = self.clock.boot()

    def join(self, name: str, speed: float) -> None:
        control = Control(self.table, name, self.clock)
        self.workers[name] = Worker(name, speed, Effort(self.clock), control)

    def change_control(self) -> None:
        """Let control be taken anew, by one who remembers nothing."""
        self.table.until_ms = 0
        for worker in self.workers.values():
            worker.control = Control(self.table, worker.name, self.clock)

    @property
    def minutes(self) -> float:
        return (self.clock.boot() - self._began) / 60

    def run(self, minutes: float, arriving: float = 0.0) -> None:
        """Let time pass; so many URLs a minute come from elsewhere."""
        in_virtual_time(self.clock, self._run(round(minutes * 60), arriving / 60))

    async def _run(self, seconds: int, arriving: float) -> None:
        due = 0.0
        for _ in range(seconds):
            await asyncio.sleep(1)
            for worker in self.workers.values():
                view = await self.table.beat(worker.beat())
                await worker.control.step(view, await self.table.plan())
            self._follow(await self.table.plan())
            ended = sum(map(self._work, self.workers.values()))
            due += arriving + (ended if self.refill else 0)
            for _ in range(int(due)):
                self._queue(self.rng.randrange(SLOTS))
            due -= int(due)

    def _queue(self, slot: int) -> None:
        self.waiting[slot] += 1
        owner = self.workers[self.owners[slot]]
        owner.backlog += 1
        owner.line.append(slot)

    def _work(self, worker: Worker) -> int:
        """Let a member work for a second; answer the number of pages."""
        worker.time += worker.speed / 60
        ended = 0
        while ended < int(worker.time) and worker.line:
            slot = worker.line.popleft()
            if self.owners[slot] == worker.name and self.waiting[slot]:
                self.waiting[slot] -= 1
                ended += 1
        worker.effort.ended(ended)
        worker.pages += ended
        worker.backlog -= ended
        worker.time = min(worker.time - ended, 1.0)
        worker.effort.look(busy=worker.backlog > 0)
        return ended

    def _follow(self, plan: Plan) -> None:
        if plan.epoch == self.plan.epoch:
            return
        before, self.owners, self.plan = self.owners, plan.owners(), plan
        moved = [slot for slot, owner in enumerate(before) if owner != self.owners[slot]]
        self.moves.append((self.minutes, len(moved)))
        self.rng.shuffle(moved)
        for slot in moved:
            if before[slot] in self.workers:
                self.workers[before[slot]].backlog -= self.waiting[slot]
            owner = self.workers[self.owners[slot]]
            owner.backlog += self.waiting[slot]
            owner.line.extend([slot] * self.waiting[slot])

    def slots(self) -> dict[str, float]:
        """Return the part of all slots that each member is to own."""
        counted = Counter(self.owners)
        return {name: counted[name] / SLOTS for name in self.workers}

    def pages(self, minutes: float) -> dict[str, float]:
        """Let time pass; answer the part of the pages that each member brought."""
        before = {name: worker.pages for name, worker in self.workers.items()}
        self.run(minutes)
        brought = {name: worker.pages - before[name] for name, worker in self.workers.items()}
        return {name: pages / sum(brought.values()) for name, pages in brought.items()}
