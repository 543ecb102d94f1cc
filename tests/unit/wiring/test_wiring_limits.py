"""Limits of time and bytes of the jobs of a master."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skitter.crawl.rights import EverySlot
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, JobState, Link, Result
from skitter.job.spec import check_job
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.wiring.limits import KEEP_S, LONGEST_STEP_S, JobLimits
from skitter.wiring.parts import job_entry
from skitter.wiring.store import Store

HOST = HostKey("a.test")


class Jobs:
    """A store and the limits of its jobs."""

    def __init__(self, folder: Path, clock: VirtualClock) -> None:
        self.frontier = EmbeddedFrontier(folder, clock=clock, durable=False)
        self.clock = clock
        self.store = Store(
            frontier=self.frontier,
            reader=self.frontier,
            control=self.frontier,
            secret=b"",
            clock=clock,
            holdings=EverySlot(self.frontier, "m"),
            lease_ms=60_000,
        )
        self.limits = JobLimits(self.store)

    async def add(self, urls: int = 10, **limits: Any) -> JobNumber:
        job = check_job(
            {"id": "job", "entries": ["http://a.test/"], "limits": limits, "polite": {"delay": 0}},
            "test",
        )
        number = await self.frontier.put_job(job_entry(job))
        await self.limits.begin_run(number)
        links = [Link(f"http://a.test/{n}", Fingerprint(n + 1), HOST, number) for n in range(urls)]
        await self.frontier.offer(links)
        return number

    async def fetch(self, n: int, bytes_each: int = 100) -> None:
        grants = await self.frontier.own("member", range(1))
        for _ in range(n):
            claim = await self.frontier.claim(grants, 1)
            tally = (("pages", 1), ("body_bytes", bytes_each))
            await self.frontier.ack([Ack(one, Result.DONE, tally=tally) for one in claim.leases])

    async def pass_time(self, seconds: float, step: float = 1.0) -> None:
        await self.limits.tend()
        for _ in range(round(seconds / step)):
            self.clock.advance(step)
            await self.limits.tend()

    async def standing(self, number: JobNumber) -> tuple[str, str]:
        entry = (await self.frontier.jobs())[number]
        pages = (await self.frontier.tallies(number)).get("pages", 0)
        counts = await self.frontier.counts(number)
        why = await self.limits.stopped_by(number, entry, pages, counts)
        return entry.state.value, why


@asynccontextmanager
async def opened(folder: Path, clock: VirtualClock | None = None) -> AsyncIterator[Jobs]:
    jobs = Jobs(folder, clock or VirtualClock())
    await jobs.frontier.open()
    try:
        yield jobs
    finally:
        await jobs.frontier.close()


@pytest.fixture
async def jobs(tmp_path: Path) -> AsyncIterator[Jobs]:
    async with opened(tmp_path / "store") as made:
        yield made


async def test_a_job_without_limits_runs_on(jobs: Jobs) -> None:
    job = await jobs.add()
    await jobs.fetch(3)
    await jobs.pass_time(1_000)
    assert await jobs.standing(job) == ("run", "")


async def test_a_job_whose_time_is_up_is_paused(jobs: Jobs) -> None:
    job = await jobs.add(time=30)
    await jobs.pass_time(29)
    assert await jobs.standing(job) == ("run", "")
    await jobs.pass_time(1)
    assert await jobs.standing(job) == ("pause", "time limit")


async def test_a_job_that_has_brought_enough_is_paused(jobs: Jobs) -> None:
    job = await jobs.add(bytes=250)
    await jobs.fetch(2)
    await jobs.pass_time(5)
    assert await jobs.standing(job) == ("run", "")
    await jobs.fetch(1)
    await jobs.pass_time(1)
    assert await jobs.standing(job) == ("pause", "bytes limit")


async def test_the_limit_of_pages_and_the_end_are_named_as_well(jobs: Jobs) -> None:
    job = await jobs.add(urls=4, pages=3)
    assert await jobs.standing(job) == ("run", "")
    await jobs.fetch(3)
    assert await jobs.standing(job) == ("run", "pages limit")
    await jobs.frontier.set_job_state(job, JobState.PAUSE)
    assert await jobs.standing(job) == ("pause", "pages limit"), "as a crawl of a shared store does"
    await jobs.frontier.set_job_state(job, JobState.RUN)
    await jobs.add(urls=4, pages=5)
    await jobs.fetch(1)
    assert await jobs.standing(job) == ("run", "finished")


async def test_a_job_that_somebody_else_paused_has_no_limit_to_blame(jobs: Jobs) -> None:
    job = await jobs.add(time=30)
    await jobs.frontier.set_job_state(job, JobState.PAUSE)
    await jobs.pass_time(100)
    assert await jobs.standing(job) == ("pause", "")
    await jobs.frontier.set_job_state(job, JobState.RUN)
    await jobs.pass_time(29)
    assert await jobs.standing(job) == ("run", ""), "the pause did not count"


async def test_time_in_which_a_job_has_nothing_to_fetch_does_not_count(jobs: Jobs) -> None:
    job = await jobs.add(urls=1, time=30)
    await jobs.fetch(1)
    await jobs.pass_time(100)
    assert await jobs.standing(job) == ("run", "finished")


async def test_time_in_which_the_machine_slept_does_not_count(jobs: Jobs) -> None:
    job = await jobs.add(time=LONGEST_STEP_S + 20)
    await jobs.pass_time(10_000, step=10_000)
    assert await jobs.standing(job) == ("run", "")


async def test_adding_a_job_again_begins_a_new_run(jobs: Jobs) -> None:
    job = await jobs.add(time=30)
    await jobs.pass_time(31)
    assert await jobs.add(time=30) == job
    assert await jobs.standing(job) == ("run", "")
    await jobs.pass_time(29)
    assert await jobs.standing(job) == ("run", "")
    await jobs.pass_time(2)
    assert await jobs.standing(job) == ("pause", "time limit")


async def test_a_larger_limit_counts_from_when_the_job_is_added_again(jobs: Jobs) -> None:
    job = await jobs.add(bytes=250)
    await jobs.fetch(3)
    await jobs.pass_time(1)
    assert await jobs.standing(job) == ("pause", "bytes limit")
    await jobs.add(bytes=350)
    await jobs.pass_time(5)
    assert await jobs.standing(job) == ("run", "")
    await jobs.fetch(1)
    await jobs.pass_time(1)
    assert await jobs.standing(job) == ("pause", "bytes limit")


async def test_a_restart_goes_on_counting_and_knows_what_stopped_a_job(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with opened(tmp_path / "store", clock) as first:
        job = await first.add(time=30)
        await first.pass_time(20)
        await first.limits.close()
    async with opened(tmp_path / "store", clock) as second:
        await second.pass_time(9)
        assert await second.standing(job) == ("run", "")
        await second.pass_time(1)
        assert await second.standing(job) == ("pause", "time limit")
    async with opened(tmp_path / "store", clock) as third:
        await third.pass_time(9)
        assert await third.standing(job) == ("pause", "time limit")


async def test_a_kill_forgets_a_few_seconds_of_a_run(tmp_path: Path) -> None:
    clock = VirtualClock()
    async with opened(tmp_path / "store", clock) as first:
        job = await first.add(time=60)
        await first.pass_time(50)
    async with opened(tmp_path / "store", clock) as second:
        await second.pass_time(10 + KEEP_S)
        assert await second.standing(job) == ("pause", "time limit")


async def test_a_job_whose_records_were_all_rejected_is_finished(jobs: Jobs) -> None:
    job = await jobs.add(urls=1)
    assert await jobs.standing(job) == ("run", "")
    grants = await jobs.frontier.own("member", range(1))
    claim = await jobs.frontier.claim(grants, 1)
    rejected = [Ack(one, Result.DONE, tally=(("rejected", 1),)) for one in claim.leases]
    await jobs.frontier.ack(rejected)
    assert await jobs.standing(job) == ("run", "finished")
