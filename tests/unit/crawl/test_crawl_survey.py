"""What is left to do over all jobs of a store."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from skitter.crawl import survey as survey_module
from skitter.crawl.survey import LOOK_S, WORTH, Survey
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Counts, JobEntry, JobState, Link, Result
from skitter.observability.stats import CrawlStats
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber

HOST = HostKey("a.test")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedFrontier]:
    made = EmbeddedFrontier(tmp_path / "store", clock=VirtualClock(), durable=False)
    await made.open()
    yield made
    await made.close()


async def add(store: EmbeddedFrontier, name: str, urls: int, pages: int | None = None) -> JobNumber:
    job = await store.put_job(JobEntry(id=name, delay_ms=0, per_host=100, pages=pages))
    links = [Link(f"http://a.test/{n}", Fingerprint(n + 1), HOST, job) for n in range(urls)]
    await store.offer(links)
    return job


async def fetch(store: EmbeddedFrontier, n: int) -> None:
    grants = await store.own("member", range(1))
    leases = (await store.claim(grants, n)).leases
    assert len(leases) == n
    await store.ack([Ack(one, Result.DONE, tally=(("pages", 1), ("ok", 1))) for one in leases])


async def left(store: EmbeddedFrontier) -> tuple[int, int]:
    found = await Survey(store).look()
    return found.queued, found.left


async def test_an_empty_store_has_nothing_left(store: EmbeddedFrontier) -> None:
    assert await left(store) == (0, 0)


async def test_what_waits_is_left_as_far_as_page_limits_allow(store: EmbeddedFrontier) -> None:
    await add(store, "open", 10)
    assert await left(store) == (10, 10)
    await add(store, "limited", 10, pages=4)
    assert await left(store) == (20, 14)
    await fetch(store, 6)
    queued, rest = await left(store)
    assert queued == 14
    assert 8 <= rest <= 12, "pages of the limited job count against its limit"


async def test_a_job_at_its_limit_has_nothing_left(store: EmbeddedFrontier) -> None:
    await add(store, "limited", 10, pages=4)
    await fetch(store, 4)
    assert await left(store) == (6, 0)


async def test_a_paused_job_is_nothing_to_wait_for(store: EmbeddedFrontier) -> None:
    job = await add(store, "open", 10)
    await store.set_job_state(job, JobState.PAUSE)
    assert await left(store) == (0, 0)
    await store.set_job_state(job, JobState.RUN)
    assert await left(store) == (10, 10)


async def test_totals_are_those_of_all_jobs_and_come_when_they_are_asked_for(
    store: EmbeddedFrontier,
) -> None:
    await add(store, "one", 3)
    job = await add(store, "two", 3)
    await fetch(store, 5)
    await store.set_job_state(job, JobState.PAUSE)
    assert (await Survey(store, totals=True).look()).totals.pages == 5
    assert (await Survey(store).look()).totals.pages == 0


async def test_what_was_found_is_shown(store: EmbeddedFrontier) -> None:
    await add(store, "limited", 10, pages=4)
    stats = CrawlStats(pages=7)
    (await Survey(store).look()).show(stats)
    assert (stats.pages, stats.queued, stats.left, stats.hosts) == (7, 10, 4, 1)


class SlowStore:
    """A store whose answers take their time."""

    async def jobs(self) -> Mapping[JobNumber, JobEntry]:
        await asyncio.sleep(0.1)
        return {JobNumber(1): JobEntry(id="slow")}

    async def counts(self, job: JobNumber) -> Counts:
        del job
        return Counts(queued=3)

    async def hosts_with_work(self) -> int:
        return 1


async def test_a_look_that_costs_much_is_taken_rarely(
    store: EmbeddedFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = Survey(store)
    await quick.look()
    assert quick.pause_s >= LOOK_S
    slow = Survey(SlowStore())  # type: ignore[arg-type]
    assert (await slow.look()).left == 3
    assert slow.pause_s >= 0.1 * WORTH
    monkeypatch.setattr(survey_module, "LONGEST_S", 3.0)
    await slow.look()
    assert slow.pause_s == 3.0
