"""An engine that serves every job of a store, and one that shares its job with others."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import SITE, Web, by_url, make_job
from shared_rig import SharedRig, found, small_web, until

from skitter.clock import SystemClock
from skitter.crawl import engine as engine_module
from skitter.crawl.desk import Desk, Desks
from skitter.errors import ConfigError
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Claim, Freed, JobEntry, Link, Result, UrlState
from skitter.types import JobNumber


@pytest.fixture
def web() -> Web:
    return small_web()


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[SharedRig]:
    polite = {"robots": False, "per_host": 100}
    made = SharedRig(tmp_path, web, make_job(polite=polite, traps={"enabled": False}))
    await made.begin()
    yield made
    await made.close()


# Pages of others


async def test_a_limit_of_pages_counts_those_of_others(rig: SharedRig) -> None:
    await rig.offer_in(1, "/a", "/b", "/c", "/d", "/e")
    engine = rig.engine(pages=5)
    engine.others_have(pages=3, leased=0)
    await engine.run()
    assert engine.stopped_by == "pages limit"
    assert len(rig.sink.records) == 2
    assert (await rig.counts()).queued == 3


@pytest.mark.parametrize("brought", [True, False])
async def test_what_others_have_under_way_is_waited_for_before_a_limit_is_reached(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch, brought: bool
) -> None:
    monkeypatch.setattr(engine_module, "IDLE_S", 0.01)
    await rig.offer_in(1, "/a", "/b", "/c", "/d", "/e")
    engine = rig.engine(pages=5)
    engine.others_have(pages=2, leased=1)
    running = asyncio.create_task(engine.run())
    await until(lambda: engine.counted[:2] == (2, 0))
    await asyncio.sleep(0.05)
    assert not running.done()
    # It was a page, or it was put off and nobody has it now.
    engine.others_have(pages=4 + brought, leased=0)
    await asyncio.wait_for(running, 60)
    assert engine.stopped_by == "pages limit"
    assert len(rig.sink.records) == (2 if brought else 3)


async def test_the_last_page_of_another_is_the_end_though_nobody_has_told_of_it_yet(
    rig: SharedRig,
) -> None:
    await rig.offer_in(1, "/a", "/b", "/c")
    other = await rig.frontier.claim(rig.slots.grants, 1, lease_ms=60_000, freed=())
    (lease,) = other.leases
    far = SystemClock().now_ms() + 3_600_000
    rests = Freed(lease.id, lease.host, not_before_ms=far)
    await rig.frontier.claim(rig.slots.grants, 0, freed=[rests])
    await rig.frontier.ack([Ack(lease, Result.DONE, tally=(("pages", 1),))])
    engine = rig.engine(pages=1, patience_s=60)
    await asyncio.wait_for(engine.run(), 60)
    assert (engine.stopped_by, rig.sink.records) == ("pages limit", [])


async def test_own_pages_and_leases_are_not_counted_twice(rig: SharedRig) -> None:
    await rig.offer_in(1, "/a", "/b", "/c", "/d", "/e")
    rig.held.hold(f"{SITE}/b")
    engine = rig.engine(pages=4, concurrency=2)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/b")
    await until(lambda: len(rig.sink.records) == 3)
    pages, leased = engine.counted[:2]
    # As the store counts: what this engine has is a part of it.
    engine.others_have(pages, leased)
    rig.held.let_go(f"{SITE}/b")
    await running
    assert (engine.stopped_by, len(rig.sink.records)) == ("pages limit", 4)


async def test_pages_of_earlier_runs_count_as_well(rig: SharedRig) -> None:
    rig.earlier.pages = 3
    await rig.offer_in(1, "/a", "/b", "/c")
    engine = rig.engine(pages=5)
    engine.others_have(pages=4, leased=0)
    await engine.run()
    assert (engine.stopped_by, len(rig.sink.records)) == ("pages limit", 1)


# Every job of a store


class OtherJobs:
    """Makes desks for jobs that come while an engine runs; they share the pieces of the first."""

    def __init__(self, rig: SharedRig) -> None:
        self._rig = rig
        self.asked: list[JobNumber] = []
        self.unusable = False

    async def __call__(self, job: JobNumber) -> Desk:
        self.asked.append(job)
        if self.unusable:
            raise ConfigError("http.headers: X_TOKEN is not set")
        rig = self._rig
        return Desk(rig.equipment, rig.committer, rig.visitor)

    async def add(self, path: str) -> JobNumber:
        """Make a job with one URL."""
        rig = self._rig
        number = await rig.frontier.put_job(JobEntry(id="other", delay_ms=0, per_host=100))
        await rig.frontier.offer([self.link(path, number)])
        return number

    def link(self, path: str, job: JobNumber) -> Link:
        normal = self._rig.normal(f"{SITE}{path}")
        return Link(normal.url, normal.fp, normal.host, job)


@pytest.fixture
def others(rig: SharedRig, monkeypatch: pytest.MonkeyPatch) -> OtherJobs:
    monkeypatch.setattr(engine_module, "IDLE_S", 0.01)
    made = OtherJobs(rig)
    rig.desks = Desks(made)
    rig.recording.serve(JobNumber(2), [rig.sink])
    return made


async def test_urls_of_a_job_that_cannot_be_worked_on_are_left_to_others_for_a_while(
    rig: SharedRig, others: OtherJobs
) -> None:
    others.unusable = True
    number = await others.add("/a")
    await rig.offer_in(1, "/b")
    engine = rig.engine(every_job=True, idle_exit=2)
    begun = SystemClock().now_ms()
    await engine.run()
    assert (engine.stopped_by, others.asked, found(rig)) == ("idle", [number], ["/b"])
    link = others.link("/a", number)
    seen = await rig.frontier.look(number, link.host, link.fp)
    assert (seen.state, seen.attempts) == (UrlState.SCHEDULED, 0)
    # Two clocks may round the same moment to different milliseconds.
    assert (seen.due_ms or 0) >= begun + engine_module.UNUSABLE_MS - 1


async def test_a_job_is_tried_again_when_there_are_news_of_it(
    rig: SharedRig, others: OtherJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "UNUSABLE_MS", 20)
    others.unusable = True
    number = await others.add("/a")
    engine = rig.engine(every_job=True)
    running = asyncio.create_task(engine.run())
    await until(lambda: bool(others.asked))
    await asyncio.sleep(0.1)
    assert others.asked == [number], "nothing is new: it would fail again"
    others.unusable = False
    await others.add("/a")
    await until(lambda: len(rig.sink.records) == 1 or running.done())
    engine.stop("interrupted")
    await running
    assert others.asked == [number, number]


async def test_a_job_that_comes_while_the_engine_runs_is_worked_on(
    rig: SharedRig, others: OtherJobs
) -> None:
    engine = rig.engine(every_job=True)
    running = asyncio.create_task(engine.run())
    await asyncio.sleep(0.05)
    number = await others.add("/a")
    engine.offered()
    await until(lambda: rig.stats.run_pages == 1)
    assert (await rig.frontier.counts(number)).done == 1
    engine.stop("interrupted")
    await running
    assert others.asked == [number]


@pytest.mark.parametrize("claims", [1, 4])
async def test_an_engine_without_a_job_of_its_own_ends_after_so_many_empty_claims(
    rig: SharedRig, others: OtherJobs, monkeypatch: pytest.MonkeyPatch, claims: int
) -> None:
    empty = 0
    real = EmbeddedFrontier.claim

    async def claim(self: EmbeddedFrontier, *args: Any, **named: Any) -> Claim:
        nonlocal empty
        answer = await real(self, *args, **named)
        empty = 0 if answer.leases else empty + 1
        return answer

    monkeypatch.setattr(EmbeddedFrontier, "claim", claim)
    await rig.offer_in(1, "/a", "/b")
    engine = rig.engine(every_job=True, idle_exit=claims)
    await asyncio.wait_for(engine.run(), 60)
    assert (engine.stopped_by, found(rig)) == ("idle", ["/a", "/b"])
    assert empty >= claims


async def test_an_engine_without_a_job_waits_for_work_unless_told_otherwise(
    rig: SharedRig, others: OtherJobs
) -> None:
    engine = rig.engine(every_job=True)
    running = asyncio.create_task(engine.run())
    await asyncio.sleep(0.1)
    assert not running.done()
    engine.stop("interrupted")
    await running
    assert engine.stopped_by == "interrupted"


async def test_news_are_taken_up_before_a_url_is_worked_on_that_came_with_them(
    rig: SharedRig,
) -> None:
    order: list[str] = []

    async def take_up() -> None:
        order.append("news")

    engine = rig.engine()
    desk = rig.desks.open[rig.number]
    rig.desks.open[rig.number] = replace(desk, take_up_news=take_up)
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    assert order == ["news"], "something may have come since the desk was opened"
    rig.held.hold(f"{SITE}/b")
    await rig.offer_in(1, "/b")
    await rig.frontier.ack([], news={"scope:1:http://far.test/": b""})
    engine.offered()
    await rig.held.asked(f"{SITE}/b")
    assert order == ["news", "news"]
    for path in ("/a", "/b"):
        rig.held.let_go(f"{SITE}{path}")
    await running
    assert by_url(rig.sink.records).keys() == {f"{SITE}/a", f"{SITE}/b"}
