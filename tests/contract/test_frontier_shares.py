"""How the work is shared out among the jobs of one store.

Jobs of one priority get equal shares of what is handed out as long as they have hosts that may be
asked, however many those are; a job of a higher priority goes first.
"""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, FOR_LONG_MS, Rig, open_rig

from skitter.frontier.model import JobEntry, JobState
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, JobNumber
from skitter.url.partition import slot_of

KINDS = ("embedded", "redis", "redis-wide", "redis-cluster", "remote", "valkey")
FEW = [HostKey(f"few{n}.test") for n in range(2)]
MANY = [HostKey(f"many{n}.test") for n in range(100)]


@pytest.fixture(params=KINDS)
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    made = await open_rig(backend, delay_ms=0, per_host=1000)
    slots = sorted({slot_of(host) for host in (*FEW, *MANY)})
    made.grants = await made.store.own("member-1", slots, FOR_LONG_MS)
    yield made
    await backend.close()


async def fill(
    rig: Rig, job: JobNumber, hosts: Sequence[HostKey], urls: int, priority: int = 5
) -> None:
    for host in hosts:
        links = [
            rig.link(f"{job}-{priority}-{n}", host, job=job, priority=priority) for n in range(urls)
        ]
        await rig.offer(*links)


async def served(rig: Rig, claims: int, k: int = 1) -> Counter[JobNumber]:
    """Claim and finish so many times; tells how many URLs of each job came."""
    found: Counter[JobNumber] = Counter()
    for _ in range(claims):
        leases = await rig.take(k)
        found.update(lease.job for lease in leases)
        for lease in leases:
            await rig.end(lease)
    return found


async def other(rig: Rig) -> JobNumber:
    return await rig.store.put_job(JobEntry(id="job-2", delay_ms=0, per_host=1000))


@pytest.mark.parametrize(("claims", "k"), [(200, 1), (12, 16)])
async def test_equal_jobs_get_equal_shares_whatever_the_number_of_their_hosts(
    rig: Rig, claims: int, k: int
) -> None:
    small = await other(rig)
    await fill(rig, rig.job, MANY, 4)
    await fill(rig, small, FEW, 110)
    found = await served(rig, claims, k)
    assert found.total() == claims * k
    assert abs(found[small] - found[rig.job]) <= 0.2 * found.total(), found


async def test_hosts_in_common_are_shared_as_well(rig: Rig) -> None:
    small = await other(rig)
    await fill(rig, rig.job, MANY, 4)
    await fill(rig, small, MANY[:2], 60)
    found = await served(rig, 100)
    assert abs(found[small] - found[rig.job]) <= 20, found


async def test_a_higher_priority_goes_first(rig: Rig, request: pytest.FixtureRequest) -> None:
    if "wide" in request.node.name:
        pytest.skip("what is queued in slots of nobody is heard of within a second")
    urgent = await other(rig)
    await fill(rig, rig.job, MANY, 2)
    assert await served(rig, 10) == {rig.job: 10}
    await fill(rig, urgent, FEW, 20, priority=9)
    assert await served(rig, 40) == {urgent: 40}
    assert await served(rig, 10) == {rig.job: 10}


async def test_a_job_is_not_owed_for_the_time_it_was_paused(rig: Rig) -> None:
    small = await other(rig)
    await fill(rig, rig.job, MANY, 4)
    await fill(rig, small, FEW, 60)
    await rig.store.set_job_state(small, JobState.PAUSE)
    assert await served(rig, 60) == {rig.job: 60}
    await rig.store.set_job_state(small, JobState.RUN)
    found = await served(rig, 40)
    assert abs(found[small] - found[rig.job]) <= 10, found
