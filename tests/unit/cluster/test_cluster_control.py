"""Control: taken by whoever finds it free, and worth nothing to one who comes late."""

import pytest
from membership import MemoryTable

from skitter.cluster.control import LEAD_TTL_MS, Control, settled
from skitter.cluster.effort import Counted
from skitter.cluster.names import checked_name, default_name
from skitter.errors import ConfigError
from skitter.frontier.members import Beat, Plan, View
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import SLOTS

NOTHING = Counted()


class Rig:
    """Members that beat when they are told to."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.table = MemoryTable(self.clock.now_ms)
        self.controls: dict[str, Control] = {}

    async def beat(self, name: str, counted: Counted = NOTHING, *, draining: bool = False) -> View:
        beat = Beat(name=name, session=name * 2, draining=draining, **counted._asdict())
        return await self.table.beat(beat)

    async def step(
        self, name: str, counted: Counted = NOTHING, *, draining: bool = False
    ) -> Plan | None:
        control = self.controls.setdefault(name, Control(self.table, name * 2, self.clock))
        view = await self.beat(name, counted, draining=draining)
        return await control.step(view, await self.table.plan())

    async def work(self, seconds: int, **pages_a_second: int) -> list[Plan]:
        """Let members work for a while, the first of them in control; answer the plans it made."""
        plans = []
        for second in range(1, seconds + 1):
            self.clock.advance(1)
            first, *others = pages_a_second
            for name in (*others, first):
                pages = second * pages_a_second[name]
                plan = await self.step(name, Counted(pages, 0, second * 1000, pages))
                plans += [plan] if plan is not None else []
        return plans


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


async def test_slots_follow_the_speed_of_members_a_little_at_a_time(rig: Rig) -> None:
    await rig.step("a")
    await rig.beat("b")
    await rig.step("a")
    first, *plans = await rig.work(700, a=20, b=30)
    assert len(first.slots_of("b")) <= SLOTS * 0.52
    assert len(plans) > 3
    last = plans[-1]
    assert len(last.slots_of("b")) == pytest.approx(SLOTS * 3 / 5, rel=0.02)
    assert last.known_weights() == pytest.approx({"a": 1200, "b": 1800}, rel=0.02)
    assert await rig.work(60, a=20, b=30) == []


async def test_control_that_changes_hands_moves_nothing_and_forgets_no_speed(rig: Rig) -> None:
    await rig.step("a")
    await rig.beat("b")
    await rig.step("a")
    *_, last = await rig.work(700, a=20, b=30)
    rig.table.until_ms = 0
    rig.controls.clear()
    assert await rig.work(600, b=30, a=20) == []
    assert await rig.table.plan() == last


async def test_one_who_comes_and_one_who_goes_change_nothing_between_the_others(rig: Rig) -> None:
    for name in "abc":
        await rig.step(name)
    await rig.step("a")
    await rig.work(700, a=10, b=20, c=30)
    before = await rig.table.plan()
    await rig.beat("d")
    await rig.step("a", Counted(7000, 0, 700_000, 7000))
    joined = await rig.table.plan()
    assert len(joined.slots_of("d")) == pytest.approx(SLOTS / 4, rel=0.05)
    assert all(set(joined.slots_of(name)) <= set(before.slots_of(name)) for name in "abc")
    await rig.table.leave("d", "dd")
    await rig.step("a", Counted(7010, 0, 701_000, 7010))
    left = await rig.table.plan()
    assert left.members == ("a", "b", "c")
    assert all(set(joined.slots_of(name)) <= set(left.slots_of(name)) for name in "abc")


async def test_a_plan_for_another_number_of_slots_is_as_good_as_none(rig: Rig) -> None:
    await rig.step("a")
    rig.table.in_force = Plan.of(7, ["a", "x"], ["a", "x"])
    await rig.step("a")
    assert (await rig.table.plan()).slots_of("a") == list(range(SLOTS))


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
    assert len(plan) == 3


def test_a_plan_keeps_the_weights_that_are_known() -> None:
    plan = Plan.of(4, ["b", "a"], ["a", "b", "c"], {"a": 360.00012, "c": 0.0})
    assert plan.weights == (360.0, 0.0, 0.0)
    assert plan.known_weights() == {"a": 360.0}
    assert Plan.of(4, ["b", "a"], ["a", "b"]).known_weights() == {}


def test_names_are_drawn_and_those_that_people_choose_are_words() -> None:
    assert default_name() != default_name()
    assert checked_name(default_name())
    assert checked_name("fetcher-7@südost") == "fetcher-7@südost"
    for bad in ("", "two words", "tab\t", "bell\a", "x" * 101):
        with pytest.raises(ConfigError, match="member name"):
            checked_name(bad)
