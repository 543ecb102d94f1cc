"""What every frontier back end promises where many members share it, one sentence per test.

Those about ownership are for stores that members open themselves; where one process has the store,
that process grants everything.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    MANY_HOSTS,
    OTHER_HOST,
    SLOTS,
    Rig,
    open_rig,
    path_of,
    paths_of,
)

from skitter.errors import Fenced
from skitter.frontier.model import Ack, Counts, Freed, Hop, Result, UrlState
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import slot_of

SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))
TTL_MS = 5_000
LEASE_S = 120.001
HALF = len(SLOTS) // 2


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


class Pair:
    """Two members on one store: the one of the rig, and another."""

    def __init__(self, rig: Rig, other: Any) -> None:
        self.rig = rig
        self.one = rig.store
        self.two = other

    async def takeover(self) -> list[Any]:
        """Let the first member's ownership lapse and the second take all of it."""
        self.rig.grants = await self.one.own("member-1", SLOTS, TTL_MS)
        self.rig.tick(TTL_MS / 1000)
        granted: list[Any] = await self.two.own("member-2", SLOTS, FOR_LONG_MS)
        return granted


@pytest.fixture(params=SHARED)
async def pair(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Pair]:
    backend: Any = BACKENDS[request.param](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    yield Pair(rig, await backend.join())
    await backend.close()


# Totals and news


async def test_what_acks_add_to_the_totals_adds_up(rig: Rig) -> None:
    other = await rig.add_job("job-2")
    await rig.offer("a", rig.link("b", OTHER_HOST), rig.link("c", FAR_HOST, job=other))
    leases = {path_of(lease): lease for lease in await rig.take()}
    await rig.store.ack(
        [
            Ack(leases["a"], Result.DONE, tally=(("pages", 1), ("bytes", 1_000_000))),
            Ack(leases["b"], Result.DEAD, tally=(("pages", 1), ("dead", 1))),
            Ack(leases["c"], Result.DONE, tally=(("pages", 5),)),
        ]
    )
    assert await rig.store.tallies(rig.job) == {"pages": 2, "bytes": 1_000_000, "dead": 1}
    assert await rig.store.tallies(other) == {"pages": 5}
    await rig.crash()
    assert await rig.store.tallies(rig.job) == {"pages": 2, "bytes": 1_000_000, "dead": 1}


async def test_a_stale_ack_adds_nothing_to_the_totals(rig: Rig) -> None:
    await rig.offer("a")
    ack = Ack(await rig.take_one(), Result.DONE, tally=(("pages", 1),))
    await rig.store.ack([ack, ack])
    await rig.store.ack([ack])
    assert await rig.store.tallies(rig.job) == {"pages": 1}


async def test_whoever_claims_after_news_is_told_of_a_new_version(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first = await rig.ask(1)
    await rig.store.ack([Ack(first.leases[0], Result.DONE)], marks={"file": b"1"})
    second = await rig.ask(1)
    assert second.version == first.version
    links = [rig.link("c", FAR_HOST)]
    await rig.store.ack([Ack(second.leases[0], Result.DONE, links=links)], news={"scope": b"more"})
    third = await rig.ask(1)
    assert paths_of(third.leases) == ["c"]
    assert third.version > second.version
    assert await rig.store.mark("scope") == b"more"


async def test_whoever_claims_after_a_job_has_changed_is_told_of_a_new_version(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    before = await rig.ask(1)
    await rig.add_job("job-2")
    assert (await rig.ask(1)).version > before.version


# Page limits


async def test_no_more_is_leased_than_fits_into_the_pages_a_job_wants(rig: Rig) -> None:
    small = await rig.add_job("small", pages=3)
    await rig.offer(*[rig.link("x", host, job=small) for host in MANY_HOSTS[:10]])
    leases = await rig.take()
    assert len(leases) == 3
    assert await rig.take() == []
    await rig.store.ack([Ack(lease, Result.DONE, tally=(("pages", 1),)) for lease in leases])
    rig.tick(60)
    assert await rig.take() == []
    assert await rig.counts(small) == Counts(queued=7, done=3)


async def test_a_lease_that_ends_without_a_page_makes_room_for_another(rig: Rig) -> None:
    small = await rig.add_job("small", pages=2)
    await rig.offer(*[rig.link("x", host, job=small) for host in MANY_HOSTS[:5]])
    first, second = await rig.take()
    assert await rig.take() == []
    await rig.end(first, Result.DEAD)
    await rig.end(second, tally=(("pages", 1),))
    rig.tick(1)
    assert len(await rig.take()) == 1
    rig.tick(1)
    assert await rig.take() == []
    rig.tick(LEASE_S)
    again = await rig.take()
    rig.tick(1)
    assert len(again + await rig.take()) == 1


async def test_a_job_at_its_limit_does_not_hold_up_others_on_the_same_hosts(rig: Rig) -> None:
    small = await rig.add_job("small", pages=1, delay_ms=0)
    await rig.store.set_host(HOST, delay_ms=0)
    await rig.offer(rig.link("a", job=small, priority=9), rig.link("b", job=small, priority=9))
    await rig.offer("c", "d")
    taken = []
    for _ in range(4):
        for lease in await rig.take(1):
            taken.append(path_of(lease))
            await rig.end(lease, tally=(("pages", 1),))
    assert taken == ["a", "c", "d"]


async def test_pages_that_were_set_aside_use_up_the_limit_until_they_pass(rig: Rig) -> None:
    small = await rig.add_job("small", pages=2)
    await rig.offer(*[rig.link("x", host, job=small) for host in MANY_HOSTS[:5]])
    first, second = await rig.take()
    await rig.end(first, tally=(("aside", 1), ("rejected", 1)))
    await rig.end(second, tally=(("pages", 1),))
    rig.tick(1)
    assert await rig.take() == []
    await rig.add_job("small", pages=3)
    await rig.end(await rig.take_one(), tally=(("pages", 1), ("aside", -1)))
    rig.tick(1)
    assert len(await rig.take()) == 1, "one that has passed is no longer counted twice"


async def test_a_limit_that_is_raised_lets_a_job_go_on(rig: Rig) -> None:
    small = await rig.add_job("small", pages=1)
    await rig.offer(*[rig.link("x", host, job=small) for host in MANY_HOSTS[:3]])
    await rig.end(await rig.take_one(), tally=(("pages", 1),))
    assert await rig.take() == []
    await rig.add_job("small", pages=2)
    assert len(await rig.take()) == 1


# Dropped jobs


async def test_a_dropped_job_leaves_nothing_and_its_number_to_nobody(rig: Rig) -> None:
    doomed = await rig.add_job("doomed")
    link = rig.link("a", job=doomed)
    later = rig.link("later", job=doomed, not_before_ms=rig.now_ms + 5_000)
    await rig.offer(link, rig.link("b", OTHER_HOST, job=doomed), later, "kept")
    held = next(lease for lease in await rig.take() if lease.job == doomed)
    await rig.end(held, note=b"kept", digest=b"digest", tally=(("pages", 1),))
    await rig.store.drop_job(doomed)
    assert await rig.counts(doomed) == Counts()
    assert await rig.store.tallies(doomed) == {}
    assert await rig.store.contents(doomed, [b"digest"]) == [None]
    assert (await rig.store.notes(doomed))[0] == []
    assert (await rig.look(link)).state is UrlState.UNKNOWN
    assert [entry.id for entry in (await rig.store.jobs()).values()] == ["job-1"]
    again = await rig.add_job("doomed")
    assert again > doomed
    assert (await rig.offer(rig.link("a", job=again))).new == 1
    await rig.crash()
    rig.tick(10)
    assert sorted(await rig.paths_in_order()) == ["a", "kept"]


# Ownership


async def test_slots_of_a_live_member_are_left_out(pair: Pair) -> None:
    mine, free = SLOTS[:HALF], SLOTS[HALF:]
    await pair.one.disown(pair.rig.grants)
    await pair.one.own("member-1", mine, TTL_MS)
    assert [grant.slot for grant in await pair.two.own("member-2", SLOTS, TTL_MS)] == list(free)
    pair.rig.tick(TTL_MS / 1000 - 0.001)
    assert [grant.slot for grant in await pair.one.own("member-1", SLOTS, TTL_MS)] == list(mine)
    pair.rig.tick(0.001)
    assert [grant.slot for grant in await pair.one.own("member-1", SLOTS, TTL_MS)] == list(SLOTS)


async def test_disowned_slots_are_another_members_at_once(pair: Pair) -> None:
    rig = pair.rig
    await rig.offer("a", rig.link("b", OTHER_HOST))
    old = await rig.take()
    await pair.one.disown(rig.grants)
    granted = await pair.two.own("member-2", SLOTS, FOR_LONG_MS)
    assert [grant.slot for grant in granted] == list(SLOTS)
    before = {grant.slot: grant.fence for grant in rig.grants}
    assert all(grant.fence > before[grant.slot] for grant in granted)
    assert await rig.counts() == Counts(queued=2)
    with pytest.raises(Fenced):
        await pair.one.claim(rig.grants, 1)
    rig.tick(1)
    claim = await pair.two.claim(granted, 10)
    assert sorted(paths_of(claim.leases)) == ["a", "b"]
    assert {lease.lost for lease in claim.leases} == {0}
    assert (await pair.one.ack([Ack(lease, Result.DONE) for lease in old])).accepted == 0


async def test_a_member_hands_out_its_own_slots_alone(pair: Pair) -> None:
    rig = pair.rig
    hosts = MANY_HOSTS[:10]
    await pair.one.disown(rig.grants)
    slots = sorted({slot_of(host) for host in hosts})
    rig.grants = await pair.one.own("member-1", slots[:5], FOR_LONG_MS)
    others = await pair.two.own("member-2", slots[5:], FOR_LONG_MS)
    job = await rig.add_job("by host")
    await rig.offer(*[rig.link("x", host, job=job) for host in hosts])
    mine = {lease.slot for lease in await rig.take()}
    theirs = {lease.slot for lease in (await pair.two.claim(others, 100)).leases}
    assert (mine, theirs) == (set(slots[:5]), set(slots[5:]))


async def test_what_one_member_queues_another_hands_out(pair: Pair) -> None:
    rig = pair.rig
    assert await rig.take() == []
    await pair.two.offer([rig.link("a")])
    lease = await rig.take_one()
    links = [rig.link("b", OTHER_HOST), rig.link("c", FAR_HOST)]
    assert (await rig.end(lease, links=links)).new == 2
    assert (await pair.two.offer(links)).known == 2


async def test_when_the_time_of_an_owner_is_over_another_takes_its_slots_and_leases(
    pair: Pair,
) -> None:
    rig = pair.rig
    link = rig.link("a")
    await rig.offer(link, "b", rig.link("c", OTHER_HOST))
    old = {path_of(lease): lease for lease in await rig.take()}
    granted = await pair.takeover()
    before = {grant.slot: grant.fence for grant in rig.grants}
    assert all(grant.fence > before[grant.slot] for grant in granted)
    assert await rig.counts() == Counts(queued=3)
    assert (await pair.two.claim(granted, 10)).leases == ()
    rig.tick(1)
    claim = await pair.two.claim(granted, 10)
    assert {path_of(lease): lease.lost for lease in claim.leases} == {"a": 1, "c": 1}
    assert sorted(await pair.one.renew(list(old.values()))) == sorted(
        lease.id for lease in old.values()
    )
    with pytest.raises(Fenced):
        await rig.take()


async def test_late_acks_and_records_of_an_old_owner_change_nothing(pair: Pair) -> None:
    rig = pair.rig
    link, target = rig.link("a"), rig.link("target", FAR_HOST)
    await rig.offer(link)
    old = await rig.take_one()
    granted = await pair.takeover()
    receipt = await rig.end(
        old,
        note=b"kept",
        listed=True,
        tally=(("pages", 1),),
        digest=b"digest",
        links=[rig.link("near"), rig.link("away", OTHER_HOST)],
        hops=[Hop(target.fp, target.host)],
    )
    assert (receipt.accepted, receipt.stale, receipt.new) == (0, (old.id,), 0)
    assert await rig.counts() == Counts(queued=1)
    assert await pair.two.tallies(rig.job) == {}
    assert await pair.two.note(rig.job, HOST, link.fp) == b""
    assert await pair.two.contents(rig.job, [b"digest"]) == [None]
    assert (await pair.two.look(rig.job, FAR_HOST, target.fp)).state is UrlState.UNKNOWN
    assert await pair.one.enter(old, FAR_HOST) > 0
    rig.tick(1)
    [new] = (await pair.two.claim(granted, 10)).leases
    assert (await pair.two.ack([Ack(new, Result.DONE)])).accepted == 1


async def test_a_fenced_claim_changes_nothing(pair: Pair) -> None:
    rig = pair.rig
    await rig.offer("a", "b")
    await rig.take_one()
    granted = await pair.takeover()
    rig.tick(1)
    [lease] = (await pair.two.claim(granted, 1)).leases
    freed = [Freed(lease.id, HOST, delay_ms=0)]
    with pytest.raises(Fenced):
        await pair.one.claim(rig.grants, 10, freed=freed)
    rig.tick(60)
    assert (await pair.two.claim(granted, 10)).leases == ()


async def test_an_owner_whose_time_was_over_is_fenced_until_it_owns_anew(pair: Pair) -> None:
    rig = pair.rig
    await rig.offer("a", "b")
    rig.grants = await pair.one.own("member-1", SLOTS, TTL_MS)
    old = await rig.take_one()
    rig.tick(TTL_MS / 1000)
    with pytest.raises(Fenced):
        await rig.take()
    again = await pair.one.own("member-1", SLOTS, TTL_MS)
    before = {grant.slot: grant.fence for grant in rig.grants}
    assert all(grant.fence > before[grant.slot] for grant in again)
    assert (await rig.end(old)).stale == (old.id,)
    rig.grants = again
    rig.tick(1)
    assert paths_of(await rig.take()) == ["a"]


async def test_a_new_process_of_the_same_name_takes_over_at_once(pair: Pair) -> None:
    rig = pair.rig
    await rig.offer("a", rig.link("b", OTHER_HOST))
    lease = next(lease for lease in await rig.take() if lease.host == HOST)
    assert await pair.one.enter(lease, FAR_HOST) == 0
    granted = await pair.two.own("member-1", SLOTS, FOR_LONG_MS)
    assert [grant.slot for grant in granted] == list(SLOTS)
    assert await rig.counts() == Counts(queued=2)
    await pair.two.offer([rig.link("c", FAR_HOST)])
    rig.tick(1)
    claim = await pair.two.claim(granted, 10)
    assert sorted(paths_of(claim.leases)) == ["a", "b", "c"]


async def test_a_redirect_may_lead_into_slots_of_another_member(pair: Pair) -> None:
    rig = pair.rig
    await pair.one.disown(rig.grants)
    mine = [slot for slot in SLOTS if slot != slot_of(FAR_HOST)]
    rig.grants = await pair.one.own("member-1", mine, FOR_LONG_MS)
    others = await pair.two.own("member-2", [slot_of(FAR_HOST)], FOR_LONG_MS)
    await rig.offer("a", rig.link("b", FAR_HOST), rig.link("c", FAR_HOST))
    lease = await rig.take_one()
    [there] = (await pair.two.claim(others, 10)).leases
    assert await pair.one.enter(lease, FAR_HOST) > 0
    await pair.two.ack([Ack(there, Result.DONE)])
    rig.tick(1)
    assert (await pair.two.claim(others, 10)).leases == ()
    assert await pair.one.enter(lease, FAR_HOST) == 0
    await rig.take(freed=[Freed(lease.id, FAR_HOST)])
    rig.tick(1)
    assert paths_of((await pair.two.claim(others, 10)).leases) == ["c"]
