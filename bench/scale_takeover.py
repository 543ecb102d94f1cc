"""A thousand members in virtual time, some of them killed: how long their hosts have no owner.

Every member is the real thing, tenure and control; the store is the one that the tests have. The
hosts count by the slots they fall into.
"""

import asyncio
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import cast

from bench.paths import ROOT
from skitter.cluster.tenure import Tenure
from skitter.frontier.base import Frontier
from skitter.testing.virtual_clock import VirtualClock

sys.path.append(str(ROOT / "tests" / "support"))
# What stands in for a store in the tests does so here.
from membership import (
    FakeFrontier,
    Line,
    MemoryTable,
    RemoteTable,
    Slots,
    in_virtual_time,
)

SETTLE_S = 40
LOOK_S = 0.1
AFTER_S = 15.0


@dataclass(slots=True, eq=False)
class Process:
    """One member, and the task that runs it."""

    tenure: Tenure
    task: asyncio.Task[None]

    async def kill(self) -> None:
        """End it without a word to anyone."""
        self.task.cancel()
        await asyncio.wait([self.task])


@dataclass(slots=True, kw_only=True)
class Takeover:
    """Shares of the hosts, from 0 to 1, that somebody may claim from, by seconds since an event."""

    killed: list[tuple[float, float]] = field(default_factory=list)
    joined: list[tuple[float, float]] = field(default_factory=list)

    @staticmethod
    def over_after(seen: Sequence[tuple[float, float]]) -> float:
        """Return from when on every host had an owner."""
        return next((at for at, share in reversed(seen) if share < 1), 0.0) + LOOK_S


class Fleet:
    """Members on one store."""

    def __init__(self, hosts: Sequence[int]) -> None:
        self._hosts = hosts
        self.clock = VirtualClock()
        self._slots = Slots(self.clock)
        self._table = MemoryTable(self.clock.now_ms)
        self.running: list[Process] = []

    async def start(self, names: Collection[str]) -> None:
        """Let members join, a few milliseconds one after the other."""
        for name in names:
            line = Line()
            tenure = Tenure(
                cast("Frontier", FakeFrontier(self._slots, line)),
                RemoteTable(self._table, line),
                name=name,
                clock=self.clock,
            )
            await tenure.open()
            self.running.append(Process(tenure, asyncio.create_task(tenure.run())))

    def owned(self) -> float:
        """Return the share of the hosts that somebody may claim from."""
        slots = {grant.slot for process in self.running for grant in process.tenure.grants}
        return sum(self._hosts[slot] for slot in slots) / sum(self._hosts)

    async def watch(self, seconds: float) -> list[tuple[float, float]]:
        """Look again and again for a while."""
        began, seen = self.clock.boot(), [(0.0, self.owned())]
        while (after := self.clock.boot() - began) < seconds:
            await asyncio.sleep(LOOK_S)
            seen.append((after + LOOK_S, self.owned()))
        return seen

    async def kill(self, count: int) -> None:
        """Kill some, the one in control among them."""
        self.running.sort(key=lambda process: not process.tenure.status.leads)
        gone, self.running = self.running[:count], self.running[count:]
        for process in gone:
            await process.kill()


def take_over(hosts: Sequence[int], members: int, changing: int) -> Takeover:
    """Kill some of the members at once, and later let as many join."""
    fleet = Fleet(hosts)
    found = Takeover()

    async def play() -> None:
        await fleet.start([f"member-{number:04}" for number in range(members)])
        await asyncio.sleep(SETTLE_S)
        await fleet.kill(changing)
        found.killed = await fleet.watch(AFTER_S)
        joining = asyncio.create_task(
            fleet.start([f"new-{number:04}" for number in range(changing)])
        )
        found.joined = await fleet.watch(AFTER_S)
        await joining
        for process in fleet.running:
            await process.kill()

    in_virtual_time(fleet.clock, play())
    return found
