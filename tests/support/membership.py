"""Members without a store: virtual time for whole loops, a table in memory, slots with fences."""

import asyncio
import itertools
import math
import selectors
from collections.abc import Callable, Coroutine, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, TypeVar

from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.members import (
    DEAD_MS,
    FORGET_MS,
    HEIR_MS,
    Beat,
    Member,
    Plan,
    View,
    name_taken,
)
from skitter.frontier.model import Grant
from skitter.testing.virtual_clock import VirtualClock

T = TypeVar("T")


class _Selector(selectors.SelectSelector):
    """Never waits: the time a loop would have slept for is over at once."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing is going to happen")
        if timeout > 0:
            self._clock.advance(math.ceil(timeout * 1000) / 1000)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop that lives on a virtual clock; work for threads is done in between."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        super().__init__(_Selector(clock))

    def time(self) -> float:
        return self._clock.boot()

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        del executor
        future: asyncio.Future[T] = self.create_future()
        future.set_result(func(*args))
        return future


def in_virtual_time(clock: VirtualClock, main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, in no time."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(clock)) as runner:
        return runner.run(main)


class Line:
    """What lies between a member and its store; calls wait while it is cut."""

    def __init__(self, delay_s: float = 0.001) -> None:
        self.delay_s = delay_s
        self._whole = asyncio.Event()
        self._whole.set()

    def cut(self) -> None:
        self._whole.clear()

    def heal(self) -> None:
        self._whole.set()

    async def go_there(self) -> None:
        await asyncio.sleep(self.delay_s)
        await self._whole.wait()

    async def come_back(self) -> None:
        await asyncio.sleep(self.delay_s)


@dataclass
class _Entry:
    beat: Beat
    seen_ms: int
    heir_of: int | None


@dataclass
class MemoryTable:
    """A table that is shared by being the same object."""

    now_ms: Callable[[], int]
    entries: dict[str, _Entry] = field(default_factory=dict)
    control: str = ""
    epoch: int = 0
    until_ms: int = 0
    in_force: Plan = field(default_factory=lambda: Plan(0))
    by: int = 0

    async def beat(self, beat: Beat) -> View:
        now = self.now_ms()
        earlier = self.entries.get(beat.name)
        heir_of = None
        if earlier is not None:
            heir_of = earlier.heir_of
            if earlier.beat.session != beat.session:
                if now - earlier.seen_ms < HEIR_MS:
                    raise name_taken(beat.name, earlier.beat.node)
                heir_of = earlier.seen_ms
        self.entries[beat.name] = _Entry(beat, now, heir_of)
        silent = {name: now - entry.seen_ms for name, entry in self.entries.items()}
        for name, silence in silent.items():
            if silence >= FORGET_MS:
                del self.entries[name]
        control = self.control if self.until_ms > now else ""
        whole = control in ("", beat.session)
        told = sorted(self.entries) if whole else [beat.name]
        return View(
            members=tuple(
                Member(self.entries[name].beat, silent[name])
                for name in told
                if silent[name] < DEAD_MS
            ),
            plan_epoch=self.in_force.epoch,
            control=control,
            inherited_ms=None if heir_of is None else now - heir_of,
            whole=whole,
        )

    async def leave(self, name: str, session: str) -> None:
        if name in self.entries and self.entries[name].beat.session == session:
            del self.entries[name]
        if self.control == session:
            self.until_ms = 0

    async def lead(self, session: str, ttl_ms: int) -> int:
        now = self.now_ms()
        if self.until_ms <= now:
            self.epoch += 1
        elif self.control != session:
            return 0
        self.control, self.until_ms = session, now + ttl_ms
        return self.epoch

    async def publish(self, plan: Plan, epoch: int) -> bool:
        held = (self.in_force.epoch, self.by)
        if (
            epoch != self.epoch
            or plan.epoch < held[0]
            or (plan.epoch == held[0] and held[1] != epoch)
        ):
            return False
        self.in_force, self.by = plan, epoch
        return True

    async def plan(self) -> Plan:
        return self.in_force


class RemoteTable:
    """A table at the other end of a line."""

    def __init__(self, table: MemoryTable, line: Line) -> None:
        self._table = table
        self._line = line

    async def beat(self, beat: Beat) -> View:
        return await self._call(self._table.beat, beat)

    async def leave(self, name: str, session: str) -> None:
        await self._call(self._table.leave, name, session)

    async def lead(self, session: str, ttl_ms: int) -> int:
        return await self._call(self._table.lead, session, ttl_ms)

    async def publish(self, plan: Plan, epoch: int) -> bool:
        return await self._call(self._table.publish, plan, epoch)

    async def plan(self) -> Plan:
        return await self._call(self._table.plan)

    async def _call(self, verb: Callable[..., Coroutine[Any, Any, T]], *args: Any) -> T:
        await self._line.go_there()
        answer = await verb(*args)
        await self._line.come_back()
        return answer


@dataclass
class _Owner:
    session: object
    member: str
    fence: int
    until_ms: int


@dataclass
class Slots:
    """Who owns which slot, as a store sees it: leases with fences, on its own clock."""

    clock: VirtualClock
    owners: dict[int, _Owner] = field(default_factory=dict)
    fences: Iterable[int] = field(default_factory=lambda: itertools.count(1))
    history: list[tuple[int, str, int]] = field(default_factory=list)
    """Slot, member and fence of every change of hands."""

    def own(
        self, session: object, member: str, slots: Iterable[int], ttl_ms: int
    ) -> dict[int, int]:
        now = self.clock.now_ms()
        granted = {}
        for slot in slots:
            owner = self.owners.get(slot)
            live = owner is not None and owner.until_ms > now
            if owner is not None and live and owner.session is session:
                owner.until_ms = now + ttl_ms
                granted[slot] = owner.fence
            elif owner is None or not live or owner.member == member:
                fence = next(iter(self.fences))
                self.owners[slot] = _Owner(session, member, fence, now + ttl_ms)
                self.history.append((slot, member, fence))
                granted[slot] = fence
        return granted

    def disown(self, session: object, fences: Mapping[int, int]) -> None:
        for slot, fence in fences.items():
            owner = self.owners.get(slot)
            if owner is not None and owner.session is session and owner.fence == fence:
                del self.owners[slot]

    def owned(self, member: str | None = None) -> set[int]:
        """Return the slots a member owns, or anyone."""
        now = self.clock.now_ms()
        return {
            slot
            for slot, owner in self.owners.items()
            if owner.until_ms > now and member in (None, owner.member)
        }


class FakeFrontier:
    """The part of a frontier that deals in slots."""

    trouble = ""

    def __init__(self, slots: Slots, line: Line) -> None:
        self._slots = slots
        self._line = line

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        before = self._slots.clock.boot()
        await self._line.go_there()
        granted = self._slots.own(self, member, slots, ttl_ms)
        await self._line.come_back()
        return [Grant(slot, fence, before + ttl_ms / 1000) for slot, fence in granted.items()]

    async def disown(self, grants: Iterable[Grant]) -> None:
        await self._line.go_there()
        self._slots.disown(self, {grant.slot: grant.fence for grant in grants})
        await self._line.come_back()
