"""What frontier back ends promise when an operator changes how hosts are asked."""

from collections.abc import AsyncIterator, Collection
from pathlib import Path
from typing import Protocol, cast

import msgspec
import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    HOST,
    OTHER_HOST,
    Rig,
    Store,
    open_rig,
    paths_of,
)

from skitter.frontier.model import Freed, Result
from skitter.frontier.tuning import DRAIN_MS, NO_RULE, HostRule, NoRules, Tunable, Tuning
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey

NEAR = sorted(name for name in BACKENDS if not name.startswith("remote"))
"""Back ends that a process opens itself; a child leaves tuning to its master."""


class TunableStore(Store, Tunable, Protocol):
    """A store of this process."""


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


@pytest.fixture(params=NEAR)
async def near(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def store_of(rig: Rig) -> TunableStore:
    return cast("TunableStore", rig.store)


class Rules:
    """The same rule for some hosts."""

    def __init__(self, rule: HostRule, hosts: Collection[HostKey] = (HOST,)) -> None:
        self._rule = rule
        self._hosts = hosts

    def __bool__(self) -> bool:
        return True

    def __call__(self, host: HostKey) -> HostRule:
        return self._rule if host in self._hosts else NO_RULE


async def tune(
    rig: Rig,
    rule: HostRule = NO_RULE,
    hosts: Collection[HostKey] = (HOST,),
    *,
    keys: str = "delay per_host drain",
    exact: bool = False,
) -> int:
    return await store_of(rig).tune(
        Tuning(
            covers=hosts.__contains__,
            rule=lambda _: rule,
            delays="delay" in keys,
            per_hosts="per_host" in keys,
            drains="drain" in keys,
            host=HOST if exact else None,
        )
    )


async def ask_once(rig: Rig, delay_ms: int, *, floor_ms: int = 0, not_before_ms: int = 0) -> None:
    """Make a request to the host, which then rests."""
    lease = await rig.take_one()
    freed = Freed(lease.id, HOST, delay_ms, not_before_ms, floor_ms)
    await rig.take(0, freed=[freed])
    await rig.end(lease)


# A delay that changes


@pytest.mark.parametrize("exact", [False, True])
async def test_a_shorter_delay_ends_the_rest_that_the_old_one_made(near: Rig, exact: bool) -> None:
    await near.offer("a", "b")
    await ask_once(near, 3_600_000)
    near.tick(5)
    assert await near.take() == []
    assert await tune(near, HostRule(delay_ms=7_000), exact=exact) == 1
    near.tick(1.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


async def test_a_longer_delay_counts_for_a_host_that_rests_or_is_ready(near: Rig) -> None:
    await near.offer("a", "b")
    await ask_once(near, 1_000)
    near.tick(2)
    await tune(near, HostRule(delay_ms=10_000))
    near.tick(7.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


async def test_a_host_in_flight_keeps_the_new_delay(near: Rig) -> None:
    await near.offer("a", "b")
    lease = await near.take_one()
    await tune(near, HostRule(delay_ms=10_000))
    near.tick(1)
    await near.end(lease)
    near.tick(9.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


async def test_a_delay_that_is_taken_back_is_that_of_the_job(near: Rig) -> None:
    await near.offer("a", "b")
    await ask_once(near, 3_600_000)
    near.tick(0.5)
    await tune(near, NO_RULE)
    near.tick(0.499)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


async def test_no_setting_goes_below_what_the_site_asks_for(near: Rig) -> None:
    await near.offer("a", "b")
    await ask_once(near, 3_600_000, floor_ms=8_000)
    await tune(near, HostRule(delay_ms=0))
    near.tick(7.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


@pytest.mark.parametrize("old_ms", [1_000, 3_600_000])
async def test_no_setting_cuts_a_back_off_short(near: Rig, old_ms: int) -> None:
    await near.offer("a", "b")
    until = near.now_ms + 600_000
    lease = await near.take_one()
    rests = max(until, near.now_ms + old_ms)
    freed = Freed(lease.id, HOST, old_ms, rests, held_until_ms=until)
    await near.take(0, freed=[freed])
    await near.end(lease)
    await tune(near, HostRule(delay_ms=0))
    near.tick(599.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_what_was_tuned_survives_an_interruption(near: Rig, interruption: str) -> None:
    await near.offer("a", "b", "c")
    await ask_once(near, 1_000, floor_ms=300)
    await tune(near, HostRule(delay_ms=20_000))
    await getattr(near, interruption)()
    near.tick(19.999)
    assert await near.take() == []
    near.tick(1)
    await near.end(await near.take_one())
    await tune(near, HostRule(delay_ms=0))
    near.tick(0.299)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["c"]


async def test_other_hosts_and_other_things_stay_as_they_are(near: Rig) -> None:
    await near.offer("a", "b", near.link("a", OTHER_HOST), near.link("b", OTHER_HOST))
    for lease in await near.take():
        await near.end(lease)
    assert await tune(near, HostRule(delay_ms=0), keys="delay") == 1
    assert [lease.host for lease in await near.take()] == [HOST]
    near.tick(1)
    await tune(near, HostRule(delay_ms=60_000), [OTHER_HOST], keys="per_host")
    assert [lease.host for lease in await near.take()] == [OTHER_HOST]


async def test_hosts_that_nobody_knows_are_not_counted(near: Rig) -> None:
    await near.offer("a")
    assert await tune(near, HostRule(delay_ms=5_000), [FAR_HOST]) == 0
    assert await tune(near, HostRule(delay_ms=5_000), [FAR_HOST], keys="") == 0
    assert await tune(near, HostRule(delay_ms=5_000), [HOST], keys="") == 1


# Requests at the same time


async def test_more_requests_may_be_under_way_at_once_and_fewer_again(near: Rig) -> None:
    await near.offer("a", "b", "c", "d", "e")
    await tune(near, HostRule(delay_ms=0, per_host=3))
    taken = [await near.take_one() for _ in range(3)]
    assert await near.take() == []
    await tune(near, HostRule(delay_ms=0), keys="per_host")
    for lease in taken[:2]:
        await near.end(lease)
    assert await near.take() == []
    await near.end(taken[2])
    assert len(await near.take()) == 1


async def change_job(rig: Rig, per_host: int) -> None:
    entry = (await rig.store.jobs())[rig.job]
    await rig.store.put_job(msgspec.structs.replace(entry, per_host=per_host))


async def test_a_job_that_is_changed_leaves_alone_what_is_set(near: Rig) -> None:
    hosts = (HOST, OTHER_HOST)
    store_of(near).rules = Rules(HostRule(per_host=1))
    await near.offer(*(near.link(f"p{n}", host) for host in hosts for n in range(5)))
    await tune(near, HostRule(delay_ms=0), hosts, keys="delay")
    await change_job(near, 3)
    taken = [lease.host for _ in range(4) for lease in await near.take()]
    assert (taken.count(HOST), taken.count(OTHER_HOST)) == (1, 3)
    store_of(near).rules = NoRules()
    await tune(near, NO_RULE, keys="per_host")
    assert [lease.host for _ in range(3) for lease in await near.take()] == [HOST, HOST]


@pytest.mark.parametrize("interruption", ["", "restart", "crash"])
async def test_an_answer_mends_how_many_requests_may_be_under_way(
    rig: Rig, interruption: str
) -> None:
    await rig.offer(*"abcdefgh")
    lease = await rig.take_one()
    await rig.take(0, freed=[Freed(lease.id, HOST, 0, per_host=3)])
    await rig.end(lease)
    if interruption:
        await getattr(rig, interruption)()
    rig.tick(10)
    taken = [one for _ in range(5) for one in await rig.take(1)]
    assert len(taken) == 3
    await rig.take(0, freed=[Freed(0, HOST, per_host=1), Freed(taken[0].id, HOST, 0)])
    assert await rig.take() == [], "two are under way"


# Hosts to come


async def test_a_host_that_is_met_later_begins_with_its_rule(near: Rig) -> None:
    store_of(near).rules = Rules(HostRule(delay_ms=0, per_host=2))
    await near.offer("a", "b", "c", near.link("a", OTHER_HOST), near.link("b", OTHER_HOST))
    taken = [lease.host for _ in range(3) for lease in await near.take()]
    assert taken.count(HOST) == 2
    assert taken.count(OTHER_HOST) == 1


async def test_a_host_that_is_known_is_not_changed_by_meeting_it_again(near: Rig) -> None:
    await near.offer("a")
    store_of(near).rules = Rules(HostRule(delay_ms=0))
    await near.offer("b")
    await near.end(await near.take_one())
    assert await near.take() == []
    near.tick(1)
    assert paths_of(await near.take()) == ["b"]


async def test_a_host_that_a_redirect_leads_to_begins_with_its_rule(near: Rig) -> None:
    store_of(near).rules = Rules(HostRule(delay_ms=9_000), [OTHER_HOST])
    await near.offer("a")
    lease = await near.take_one()
    assert await near.store.enter(lease, OTHER_HOST) == 0
    await near.offer(near.link("b", OTHER_HOST))
    await near.take(0, freed=[Freed(lease.id, OTHER_HOST)])
    near.tick(8.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


# A member that heard of a change late


async def test_a_member_mends_a_rest_that_it_made_before_it_heard(rig: Rig) -> None:
    await rig.offer("a", "b")
    await ask_once(rig, 3_600_000, not_before_ms=rig.now_ms + 3_600_000)
    await rig.take(freed=[Freed(0, HOST, 2_000, retuned=True)])
    rig.tick(1.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_answers_by_the_old_delay_and_corrections_leave_no_wrong_rest(near: Rig) -> None:
    await near.offer("a", "b")
    lease = await near.take_one()
    # Raised while a request is under way, whose answer is told with the old delay.
    await tune(near, HostRule(delay_ms=100_000))
    near.tick(0.1)
    late = Freed(lease.id, HOST, 1_000, near.now_ms + 1_000)
    await near.take(0, freed=[late])
    await near.end(lease)
    near.tick(0.5)
    await near.take(0, freed=[Freed(0, HOST, 100_000, retuned=True)])
    near.tick(30)
    assert await near.take() == []
    await tune(near, HostRule(delay_ms=40_000))
    near.tick(9.499)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


async def test_a_back_off_that_comes_without_a_delay_is_not_cut_short(near: Rig) -> None:
    await near.offer("a", "b")
    lease = await near.take_one()
    await near.take(0, freed=[Freed(lease.id, HOST, not_before_ms=near.now_ms + 50_000)])
    await near.end(lease)
    await tune(near, HostRule(delay_ms=0))
    near.tick(49.999)
    assert await near.take() == []
    near.tick(0.001)
    assert paths_of(await near.take()) == ["b"]


# Hosts of which nothing is asked


async def test_the_urls_of_a_drained_host_come_without_its_gate(rig: Rig) -> None:
    await rig.offer("a", "b", "c", "d")
    first = await rig.take_one()
    assert first.gated
    rest = await rig.take(freed=[Freed(first.id, HOST, drains=True)])
    assert paths_of(rest) == ["b", "c", "d"]
    assert not any(lease.gated for lease in rest)
    for lease in [first, *rest]:
        await rig.end(lease, Result.DEAD)
    counts = await rig.counts()
    assert (counts.dead, counts.pending) == (4, 0)


async def test_a_gate_is_as_it_was_when_nobody_drains_its_host_any_more(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    first = await rig.take_one()
    [second] = await rig.take(1, freed=[Freed(first.id, HOST, 60_000, drains=True)])
    assert not second.gated
    await rig.end(second, Result.DEFER)
    rig.tick(DRAIN_MS / 1000)
    assert await rig.take() == []
    rig.tick(50)
    [again] = await rig.take()
    assert again.gated
    assert again.url == second.url


async def test_a_lease_without_a_gate_that_is_lost_frees_nothing(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    first = await rig.take_one(lease_ms=600_000)
    await rig.take(freed=[Freed(first.id, HOST, drains=True)], lease_ms=20_000)
    await rig.end(first, Result.DEAD)
    rig.tick(20)
    [lost] = await rig.take()
    assert lost.gated
    assert await rig.take() == []


async def test_a_host_that_rests_for_long_is_drained_at_once(near: Rig) -> None:
    await near.offer("a", "b")
    until = near.now_ms + 86_400_000
    lease = await near.take_one()
    freed = Freed(lease.id, HOST, 1_000, until, held_until_ms=until)
    await near.take(0, freed=[freed])
    await near.end(lease, Result.RETRY, at_ms=until)
    assert await near.take() == []
    await tune(near, HostRule(drains=True), keys="drain")
    taken = await near.take()
    taken += await near.take()
    assert sorted(paths_of(taken)) == ["a", "b"]
    assert not any(lease.gated for lease in taken)


async def test_what_ceases_to_be_drained_rests_on(near: Rig) -> None:
    await near.offer("a", "b")
    await ask_once(near, 5_000)
    await tune(near, HostRule(drains=True), keys="drain")
    await tune(near, NO_RULE, keys="drain")
    assert await near.take() == []
    near.tick(5)
    [lease] = await near.take()
    assert lease.gated
