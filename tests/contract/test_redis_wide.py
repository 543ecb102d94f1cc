"""Who may claim what, where that is not decided by the host alone; and hosts that are moved."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from cut_proxy import CutProxy
from frontier_backends import HOST, MANY_HOSTS, Rig, open_rig, paths_of
from redis_backend import Member, RedisBackend
from stores import shared_redis

from skitter.cluster.holdings import Holdings
from skitter.crawl.in_hand import InHand
from skitter.crawl.rights import Rights
from skitter.errors import Fenced, LeaseLost
from skitter.frontier.model import LEASE_MS, Ack, Counts, Grant, Lease, Result
from skitter.frontier.redis.keys import Keys
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey
from skitter.url.partition import BUCKETS, SLOTS, TAGS, Partition, slot_of, tag_of

TTL_MS = 5_000
DOMAINS = [f"site{number}.com" for number in range(12)]
SIBLINGS = [HostKey(f"{name}.{domain}") for domain in DOMAINS for name in ("a", "b", "c")]


class Pair:
    """Two members, each with half of the slots."""

    def __init__(self, rig: Rig, one: Member, two: Member) -> None:
        self.rig = rig
        self.one, self.two = one, two
        self.ones: list[Grant] = []
        self.twos: list[Grant] = []

    async def own(self) -> None:
        self.ones = await self.one.own("one", range(0, SLOTS, 2), TTL_MS)
        self.twos = await self.two.own("two", range(1, SLOTS, 2), TTL_MS)

    async def hosts(self, member: Member, k: int = 100) -> list[HostKey]:
        grants = self.ones if member is self.one else self.twos
        return [lease.host for lease in (await member.claim(grants, k)).leases]


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    backend = RedisBackend(tmp_path, VirtualClock())
    rig = await open_rig(backend, delay_ms=0)
    assert isinstance(rig.store, Member)
    await rig.store.disown(rig.grants)
    found = Pair(rig, rig.store, await backend.join())
    await found.own()
    yield found
    await backend.close()


@pytest.mark.parametrize("kind", [Partition.URL, Partition.SHARED])
async def test_members_share_the_urls_of_one_host_and_nobody_gets_one_twice(
    pair: Pair, kind: Partition
) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, per_host=50, partition=kind)
    await rig.offer(*(rig.link(f"p{n}", job=job) for n in range(20)))

    first = (await pair.one.claim(pair.ones, 7)).leases
    second = (await pair.two.claim(pair.twos, 7)).leases

    assert (len(first), len(second)) == (7, 7)
    assert len({*paths_of(first), *paths_of(second)}) == 14
    assert await rig.counts(job) == Counts(queued=6, leased=14)


@pytest.mark.parametrize("kind", [Partition.DOMAIN, Partition.SUBSITE])
async def test_what_belongs_together_goes_to_one_member(pair: Pair, kind: Partition) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, partition=kind)
    hosts = SIBLINGS if kind is Partition.DOMAIN else [HostKey(f"a.b{n}.x.com") for n in range(9)]
    await rig.offer(*(rig.link("p", host, job=job) for host in hosts))

    ones, twos = await pair.hosts(pair.one), await pair.hosts(pair.two)

    assert sorted([*ones, *twos]) == sorted(hosts)
    if kind is Partition.SUBSITE:
        assert not ones or not twos
        return
    domains = [{host.partition(".")[2] for host in found} for found in (ones, twos)]
    assert not domains[0] & domains[1]
    assert all(domains)
    assert {tag_of(host) for host in SIBLINGS} != {tag_of(domain) for domain in DOMAINS}


async def test_a_host_of_both_kinds_is_asked_by_one_gate(pair: Pair) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=1000, partition=Partition.URL)
    narrow = await rig.add_job("narrow", delay_ms=1000)
    await rig.offer(*(rig.link(f"p{n}", job=which) for n in range(2) for which in (job, narrow)))

    assert [*await pair.hosts(pair.one), *await pair.hosts(pair.two)] == [HOST]
    rig.tick(0.9)
    assert [*await pair.hosts(pair.one), *await pair.hosts(pair.two)] == []


async def test_what_a_dead_member_had_is_there_again_when_its_time_is_over(pair: Pair) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, partition=Partition.SHARED)
    await rig.offer(rig.link("p", job=job))
    [lease] = (await pair.one.claim(pair.ones, 1)).leases

    rig.tick(TTL_MS / 1000 - 1)
    await pair.two.own("two", range(1, SLOTS, 2), TTL_MS)
    assert await pair.hosts(pair.two) == []
    rig.tick(1)
    [again] = (await pair.two.claim(pair.twos, 1)).leases

    assert (again.url, again.lost) == (lease.url, 1)
    assert (await pair.one.ack([Ack(lease, Result.DONE)])).stale == (lease.id,)
    with pytest.raises(Fenced):
        await pair.hosts(pair.one)


async def test_what_a_leaving_member_had_is_there_at_once_with_no_loss_counted(pair: Pair) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, partition=Partition.SHARED)
    await rig.offer(rig.link("p", job=job))
    [lease] = (await pair.one.claim(pair.ones, 1)).leases

    await pair.one.disown(pair.ones)
    [again] = (await pair.two.claim(pair.twos, 1)).leases

    assert (again.url, again.lost) == (lease.url, 0)


async def test_a_member_that_gives_slots_back_keeps_what_it_has_in_wide_ones(pair: Pair) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, partition=Partition.SHARED)
    await rig.offer(rig.link("p", job=job))
    owner, grants, other, _ = sides(pair, HOST)
    [lease] = (await owner.claim(grants, 1)).leases

    await owner.disown([grant for grant in grants if grant.slot % TAGS == tag_of(HOST)])
    await other.own("other", [slot_of(HOST)], TTL_MS)

    assert await pair.hosts(other) == []
    assert (await owner.ack([Ack(lease, Result.DONE)])).accepted == 1


class Held:
    """What a member holds, by the clock of the test."""

    complete = False

    def __init__(self, pair: Pair) -> None:
        self._member, self._clock = pair.one, pair.rig.backend.clock
        self._holdings = Holdings()
        self._holdings.want(range(0, SLOTS, 2), self._clock.boot())
        self.rights = Rights(self, self._clock, LEASE_MS)
        self.hand = InHand(self.rights)

    @property
    def grants(self) -> Sequence[Grant]:
        return self._holdings.grants

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        return self._holdings.holds(self._clock.boot(), slot, fence, asked_at)

    async def refresh(self) -> None:
        boot, holdings = self._clock.boot, self._holdings
        until = boot() + TTL_MS / 1000 * 0.9
        grants = await self._member.own("one", holdings.asked(), TTL_MS)
        self.hand.abort(holdings.renew(grants, until, boot(), self.hand.slots))

    async def claim(self) -> Lease:
        asked_at = self._clock.boot()
        [lease] = (await self._member.claim(self.grants, 1)).leases
        self.hand.secure([lease], asked_at)
        assert self.hand.begin(lease)
        return lease


async def test_a_member_that_hung_gives_up_what_another_one_was_given(pair: Pair) -> None:
    rig, held = pair.rig, Held(pair)
    await held.refresh()
    job = await rig.add_job("wide", delay_ms=0, partition=Partition.SHARED)
    await rig.offer(rig.link("p", job=job))
    lease = await held.claim()
    held.rights.check(lease)

    rig.tick(TTL_MS / 1000)
    pair.twos = await pair.two.own("two", range(1, SLOTS, 2), TTL_MS)
    [again] = (await pair.two.claim(pair.twos, 1)).leases
    await held.refresh()

    assert again.url == lease.url
    with pytest.raises(LeaseLost):
        held.rights.check(lease)
    assert held.hand.take_returned() == [lease]
    assert not held.hand.live
    await pair.two.ack([Ack(again, Result.DONE)])
    await rig.offer(rig.link("q", job=job))
    held.rights.check(await held.claim())


# The list of tags with wide slots


async def lose_list(member: Member) -> None:
    """Forget the list as a server may that takes over."""
    key = Keys(member.nodes.address.namespace).wide
    assert await member.nodes.run(key, "DEL", key) == 1


async def listed(member: Member) -> set[int]:
    key = Keys(member.nodes.address.namespace).wide
    return {int(tag) for tag in await member.nodes.run(key, "SMEMBERS", key)}


async def test_a_member_that_comes_finds_what_the_list_has_lost(pair: Pair) -> None:
    rig = pair.rig
    hosts = neighbours()
    await fill(pair, hosts, 1)
    owner, _, other, bucket = sides(pair, hosts[0])
    assert await owner.moving.move(hosts[1], bucket)
    job = await rig.add_job("wide", delay_ms=0, partition=Partition.SHARED)
    await rig.offer(rig.link("p", job=job))
    await lose_list(pair.one)
    grants = pair.twos if other is pair.two else pair.ones
    await other.disown(grants)

    new = Member(other.url, rig.backend.clock)
    await new.open()
    grants = await new.own("new", [grant.slot for grant in grants], TTL_MS)
    leases = (await new.claim(grants, 10)).leases
    await new.vanish()

    assert {lease.host for lease in leases} == {HOST, hosts[1]}
    assert await listed(pair.one) == {tag_of(HOST), tag_of(hosts[1])}


async def test_after_a_break_a_process_does_not_rely_on_what_it_has_listed(pair: Pair) -> None:
    rig = pair.rig
    job = await rig.add_job("wide", delay_ms=0, per_host=50, partition=Partition.SHARED)
    with CutProxy(shared_redis().port) as proxy:
        behind = Member(f"{proxy.url}?{pair.one.url.partition('?')[2]}", rig.backend.clock)
        await behind.open()
        await behind.offer([rig.link("a", job=job)])
        await lose_list(pair.one)
        proxy.cut()
        proxy.heal()
        await behind.counts(job)

        await behind.offer([rig.link("b", job=job)])
        await behind.vanish()

    assert await listed(pair.one) == {tag_of(HOST)}
    assert len((await pair.two.claim(pair.twos, 5)).leases) == 2


# Moved hosts


def neighbours() -> tuple[HostKey, HostKey]:
    """Return two hosts of one slot."""
    seen: dict[int, HostKey] = {}
    for number in range(100_000):
        host = HostKey(f"n{number}.example.com")
        other = seen.setdefault(slot_of(host), host)
        if other != host:
            return other, host
    raise AssertionError


async def fill(pair: Pair, hosts: tuple[HostKey, ...], n: int) -> None:
    rig = pair.rig
    await rig.offer(*(rig.link(f"p{at}", host) for host in hosts for at in range(n)))


def sides(pair: Pair, host: HostKey) -> tuple[Member, list[Grant], Member, int]:
    """Return the owner of a host, its grants, the other member, and a bucket of that one."""
    if slot_of(host) % 2 == 0:
        return pair.one, pair.ones, pair.two, 1
    return pair.two, pair.twos, pair.one, 0


async def test_two_large_hosts_of_one_slot_are_found(pair: Pair) -> None:
    hosts = neighbours()
    await fill(pair, (*hosts, MANY_HOSTS[0]), 5)
    await fill(pair, MANY_HOSTS[1:2], 1)
    moving, everywhere = pair.one.moving, range(TAGS)

    assert sorted(await moving.crowded(everywhere, 5)) == sorted(
        (slot_of(host), host, 5) for host in hosts
    )
    assert await moving.crowded(everywhere, 6) == []
    owner, grants, _, _ = sides(pair, hosts[0])
    await owner.claim(grants, 10)
    assert {one.host for one in await moving.crowded(everywhere, 4)} == {*hosts}, "also in flight"


async def test_a_moved_host_is_claimed_by_another_and_comes_home_when_it_is_done(
    pair: Pair,
) -> None:
    hosts = neighbours()
    await fill(pair, hosts, 3)
    owner, _, other, bucket = sides(pair, hosts[0])

    assert await owner.moving.move(hosts[1], bucket)
    assert not await owner.moving.move(hosts[1], bucket)
    assert await owner.moving.moved() == {hosts[1]: bucket}

    assert await pair.hosts(owner, 1) == [hosts[0]]
    grants = pair.twos if other is pair.two else pair.ones
    for _ in range(3):
        [lease] = (await other.claim(grants, 10)).leases
        assert lease.host == hosts[1]
        await other.ack([Ack(lease, Result.DONE)])
    assert await owner.moving.moved() == {}
    await pair.rig.offer(pair.rig.link("later", hosts[1]))
    assert await pair.hosts(other) == []


async def test_a_move_can_be_undone_and_loses_nothing(pair: Pair) -> None:
    hosts = neighbours()
    await fill(pair, hosts, 3)
    owner, _, other, bucket = sides(pair, hosts[0])
    await owner.moving.move(hosts[1], bucket)

    assert await owner.moving.move(hosts[1], None)

    assert await pair.hosts(other) == []
    assert sorted(await pair.hosts(owner)) == sorted(hosts)
    assert await pair.rig.counts() == Counts(queued=4, leased=2)


async def test_a_host_with_nothing_to_give_is_not_moved(pair: Pair) -> None:
    assert not await pair.one.moving.move(HOST, BUCKETS - 1)
    assert await pair.one.moving.moved() == {}


async def test_a_moved_host_keeps_its_rest(pair: Pair) -> None:
    rig = pair.rig
    hosts = neighbours()
    await fill(pair, hosts, 3)
    owner, grants, other, bucket = sides(pair, hosts[0])
    await owner.set_host(hosts[1], delay_ms=1000)
    leases = (await owner.claim(grants, 10)).leases
    await owner.ack([Ack(lease, Result.DONE) for lease in leases])

    await owner.moving.move(hosts[1], bucket)

    assert await pair.hosts(other) == []
    rig.tick(1)
    assert await pair.hosts(other) == [hosts[1]]
