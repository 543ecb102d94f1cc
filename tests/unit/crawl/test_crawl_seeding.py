"""Entries and seeds: offered in batches, with back pressure, again and again without harm."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.crawl import feed, seeding
from skitter.errors import UrlError
from skitter.frontier.model import UrlState
from skitter.parse.page import ParsedPage


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[CrawlRig]:
    made = CrawlRig(tmp_path, Web(), make_job(limits={"queue": 10}, polite={"per_host": 100}))
    await made.open()
    yield made
    await made.close()


def urls(first: int, last: int) -> list[str]:
    return [f"{SITE}/{n}" for n in range(first, last)]


async def test_an_entry_is_queued_at_depth_zero_and_opens_its_host(rig: CrawlRig) -> None:
    assert await rig.seeder.offer([HOME, "other.test/x"]) == 2
    assert rig.judge.scope.contains("https://other.test/y")
    assert not rig.judge.scope.contains("https://third.test/")
    leases = await rig.claim(2)
    assert {(lease.url, lease.depth) for lease in leases} == {
        (HOME, 0),
        ("https://other.test/x", 0),
    }


async def test_offering_again_changes_nothing(rig: CrawlRig) -> None:
    await rig.seeder.offer([HOME, HOME])
    assert await rig.seeder.offer([HOME]) == 0
    assert (await rig.counts()).offered == 1


async def test_offering_nothing_is_allowed(rig: CrawlRig) -> None:
    assert await rig.seeder.offer([]) == 0


async def test_a_new_host_makes_the_finder_forget(rig: CrawlRig) -> None:
    page = ParsedPage(encoding="utf-8", hrefs=["http://late.test/a"])
    await rig.seeder.offer([HOME])
    assert rig.finder.links(page, HOME, 0) == []
    await rig.seeder.offer(["http://late.test/"])
    assert [link.url for link in rig.finder.links(page, HOME, 0)] == ["http://late.test/a"]


async def test_a_url_nobody_can_fetch_is_an_error_that_names_it(rig: CrawlRig) -> None:
    with pytest.raises(UrlError, match="gopher"):
        await rig.seeder.offer(["gopher://old.test/"])


async def test_a_stream_is_offered_in_batches_and_each_is_announced(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BATCH", 2)
    announced: list[int] = []
    offered = 0

    def note() -> None:
        nonlocal offered
        offered += 1
        announced.append(offered)

    await rig.seeder.stream(iter(urls(0, 5)), note)
    assert len(announced) >= 3
    assert (await rig.counts()).queued == 5


async def test_a_stream_waits_while_the_queue_is_full(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "BATCH", 5)
    monkeypatch.setattr(feed, "HELD", 6)
    monkeypatch.setattr(seeding, "FULL_POLL_S", 0.0)
    taken: list[str] = []

    def seeds() -> Iterator[str]:
        for url in urls(0, 50):
            taken.append(url)
            yield url

    streaming = asyncio.create_task(rig.seeder.stream(seeds(), lambda: None))
    async with asyncio.timeout(60):
        while (await rig.counts()).queued < 10:
            await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        queued = (await rig.counts()).queued
        assert 10 <= queued < 15
        assert len(taken) <= queued + 5 + 6 + 1, "a batch in hand, those held, one being read"
        while not streaming.done():
            await rig.claim(5)
            await asyncio.sleep(0)
    await streaming
    counts = await rig.counts()
    assert counts.queued + counts.leased == 50


async def test_a_pipe_that_is_slow_does_not_hold_up_the_loop(rig: CrawlRig) -> None:
    written = threading.Event()

    def pipe() -> Iterator[str]:
        assert written.wait(20)
        yield HOME

    streaming = asyncio.create_task(rig.seeder.stream(pipe(), lambda: None))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not streaming.done()
    written.set()
    await streaming
    assert (await rig.look(HOME)).state is UrlState.QUEUED


async def test_a_fault_of_the_source_comes_after_everything_it_gave(rig: CrawlRig) -> None:
    def seeds() -> Iterator[str]:
        yield HOME
        raise OSError("the pipe broke")

    with pytest.raises(OSError, match="the pipe broke"):
        await rig.seeder.stream(seeds(), lambda: None)
    assert (await rig.look(HOME)).state is UrlState.QUEUED


async def test_every_item_comes_out_once_and_in_order_however_reader_and_taker_race(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "BATCH", 3)
    monkeypatch.setattr(feed, "HELD", 4)
    items = [str(n) for n in range(2000)]
    source = feed.Feed(iter(items))
    found: list[str] = []
    async with asyncio.timeout(30):
        while batch := await source.take():
            assert len(batch) <= 3
            found += batch
    assert found == items
    assert await source.take() == []


async def test_how_often_an_entry_was_submitted_is_counted(rig: CrawlRig) -> None:
    assert await rig.seeder.submit([HOME, HOME]) == 1
    assert await rig.seeder.submit([HOME]) == 0
    assert await rig.frontier.top_urls() == [(HOME, 3)]
