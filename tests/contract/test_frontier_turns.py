"""What every frontier back end promises of further requests to a host, and of locks."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    OTHER_HOST,
    SLOTS,
    Rig,
    open_rig,
    path_of,
)

from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.model import Freed, Lease
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import slot_of

DELAY_MS = 1_000
SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


@pytest.fixture(params=sorted(BACKENDS))
async def wide(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """A store whose hosts take several requests at once."""
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend, per_host=3)
    await backend.close()


async def two_leases(rig: Rig) -> tuple[Lease, Lease]:
    """Lease a URL of a host and, a delay later, another one of it."""
    await rig.offer("a", "b", "c")
    first = await rig.take_one()
    rig.tick(DELAY_MS / 1000)
    return first, await rig.take_one()


# Another request under a gate


async def test_another_request_keeps_the_delay(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    rig.tick(5)
    assert await rig.store.turn(lease, HOST, DELAY_MS) == DELAY_MS


async def test_others_keep_the_delay_behind_it(wide: Rig) -> None:
    await wide.offer("a", "b")
    lease = await wide.take_one()
    wide.tick(5)
    assert await wide.store.turn(lease, HOST, DELAY_MS) == DELAY_MS
    wide.tick(DELAY_MS / 1000)
    assert await wide.take() == [], "the further request is made at this moment"
    wide.tick((DELAY_MS - 1) / 1000)
    assert await wide.take() == []
    wide.tick(0.001)
    assert [path_of(one) for one in await wide.take()] == ["b"]


async def test_it_waits_for_those_who_have_their_turn_before(wide: Rig) -> None:
    first, second = await two_leases(wide)
    assert await wide.store.turn(first, HOST, DELAY_MS) == DELAY_MS
    assert await wide.store.turn(second, HOST, DELAY_MS) == 2 * DELAY_MS
    wide.tick(3 * DELAY_MS / 1000 - 0.001)
    assert await wide.take() == []
    wide.tick(0.001)
    assert [path_of(one) for one in await wide.take()] == ["c"]


async def test_the_delay_it_names_is_that_of_the_host_from_then_on(wide: Rig) -> None:
    await wide.offer("a", "b", "c")
    lease = await wide.take_one()
    assert await wide.store.turn(lease, HOST, 3 * DELAY_MS) == 3 * DELAY_MS
    wide.tick(6 * DELAY_MS / 1000)
    assert [path_of(one) for one in await wide.take()] == ["b"]
    wide.tick(2 * DELAY_MS / 1000)
    assert await wide.take() == []
    wide.tick(DELAY_MS / 1000)
    assert [path_of(one) for one in await wide.take()] == ["c"]


async def test_a_wait_that_is_too_long_takes_nothing(wide: Rig) -> None:
    first, second = await two_leases(wide)
    assert await wide.store.turn(first, HOST, DELAY_MS, 5_000) == DELAY_MS
    assert await wide.store.turn(second, HOST, DELAY_MS, DELAY_MS) == 2 * DELAY_MS
    wide.tick(2 * DELAY_MS / 1000)
    assert [path_of(one) for one in await wide.take()] == ["c"], "only the first has taken a turn"


async def test_a_gate_that_a_redirect_entered_has_turns_as_well(wide: Rig) -> None:
    await wide.offer("a", wide.link("z", FAR_HOST))
    leases = {path_of(one): one for one in await wide.take()}
    assert await wide.store.enter(leases["a"], OTHER_HOST) == 0
    wide.tick(0.2)
    assert await wide.store.turn(leases["a"], OTHER_HOST, DELAY_MS) == DELAY_MS
    assert await wide.store.enter(leases["z"], OTHER_HOST) == 2 * DELAY_MS
    wide.tick(DELAY_MS / 1000)
    assert await wide.store.enter(leases["a"], OTHER_HOST) == 0
    freed = [Freed(leases["a"].id, OTHER_HOST)]
    await wide.take(freed=freed)
    wide.tick(DELAY_MS / 1000)
    assert await wide.store.enter(leases["z"], OTHER_HOST) == 0


async def test_where_one_request_is_allowed_the_gate_stays_closed(rig: Rig) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    await rig.store.turn(lease, HOST, DELAY_MS)
    rig.tick(60)
    assert await rig.take() == [], "the first has not let it go"
    assert await rig.take(freed=[Freed(lease.id, HOST)]) == []
    rig.tick(DELAY_MS / 1000)
    assert [path_of(one) for one in await rig.take()] == ["b"]


async def test_who_does_not_hold_the_gate_gets_no_turn(wide: Rig) -> None:
    await wide.offer("a", wide.link("z", FAR_HOST))
    leases = {path_of(one): one for one in await wide.take()}
    assert await wide.store.turn(leases["z"], HOST, 0) > 0
    assert await wide.store.turn(leases["a"], OTHER_HOST, 0) > 0
    await wide.end(leases["a"])
    assert await wide.store.turn(leases["a"], HOST, 0) > 0


async def test_a_host_without_a_delay_is_asked_at_once(wide: Rig) -> None:
    await wide.offer("a", "b")
    lease = await wide.take_one()
    wide.tick(DELAY_MS / 1000)
    assert await wide.store.turn(lease, HOST, 0) == 0
    assert len(await wide.take()) == 1


async def together(backend: Any) -> tuple[Rig, Any, list[Any], list[Any]]:
    """Open a store for two members: one has a host's slot for a while, the other all the rest."""
    rig = await open_rig(backend)
    other = await backend.join()
    await rig.store.disown(rig.grants)
    mine = await rig.store.own("member-1", [slot_of(HOST)], OWNER_TTL_MS)
    rest = [slot for slot in SLOTS if slot != slot_of(HOST)]
    return rig, other, mine, await other.own("member-2", rest, FOR_LONG_MS)


@pytest.mark.parametrize("kind", SHARED)
async def test_a_gate_far_from_its_member_is_free_soon_after_that_has_died(
    kind: str, tmp_path: Path
) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig, other, mine, rest = await together(backend)
    await rig.offer("a")
    [lease] = (await rig.store.claim(mine, 10)).leases
    assert await rig.store.enter(lease, FAR_HOST) == 0
    await other.offer([rig.link("c", FAR_HOST)])
    rig.tick(OWNER_TTL_MS / 1000)
    rest += await other.own("member-2", [slot_of(HOST)], FOR_LONG_MS)
    await other.claim(rest, 10)
    rig.tick(DELAY_MS / 1000)
    assert "c" in [path_of(one) for one in (await other.claim(rest, 10)).leases]
    await backend.close()


@pytest.mark.parametrize("kind", SHARED)
async def test_a_gate_far_from_its_member_is_kept_as_long_as_that_lives(
    kind: str, tmp_path: Path
) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig, other, mine, rest = await together(backend)
    await rig.offer("a")
    [lease] = (await rig.store.claim(mine, 10)).leases
    target = rig.link("target", FAR_HOST)
    assert await rig.store.enter(lease, FAR_HOST, target=target.fp) == 0
    await other.offer([rig.link("c", FAR_HOST), target])
    for _ in range(20):
        rig.tick(OWNER_TTL_MS / 2000)
        assert await rig.store.own("member-1", [slot_of(HOST)], OWNER_TTL_MS)
        assert (await other.claim(rest, 10)).leases == ()
    await rig.store.claim(mine, 0, freed=[Freed(lease.id, FAR_HOST)])
    rig.tick(DELAY_MS / 1000)
    assert len((await other.claim(rest, 10)).leases) == 1
    await backend.close()


# Locks


async def test_a_lock_has_one_holder_until_it_is_given_back(rig: Rig) -> None:
    lock = rig.store.lock
    assert await lock("robots:https://a.test", 7, 6_000) == 0
    assert await lock("robots:https://a.test", 8, 6_000) == 6_000
    rig.tick(2)
    assert await lock("robots:https://a.test", 8, 6_000) == 4_000
    assert await lock("robots:https://b.test", 8, 6_000) == 0, "another name is another lock"
    assert await lock("robots:https://a.test", 7, 0) == 0
    assert await lock("robots:https://a.test", 8, 6_000) == 0
    assert await lock("robots:https://a.test", 7, 6_000) == 6_000


async def test_a_lock_ends_by_itself_unless_it_is_kept(rig: Rig) -> None:
    lock = rig.store.lock
    assert await lock("name", 7, 6_000) == 0
    rig.tick(5)
    assert await lock("name", 7, 6_000) == 0
    rig.tick(5.999)
    assert await lock("name", 8, 6_000) == 1
    rig.tick(0.001)
    assert await lock("name", 8, 6_000) == 0
    assert await lock("name", 7, 6_000) == 6_000


async def test_only_its_holder_gives_a_lock_back(rig: Rig) -> None:
    lock = rig.store.lock
    assert await lock("name", 7, 6_000) == 0
    assert await lock("name", 8, 0) == 0
    assert await lock("name", 9, 6_000) == 6_000
    rig.tick(7)
    assert await lock("name", 7, 0) == 0, "one that has ended is nobody's"
    assert await lock("name", 9, 6_000) == 0


@pytest.mark.parametrize("name", ["", "ünïcode {braces}", "a" * 500, "x y\nz"])
async def test_any_text_names_a_lock(rig: Rig, name: str) -> None:
    assert await rig.store.lock(name, 1 << 60, 1_000) == 0
    assert await rig.store.lock(name, (1 << 60) + 1, 1_000) == 1_000
    assert await rig.store.lock(name, 1 << 60, 0) == 0
    assert await rig.store.lock(name, (1 << 60) + 1, 1_000) == 0


@pytest.mark.parametrize("kind", SHARED)
async def test_members_see_each_others_locks(kind: str, tmp_path: Path) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    other = await backend.join()
    assert await rig.store.lock("name", 7, 6_000) == 0
    assert await other.lock("name", 8, 6_000) == 6_000
    assert await rig.store.lock("name", 7, 0) == 0
    assert await other.lock("name", 8, 6_000) == 0
    await backend.close()
