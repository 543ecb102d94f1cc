"""What acks add up to, the version that news raise, and job numbers, in the embedded frontier."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from embedded_rig import LEASE_MS, EmbeddedRig

from skitter.frontier.model import Ack, JobEntry, JobState, Result
from skitter.types import JobNumber


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[EmbeddedRig]:
    made = EmbeddedRig(tmp_path)
    await made.open()
    yield made
    await made.frontier.close()


async def version(rig: EmbeddedRig) -> int:
    return (await rig.claim(0)).version


# Tallies


async def test_tallies_of_acks_add_up_by_name(rig: EmbeddedRig) -> None:
    assert await rig.frontier.tallies(rig.job) == {}
    one, two, three = await rig.leases(1, 2, 3)
    acks = [
        Ack(one, Result.DONE, tally=(("pages", 1), ("bytes", 10))),
        Ack(two, Result.DEAD, tally=(("pages", 1), ("error:status 404", 1))),
    ]
    await rig.frontier.ack(acks)
    await rig.end(three, tally=(("bytes", 5),))
    assert await rig.frontier.tallies(rig.job) == {"pages": 2, "bytes": 15, "error:status 404": 1}


async def test_every_job_has_tallies_of_its_own(rig: EmbeddedRig) -> None:
    other = await rig.add_job("other")
    [mine] = await rig.leases(1)
    [theirs] = await rig.leases(2, job=other)
    acks = [Ack(mine, Result.DONE, tally=(("pages", 1),)), Ack(theirs, Result.DONE)]
    await rig.frontier.ack(acks)
    assert await rig.frontier.tallies(rig.job) == {"pages": 1}
    assert await rig.frontier.tallies(other) == {}
    assert await rig.frontier.tallies(JobNumber(99)) == {}


async def test_tallies_survive_a_crash_together_with_their_acks(rig: EmbeddedRig) -> None:
    for number in range(3):
        await rig.end(*await rig.leases(number), tally=(("pages", 1),))
    await rig.crash()
    assert await rig.frontier.tallies(rig.job) == {"pages": 3}
    await rig.end(*await rig.leases(7), tally=(("pages", 1), ("ok", 1)))
    await rig.crash()
    assert await rig.frontier.tallies(rig.job) == {"pages": 4, "ok": 1}
    assert (await rig.frontier.counts(rig.job)).done == 4


async def test_an_ack_that_comes_too_late_adds_nothing(rig: EmbeddedRig) -> None:
    [late] = await rig.leases(1)
    rig.clock.advance(LEASE_MS / 1000)
    assert (await rig.end(late, tally=(("pages", 1),))).stale == (late.id,)
    assert await rig.frontier.tallies(rig.job) == {}
    [again] = (await rig.claim()).leases
    assert (await rig.end(again, tally=(("pages", 1),))).accepted == 1
    assert (await rig.end(again, tally=(("pages", 1),))).stale == (again.id,)
    assert await rig.frontier.tallies(rig.job) == {"pages": 1}


async def test_what_is_answered_is_not_what_is_counted_in(rig: EmbeddedRig) -> None:
    await rig.end(*await rig.leases(1), tally=(("pages", 1),))
    (await rig.frontier.tallies(rig.job))["pages"] = 99
    assert await rig.frontier.tallies(rig.job) == {"pages": 1}


# The version


async def test_news_raise_the_version_and_marks_do_not(rig: EmbeddedRig) -> None:
    before = await version(rig)
    await rig.frontier.ack([], marks={"mine": b"x"})
    await rig.end(*await rig.leases(1))
    assert await version(rig) == before
    await rig.frontier.ack([], news={"scope:1:http://far.test/": b""})
    assert await version(rig) > before
    assert await rig.frontier.marks("scope:1:") == {"scope:1:http://far.test/": b""}


async def test_whoever_claims_what_news_came_with_is_told_of_the_new_version(
    rig: EmbeddedRig,
) -> None:
    before = await version(rig)
    [lease] = await rig.leases(1)
    ack = Ack(lease, Result.DONE, links=[rig.link(2)])
    await rig.frontier.ack([ack], news={"scope:1:x": b""})
    claim = await rig.claim()
    assert (len(claim.leases), claim.version > before) == (1, True)


async def test_changes_of_jobs_raise_the_version(rig: EmbeddedRig) -> None:
    found = [await version(rig)]
    await rig.frontier.put_job(JobEntry(id="job", delay_ms=5))
    found.append(await version(rig))
    for state in (JobState.PAUSE, JobState.RUN, JobState.CANCEL):
        await rig.frontier.set_job_state(rig.job, state)
        found.append(await version(rig))
    assert found == sorted(set(found))


# Numbers of jobs


async def test_the_number_of_a_job_that_was_dropped_is_not_used_again(rig: EmbeddedRig) -> None:
    gone = await rig.add_job("gone")
    await rig.leases(1, job=gone)
    await rig.frontier.drop_job(gone)
    # The job that is left is put once more.
    assert await rig.add_job("job", delay_ms=7) == rig.job
    await rig.crash()
    assert await rig.add_job("new") not in (rig.job, gone)
