"""What nobody needs leaves the store; what somebody may need stays."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from frontier_backends import HOST, MANY_HOSTS, OTHER_HOST, Rig, open_rig, paths_of
from redis_backend import ClusterBackend, Member, RedisBackend

from skitter.frontier.model import Counts, JobState, Result
from skitter.frontier.redis.vultures import MISSED_MS, Vultures
from skitter.frontier.vultures import IDLE_MS, Buried
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import TAGS

HOUR_S = IDLE_MS / 1000


@pytest.fixture(params=[RedisBackend, ClusterBackend])
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = request.param(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def store(rig: Rig) -> Member:
    assert isinstance(rig.store, Member)
    return rig.store


def of(rig: Rig) -> Vultures:
    return store(rig).vultures(lambda value: value == b"old")


async def walk(vultures: Vultures) -> Buried:
    """Go over the whole store once, at least."""
    buried = [await vultures.step() for _ in range(TAGS)]
    # Others have keys on the same server: once to the end of a round, and one more.
    for _ in range(2):
        while vultures._masters:
            buried.append(await vultures.step())
        buried.append(await vultures.step())
    return Buried(*map(sum, zip(*buried, strict=True)))


async def hosts_in(rig: Rig) -> int:
    names = []
    for line in store(rig).nodes.masters():
        names += await store(rig).nodes.ask_master(line, "KEYS", store(rig).keys.any_host)
    return len(names)


async def finish(rig: Rig) -> None:
    while leases := await rig.take():
        for lease in leases:
            await rig.end(lease)
        rig.tick(1)


async def test_hosts_that_are_done_leave_after_an_hour_and_are_counted(rig: Rig) -> None:
    await rig.offer(*(rig.link("p", host) for host in MANY_HOSTS))
    await finish(rig)
    vultures = of(rig)

    rig.tick(HOUR_S - 60)
    assert (await walk(vultures)).hosts == 0
    rig.tick(120)
    assert (await walk(vultures)).hosts == len(MANY_HOSTS)

    assert await hosts_in(rig) == 0
    assert (await vultures.total()).hosts == len(MANY_HOSTS)
    assert await rig.store.hosts(rig.job) == len(MANY_HOSTS)
    assert await rig.counts() == Counts(done=len(MANY_HOSTS))


async def test_a_change_of_its_job_does_not_bring_a_buried_host_back(rig: Rig) -> None:
    await rig.offer("a")
    await finish(rig)
    rig.tick(2 * HOUR_S)
    await walk(of(rig))

    entry = (await rig.store.jobs())[rig.job]
    await rig.store.put_job(msgspec.structs.replace(entry, delay_ms=0, per_host=3))

    assert await hosts_in(rig) == 0
    await rig.offer(*(f"p{n}" for n in range(5)))
    assert sum([len(await rig.take()) for _ in range(4)]) == 3


async def test_a_buried_host_comes_back_with_its_next_url(rig: Rig) -> None:
    await rig.offer("a")
    await finish(rig)
    rig.tick(2 * HOUR_S)
    assert (await walk(of(rig))).hosts == 1

    assert (await rig.offer("a", "b")).new == 1
    assert paths_of(await rig.take()) == ["b"]
    rig.tick(0.5)
    await rig.offer("c")
    assert await rig.take() == [], "its delay counts as before"


@pytest.mark.parametrize("why", ["queued", "leased", "scheduled", "paused", "resting"])
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
    rig.tick(3 * HOUR_S)

    assert (await walk(of(rig))).hosts == 0
    assert await hosts_in(rig) == 1


async def test_a_scheduled_url_that_came_and_was_done_does_not_keep_its_host(rig: Rig) -> None:
    await rig.offer("a")
    await rig.end(await rig.take_one(), Result.RETRY, at_ms=rig.now_ms + 5_000)
    rig.tick(6)
    await finish(rig)
    rig.tick(2 * HOUR_S)
    assert (await walk(of(rig))).hosts == 1


async def test_old_rules_of_robots_files_leave_and_others_stay(rig: Rig) -> None:
    marks = {f"robots:https://{host}": b"old" for host in MANY_HOSTS[:3]}
    await rig.store.ack([], marks={**marks, "robots:https://new": b"new", "job:1:x": b"old"})

    assert (await walk(of(rig))).robots == 3

    assert await rig.store.marks("robots:") == {"robots:https://new": b"new"}
    assert await rig.store.mark("job:1:x") == b"old"


async def test_answers_to_processes_that_are_gone_leave(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    await finish(rig)
    first = store(rig)
    await rig.restart()
    vultures = of(rig)

    await walk(vultures)
    rig.tick(MISSED_MS / 1000 + 1)
    await walk(vultures)

    keys = store(rig).keys
    fields = [await store(rig).nodes.run(k, "HKEYS", k) for k in map(keys.requests, range(TAGS))]
    left = {field for some in fields for field in some}
    assert not any(field.endswith(first._core.session.encode()) for field in left)
