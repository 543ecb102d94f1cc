"""Members that come, go, stop and lose their store, in virtual time."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Any, cast

import pytest
from membership import FakeFrontier, Line, MemoryTable, RemoteTable, Slots, in_virtual_time

from skitter.cluster.effort import Counted
from skitter.cluster.tenure import EVERYTHING, Tenure
from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.base import OWNER_TTL_MS, Frontier
from skitter.frontier.model import Grant
from skitter.testing.virtual_clock import VirtualClock

FEW = 600
"""Slots in these stories, so that each of them can be looked at all the time."""
ALL = set(range(FEW))
TAKEOVER_S = 7.0


@pytest.fixture(autouse=True)
def few_slots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skitter.cluster.control.SLOTS", FEW)
    monkeypatch.setattr("skitter.cluster.tenure.SLOTS", FEW)


class Process:
    """One member: its tenure, the line to its store, what it works on and what it was told."""

    def __init__(self, fleet: "Fleet", name: str) -> None:
        self.fleet = fleet
        self.line = Line()
        self.busy: set[int] = set()
        self.lost: set[int] = set()
        self.tenure = Tenure(
            cast("Frontier", FakeFrontier(fleet.slots, self.line)),
            RemoteTable(fleet.table, self.line),
            name=name,
            clock=fleet.clock,
            node="here",
            busy=lambda: self.busy,
        )
        self.tenure.on_lost = self.lose
        self.task: asyncio.Task[None] | None = None

    def lose(self, slots: Collection[int]) -> None:
        self.lost |= set(slots)
        self.busy -= set(slots)

    async def start(self) -> "Process":
        await self.tenure.open()
        self.task = asyncio.create_task(self.tenure.run())
        self.fleet.running.append(self)
        return self

    async def kill(self) -> None:
        """End without a word to anyone."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])
        self.fleet.running.remove(self)

    async def leave(self) -> None:
        await self.kill()
        await self.tenure.close()

    def held(self) -> set[int]:
        return {grant.slot for grant in self.tenure._holdings.held if self.holds(grant.slot)}

    def claimable(self) -> set[int]:
        return {grant.slot for grant in self.tenure.grants}

    def holds(self, slot: int) -> bool:
        return self.tenure.holds(slot)


class Fleet:
    """Some processes on one store; nobody ever holds what another one does."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.slots = Slots(self.clock)
        self.table = MemoryTable(self.clock.now_ms)
        self.running: list[Process] = []

    async def start(self, *names: str) -> list[Process]:
        return [await Process(self, name).start() for name in names]

    def check(self) -> None:
        """Every right that anyone believes in is in the store, too."""
        for process in self.running:
            for grant in process.tenure._holdings.held:
                if process.holds(grant.slot):
                    owner = self.slots.owners[grant.slot]
                    assert (owner.member, owner.fence) == (process.tenure.name, grant.fence)
                    assert owner.until_ms > self.clock.now_ms()

    async def go_on(self, seconds: float) -> None:
        until = self.clock.boot() + seconds
        while self.clock.boot() < until:
            await asyncio.sleep(0.1)
            self.check()

    async def until(self, what: Callable[[], bool], at_most_s: float) -> float:
        """Wait for something; answer how long it took."""
        began = self.clock.boot()
        while not what():
            await asyncio.sleep(0.05)
            self.check()
            assert self.clock.boot() - began <= at_most_s, "took too long"
        return self.clock.boot() - began

    def settled(self) -> bool:
        """Tell whether every slot is claimable by one process or another, and each has some."""
        shares = [process.claimable() for process in self.running]
        return all(shares) and set[int]().union(*shares) == ALL


def story(tell: Callable[[Fleet], Awaitable[None]]) -> Callable[[], None]:
    """Make a test of a story that happens in virtual time."""

    def test() -> None:
        fleet = Fleet()

        async def play() -> None:
            await tell(fleet)
            for process in list(fleet.running):
                await process.kill()

        in_virtual_time(fleet.clock, play())

    test.__name__ = tell.__name__
    return test


@story
async def test_one_alone_owns_everything_at_once(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    assert a.claimable() == ALL
    assert a.tenure.status.members == 1
    assert a.tenure.status.slots == FEW
    assert a.tenure.status.leads


@story
async def test_ownership_is_kept_for_as_long_as_the_process_runs(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    grants, version = a.tenure.grants, a.tenure.version
    await fleet.go_on(60)
    assert a.tenure.version == version
    assert a.tenure.grants is grants
    assert a.lost == set()


@story
async def test_who_joins_gets_its_share_without_anyone_losing_work(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    await fleet.go_on(3)
    a.busy = {slot for slot in ALL if slot % 3 == 0}
    (b,) = await fleet.start("b")
    await fleet.until(lambda: len(b.claimable()) > 100, 4)
    given = ALL - a.claimable()
    assert len(given) == pytest.approx(FEW / 2, rel=0.06)
    assert a.held() == a.claimable() | (a.busy & given)
    assert b.claimable() == given - a.busy
    a.busy.clear()
    await fleet.until(fleet.settled, 1)
    assert a.lost == set()
    assert b.tenure.status.members == 2


@story
async def test_work_that_does_not_end_is_cut_off_after_ten_seconds(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    a.busy = set(ALL)
    assert a.tenure.complete
    (b,) = await fleet.start("b")
    await fleet.until(lambda: a.claimable() != ALL, 2)
    # It holds everything, and does not see what waits in the slots that are to go.
    assert a.held() == ALL
    assert not a.tenure.complete
    given = ALL - a.claimable()
    took = await fleet.until(fleet.settled, 12)
    assert took >= 9.5
    assert a.lost == given == b.claimable()


@story
async def test_the_slots_of_one_that_is_killed_are_claimable_within_seven_seconds(
    fleet: Fleet,
) -> None:
    a, b, c = await fleet.start("a", "b", "c")
    await fleet.until(fleet.settled, TAKEOVER_S)
    await fleet.go_on(1.7)
    await a.kill()
    await fleet.until(fleet.settled, TAKEOVER_S)
    assert b.tenure.status.members == 2
    assert b.tenure.status.leads != c.tenure.status.leads


@story
async def test_two_killed_at_once_are_taken_over_as_well(fleet: Fleet) -> None:
    a, b, c, d = await fleet.start("a", "b", "c", "d")
    await fleet.until(fleet.settled, TAKEOVER_S)
    await a.kill()
    await c.kill()
    await fleet.until(fleet.settled, TAKEOVER_S)
    assert b.claimable() | d.claimable() == ALL


@story
async def test_one_that_comes_when_all_others_are_long_dead_waits_for_nobody(fleet: Fleet) -> None:
    a, b = await fleet.start("a", "b")
    await fleet.until(fleet.settled, TAKEOVER_S)
    await a.kill()
    await b.kill()
    await fleet.go_on(30)
    (c,) = await fleet.start("c")
    assert c.claimable() == ALL


@story
async def test_an_orderly_leave_hands_over_within_two_seconds(fleet: Fleet) -> None:
    processes = await fleet.start("a", "b", "c")
    await fleet.until(fleet.settled, TAKEOVER_S)
    for process in processes[:2]:
        await fleet.go_on(1.3)
        began = fleet.clock.boot()
        await process.leave()
        await fleet.until(fleet.settled, 2)
        assert fleet.clock.boot() - began <= 2.2
    assert set(fleet.table.entries) == {"c"}


@story
async def test_one_that_retires_hands_over_what_it_does_not_work_on(fleet: Fleet) -> None:
    a, b = await fleet.start("a", "b")
    await fleet.until(fleet.settled, TAKEOVER_S)
    a.busy = set(sorted(a.claimable())[:10])
    a.tenure.retire()
    assert a.tenure.grants == ()
    await fleet.until(lambda: b.claimable() == ALL - a.busy, 3)
    assert a.held() == a.busy
    a.busy.clear()
    await fleet.until(lambda: b.claimable() == ALL, 1)
    await a.leave()
    assert a.lost == set()


@story
async def test_a_leave_waits_for_work_that_ends(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    a.busy = {5}
    leaving = asyncio.create_task(a.leave())
    await asyncio.sleep(4)
    assert a.holds(5)
    assert not leaving.done()
    a.busy.clear()
    await asyncio.wait_for(leaving, 1)
    assert fleet.slots.owned() == set()
    assert a.lost == set()


@story
async def test_a_leave_does_not_wait_for_work_that_does_not(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    a.busy = {5}
    await asyncio.wait_for(a.leave(), 11)
    assert a.lost == {5}
    assert fleet.slots.owned() == set()


@story
async def test_a_leave_from_a_store_that_is_gone_ends_all_the_same(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    a.line.cut()
    await asyncio.wait_for(a.leave(), 4)
    assert a.tenure.grants == ()
    assert not a.holds(5)


@story
async def test_a_process_that_was_stopped_holds_nothing_when_it_goes_on(fleet: Fleet) -> None:
    a, _ = await fleet.start("a", "b")
    await fleet.until(fleet.settled, TAKEOVER_S)
    mine = a.claimable()
    before = {grant.slot: grant.fence for grant in a.tenure.grants}
    fleet.clock.advance(8)
    assert a.claimable() == set()
    assert not any(map(a.holds, mine))
    assert a.lost == set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert a.lost == mine
    await fleet.until(fleet.settled, TAKEOVER_S)
    assert all(grant.fence != before.get(grant.slot) for grant in a.tenure.grants)


@story
async def test_one_that_stops_alone_finds_its_slots_taken(fleet: Fleet) -> None:
    a, b = await fleet.start("a", "b")
    await fleet.until(fleet.settled, TAKEOVER_S)
    mine = a.claimable()
    a.line.cut()
    await fleet.until(lambda: a.lost == mine, 4.6)
    assert not a.held()
    await fleet.until(lambda: b.claimable() == ALL, TAKEOVER_S)
    a.line.heal()
    await fleet.until(fleet.settled, TAKEOVER_S)
    assert a.claimable() | b.claimable() == ALL


@story
async def test_after_a_long_outage_everyone_owns_anew_what_it_had(fleet: Fleet) -> None:
    processes = await fleet.start("a", "b", "c")
    await fleet.until(fleet.settled, TAKEOVER_S)
    had = [process.claimable() for process in processes]
    plan = fleet.table.in_force
    for process in processes:
        process.line.cut()
    await fleet.go_on(60)
    assert [process.lost for process in processes] == had
    assert not any(process.tenure.grants for process in processes)
    for process in processes:
        process.line.heal()
        await fleet.go_on(0.4)
    await fleet.until(fleet.settled, 2)
    assert [process.claimable() for process in processes] == had
    assert fleet.table.in_force == plan, "an outage is no reason to move slots"


@story
async def test_a_short_outage_costs_nothing(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    version = a.tenure.version
    a.line.cut()
    await fleet.go_on(2.5)
    a.line.heal()
    await fleet.go_on(5)
    assert a.lost == set()
    assert a.tenure.version == version


@story
async def test_a_store_that_is_too_slow_is_not_trusted(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    a.line.delay_s = 3
    await fleet.go_on(20)
    a.line.delay_s = 0.001
    await fleet.until(fleet.settled, TAKEOVER_S)


@story
async def test_a_name_in_use_is_refused(fleet: Fleet) -> None:
    await fleet.start("a")
    await fleet.go_on(5)
    with pytest.raises(ConfigError, match="'a': another process on here uses it"):
        await fleet.start("a")


@story
async def test_one_that_takes_the_name_of_a_silent_one_waits_until_that_is_surely_gone(
    fleet: Fleet,
) -> None:
    (first,) = await fleet.start("a")
    await fleet.go_on(4)
    first.line.cut()
    await fleet.go_on(2.5)
    (second,) = await fleet.start("a")
    assert second.tenure.grants == ()
    await fleet.until(lambda: second.claimable() == ALL, 5)
    assert first.lost == ALL


@story
async def test_one_whose_name_was_taken_ends_with_a_clear_word(fleet: Fleet) -> None:
    (first,) = await fleet.start("a")
    await fleet.go_on(4)
    first.line.cut()
    await fleet.go_on(3)
    (second,) = await fleet.start("a")
    await fleet.go_on(5)
    first.line.heal()
    assert first.task is not None
    with pytest.raises(ConfigError, match="another process"):
        await first.task
    fleet.running.remove(first)
    await first.tenure.close()
    assert second.claimable() == ALL


@story
async def test_a_refused_claim_is_answered_by_owning_anew(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    fleet.slots.owners.clear()
    fleet.slots.own("thief", "thief", range(100), OWNER_TTL_MS)
    await a.tenure.refresh()
    assert a.claimable() == ALL - set(range(100))
    assert a.lost == ALL
    await fleet.until(fleet.settled, TAKEOVER_S)


@story
async def test_what_a_member_counts_is_there_for_others_to_see(fleet: Fleet) -> None:
    (a,) = await fleet.start("a")
    counted = Counted(pages=120, leases=7, busy_ms=5000, busy_visits=90, spare_ms=800)
    a.tenure.counted = lambda: counted
    await fleet.go_on(2)
    seen = fleet.table.entries["a"].beat
    assert (seen.name, seen.node) == ("a", "here")
    assert {name: getattr(seen, name) for name in counted._fields} == counted._asdict()


@story
async def test_everyone_knows_how_many_there_are_though_only_control_sees_them(
    fleet: Fleet,
) -> None:
    processes = await fleet.start("a", "b", "c")
    await fleet.until(fleet.settled, TAKEOVER_S)
    await fleet.go_on(2)
    assert [process.tenure.status.members for process in processes] == [3, 3, 3]
    assert sum(process.tenure._view.whole for process in processes) == 1


async def anything(fleet: Fleet, rng: random.Random, name: str) -> None:
    """Let one thing happen, and some time pass."""
    process = rng.choice(fleet.running)
    mine = sorted(process.claimable())
    process.busy = set(rng.sample(mine, min(50, len(mine))))
    match rng.randrange(7):
        case 0 if len(fleet.running) > 1:
            await process.kill()
        case 1 if len(fleet.running) > 1:
            await process.leave()
        case 2 if len(fleet.running) < 6:
            await fleet.start(name)
        case 3:
            process.line.cut()
            await fleet.go_on(rng.random() * 9)
            process.line.heal()
        case 4:
            process.line.delay_s = rng.choice([0.001, 0.05, 0.4])
        case 5:
            fleet.clock.advance(rng.random() * 9)
        case _:
            process.busy = set()
    await fleet.go_on(rng.random() * 5)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_nobody_holds_what_another_one_does(seed: int) -> None:
    rng = random.Random(seed)
    fleet = Fleet()

    async def play() -> None:
        await fleet.start("p-1", "p-2", "p-3")
        for number in range(40):
            await anything(fleet, rng, f"p{number}")
        for process in fleet.running:
            process.busy, process.line.delay_s = set(), 0.001
        await fleet.until(fleet.settled, TAKEOVER_S + 5)
        for process in list(fleet.running):
            await process.kill()

    in_virtual_time(fleet.clock, play())
    fences = [fence for _, _, fence in fleet.slots.history]
    assert fences == sorted(set(fences))


class OneOwner:
    """A back end that grants everything with the fence of its opening."""

    trouble = ""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.fence = 1
        self.returned: list[Grant] = []
        self.broken = False

    async def own(self, member: str, slots: Iterable[int], ttl_ms: int) -> list[Grant]:
        if self.broken:
            raise StoreUnavailable("the disk is full")
        return [Grant(slot, self.fence, self.clock.boot() + ttl_ms / 1000) for slot in slots]

    async def disown(self, grants: Iterable[Grant]) -> None:
        self.returned.extend(grants)


def alone(tell: Callable[[Tenure, OneOwner], Awaitable[Any]]) -> Callable[[], None]:
    def test() -> None:
        clock = VirtualClock()

        async def play() -> None:
            owner = OneOwner(clock)
            tenure = Tenure(cast("Frontier", owner), None, name="a", clock=clock)
            await tenure.open()
            task = asyncio.create_task(tenure.run())
            await tell(tenure, owner)
            task.cancel()
            await asyncio.wait([task])
            await tenure.close()
            assert [grant.slot for grant in owner.returned] == [0]

        in_virtual_time(clock, play())

    test.__name__ = tell.__name__
    return test


@alone
async def test_where_one_owner_grants_everything_one_grant_is_all(
    tenure: Tenure, owner: OneOwner
) -> None:
    await asyncio.sleep(60)
    assert [(grant.slot, grant.fence) for grant in tenure.grants] == [(0, 1)]
    assert tenure.holds(0)
    assert tenure.holds(16_000, 1)
    assert not tenure.holds(16_000, 2)
    assert tenure.status.slots == FEW
    tenure.retire()
    assert len(tenure.grants) == 1


@alone
async def test_a_new_opening_of_the_store_ends_all_rights_and_gives_new_ones(
    tenure: Tenure, owner: OneOwner
) -> None:
    lost: list[Collection[int]] = []
    tenure.on_lost = lost.append
    owner.fence = 2
    version = tenure.version
    await tenure.refresh()
    assert lost == [EVERYTHING]
    assert tenure.version > version
    assert tenure.holds(77, 2)
    assert not tenure.holds(77, 1)


@alone
async def test_a_store_without_room_ends_nothing_for_good(tenure: Tenure, owner: OneOwner) -> None:
    owner.broken = True
    await asyncio.sleep(10)
    assert tenure.grants == ()
    owner.broken = False
    await asyncio.sleep(2)
    assert tenure.holds(0)
