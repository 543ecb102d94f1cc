"""What nobody needs leaves memory and disk; what sleeps is found again as it was."""

import gc
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import (
    FAR_HOST,
    HOST,
    MANY_HOSTS,
    OTHER_HOST,
    BloomBackend,
    EmbeddedBackend,
    Rig,
    UnbufferedBackend,
    open_rig,
    paths_of,
)

from skitter.errors import StoreUnavailable
from skitter.frontier.embedded import vultures as module
from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.embedded.lines import Line
from skitter.frontier.embedded.registry import Registry
from skitter.frontier.embedded.vultures import Vultures
from skitter.frontier.model import (
    Ack,
    Counts,
    Freed,
    Hop,
    JobEntry,
    JobState,
    Result,
    UrlState,
)
from skitter.frontier.tuning import HostRule, Tuning
from skitter.frontier.vultures import IDLE_MS, Buried
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, PageClass

HOUR_S = IDLE_MS / 1000


@pytest.fixture(params=[EmbeddedBackend, UnbufferedBackend, BloomBackend])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = request.param(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def store(rig: Rig) -> EmbeddedFrontier:
    assert isinstance(rig.store, EmbeddedFrontier)
    return rig.store


def registry(rig: Rig) -> Registry:
    return store(rig)._core.registry


def of(rig: Rig, **sizes: int) -> Vultures:
    return store(rig).vultures(lambda value: value == b"old", **sizes)


async def walk(vultures: Vultures) -> Buried:
    """Go over everything once."""
    buried = [await vultures.step()]
    while vultures.walking:
        buried.append(await vultures.step())
    return Buried(*map(sum, zip(*buried, strict=True)))


async def finish(rig: Rig) -> None:
    while leases := await rig.take():
        for lease in leases:
            await rig.end(lease, note=lease.url.encode())
        rig.tick(1)


async def sleep(rig: Rig, *paths: str, host: HostKey = HOST, **fields: Any) -> None:
    """Fetch some pages of a host and let it fall asleep."""
    await rig.offer(*(rig.link(path, host, **fields) for path in paths))
    await finish(rig)
    rig.tick(2 * HOUR_S)
    await walk(of(rig))
    assert host not in registry(rig).hosts


async def test_hosts_that_are_done_leave_memory_after_an_hour_and_are_counted(rig: Rig) -> None:
    await rig.offer(*(rig.link("p", host) for host in MANY_HOSTS))
    await finish(rig)

    rig.tick(HOUR_S - 60)
    assert (await walk(of(rig))).hosts == 0
    rig.tick(120)
    vultures = of(rig)
    assert (await walk(vultures)).hosts == len(MANY_HOSTS)

    known = registry(rig)
    assert (known.hosts, known.queues, known.by_number) == ({}, {}, {})
    assert await vultures.total() == Buried(hosts=len(MANY_HOSTS))
    assert await rig.store.hosts(rig.job) == len(MANY_HOSTS)
    assert await rig.counts() == Counts(done=len(MANY_HOSTS))
    assert await rig.store.domains(rig.job) == [("example.com", Counts(done=len(MANY_HOSTS)))]
    await rig.restart()
    assert await of(rig).total() == Buried(hosts=len(MANY_HOSTS))


async def test_a_sleeping_host_comes_back_with_its_next_url(rig: Rig) -> None:
    await sleep(rig, "a")
    number = registry(rig).known_number(rig.job, HOST)

    assert (await rig.offer("a", "b")).new == 1
    assert registry(rig).known_number(rig.job, HOST) == number
    assert (list(registry(rig).hosts), len(registry(rig).asleep)) == ([HOST], 0)
    assert await rig.counts() == Counts(queued=1, done=1)
    assert paths_of(await rig.take()) == ["b"]
    rig.tick(0.5)
    await rig.offer("c")
    assert await rig.take() == [], "its delay counts as before"


async def test_known_links_and_questions_wake_nobody(rig: Rig) -> None:
    await sleep(rig, "a")
    link = rig.link("a")

    assert (await rig.offer("a")).new == 0
    other = rig.link("x", FAR_HOST)
    await rig.offer(other)
    hop = Hop(link.fp, HOST)
    assert (await rig.end(await rig.take_one(), links=[link], hops=[hop])).known == 1
    assert await rig.store.seen(rig.job, [(HOST, link.fp), (HOST, other.fp)]) == [True, False]
    assert (await rig.look(link)).state is UrlState.DONE
    assert (await rig.look(rig.link("b"))).state is UrlState.UNKNOWN
    assert await rig.store.note(rig.job, HOST, link.fp) == link.url.encode()
    assert (await rig.store.notes(rig.job))[0] == [link.url.encode()]
    assert not await rig.store.forget(rig.job, HOST, other.fp)

    assert list(registry(rig).hosts) == [FAR_HOST]
    assert await rig.counts() == Counts(done=2)


@pytest.mark.parametrize("orderly", [True, False])
async def test_the_store_opens_again_with_its_idle_hosts_asleep(rig: Rig, *, orderly: bool) -> None:
    await sleep(rig, "a")
    await rig.offer(rig.link("b", OTHER_HOST))
    number = registry(rig).known_number(rig.job, HOST)

    await (rig.restart() if orderly else rig.crash())

    assert list(registry(rig).hosts) == [OTHER_HOST]
    assert await rig.counts() == Counts(queued=1, done=1)
    assert await rig.store.counts(rig.job, domain="example.com") == Counts(queued=1, done=1)
    assert await rig.store.hosts(rig.job) == 2
    assert (await rig.offer("a", "b")).new == 1
    assert registry(rig).known_number(rig.job, HOST) == number
    rig.tick(0.5)
    assert await rig.take() == [], "it may have been asked a moment before"
    rig.tick(0.5)
    assert len(await rig.take()) == 2


@pytest.mark.parametrize(
    "why", ["queued", "leased", "scheduled", "paused", "resting", "slow", "held", "entered"]
)
async def test_hosts_that_have_something_to_do_stay(rig: Rig, why: str) -> None:
    await rig.offer("a")
    match why:
        case "leased":
            await rig.take_one(lease_ms=100 * IDLE_MS)
        case "scheduled":
            at_ms = rig.now_ms + 5 * IDLE_MS
            await rig.end(await rig.take_one(), Result.RETRY, at_ms=at_ms)
        case "paused":
            await rig.store.set_job_state(rig.job, JobState.PAUSE)
            await rig.take()
        case "resting":
            await finish(rig)
            await rig.store.set_host(HOST, not_before_ms=rig.now_ms + 5 * IDLE_MS)
        case "slow":
            await rig.store.set_host(HOST, delay_ms=5 * IDLE_MS // 2)
            await finish(rig)
        case "held":
            lease = await rig.take_one()
            held = Freed(lease.id, HOST, 1_000, held_until_ms=rig.now_ms + 5 * IDLE_MS)
            await rig.ask(0, freed=[held])
            await rig.end(lease)
        case "entered":
            lease = await rig.take_one(lease_ms=100 * IDLE_MS)
            assert await rig.store.enter(lease, OTHER_HOST) == 0
    rig.tick(3 * HOUR_S)

    assert (await walk(of(rig))).hosts == 0
    assert len(registry(rig).hosts) == (2 if why == "entered" else 1)


async def test_what_was_learned_of_a_host_is_there_when_it_wakes(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    await rig.ask(0, freed=[Freed(lease.id, HOST, 7_000)])
    await rig.end(lease)
    rig.tick(2 * HOUR_S)
    assert (await walk(of(rig))).hosts == 1

    await rig.offer("b", "c")
    await rig.end(await rig.take_one())
    rig.tick(6.9)
    assert await rig.take() == []
    rig.tick(0.2)
    assert paths_of(await rig.take()) == ["c"]


async def test_hosts_that_were_never_stored_are_when_they_fall_asleep(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    assert await rig.store.enter(lease, FAR_HOST) == 0
    await rig.offer(rig.link("x" * 70_000, OTHER_HOST))
    rig.tick(HOUR_S)
    await rig.ask(0)
    rig.tick(HOUR_S + 60)
    assert (await walk(of(rig))).hosts == 2
    number = registry(rig).known_number(rig.job, OTHER_HOST)
    assert number is not None
    assert registry(rig).job_of(number) == rig.job

    assert (await rig.offer(rig.link("b", OTHER_HOST), rig.link("b", FAR_HOST))).new == 2
    assert sorted(paths_of(await rig.take())) == ["a", "b", "b"]


async def test_a_host_rests_no_longer_for_having_slept(rig: Rig) -> None:
    await rig.offer("a")
    await finish(rig)
    await rig.store.set_host(HOST, delay_ms=60_000)
    await walk(of(rig, idle_ms=0))
    await rig.offer("b")
    assert paths_of(await rig.take()) == ["b"]


async def test_a_back_off_that_comes_late_reaches_a_host_that_sleeps(rig: Rig) -> None:
    await sleep(rig, "a")
    await rig.ask(0, freed=[Freed(1, HOST, None, rig.now_ms + 60_000)])
    await rig.offer("b")
    rig.tick(59)
    assert await rig.take() == []
    rig.tick(2)
    assert paths_of(await rig.take()) == ["b"]


async def test_a_host_that_sleeps_can_be_set_and_tuned(rig: Rig) -> None:
    await sleep(rig, "a")
    await sleep(rig, "a", host=FAR_HOST)
    await rig.store.set_host(HOST, per_host=2, delay_ms=0)
    await walk(of(rig))
    tuning = Tuning(
        covers=lambda host: host == FAR_HOST,
        rule=lambda _: HostRule(delay_ms=20_000),
        delays=True,
    )
    assert await store(rig).tune(tuning) == 1
    await walk(of(rig))
    assert registry(rig).hosts == {}

    await rig.offer("b", "c", *(rig.link(path, FAR_HOST) for path in ("d", "e")))
    taken = await rig.take()
    assert sorted(paths_of(taken)) == ["b", "c", "d"]
    for lease in taken:
        await rig.end(lease)
    rig.tick(19)
    assert await rig.take() == []
    rig.tick(2)
    assert paths_of(await rig.take()) == ["e"]


async def test_a_job_that_changes_how_hosts_are_asked_reaches_those_that_sleep(rig: Rig) -> None:
    await sleep(rig, "a")
    await rig.store.put_job(JobEntry(id="job-1", delay_ms=0, per_host=3))
    await rig.store.set_host(HOST, delay_ms=0)
    await walk(of(rig))
    await rig.restart()
    await rig.offer("b", "c", "d", "e")
    rig.tick(1)
    assert len(await rig.take()) == 3


async def test_pages_of_hosts_that_sleep_can_be_forgotten(rig: Rig) -> None:
    await sleep(rig, "a", "b")
    link = rig.link("a")
    assert await rig.store.forget(rig.job, HOST, link.fp)
    assert await rig.counts() == Counts(done=1)
    await walk(of(rig))
    assert (await rig.offer("a", "b")).new == 1
    assert await rig.counts() == Counts(queued=1, done=1)


async def test_clearing_and_cancelling_leave_those_that_sleep_as_they_are(rig: Rig) -> None:
    await sleep(rig, "a")
    await rig.offer(rig.link("b", FAR_HOST), rig.link("c", OTHER_HOST, page_class=PageClass.NAV))
    assert await rig.store.clear(rig.job, PageClass.DATA) == 1
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert await rig.counts() == Counts(done=1, dropped=1)
    assert (await rig.look(rig.link("a"))).state is UrlState.DONE
    assert HOST not in registry(rig).hosts


async def test_what_a_cancelled_job_had_scheduled_is_met_while_its_host_sleeps(rig: Rig) -> None:
    link = rig.link("a", not_before_ms=rig.now_ms + 5 * IDLE_MS)
    await rig.offer(link)
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    rig.tick(3 * HOUR_S)
    assert (await walk(of(rig))).hosts == 1
    assert (await rig.look(link)).state is UrlState.DROPPED

    rig.tick(3 * HOUR_S)
    assert await rig.take() == []
    assert await rig.counts() == Counts(dropped=1)
    assert (await rig.look(link)).state is UrlState.DROPPED
    assert await rig.store.forget(rig.job, HOST, link.fp)
    assert await rig.counts() == Counts()


async def test_a_job_can_be_dropped_while_its_hosts_sleep(rig: Rig) -> None:
    other = await rig.add_job("other")
    for host in (HOST, FAR_HOST):
        await rig.offer(rig.link("a", host), rig.link("a", host, job=other))
    await rig.offer(rig.link("later", OTHER_HOST, not_before_ms=rig.now_ms + 9 * IDLE_MS))
    await rig.offer(rig.link("only", MANY_HOSTS[0]))
    await finish(rig)
    rig.tick(2 * HOUR_S)
    assert (await walk(of(rig))).hosts == 3

    await rig.store.drop_job(rig.job)

    rows = store(rig)._core.rocks
    assert {registry(rig).job_of(n) for n in range(1, 9)} == {None, other}
    assert len(list(rows.scan("queue", b""))) == 2
    assert list(rows.scan("due", b"")) == []
    assert await rig.store.counts(other) == Counts(done=2)
    assert (await rig.offer(rig.link("a", job=other), rig.link("b", job=other))).new == 1
    await rig.restart()
    assert await rig.store.counts(other) == Counts(queued=1, done=2)
    assert await rig.store.hosts(other) == 2


async def test_a_host_woken_while_its_job_is_dropped_brings_no_row_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await rig.add_job("other")
    await rig.offer(rig.link("a"), rig.link("a", job=other))
    await finish(rig)
    rig.tick(2 * HOUR_S)
    vultures = of(rig, pause_ms=0)
    await walk(vultures)
    seen = store(rig)._core.seen
    tend = seen.tend

    async def meanwhile() -> None:
        await tend()
        if rig.job in registry(rig).dropping:
            await rig.store.set_host(HOST, delay_ms=5)
            await walk(vultures)

    monkeypatch.setattr(seen, "tend", meanwhile)
    await rig.store.drop_job(rig.job)
    monkeypatch.undo()

    await rig.restart()
    assert await rig.store.counts(other) == Counts(done=1)
    assert len(list(store(rig)._core.rocks.scan("queue", b""))) == 1


async def test_a_host_of_several_jobs_serves_them_all_when_it_wakes(rig: Rig) -> None:
    second = await rig.add_job("second")
    await rig.offer(rig.link("a"), rig.link("a", job=second))
    await finish(rig)
    rig.tick(2 * HOUR_S)
    assert (await walk(of(rig))).hosts == 1
    third = await rig.add_job("third")

    await rig.offer(rig.link("b", job=second), rig.link("b", job=third))
    await finish(rig)

    done = [await rig.counts(job) for job in (rig.job, second, third)]
    assert done == [Counts(done=1), Counts(done=2), Counts(done=1)]


async def test_a_host_whose_row_cannot_be_read_sleeps_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sleep(rig, "a")
    rocks = store(rig)._core.rocks
    get_one = rocks.get_one

    def fail(family: str, key: bytes) -> bytes | None:
        if family == "queue":
            raise StoreUnavailable("the disk is gone")
        return get_one(family, key)

    monkeypatch.setattr(rocks, "get_one", fail)
    with pytest.raises(StoreUnavailable):
        await rig.offer("b")
    monkeypatch.undo()

    assert (await rig.offer("a", "b")).new == 1
    assert await rig.counts() == Counts(queued=1, done=1)


async def test_old_rules_of_robots_files_leave_and_others_stay(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MARKS_AT_ONCE", 3)
    marks = {f"robots:https://{host}": b"old" for host in MANY_HOSTS}
    new = {f"robots:https://{n}.new": b"new" for n in range(6)}
    await rig.store.ack([], marks={**marks, **new, "job:1:x": b"old", "robot": b"old"})

    vultures = of(rig)
    assert await walk(vultures) == Buried(robots=len(MANY_HOSTS))

    assert await rig.store.marks("robots:") == new
    assert await rig.store.mark("job:1:x") == b"old"
    assert await rig.store.mark("robot") == b"old"
    assert await vultures.total() == Buried(robots=len(MANY_HOSTS))


async def test_addresses_leave_when_their_time_is_over(rig: Rig) -> None:
    await rig.store.share({f"dns:{host}": b"1" for host in MANY_HOSTS}, 60_000)
    await rig.store.share({"dns:late": b"1"}, 600_000)
    rig.tick(61)
    assert await walk(of(rig)) == Buried(names=len(MANY_HOSTS))
    assert await rig.store.shared(["dns:late"]) == [b"1"]


async def test_a_step_is_short_and_rounds_come_after_a_pause(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HOSTS_AT_ONCE", 3)
    monkeypatch.setattr(module, "LOOKS_AT_ONCE", 7)
    await rig.offer(*(rig.link("p", host) for host in MANY_HOSTS))
    await finish(rig)
    await rig.offer(*(rig.link("q", host) for host in MANY_HOSTS[5:]))
    rig.tick(2 * HOUR_S)
    vultures = of(rig)

    steps = [await vultures.step()]
    while vultures.walking:
        steps.append(await vultures.step())
    assert [step.hosts for step in steps] == [0, 0, 3, 2]
    await finish(rig)
    rig.tick(module.PAUSE_MS / 1000 - 30)
    assert await vultures.step() == Buried()
    assert not vultures.walking


def objects() -> int:
    """Count what hosts are made of, in the whole process."""
    return sum(isinstance(thing, Host | Queue | Line) for thing in gc.get_objects())


def traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def test_memory_falls_when_hosts_sleep_and_stays_low_on_opening(tmp_path: Path) -> None:
    many = 4_000
    backend = EmbeddedBackend(tmp_path, VirtualClock())
    rig = await open_rig(backend)
    await rig.offer(rig.link("first", rank=5_000))
    gc.collect()
    others = objects()
    tracemalloc.start()
    try:
        before = traced()
        hosts = [HostKey(f"host-{n}.example.com") for n in range(many)]
        await rig.offer(*(rig.link("p", host, rank=5_000) for host in hosts))
        while leases := await rig.take():
            await rig.store.ack([Ack(lease, Result.DONE) for lease in leases])
        rig.tick(2 * HOUR_S)
        assert await rig.take() == []
        del hosts, leases
        awake = traced() - before
        assert objects() - others == 3 * many
        assert (await walk(of(rig))).hosts == many + 1
        asleep = traced() - before
        assert objects() == others - 3
        assert asleep < 0.3 * awake, f"{asleep // many} bytes a host, {awake // many} before"
    finally:
        tracemalloc.stop()
    await rig.restart()
    assert objects() == others - 3
    assert await rig.counts() == Counts(done=many + 1)
    await backend.close()
