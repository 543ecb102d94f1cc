"""What a process tells those who watch: pages as events, and counts over time."""

import asyncio
import dataclasses
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, Web, make_job

from skitter.api.counters.names import asked_for
from skitter.client.events import Event
from skitter.clock import SystemClock
from skitter.crawl import observer as observer_module
from skitter.crawl.desk import Desks
from skitter.crawl.drift import Alarm
from skitter.crawl.happenings import Happening, encode_happening, tell_job
from skitter.crawl.observer import Observer, expanded
from skitter.errors import StoreUnavailable
from skitter.job.spec import Kind
from skitter.testing.fake_fetcher import page
from skitter.types import HostKey

FAR = 1 << 60


class Store:
    """Takes down what it is told; as broken or as slow as a test wants."""

    def __init__(self) -> None:
        self.published: list[list[bytes]] = []
        self.counted: list[dict[str, int]] = []
        self.broken = False
        self.told = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()

    async def publish(self, events: Sequence[bytes]) -> None:
        await self.answers.wait()
        if self.broken:
            raise StoreUnavailable("the disk is full")
        self.published.append(list(events))
        self.told.set()

    async def count(self, counts: Mapping[str, int], at_ms: int) -> None:
        del at_ms
        if self.broken:
            raise StoreUnavailable("the disk is full")
        self.counted.append(dict(counts))


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[CrawlRig]:
    web = Web()
    web.robots("User-agent: *\nDisallow: /private")
    links = ("/a", "/old", "/missing", "/private/x", "/far")
    web.html(HOME, "<p>home</p>", *(f"{SITE}{link}" for link in links))
    web.html(f"{SITE}/a", "<p>a</p>")
    web.moved(f"{SITE}/old", f"{SITE}/new")
    web.html(f"{SITE}/new", "<p>new</p>")
    web.status(f"{SITE}/missing", 404)
    rig = CrawlRig(tmp_path, web, make_job(scope="host", http={"tries": 2}))
    await rig.open(clock=SystemClock())
    yield rig
    await rig.close()


async def crawled(rig: CrawlRig, observer: Observer) -> None:
    """Crawl with an engine whose visits are observed."""
    rig.desks = Desks(observer=observer)
    await rig.run()


async def events_of(rig: CrawlRig) -> list[Event]:
    told = await rig.frontier.events("")
    return [Event.model_validate_json(event) for _, event in told]


async def test_a_page_that_somebody_waits_for_is_told_of_at_once(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_module, "EVENTS_S", 3_600.0)
    job = rig.equipment.job.model_copy(update={"kind": Kind.RESOLVE})
    waited_for = dataclasses.replace(rig.equipment, job=job)
    store: Any = Store()
    observer, visit = Observer(store, SystemClock(), "here"), await rig.visit(HOME)
    running = asyncio.create_task(observer.run())
    async with asyncio.timeout(60):
        for equipment in (rig.equipment, waited_for, waited_for):
            observer.saw(equipment, [visit])
            await store.told.wait()
            store.told.clear()
        observer.saw(rig.equipment, [visit])
    await asyncio.sleep(0)
    assert len(store.published) == 3
    running.cancel()


async def counted(rig: CrawlRig, *prefixes: str) -> dict[str, int]:
    """Return how often what begins so was counted; hosts only where they are asked for."""
    found = [await rig.frontier.series(prefix, "day", 0, FAR) for prefix in prefixes]
    return {name: sum(steps.values()) for one in found for name, steps in one.items()}


async def test_a_crawl_tells_its_pages_and_counts_them(rig: CrawlRig) -> None:
    observer = Observer(rig.frontier, rig.equipment.clock, "here")
    await crawled(rig, observer)
    await observer.settle()
    by_url = {event.url: event for event in await events_of(rig)}
    assert set(by_url) == {record["url"] for record in rig.sink.records}
    old = by_url[f"{SITE}/old"]
    assert (old.type, old.job, old.kind, old.node) == ("page", "job", "site", "here")
    assert (old.final_url, old.status, old.outcome) == (f"{SITE}/new", 200, "ok")
    assert (old.host, old.title) == ("site.test", f"{SITE}/new")
    assert by_url[f"{SITE}/a"].final_url is None
    assert "robots" in by_url[f"{SITE}/private/x"].message
    counts = await counted(rig, "", "pages|host=", "status:200|host=", "status:404|host=")
    totals = await rig.totals()
    for end in ("", "|job=job", "|kind=site", "|node=here"):
        assert counts[f"pages{end}"] == totals.pages == 6
        assert counts[f"ok{end}"] == totals.ok
        assert counts[f"failed{end}"] == totals.failed
        assert counts[f"refused{end}"] == totals.refused == 1
        assert counts[f"bytes{end}"] == totals.body_bytes
        assert counts[f"status:200{end}"] == totals.status_codes[200]
    assert counts["pages|host=site.test"] == totals.pages
    assert {
        status: counts[f"status:{status}|host=site.test"] for status in totals.status_codes
    } == totals.status_codes
    assert totals.status_codes.keys() >= {200, 404}
    assert counts["module:robots"] == 1
    assert counts["module:fetch"] == len(rig.asked)
    assert "module:fetch|job=job" not in counts
    assert [asked_for(name).text for name in counts] == list(counts), (
        "none that cannot be asked for"
    )


async def test_pictures_are_counted_by_host_apart_from_other_media(tmp_path: Path) -> None:
    web = Web()
    web.robots("")
    shown = (("/a.png", "image/png"), ("/b.png", "image/png"), ("/c.mp4", "video/mp4"))
    web.html(HOME, "<img src=/a.png><img src=/b.png><img src=/no.png><video src=/c.mp4></video>")
    for path, kind in shown:
        web[f"{SITE}{path}"] = page(f"{SITE}{path}", b"data", headers={"content-type": kind})
    web.status(f"{SITE}/no.png", 404)
    rig = CrawlRig(tmp_path, web, make_job(media=["image", "video"]))
    await rig.open(clock=SystemClock())
    observer = Observer(rig.frontier, rig.equipment.clock, "here")
    await crawled(rig, observer)
    await observer.settle()
    counts = await counted(rig, "", "images|host=")
    for end in ("", "|job=job", "|node=here"):
        assert (counts[f"images{end}"], counts[f"media{end}"]) == (2, 3)
    assert counts["images|host=site.test"] == 2
    assert asked_for("images|host").text == "images|host="
    await rig.close()


async def test_what_comes_is_told_at_once_and_then_at_most_every_tenth_of_a_second(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_module, "EVENTS_S", 0.05)
    monkeypatch.setattr(observer_module, "COUNTS_S", 3600.0)
    store = Store()
    observer = Observer(store, SystemClock(), "here")  # type: ignore[arg-type]
    running = asyncio.create_task(observer.run())
    visit = await rig.visit(HOME)
    observer.saw(rig.equipment, [visit])
    await asyncio.wait_for(store.told.wait(), 30)
    assert len(store.published) == 1
    assert store.counted[0]["pages"] == 1
    store.told.clear()
    for _ in range(3):
        observer.saw(rig.equipment, [visit])
    await asyncio.wait_for(store.told.wait(), 30)
    assert [len(events) for events in store.published] == [1, 3]
    assert len(store.counted) == 1, "counts go out once a second"
    running.cancel()
    await observer.settle()
    assert store.counted[1]["pages"] == 3


async def test_a_store_that_takes_nothing_does_not_end_the_crawl(
    rig: CrawlRig, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store()
    store.broken = True
    observer = Observer(store, SystemClock(), "here")  # type: ignore[arg-type]
    running = asyncio.create_task(observer.run())
    await crawled(rig, observer)
    await observer.settle()
    assert len(rig.sink.records) == 6
    assert not running.done()
    running.cancel()
    assert caplog.text.count("what this process does cannot be shown") == 1
    store.broken = False
    observer.alarmed(rig.equipment, Alarm("detail.title", 0.9, 0.1))
    await observer.settle()
    [[event]] = store.published
    assert json.loads(event)["dropped"] == 6


async def test_events_that_wait_too_long_are_left_out_and_counted(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_module, "MOST_WAITING", 2)
    store = Store()
    observer = Observer(store, SystemClock(), "here")  # type: ignore[arg-type]
    visit = await rig.visit(HOME)
    observer.saw(rig.equipment, [visit] * 5)
    await observer.settle()
    observer.saw(rig.equipment, [visit])
    await observer.settle()
    assert [len(events) for events in store.published] == [2, 1]
    assert json.loads(store.published[1][0])["dropped"] == 3
    assert sum(counts["pages"] for counts in store.counted) == 6


async def test_the_last_words_wait_for_no_store(
    rig: CrawlRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observer_module, "SETTLE_S", 0.05)
    store = Store()
    store.answers.clear()
    observer = Observer(store, SystemClock(), "here")  # type: ignore[arg-type]
    observer.saw(rig.equipment, [await rig.visit(HOME)])
    await asyncio.wait_for(observer.settle(), 30)
    assert store.published == []


async def test_an_alarm_is_told(rig: CrawlRig) -> None:
    observer = Observer(rig.frontier, rig.equipment.clock, "here")
    observer.alarmed(rig.equipment, Alarm("detail.title", 0.9, 0.1))
    await observer.settle()
    [event] = await events_of(rig)
    assert (event.type, event.job, event.node) == ("alarm", "job", "here")
    assert event.message.startswith("rule detail.title was found on 90% of the pages")


async def test_what_becomes_of_a_job_is_told(rig: CrawlRig) -> None:
    await tell_job(rig.frontier, rig.equipment.clock, "job", "paused")
    [event] = await events_of(rig)
    assert (event.type, event.job, event.message) == ("job", "job", "paused")


async def test_a_job_is_what_it_is_though_nobody_can_be_told(
    rig: CrawlRig, caplog: pytest.LogCaptureFixture
) -> None:
    store: Any = Store()
    store.broken = True
    await tell_job(store, rig.equipment.clock, "job", "paused")
    assert "nobody was told of job job: paused: the disk is full" in caplog.text


def test_half_a_character_does_not_keep_a_page_from_being_told() -> None:
    told = encode_happening(Happening(type="page", at="now", title="a\ud800b"))
    assert json.loads(told) == {"type": "page", "at": "now", "title": "a?b"}


def test_an_event_has_the_fields_of_the_api() -> None:
    assert set(Happening.__struct_fields__) == set(Event.model_fields) - {"id"}


def test_counts_are_made_for_every_dimension() -> None:
    jobs = {("a", "site"): {"pages": 2, "ok": 0}, ("b", "site"): {"pages": 1, "module:fetch": 4}}
    host = HostKey("x.test")
    assert expanded(jobs, {host: [3, 0, 1, 0, 0, 2]}, {(host, 404): 1}, "n") == {
        "pages": 3,
        "pages|node=n": 3,
        "pages|job=a": 2,
        "pages|job=b": 1,
        "pages|kind=site": 3,
        "module:fetch": 4,
        "module:fetch|node=n": 4,
        "pages|host=x.test": 3,
        "failed|host=x.test": 1,
        "images|host=x.test": 2,
        "status:404|host=x.test": 1,
    }
