"""Questions to the frontier on Redis, asked while it works."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import blake2b
from typing import Any

import pytest
from stores import own_store

from skitter.frontier.model import (
    Ack,
    Counts,
    JobEntry,
    JobState,
    Lease,
    Link,
    Result,
    SeenOptions,
    Sighting,
    UrlState,
)
from skitter.frontier.redis import reading
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.keys import signed
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.notes import pack_note
from skitter.frontier.redis.outbox import Outbox
from skitter.frontier.redis.reading import Reading
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role
from skitter.url.partition import TAGS, slot_of

HOST = HostKey("www.example.com")
KINDS: dict[str, SeenOptions] = {
    "exact": SeenOptions("exact"),
    "compact": SeenOptions("compact", expected=100_000),
    "bloom": SeenOptions("bloom", expected=1_000_000, rate=1e-9, groups=2),
}


class Rig:
    """A frontier with one job and all slots."""

    def __init__(self, nodes: Nodes, seen: SeenOptions) -> None:
        self.nodes = nodes
        self.seen = seen
        self.clock = VirtualClock()
        self.store = RedisFrontier(nodes, clock=self.clock, virtual=True, seen=seen)
        self.keys = self.store.keys

    async def open(self) -> None:
        await self.store.open()
        self.job = await self.store.put_job(JobEntry(id="job-1"))
        slots = {slot_of(host) for host in (HOST, *hosts(150))}
        self.grants = await self.store.own("member", slots, ttl_ms=10_000_000)

    def another(self) -> Reading:
        """Return what another process asks with."""
        return Reading(self.nodes, self.keys, self.clock.now_ms)

    def link(self, path: str, host: HostKey = HOST, **fields: Any) -> Link:
        url = f"https://{host}/{path}"
        fp = Fingerprint(int.from_bytes(blake2b(url.encode(), digest_size=8).digest()))
        return Link(url, fp, host, fields.pop("job", self.job), **fields)

    async def offer(self, *links: Link) -> None:
        assert (await self.store.offer(links)).new == len(links)

    async def take(self, k: int = 100) -> list[Lease]:
        return list((await self.store.claim(self.grants, k)).leases)

    async def end(self, lease: Lease, result: Result = Result.DONE, **fields: Any) -> None:
        receipt = await self.store.ack([Ack(lease, result, **fields)])
        assert receipt.accepted == 1

    async def look(self, link: Link) -> Sighting:
        return await self.store.look(link.job, link.host, link.fp)


async def make_rig(url: str, seen: SeenOptions) -> Rig:
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    rig = Rig(nodes, seen)
    await rig.open()
    return rig


@pytest.fixture(params=["redis", "cluster"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig = await make_rig(own_store(request.param), SeenOptions())
    yield rig
    await rig.nodes.close()


@pytest.fixture(params=list(KINDS))
async def any_seen(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    rig = await make_rig(own_store(), KINDS[request.param])
    yield rig
    await rig.nodes.close()


def hosts(n: int) -> list[HostKey]:
    return [HostKey(f"h{i}.site{i % 7}.example") for i in range(n)]


# Counters


async def test_counters_of_all_tags_are_added_up(rig: Rig) -> None:
    links = [rig.link(path, host) for host in hosts(140) for path in ("a", "b", "c")]
    await rig.offer(*links)
    leases = await rig.take(140)
    assert len(leases) == 140
    await rig.store.ack([Ack(lease, Result.DONE) for lease in leases[:50]])
    await rig.store.ack([Ack(lease, Result.DEAD) for lease in leases[50:70]])
    wanted = Counts(queued=280, leased=70, done=50, dead=20)
    assert await rig.store.counts(rig.job) == wanted
    assert await rig.another().counts(rig.job) == wanted
    domains = await rig.store.domains(rig.job)
    assert [name for name, _ in domains if not name.startswith("site")] == []
    assert len(domains) == 7
    for name, counts in domains:
        assert counts == await rig.store.counts(rig.job, domain=name)
    assert sum(counts.offered for _, counts in domains) == 420
    assert [counts.pending for _, counts in domains] == sorted(
        (counts.pending for _, counts in domains), reverse=True
    )
    assert await rig.store.domains(rig.job, limit=3) == domains[:3]
    assert await rig.store.hosts(rig.job) == 140


async def test_a_job_without_urls_has_nothing(rig: Rig) -> None:
    nobody = JobNumber(99)
    assert await rig.store.counts(nobody) == Counts()
    assert await rig.store.domains(nobody) == []
    assert await rig.store.hosts(nobody) == 0
    assert await rig.store.tallies(nobody) == {}
    assert await rig.store.notes(nobody) == ([], b"")
    assert (await rig.store.look(nobody, HOST, Fingerprint(5))).state is UrlState.UNKNOWN
    assert await rig.store.seen(nobody, [(HOST, Fingerprint(5))]) == [False]


async def test_hosts_with_work_are_those_that_are_ready_or_rest_or_are_asked(rig: Rig) -> None:
    assert await rig.store.hosts_with_work() == 0
    await rig.offer(*(rig.link("a", host) for host in hosts(30)), rig.link("b", hosts(1)[0]))
    assert await rig.store.hosts_with_work() == 30
    leases = await rig.take(30)
    assert await rig.store.hosts_with_work() == 30
    await rig.store.ack([Ack(lease, Result.DONE) for lease in leases[:29]])
    first_rests = leases[-1].host != hosts(1)[0]
    assert await rig.store.hosts_with_work() == 1 + first_rests


async def test_jobs_and_tallies_are_read_back(rig: Rig) -> None:
    other = await rig.store.put_job(JobEntry(id="job-2", delay_ms=5))
    found = await rig.another().jobs()
    assert {number: entry.id for number, entry in found.items()} == {
        rig.job: "job-1",
        other: "job-2",
    }
    assert found[other].delay_ms == 5
    await rig.offer(*(rig.link("a", host) for host in hosts(20)))
    for n, lease in enumerate(await rig.take(20)):
        await rig.end(lease, tally=(("pages", 1), ("bytes", n), ("back", -1)))
    assert await rig.store.tallies(rig.job) == {"pages": 20, "bytes": 190, "back": -20}
    assert await rig.store.tallies(other) == {}


async def test_contents_are_found_in_the_tag_of_their_digest(rig: Rig) -> None:
    await rig.offer(*(rig.link("a", host) for host in hosts(12)))
    leases = await rig.take(12)
    digests = [bytes([n * 21]) + b"digest" for n in range(12)]
    for lease, digest in zip(leases, digests, strict=True):
        await rig.end(lease, digest=digest)
    wanted = [lease.url for lease in leases]
    assert await rig.store.contents(rig.job, digests) == wanted
    assert await rig.store.contents(rig.job, [b"none", digests[3]]) == [None, wanted[3]]
    assert await rig.store.contents(rig.job, []) == []


# One URL


async def test_a_look_tells_where_a_url_is_with_its_details(any_seen: Rig) -> None:
    rig = any_seen
    link = rig.link(
        "päge?q=1",
        depth=3,
        rank=7,
        priority=2,
        page_class=PageClass.NAV,
        referrer=f"https://{HOST}/from",
        role=Role.SITEMAP,
    )
    assert await rig.look(link) == Sighting(UrlState.UNKNOWN)
    await rig.offer(link)
    assert await rig.look(link) == Sighting(UrlState.QUEUED, link=link)
    [lease] = await rig.take()
    assert await rig.look(link) == Sighting(UrlState.LEASED, link=link)
    due = rig.clock.now_ms() + 60_000
    await rig.end(lease, Result.RETRY, at_ms=due)
    assert await rig.look(link) == Sighting(UrlState.SCHEDULED, link=link, attempts=1, due_ms=due)
    rig.clock.advance(60)
    [lease] = await rig.take()
    await rig.end(lease, Result.DEFER)
    sighting = await rig.look(link)
    assert sighting == Sighting(UrlState.QUEUED, link=link, attempts=1)
    rig.clock.advance(60)
    [lease] = await rig.take()
    await rig.end(lease, note=b"n" * 300)
    assert await rig.look(link) == Sighting(UrlState.DONE, note=b"n" * 300)
    assert await rig.store.note(rig.job, HOST, link.fp) == b"n" * 300
    assert await rig.store.note(rig.job, HOST, Fingerprint(1)) == b""


async def test_a_url_far_back_in_its_queue_is_known_to_be_queued(any_seen: Rig) -> None:
    rig = any_seen
    links = [rig.link(str(n)) for n in range(reading.LOOK_LIMIT + 50)]
    for at in range(0, len(links), 500):
        await rig.offer(*links[at : at + 500])
    assert (await rig.look(links[reading.LOOK_LIMIT - 1])).link is not None
    presumed = rig.seen.kind == "bloom"
    assert await rig.look(links[-1]) == Sighting(UrlState.QUEUED, presumed=presumed)


async def test_what_a_cancelled_job_had_waiting_is_dropped(any_seen: Rig) -> None:
    rig = any_seen
    done, leased, queued = (rig.link(path) for path in "abc")
    later = rig.link("later", not_before_ms=rig.clock.now_ms() + 5_000)
    await rig.offer(done, leased, queued, later)
    await rig.end((await rig.take(1))[0])
    rig.clock.advance(1)
    await rig.take(1)
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert (await rig.look(done)).state is UrlState.DONE
    for link in (leased, queued, later):
        assert await rig.look(link) == Sighting(UrlState.DROPPED)
    assert await rig.look(rig.link("never")) == Sighting(UrlState.UNKNOWN)
    assert await rig.store.counts(rig.job) == Counts(done=1, dropped=3)


async def test_a_false_positive_is_told_from_a_url_that_waits() -> None:
    """A filter that is wrong half of the time says so when it is asked for one URL."""
    seen = SeenOptions("bloom", expected=40 * TAGS, rate=0.5, groups=1)
    rig = await make_rig(own_store(), seen)
    links = [rig.link(str(n)) for n in range(80)]
    await rig.store.offer(links[:40])
    taken = (await rig.store.offer(links[40:])).new
    assert 0 < taken < 40
    assert all(await rig.store.seen(rig.job, [(HOST, link.fp) for link in links]))
    sightings = [await rig.look(link) for link in links]
    assert [sighting.state for sighting in sightings[:40]] == [UrlState.QUEUED] * 40
    waiting = [sighting for sighting in sightings if sighting.state is UrlState.QUEUED]
    passed_over = [sighting for sighting in sightings if sighting.state is UrlState.UNKNOWN]
    assert (len(waiting), len(passed_over)) == (40 + taken, 40 - taken)
    assert all(sighting.presumed and not sighting.link for sighting in passed_over)
    assert all(sighting.link and not sighting.presumed for sighting in waiting)
    await rig.nodes.close()


async def test_seen_is_asked_in_batches_over_all_tags(any_seen: Rig) -> None:
    rig = any_seen
    known = [rig.link("a", host) for host in hosts(300)]
    large = [rig.link(f"n{n}") for n in range(1_200)]
    await rig.offer(*known[::2], *large[::2])
    asked = [(link.host, link.fp) for link in [*known, *large]]
    wanted = [at % 2 == 0 for at in range(len(known))] + [at % 2 == 0 for at in range(len(large))]
    assert await rig.store.seen(rig.job, asked) == wanted
    assert await rig.store.seen(rig.job, []) == []


async def test_a_question_waits_while_a_tag_is_being_moved(rig: Rig) -> None:
    link = rig.link("a")
    await rig.offer(link)
    anchor = rig.keys.anchor(rig.keys.tag_of_host(HOST))
    await rig.nodes.run(anchor, "HSET", anchor, "frozen", "1")
    asked = asyncio.create_task(rig.look(link))
    await asyncio.sleep(0.2)
    assert not asked.done()
    await rig.nodes.run(anchor, "HSET", anchor, "frozen", "0")
    assert (await asyncio.wait_for(asked, 60)).state is UrlState.QUEUED


# Notes


async def put_notes(rig: Rig, *links: Link) -> list[bytes]:
    """Write notes as acks do; there is no need of a page for each."""
    notes = []
    for link in links:
        note = f"note of {link.url} {'.' * 60}".encode()
        key = rig.keys.notes(rig.keys.tag_of_host(link.host), rig.job)
        await rig.nodes.run(key, "HSET", key, signed(link.fp), pack_note(note))
        notes.append(note)
    return notes


async def walk(reader: Reading | RedisFrontier, job: JobNumber, limit: int) -> list[bytes]:
    found: list[bytes] = []
    after = b""
    while True:
        notes, after = await reader.notes(job, after, limit)
        assert len(notes) <= limit
        assert notes or not after
        found += notes
        if not after:
            return found


@pytest.mark.parametrize("limit", [1, 3, 100, 500])
async def test_every_limit_finds_every_note_once(rig: Rig, limit: int) -> None:
    few = [rig.link(f"p{n}", host) for host in hosts(40) for n in range(2)]
    many = [rig.link(f"m{n}") for n in range(250)]
    wanted = await put_notes(rig, *few, *many)
    assert sorted(await walk(rig.store, rig.job, limit)) == sorted(wanted)


async def test_notes_of_acks_are_found(rig: Rig) -> None:
    await rig.offer(*(rig.link("a", host) for host in hosts(9)))
    for n, lease in enumerate(await rig.take(9)):
        await rig.end(lease, note=b"%d" % n)
    assert sorted(await walk(rig.store, rig.job, 4)) == [b"%d" % n for n in range(9)]


async def test_a_walk_goes_on_in_another_process(rig: Rig) -> None:
    wanted = await put_notes(rig, *(rig.link(f"m{n}") for n in range(300)))
    first, after = await rig.store.notes(rig.job, limit=70)
    rest: list[bytes] = []
    other = rig.another()
    while after:
        notes, after = await other.notes(rig.job, after, 70)
        rest += notes
    assert sorted(first + rest) == sorted(wanted)


async def test_notes_that_are_written_meanwhile_bring_no_other_one_twice(rig: Rig) -> None:
    """The server's table grows during the walk, which makes it come by fields again."""
    wanted = await put_notes(rig, *(rig.link(f"m{n}") for n in range(500)))
    found: list[bytes] = []
    after, step = b"", 0
    while True:
        notes, after = await rig.store.notes(rig.job, after, 40)
        found += notes
        if not after:
            break
        await put_notes(rig, *(rig.link(f"new{step}-{n}") for n in range(100)))
        step += 1
        if step > 200:
            break
    assert len(found) == len(set(found))
    assert set(wanted) <= set(found)


async def test_a_listed_record_of_an_ack_reaches_the_stream(rig: Rig) -> None:
    await rig.offer(*(rig.link("a", host) for host in hosts(5)))
    for n, lease in enumerate(await rig.take(5)):
        await rig.end(lease, note=b"record %d" % n, listed=n != 3)
    entries = await Outbox(rig.nodes, rig.keys, rig.job, "test").read(1_000)
    assert sorted(entry.line for entry in entries) == [b"record %d" % n for n in (0, 1, 2, 4)]
    assert all(entry.tag in {rig.keys.tag_of_host(host) for host in hosts(5)} for entry in entries)
