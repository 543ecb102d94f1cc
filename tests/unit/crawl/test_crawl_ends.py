"""The ends of jobs are told once, whoever looks and whenever."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skitter.crawl.ends import Ends, open_job
from skitter.crawl.survey import Survey
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, JobEntry, JobState, Link, Result
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber

HOST = HostKey("a.test")
LIMIT = "stopped: pages limit"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedFrontier]:
    made = EmbeddedFrontier(tmp_path / "store", clock=VirtualClock(), durable=False)
    await made.open()
    yield made
    await made.close()


async def add(store: EmbeddedFrontier, urls: int, pages: int | None = None) -> JobNumber:
    job = await store.put_job(JobEntry(id="one", delay_ms=0, per_host=100, pages=pages))
    links = [Link(f"http://a.test/{n}", Fingerprint(n + 1), HOST, job) for n in range(urls)]
    await store.offer(links)
    return job


async def fetch(store: EmbeddedFrontier, n: int) -> None:
    grants = await store.own("member", range(1))
    leases = (await store.claim(grants, n)).leases
    assert len(leases) == n
    await store.ack([Ack(one, Result.DONE, tally=(("pages", 1), ("ok", 1))) for one in leases])


def survey_of(store: EmbeddedFrontier) -> Survey:
    return Survey(store, ends=Ends(store, store, VirtualClock()))


async def told(store: EmbeddedFrontier) -> list[str]:
    return [json.loads(event)["message"] for _, event in await store.events("")]


async def look(*surveys: Survey) -> None:
    for survey in surveys:
        await survey.look()


@pytest.mark.parametrize(("pages", "words"), [(None, "finished"), (3, LIMIT), (4, "finished")])
async def test_the_end_of_a_job_is_told_once(
    store: EmbeddedFrontier, pages: int | None, words: str
) -> None:
    surveys = [survey_of(store) for _ in range(2)]
    await add(store, 4, pages)
    await look(*surveys)
    await fetch(store, 2)
    await look(*surveys)
    assert await told(store) == []
    await fetch(store, 1 if words == LIMIT else 2)
    await look(*surveys, *surveys, survey_of(store))
    assert await told(store) == [words]


async def test_an_end_that_nobody_saw_is_told_by_the_next_process(store: EmbeddedFrontier) -> None:
    await add(store, 4, pages=2)
    await look(survey_of(store))
    await fetch(store, 2)
    await look(survey_of(store), survey_of(store))
    assert await told(store) == [LIMIT]


async def test_a_job_that_gets_more_pages_ends_once_more(store: EmbeddedFrontier) -> None:
    survey = survey_of(store)
    await add(store, 4, pages=2)
    await look(survey)
    await fetch(store, 2)
    await look(survey)
    await store.put_job(JobEntry(id="one", delay_ms=0, per_host=100, pages=3))
    await look(survey)
    await fetch(store, 1)
    await look(survey, survey)
    assert await told(store) == [LIMIT, LIMIT]


async def test_a_job_that_ends_between_two_looks_is_told_of(store: EmbeddedFrontier) -> None:
    survey = survey_of(store)
    job = await store.put_job(JobEntry(id="one", delay_ms=0, per_host=100))
    await open_job(store, job)
    await look(survey)
    assert await told(store) == [], "it has not begun"
    await store.offer([Link("http://a.test/", Fingerprint(1), HOST, job)])
    await fetch(store, 1)
    await look(survey, survey)
    assert await told(store) == ["finished"]


async def test_jobs_that_ended_before_anybody_kept_it_are_not_told_of(
    store: EmbeddedFrontier,
) -> None:
    await add(store, 1)
    await fetch(store, 1)
    await look(survey_of(store))
    assert await told(store) == []


async def test_a_job_that_is_paused_has_not_come_to_its_end(store: EmbeddedFrontier) -> None:
    survey = survey_of(store)
    job = await add(store, 2)
    await look(survey)
    await store.set_job_state(job, JobState.PAUSE)
    await look(survey)
    assert await told(store) == []
