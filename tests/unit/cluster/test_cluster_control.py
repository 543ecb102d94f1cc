"""Control: taken by whoever finds it free, and worth nothing to one who comes late."""

import pytest
from membership import MemoryTable

from skitter.cluster.control import LEAD_TTL_MS, Control, settled
from skitter.cluster.names import checked_name, default_name
from skitter.errors import ConfigError
from skitter.frontier.members import Beat, Plan, View
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import SLOTS


class Rig:
    """Members that beat when they are told to."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.table = MemoryTable(self.clock.now_ms)
        self.controls: dict[str, Control] = {}

    async def beat(self, name: str, *, draining: bool = False) -> View:
        return await self.table.beat(Beat(name=name, session=name * 2, draining=draining))

    async def step(self, name: str, *, draining: bool = False) -> Plan | None:
        control = self.controls.setdefault(name, Control(self.table, name * 2, self.clock))
        view = await self.beat(name, draining=draining)
        return await control.step(view, await self.table.plan())


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_the_first_one_there_takes_control_and_gets_everything(rig: Rig) -> None:
    plan = await rig.step("a")
    assert plan is not None
    assert plan.slots_of("a") == list(range(SLOTS))
    assert await rig.table.plan() == plan
    assert rig.controls["a"].leads


async def test_nothing_is_published_while_nobody_comes_or_goes(rig: Rig) -> None:
    await rig.step("a")
    assert await rig.step("a") is None
    assert await rig.step("b") is None
    assert not rig.controls["b"].leads


async def test_who_joins_gets_its_share_with_the_next_step_of_control(rig: Rig) -> None:
    first = await rig.step("a")
    await rig.step("b")
    second = await rig.step("a")
    assert first is not None
    assert second is not None
    assert second.epoch > first.epoch
    assert len(second.slots_of("b")) == pytest.approx(SLOTS / 2, rel=0.05)


async def test_one_that_is_draining_gets_nothing_though_it_is_alive(rig: Rig) -> None:
    await rig.step("a")
    await rig.beat("b", draining=True)
    assert await rig.step("a") is None
    await rig.beat("b")
    await rig.step("a")
    plan = await rig.table.plan()
    assert plan.members == ("a", "b")


async def test_the_last_one_to_drain_leaves_the_plan_as_it_is(rig: Rig) -> None:
    plan = await rig.step("a")
    assert await rig.step("a", draining=True) is None
    assert await rig.table.plan() == plan


async def test_control_that_died_is_replaced_and_the_dead_one_loses_its_slots(rig: Rig) -> None:
    await rig.step("a")
    await rig.step("b")
    await rig.step("a")
    seconds = 0.0
    while not (plan := await rig.step("b")):
        rig.clock.advance(0.5)
        seconds += 0.5
    assert seconds <= 4.5
    assert plan.members == ("b",)


async def test_a_plan_of_a_control_that_was_replaced_meanwhile_is_refused(rig: Rig) -> None:
    view = await rig.beat("a")
    late = Control(rig.table, "aa", rig.clock)
    await late.step(view, await rig.table.plan())
    rig.clock.advance(LEAD_TTL_MS / 1000)
    await rig.step("b")
    stale = View(view.members, view.plan_epoch, "aa")
    assert await late.step(stale, Plan(0)) is None
    assert not late.leads
    assert (await rig.table.plan()).members == ("a", "b")


async def test_a_store_that_lost_its_plan_gets_one_with_a_number_of_its_own(rig: Rig) -> None:
    lost = await rig.step("a")
    rig.table.in_force = Plan(0)
    rig.clock.advance(0.1)
    again = await rig.step("a")
    assert lost is not None
    assert again is not None
    assert again.epoch > lost.epoch


async def test_a_plan_is_settled_when_it_is_for_those_who_stay(rig: Rig) -> None:
    plan = Plan.of(1, ["a", "b"], ["b", "a"])
    await rig.beat("a")
    view = await rig.beat("b")
    assert settled(view, plan)
    assert not settled(await rig.beat("b", draining=True), plan)
    assert not settled(await rig.beat("c"), plan)


def test_a_plan_knows_slots_and_owners_also_of_one_that_got_none() -> None:
    plan = Plan.of(4, ["b", "a", "b"], ["a", "b", "c"])
    assert plan.owners() == ["b", "a", "b"]
    assert (plan.slots_of("b"), plan.slots_of("c"), plan.slots_of("x")) == ([0, 2], [], [])
    assert plan.members == ("a", "b", "c")
    assert plan.places == b"\x01\0\0\0\x01\0"


def test_names_are_drawn_and_those_that_people_choose_are_words() -> None:
    assert default_name() != default_name()
    assert checked_name(default_name())
    assert checked_name("fetcher-7@südost") == "fetcher-7@südost"
    for bad in ("", "two words", "tab\t", "bell\a", "x" * 101):
        with pytest.raises(ConfigError, match="member name"):
            checked_name(bad)
