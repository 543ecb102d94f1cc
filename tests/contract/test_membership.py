"""What every table of members keeps to, whatever store it is in."""

import secrets
from collections.abc import AsyncIterator

import pytest
from membership import MemoryTable
from stores import KINDS, shared_redis, shared_store

from skitter.errors import ConfigError
from skitter.frontier.members import DEAD_MS, FORGET_MS, HEIR_MS, Beat, MemberTable, Plan, View
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import library
from skitter.frontier.redis.members import RedisMembers
from skitter.frontier.redis.nodes import Nodes
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import SLOTS

OWNERS = ["ann", "bob"] * (SLOTS // 2)
TABLES = ["memory", *KINDS]


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(params=TABLES)
async def table(request: pytest.FixtureRequest, clock: VirtualClock) -> AsyncIterator[MemberTable]:
    if request.param == "memory":
        yield MemoryTable(clock.now_ms)
        return
    nodes = Nodes(StoreAddress.parse(shared_store(request.param).url))
    await nodes.open()
    await nodes.load(library())
    yield RedisMembers(nodes, Keys(f"t-{secrets.token_hex(6)}"), now_ms=clock.now_ms)
    await nodes.close()


async def beat(table: MemberTable, name: str, session: str = "") -> View:
    return await table.beat(Beat(name=name, session=session or name, node="here"))


def names(view: View) -> list[str]:
    return [member.beat.name for member in view.members]


def plan(epoch: int) -> Plan:
    return Plan.of(epoch, OWNERS, ["ann", "bob"])


async def test_members_see_each_other_as_they_said_they_are(table: MemberTable) -> None:
    said = Beat(
        name="zoë",
        session="s1",
        started_ms=5,
        node="north",
        pages=2**40,
        leases=3,
        busy_ms=2**41,
        busy_visits=7,
        spare_ms=8,
        draining=True,
    )
    await table.beat(said)
    view = await beat(table, "ann")
    assert names(view) == ["ann", "zoë"]
    assert view.members[1].beat == said
    assert (view.plan_epoch, view.control, view.inherited_ms) == (0, "", None)


async def test_while_somebody_has_control_all_members_are_told_to_that_one_alone(
    table: MemberTable,
) -> None:
    await beat(table, "ann")
    view = await beat(table, "bob")
    assert (names(view), view.whole) == (["ann", "bob"], True)
    await table.lead("ann", 3000)
    view = await beat(table, "bob")
    assert (names(view), view.whole, view.control) == (["bob"], False, "ann")
    view = await beat(table, "ann")
    assert (names(view), view.whole, view.control) == (["ann", "bob"], True, "ann")


async def test_one_that_is_silent_for_four_seconds_is_dead(
    table: MemberTable, clock: VirtualClock
) -> None:
    await beat(table, "ann")
    clock.advance((DEAD_MS - 1) / 1000)
    view = await beat(table, "bob")
    assert names(view) == ["ann", "bob"]
    assert [member.silent_ms for member in view.members] == [DEAD_MS - 1, 0]
    clock.advance(0.001)
    assert names(await beat(table, "bob")) == ["bob"]
    assert names(await beat(table, "ann")) == ["ann", "bob"]


async def test_a_beat_that_is_repeated_is_one_beat(table: MemberTable) -> None:
    assert await beat(table, "ann") == await beat(table, "ann")


async def test_who_leaves_is_gone_at_once_and_control_with_it(table: MemberTable) -> None:
    await beat(table, "ann")
    assert await table.lead("ann", 3000) == 1
    for _ in range(2):
        await table.leave("ann", "ann")
    view = await beat(table, "bob")
    assert names(view) == ["bob"]
    assert view.control == ""
    assert await table.lead("bob", 3000) == 2


async def test_nobody_leaves_for_another_session_of_its_name(table: MemberTable) -> None:
    await beat(table, "ann", "new")
    await table.leave("ann", "old")
    assert names(await beat(table, "bob")) == ["ann", "bob"]


async def test_a_name_belongs_to_one_session_as_long_as_it_is_heard(
    table: MemberTable, clock: VirtualClock
) -> None:
    await beat(table, "ann", "one")
    clock.advance((HEIR_MS - 1) / 1000)
    with pytest.raises(ConfigError, match="'ann': another process on here uses it"):
        await beat(table, "ann", "two")
    await beat(table, "ann", "one")
    clock.advance(HEIR_MS / 1000)
    view = await beat(table, "ann", "two")
    assert view.inherited_ms == HEIR_MS
    assert names(view) == ["ann"]
    with pytest.raises(ConfigError):
        await beat(table, "ann", "one")


async def test_an_heir_that_repeats_its_beat_learns_the_same(
    table: MemberTable, clock: VirtualClock
) -> None:
    await beat(table, "ann", "one")
    clock.advance(3)
    assert (await beat(table, "ann", "two")).inherited_ms == 3000
    clock.advance(0.5)
    assert (await beat(table, "ann", "two")).inherited_ms == 3500


async def test_a_name_that_was_left_is_free(table: MemberTable) -> None:
    await beat(table, "ann", "one")
    await table.leave("ann", "one")
    assert (await beat(table, "ann", "two")).inherited_ms is None


async def test_the_dead_are_forgotten_after_a_minute(
    table: MemberTable, clock: VirtualClock
) -> None:
    await beat(table, "ann", "one")
    clock.advance(FORGET_MS / 1000)
    await beat(table, "bob")
    assert (await beat(table, "ann", "two")).inherited_ms is None


async def test_control_has_one_holder_and_its_epoch_only_grows(
    table: MemberTable, clock: VirtualClock
) -> None:
    assert await table.lead("ann", 3000) == 1
    assert await table.lead("ann", 3000) == 1
    assert await table.lead("bob", 3000) == 0
    assert (await beat(table, "bob")).control == "ann"
    clock.advance(2.999)
    assert await table.lead("ann", 3000) == 1
    clock.advance(3)
    assert (await beat(table, "bob")).control == ""
    assert await table.lead("bob", 3000) == 2
    assert await table.lead("ann", 3000) == 0


async def test_control_that_lapsed_and_was_found_free_again_has_a_new_epoch(
    table: MemberTable, clock: VirtualClock
) -> None:
    assert await table.lead("ann", 3000) == 1
    clock.advance(3)
    assert await table.lead("ann", 3000) == 2


async def test_a_plan_is_read_as_it_was_published(table: MemberTable) -> None:
    assert await table.plan() == Plan(0)
    epoch = await table.lead("ann", 3000)
    assert await table.publish(plan(1_750_000_000_000), epoch)
    assert await table.plan() == plan(1_750_000_000_000)
    assert (await beat(table, "bob")).plan_epoch == 1_750_000_000_000
    weighed = Plan.of(1_750_000_000_001, OWNERS, ["ann", "bob"], {"ann": 360.5, "bob": 0.0})
    assert await table.publish(weighed, epoch)
    assert await table.plan() == weighed


async def test_only_the_latest_control_puts_a_plan_in_force(
    table: MemberTable, clock: VirtualClock
) -> None:
    assert not await table.publish(plan(1), 1)
    first = await table.lead("ann", 3000)
    assert await table.publish(plan(1), first)
    clock.advance(3)
    second = await table.lead("bob", 3000)
    assert not await table.publish(plan(2), first)
    assert (await table.plan()).epoch == 1
    assert await table.publish(plan(2), second)


async def test_a_plan_is_replaced_by_a_later_one_only(
    table: MemberTable, clock: VirtualClock
) -> None:
    first = await table.lead("ann", 3000)
    assert await table.publish(plan(5), first)
    assert await table.publish(plan(5), first), "a repeat after a lost answer is no failure"
    assert not await table.publish(plan(4), first)
    clock.advance(3)
    second = await table.lead("bob", 3000)
    other = Plan.of(5, ["bob"] * SLOTS, ["bob"])
    assert not await table.publish(other, second)
    assert await table.plan() == plan(5)


async def test_namespaces_are_tables_of_their_own() -> None:
    nodes = Nodes(StoreAddress.parse(shared_redis().url))
    await nodes.open()
    await nodes.load(library())
    clock = VirtualClock()
    tables = [RedisMembers(nodes, Keys(name), now_ms=clock.now_ms) for name in ("t-one", "t-two")]
    await beat(tables[0], "ann")
    assert await tables[0].lead("ann", 3000) == 1
    view = await beat(tables[1], "ann", "other")
    assert names(view) == ["ann"]
    assert view.control == ""
    await nodes.close()


async def test_silence_is_counted_by_the_clock_of_the_server() -> None:
    nodes = Nodes(StoreAddress.parse(shared_redis().url))
    await nodes.open()
    await nodes.load(library())
    table = RedisMembers(nodes, Keys(f"t-{secrets.token_hex(6)}"))
    await beat(table, "ann")
    view = await beat(table, "bob")
    assert names(view) == ["ann", "bob"]
    assert view.members[0].silent_ms < 1000
    assert await table.lead("ann", 3000) == 1
    assert (await beat(table, "bob")).control == "ann"
    await nodes.close()
