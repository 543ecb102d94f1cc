"""Many visits at once: when a run ends, what it leaves, and what it never exceeds."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, MemorySink, Web, by_url, make_job

from skitter.clock import SystemClock
from skitter.errors import SinkError, StoreUnavailable
from skitter.fetch.base import Request, Response
from skitter.frontier.model import UrlState
from skitter.pipeline.base import Batch
from skitter.testing.fake_fetcher import FakeFetcher

PAGES = 40


@pytest.fixture
def web() -> Web:
    """A home page with links to all others."""
    made = Web()
    made.robots("")
    made.html(HOME, "", *(f"/{n}" for n in range(PAGES - 1)))
    for n in range(PAGES - 1):
        made.html(f"{SITE}/{n}", f"page {n}", "/", f"/{(n + 1) % (PAGES - 1)}")
    return made


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, web, make_job(polite={"per_host": 100}))
    await made.open(clock=SystemClock())
    yield made
    await made.close()


class CountingFetcher:
    """Knows how many requests were under way at once."""

    def __init__(self, inner: FakeFetcher) -> None:
        self._inner = inner
        self._now = 0
        self.peak = 0

    async def fetch(self, request: Request) -> Response:
        self._now += 1
        self.peak = max(self.peak, self._now)
        try:
            for _ in range(5):
                await asyncio.sleep(0)
            return await self._inner.fetch(request)
        finally:
            self._now -= 1

    async def close(self) -> None:
        await self._inner.close()


async def test_a_run_ends_when_every_page_is_safe(rig: CrawlRig) -> None:
    engine = rig.engine()
    await rig.offer(HOME)
    await engine.run()
    assert engine.stopped_by == "finished"
    assert len(by_url(rig.sink.records)) == PAGES
    assert sorted(rig.asked) == sorted(set(rig.asked))
    counts = await rig.counts()
    assert (counts.pending, counts.done) == (0, PAGES)
    assert rig.committer.unsafe == 0


async def test_a_run_with_nothing_to_do_ends_at_once(rig: CrawlRig) -> None:
    engine = rig.engine()
    await engine.run()
    assert engine.stopped_by == "finished"
    assert rig.sink.records == []


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_no_more_requests_are_in_flight_than_allowed(
    tmp_path: Path, web: Web, concurrency: int
) -> None:
    rig = CrawlRig(tmp_path, web, make_job(polite={"per_host": 100}))
    counting = CountingFetcher(rig.fetcher)
    await rig.open(counting, SystemClock())
    records = await rig.run(concurrency=concurrency)
    await rig.close()
    assert counting.peak == concurrency
    assert len(records) == PAGES


async def test_a_host_is_asked_by_as_many_at_once_as_the_job_says(tmp_path: Path, web: Web) -> None:
    rig = CrawlRig(tmp_path, web, make_job(polite={"per_host": 2}))
    counting = CountingFetcher(rig.fetcher)
    await rig.open(counting, SystemClock())
    await rig.run(concurrency=8)
    await rig.close()
    assert counting.peak == 2


@pytest.mark.parametrize("limit", [1, 7])
async def test_the_limit_of_pages_is_exact_and_the_rest_stays_queued(
    rig: CrawlRig, limit: int
) -> None:
    await rig.offer(HOME)
    engine = rig.engine(pages=limit)
    await engine.run()
    assert engine.stopped_by == "pages limit"
    assert len(rig.sink.records) == limit
    assert len(rig.asked) == limit
    counts = await rig.counts()
    assert (counts.done, counts.offered) == (limit, PAGES)


async def test_a_limit_of_time_ends_the_run_and_leaves_the_rest_queued(
    tmp_path: Path, web: Web
) -> None:
    rig = CrawlRig(tmp_path, web, make_job())
    held = HeldFetcher(rig.fetcher)
    await rig.open(held, SystemClock())
    held.hold(f"{SITE}/3")
    await rig.offer(HOME)
    engine = rig.engine(time_s=0.1, drain_s=0.05)
    await asyncio.wait_for(engine.run(), 30)
    assert engine.stopped_by == "time limit"
    assert (await rig.counts()).pending > 0
    await rig.close()


async def test_a_limit_of_bytes_counts_the_whole_job(tmp_path: Path, web: Web) -> None:
    size = len(answer.body) if isinstance(answer := web[f"{SITE}/0"], Response) else 0
    for run in (1, 2):
        rig = CrawlRig(tmp_path, web, make_job())
        await rig.open(clock=SystemClock())
        await rig.offer(HOME)
        engine = rig.engine(bytes=20 * size * run)
        await engine.run()
        await rig.close()
        assert engine.stopped_by == "bytes limit"
        assert (await rig.totals()).body_bytes >= 20 * size * run
        assert 0 < len(rig.sink.records) < PAGES


async def test_a_run_that_has_reached_its_bytes_before_asks_for_nothing(rig: CrawlRig) -> None:
    await rig.offer(HOME)
    rig.earlier.body_bytes = 1000
    engine = rig.engine(bytes=1000)
    await engine.run()
    assert (engine.stopped_by, rig.asked) == ("bytes limit", [])


async def test_sitemaps_count_neither_as_pages_nor_as_errors(tmp_path: Path, web: Web) -> None:
    web.sitemap(f"{SITE}/sitemap_index.xml", f"{SITE}/listed")
    web.html(f"{SITE}/listed", "listed")
    web.status(f"{SITE}/sitemap.xml", 404)
    rig = CrawlRig(tmp_path, web, make_job(sitemaps="auto"))
    await rig.open(clock=SystemClock())
    await rig.run()
    await rig.close()
    assert rig.stats.run_pages == PAGES + 1
    assert rig.stats.errors == {}
    assert rig.stats.status_codes == {200: PAGES + 1}


async def test_a_limit_of_pages_is_exact_beside_sitemaps(tmp_path: Path, web: Web) -> None:
    web.sitemap(f"{SITE}/sitemap.xml", *(f"{SITE}/{n}" for n in range(PAGES)))
    rig = CrawlRig(tmp_path, web, make_job(sitemaps="auto", polite={"per_host": 9}))
    await rig.open(clock=SystemClock())
    await rig.offer(HOME)
    engine = rig.engine(pages=5)
    await engine.run()
    await rig.close()
    assert (engine.stopped_by, len(rig.sink.records)) == ("pages limit", 5)


async def test_a_stopped_run_finishes_what_is_in_flight_and_makes_it_safe(
    tmp_path: Path, web: Web
) -> None:
    rig = CrawlRig(tmp_path, web, make_job())
    held = HeldFetcher(rig.fetcher)
    await rig.open(held, SystemClock())
    held.hold(HOME)
    await rig.offer(HOME)
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await held.asked(HOME)
    engine.stop("interrupted")
    held.let_go(HOME)
    await running
    assert engine.stopped_by == "interrupted"
    assert [record["url"] for record in rig.sink.records] == [HOME]
    assert (await rig.counts()).queued == PAGES - 1
    await rig.close()


async def test_a_request_that_outlasts_the_drain_is_left_for_the_next_run(
    tmp_path: Path, web: Web
) -> None:
    rig = CrawlRig(tmp_path, web, make_job())
    held = HeldFetcher(rig.fetcher)
    await rig.open(held, SystemClock())
    held.hold(HOME)
    await rig.offer(HOME)
    engine = rig.engine(drain_s=0.05)
    running = asyncio.create_task(engine.run())
    await held.asked(HOME)
    engine.stop("interrupted")
    await running
    await rig.close()
    again = CrawlRig(tmp_path, web, make_job())
    await again.open(clock=SystemClock())
    assert (await again.look(HOME)).state is UrlState.QUEUED
    assert len(await again.run()) == PAGES
    await again.close()


async def test_the_reason_of_the_first_stop_stays(rig: CrawlRig) -> None:
    engine = rig.engine()
    engine.stop("interrupted")
    engine.stop("pages limit")
    await engine.run()
    assert engine.stopped_by == "interrupted"
    assert rig.asked_all == []


async def test_a_run_whose_hosts_rest_for_longer_than_its_patience_ends_and_says_until_when(
    tmp_path: Path, web: Web
) -> None:
    web.status(HOME, 429, retry_after="3600")
    rig = CrawlRig(tmp_path, web, make_job())
    clock = SystemClock()
    await rig.open(clock=clock)
    await rig.offer(HOME)
    engine = rig.engine(patience_s=60)
    await engine.run()
    assert engine.stopped_by == "waiting"
    until = rig.stats.waiting_until_ms
    assert until is not None
    assert until - clock.now_ms() > 3_500_000
    assert (await rig.counts()).pending == 1
    await rig.close()


async def test_a_run_waits_while_seeds_are_still_to_come(rig: CrawlRig) -> None:
    engine = rig.engine()
    engine.seeding = True
    running = asyncio.create_task(engine.run())
    for _ in range(20):
        await asyncio.sleep(0)
    assert not running.done()
    await rig.offer(HOME)
    engine.offered()
    engine.seeded()
    await running
    assert len(rig.sink.records) == PAGES


async def test_a_sink_that_breaks_ends_the_run_with_its_error(rig: CrawlRig) -> None:
    rig.sink.broken = True
    with pytest.raises(ExceptionGroup) as caught:
        await rig.run()
    assert caught.group_contains(SinkError)
    assert (await rig.counts()).done == 0


async def test_a_run_that_breaks_while_records_are_written_leaves_nothing_running(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would write into a sink and a store that have been closed meanwhile."""
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False}))
    writing, go_on = asyncio.Event(), asyncio.Event()

    class SlowSink(MemorySink):
        async def write(self, batch: Batch) -> bytes:
            writing.set()
            await go_on.wait()
            return await super().write(batch)

    rig.sink = SlowSink()
    await rig.open(clock=SystemClock())
    await rig.offer(HOME)
    engine = rig.engine()

    async def broken(*_: object, **__: object) -> list[int]:
        raise StoreUnavailable("the frontier's disk cannot be read")

    running = asyncio.create_task(engine.run())
    await writing.wait()
    monkeypatch.setattr(rig.frontier, "claim", broken)
    engine.offered()
    asyncio.get_running_loop().call_later(0.1, go_on.set)
    with pytest.raises(ExceptionGroup):
        await running
    left = asyncio.all_tasks() - {asyncio.current_task()}
    go_on.set()
    await asyncio.gather(*left, return_exceptions=True)
    await rig.close()
    assert left == set()


async def test_a_cancelled_run_leaves_a_state_from_which_the_next_one_completes(
    tmp_path: Path, web: Web
) -> None:
    rig = CrawlRig(tmp_path, web, make_job(polite={"per_host": 4}))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held, SystemClock())
    held.hold(f"{SITE}/20")
    await rig.offer(HOME)
    engine = rig.engine(concurrency=4)
    running = asyncio.create_task(engine.run())
    await held.asked(f"{SITE}/20")
    engine.stop("interrupted")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await rig.close()
    again = CrawlRig(tmp_path, web, make_job(polite={"per_host": 4}))
    again.sink = rig.sink
    await again.open(clock=SystemClock())
    await again.sink.open(await again.frontier.mark(again.mark_of(again.sink)))
    await again.run()
    await again.close()
    assert len(by_url(again.sink.records)) == PAGES


async def test_what_a_run_did_is_counted_for_those_who_watch(rig: CrawlRig, web: Web) -> None:
    web.status(f"{SITE}/3", 404)
    await rig.run()
    stats = rig.stats
    assert stats.run_pages == PAGES
    assert stats.run_bytes == sum(_sizes(rig.sink.records))
    assert stats.status_codes == {200: PAGES - 1, 404: 1}
    assert stats.errors == {"status 404": 1}


def _sizes(records: Sequence[dict[str, int]]) -> list[int]:
    return [record["bytes"] for record in records]
