"""What only a frontier on Redis has to promise: lost answers, moves, records, batches."""

import asyncio
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import stores
from frontier_backends import (
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    KIN,
    MANY_HOSTS,
    OTHER_HOST,
    SLOTS,
    Rig,
    hosts_like,
    open_rig,
    paths_of,
)
from redis_backend import Member, RedisBackend

from skitter.frontier.model import (
    Ack,
    Counts,
    Freed,
    Hop,
    JobEntry,
    JobState,
    Overflow,
    Result,
    SeenOptions,
    UrlState,
)
from skitter.frontier.redis.batch import MOST_ACKS, MOST_LINKS
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.library import function
from skitter.frontier.redis.nodes import Call
from skitter.frontier.redis.notes import unpack_note
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, PageClass
from skitter.url.partition import slot_of


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    backend = RedisBackend(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def member(rig: Rig) -> Member:
    assert isinstance(rig.store, Member)
    return rig.store


def stream_of(rig: Rig, host: HostKey) -> str:
    keys = member(rig).keys
    return keys.records(keys.tag_of_host(host), rig.job)


async def records(rig: Rig, host: HostKey) -> list[bytes]:
    """Return the records of a host's tag that wait for their files."""
    name = stream_of(rig, host)
    entries = await member(rig).nodes.run(name, "XRANGE", name, "-", "+")
    return [unpack_note(fields[1]) for _, fields in entries]


def twice(rig: Rig, monkeypatch: pytest.MonkeyPatch, *verbs: str) -> list[Call]:
    """Let every call of some functions be made twice, as if the first answer had been lost."""
    nodes = member(rig).nodes
    call_many = nodes.call_many
    made: list[Call] = []

    async def repeat(calls: list[Call], **how: Any) -> list[Any]:
        again = [call for call in calls if call.name.removeprefix("skitter2_") in verbs]
        if again:
            await call_many(again, **how)
            made.extend(again)
        return await call_many(calls, **how)

    monkeypatch.setattr(nodes, "call_many", repeat)
    return made


async def test_a_claim_whose_answer_was_lost_gives_the_same_leases(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.offer("a", *[rig.link("x", host) for host in KIN[:4]], rig.link("b", OTHER_HOST))
    assert not twice(rig, monkeypatch, "claim")
    leases = await rig.take()
    assert sorted(paths_of(leases)) == ["a", "b", "x", "x", "x", "x"]
    assert len({lease.id for lease in leases}) == 6
    assert await rig.counts() == Counts(leased=6)
    assert (await rig.store.ack([Ack(lease, Result.DONE) for lease in leases])).accepted == 6


async def test_an_ack_whose_answer_was_lost_is_accepted_once(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    leases = await rig.take()
    made = twice(rig, monkeypatch, "ack", "settle", "hold", "offer")
    links = [rig.link("near"), rig.link("away", FAR_HOST)]
    hops = [Hop(rig.link("hop", FAR_HOST).fp, FAR_HOST)]
    receipt = await rig.store.ack(
        [
            Ack(
                lease,
                Result.DONE,
                links=links,
                hops=hops,
                note=b"page",
                listed=True,
                tally=(("pages", 1),),
            )
            for lease in leases
        ]
    )
    assert (receipt.accepted, receipt.stale) == (2, ())
    assert {call.name for call in made} >= {"skitter2_ack", "skitter2_settle", "skitter2_hold"}
    assert await rig.counts() == Counts(queued=2, done=3)
    assert await rig.store.tallies(rig.job) == {"pages": 2}
    assert await records(rig, HOST) == await records(rig, OTHER_HOST) == [b"page"]


async def test_ownership_entries_and_control_may_be_asked_for_twice(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    verbs = ("own", "disown", "enter", "renew", "put_job", "job_state", "clear", "set_host")
    made = twice(rig, monkeypatch, *verbs)
    await rig.own()
    await rig.add_job("job-2")
    await rig.offer("a", rig.link("nav", page_class=PageClass.NAV))
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST) == 0
    assert await rig.store.renew([lease]) == []
    await rig.store.set_job_state(rig.job, JobState.PAUSE)
    await rig.store.set_job_state(rig.job, JobState.RUN)
    await rig.store.set_host(HOST, delay_ms=0)
    await rig.store.clear(rig.job, PageClass.NAV)
    assert await rig.counts() == Counts(leased=1)
    await rig.store.disown(rig.grants)
    assert await rig.counts() == Counts(queued=1)
    assert {call.name.removeprefix("skitter2_") for call in made} == set(verbs)


async def test_records_that_nobody_takes_hold_their_job_back_and_no_other(rig: Rig) -> None:
    member(rig)._handout.stream_cap = 2
    other = await rig.add_job("job-2")
    await rig.store.set_host(HOST, delay_ms=0)
    await rig.offer("a", "b", "c", "d", *[rig.link(f"o{n}", job=other) for n in range(3)])
    taken: list[str] = []
    for _ in range(8):
        for lease in await rig.take(1):
            taken.append(lease.url.rpartition("/")[2])
            await rig.end(lease, note=b"record", listed=lease.job == rig.job)
    assert sorted(taken) == ["a", "b", "o0", "o1", "o2"]
    claim = await rig.ask()
    assert claim.next_ready_ms is not None
    assert claim.next_ready_ms > rig.now_ms
    assert await records(rig, HOST) == [b"record", b"record"]
    nodes, name = member(rig).nodes, stream_of(rig, HOST)
    await nodes.run(name, "XTRIM", name, "MAXLEN", 0)
    rig.tick(1)
    assert paths_of(await rig.take(1)) == ["c"]


async def test_a_part_of_the_store_that_is_being_moved_is_waited_for(rig: Rig) -> None:
    await rig.offer("a")
    nodes, keys = member(rig).nodes, member(rig).keys
    anchor = keys.anchor(keys.tag_of_host(HOST))
    await nodes.run(anchor, "HSET", anchor, "frozen", 1)

    async def thaw() -> None:
        while "frozen" not in member(rig).trouble:
            await asyncio.sleep(0.01)
        await nodes.run(anchor, "HDEL", anchor, "frozen")

    async with asyncio.TaskGroup() as group:
        group.create_task(thaw())
        taken = group.create_task(rig.take())
    assert paths_of(taken.result()) == ["a"]


async def test_a_tag_that_has_not_heard_of_a_job_is_told(rig: Rig) -> None:
    nodes, keys = member(rig).nodes, member(rig).keys
    name = keys.job(keys.tag_of_host(HOST), rig.job)
    await nodes.run(name, "DEL", name)
    assert (await rig.offer("a", rig.link("b", OTHER_HOST))).new == 2
    assert len(await rig.take()) == 2


async def test_namespaces_on_one_server_do_not_meet(rig: Rig, tmp_path: Path) -> None:
    other = RedisBackend(tmp_path, rig.clock)
    second = await open_rig(other)
    await rig.offer("a")
    assert await second.counts() == Counts()
    assert await second.take() == []
    assert member(second).secret != member(rig).secret
    await other.close()


async def test_every_member_has_the_same_secret(rig: Rig) -> None:
    backend: Any = rig.backend
    assert (await backend.join()).secret == member(rig).secret


def links_in(packed: bytes) -> int:
    """Count the links that a call brings: groups of one host each, with their length."""
    found = at = 0
    while at < len(packed):
        [n] = struct.unpack_from(">H", packed, at + 7)
        at += 9
        for _ in ("domain", "host"):
            at += 2 + struct.unpack_from(">H", packed, at)[0]
        at += 4 + struct.unpack_from(">I", packed, at)[0]
        found += n
    return found


async def test_very_long_pages_and_batches_are_cut_into_calls(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    kin = hosts_like(HOST, 20)
    rig.grants = await rig.store.own("member-1", {*SLOTS, *map(slot_of, kin)}, FOR_LONG_MS)
    await rig.offer(*[rig.link("x", host) for host in kin], "a")
    leases = await rig.take()
    sent: list[Call] = []
    call_many = member(rig).nodes.call_many

    async def listen(calls: list[Call], **how: Any) -> list[Any]:
        sent.extend(calls)
        return await call_many(calls, **how)

    monkeypatch.setattr(member(rig).nodes, "call_many", listen)
    acks = [Ack(lease, Result.DONE, links=[]) for lease in leases]
    for n in range(1, 10):
        found = [rig.link(f"{leases[n].host}/{at}") for at in range(300)]
        acks[n] = Ack(leases[n], Result.DONE, links=found)
    acks[0] = Ack(leases[0], Result.DONE, links=[rig.link(f"long/{n}") for n in range(2_000)])
    receipt = await rig.store.ack(acks)
    assert (receipt.accepted, receipt.new) == (21, 2_000 + 9 * 300)
    ends = [call.args[3:] for call in sent if call.name == function("ack")]
    offers = [call.args[2] for call in sent if call.name == function("offer")]
    in_ends = [sum(links_in(as_bytes(packed)) for packed in texts[2::3]) for texts in ends]
    in_offers = [links_in(as_bytes(packed)) for packed in offers]
    assert sum(len(texts) // 3 for texts in ends) == 21
    assert max(len(texts) // 3 for texts in ends) <= MOST_ACKS
    assert (sum(in_ends), sum(in_offers)) == (9 * 300, 2_000)
    assert max(in_ends + in_offers) <= MOST_LINKS
    assert (await rig.counts()).queued == receipt.new
    rig.tick(1)
    order = await rig.paths_in_order(limit=3)
    assert order == ["long/0", "long/1", "long/2"]


def as_bytes(word: object) -> bytes:
    assert isinstance(word, bytes)
    return word


async def test_a_bound_is_kept_over_all_tags_and_in_order(rig: Rig) -> None:
    small = await rig.add_job("small", queue_bound=5, overflow=Overflow.DROP)
    await rig.offer(rig.link("start", job=small))
    lease = await rig.take_one()
    links = [rig.link("x", host, job=small) for host in MANY_HOSTS[:8]]
    receipt = await rig.end(lease, links=links)
    assert (receipt.new, receipt.overflow) == (8, 3)
    states = [(await rig.look(link)).state for link in links]
    assert states == [UrlState.QUEUED] * 5 + [UrlState.DROPPED] * 3


@pytest.mark.parametrize("kind", ["compact", "bloom"])
async def test_other_seen_sets_serve_as_well(rig: Rig, kind: Any) -> None:
    store = RedisFrontier(
        member(rig).nodes,
        clock=rig.clock,
        virtual=True,
        seen=SeenOptions(kind, expected=100_000, rate=1e-9),
    )
    await store.open()
    rig.store, rig.job = store, await store.put_job(JobEntry(id=f"job-{kind}"))
    rig.grants = await store.own("member-1", SLOTS, FOR_LONG_MS)
    names = [f"p{n}" for n in range(300)]
    assert (await rig.offer(*names, *names)).new == 300
    assert (await rig.offer(*names)).new == 0
    link = rig.link("p7")
    assert await store.forget(rig.job, HOST, link.fp)
    assert (await rig.offer(link)).new == 1
    assert await store.clear(rig.job, PageClass.DATA) == 300
    assert (await rig.offer(*names)).new == 300
    await store.set_job_state(rig.job, JobState.CANCEL)
    assert (await rig.look(link)).state is UrlState.DROPPED
    assert await store.forget(rig.job, HOST, link.fp)
    assert (await rig.counts()).dropped == 299
    await store.drop_job(rig.job)
    prefix = store.keys.prefix(store.keys.tag_of_host(HOST))
    left = stores.shared_redis().cli("KEYS", f"{prefix}*:{rig.job}*")
    assert left == []


async def test_a_hosts_turn_is_kept_when_its_gate_is_freed_by_a_member_of_other_slots(
    rig: Rig,
) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    backend: Any = rig.backend
    other = await backend.join()
    await other.claim([], 0, freed=[Freed(lease.id, HOST, delay_ms=3_000)])
    rig.tick(2.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]
