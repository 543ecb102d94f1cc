"""How everything stands, and counters over time, from a real store."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from service import Served, served

from skitter.clock import time_text
from skitter.crawl.drift import Alarm
from skitter.crawl.linked import LinkedTable, linked_mark

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


async def test_a_store_in_which_nothing_happened_has_zeros(here: Served) -> None:
    stats = (await here.http.get("/v1/stats")).json()
    assert (stats["jobs"], stats["pages"], stats["pages_per_second"]) == (0, 0, 0.0)
    assert {name: window["seconds"] for name, window in stats["windows"].items()} == {
        "minute": 60,
        "ten_minutes": 600,
        "hour": 3600,
        "day": 86400,
    }
    assert stats["alarms"] == []


async def test_what_is_counted_is_told_in_windows_and_by_dimension(here: Served) -> None:
    store = here.service.store
    now = store.clock.now_ms()
    counts = {
        "pages": 40,
        "ok": 30,
        "failed": 10,
        "bytes": 5_000,
        "media": 3,
        "status:200": 30,
        "module:fetch": 41,
        "pages|job=news": 40,
        "pages|kind=news": 40,
        "pages|node=up": 40,
    }
    await store.frontier.count(counts, now)
    await store.frontier.count({"pages": 7}, now - 30 * MINUTE_MS)
    await store.frontier.count({"pages": 5}, now - 5 * HOUR_MS)
    stats = (await here.http.get("/v1/stats")).json()
    windows = stats["windows"]
    assert windows["minute"]["pages"] == windows["ten_minutes"]["pages"] == 40
    assert (windows["hour"]["pages"], windows["day"]["pages"]) == (47, 52)
    assert windows["minute"]["status_codes"] == {"200": 30}
    assert windows["minute"]["modules"] == {"fetch": 41}
    assert stats["by_job"] == stats["by_kind"] == {"news": 40}
    assert stats["by_node"] == {"up": 40}
    assert (stats["pages"], stats["bytes"]) == (52, 5_000)
    assert stats["pages_per_second"] == 2.0


async def test_sites_are_ranked(here: Served) -> None:
    store = here.service.store
    counts = {f"{name}|host={host}": n for host, name, n in SITES}
    await store.frontier.count(counts, store.clock.now_ms())
    await store.frontier.count_urls({"https://a.example/": 3, "https://b.example/": 5})
    linked = LinkedTable(hosts={"https://a.example": 9, "https://c.example": 70})
    marks = {linked_mark(1): msgspec.msgpack.encode(linked)}  # type: ignore[arg-type]
    await store.frontier.ack([], marks=marks)
    stats = (await here.http.get("/v1/stats")).json()
    assert stats["busiest_hosts"] == [
        {"host": "a.example", "n": 20},
        {"host": "b.example", "n": 10},
        {"host": "rare.example", "n": 1},
    ]
    assert stats["slowest_hosts"] == [
        {"host": "b.example", "n": 250},
        {"host": "a.example", "n": 10},
    ]
    assert [row["host"] for row in stats["most_linked"]] == [
        "https://c.example",
        "https://a.example",
    ]
    assert stats["most_submitted"] == [
        {"url": "https://b.example/", "n": 5},
        {"url": "https://a.example/", "n": 3},
    ]


SITES = [
    ("a.example", "pages", 20),
    ("a.example", "elapsed_ms", 200),
    ("a.example", "timed", 20),
    ("b.example", "pages", 10),
    ("b.example", "elapsed_ms", 2_500),
    ("b.example", "timed", 10),
    ("rare.example", "pages", 1),
    ("rare.example", "elapsed_ms", 9_000),
    ("rare.example", "timed", 1),
    ("other", "pages", 1_000),
]


async def test_what_is_linked_most_in_a_job_is_listed_as_seeds(here: Served) -> None:
    job = {"id": "shop", "kind": "site", "entries": ["http://127.0.0.1:9/"]}
    await here.service.ask({"jobs": "add", "job": job, "source": "a test"})
    store = here.service.store
    [number] = await store.reader.jobs()
    linked = LinkedTable(hosts={"https://a.example": 9, "https://c.example": 70})
    marks = {linked_mark(number): msgspec.msgpack.encode(linked)}
    await store.frontier.ack([], marks=marks)
    found = (await here.http.get("/v1/jobs/shop/linked?limit=1")).json()
    assert found == {"linked": [{"kind": "host", "url": "https://c.example/", "links": 70}]}
    assert (await here.http.get("/v1/jobs/none/linked")).status_code == 404


async def test_alarms_name_their_job(here: Served) -> None:
    job = {"id": "shop", "kind": "site", "entries": ["http://127.0.0.1:9/"]}
    await here.service.ask({"jobs": "add", "job": job, "source": "a test"})
    [number] = await here.service.store.reader.jobs()
    alarm = Alarm("price", 0.9, 0.1)
    marks = {f"drift:{number}:price": msgspec.json.encode(alarm), "drift:99:x": b""}
    await here.service.store.frontier.ack([], marks=marks)
    stats = (await here.http.get("/v1/stats")).json()
    assert stats["alarms"] == [f"shop: {alarm.words}"]
    assert stats["jobs"] == 1


async def test_a_series_is_told_without_holes(here: Served) -> None:
    store = here.service.store
    now = store.clock.now_ms()
    await store.frontier.count({"pages": 4, "pages|job=a": 3, "pages|job=b": 1}, now)
    since = time_text(now - 5 * MINUTE_MS)
    asked = {"name": ["pages", "pages|job", "timed"], "since": since, "until": time_text(now)}
    found = (await here.http.get("/v1/stats/series", params=asked)).json()["series"]
    assert [row["name"] for row in found] == ["pages", "pages|job=a", "pages|job=b", "timed"]
    assert [point["n"] for point in found[0]["points"]] == [0, 0, 0, 0, 0, 4]
    assert {row["step"] for row in found} == {"minute"}
    assert all(len(row["points"]) == 6 for row in found)


async def test_counters_are_there_after_a_restart(tmp_path: Path) -> None:
    async with served(tmp_path / "state") as first:
        store = first.service.store
        await store.frontier.count({"pages": 4}, store.clock.now_ms())
    async with served(tmp_path / "state") as again:
        assert (await again.http.get("/v1/stats")).json()["pages"] == 4
        found = (await again.http.get("/v1/stats/series?name=pages&step=day")).json()
        assert sum(point["n"] for point in found["series"][0]["points"]) == 4


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "name"),
        ("?name=", "name"),
        ("?name=nonsense", "name"),
        ("?name=page|job=a", "name"),
        ("?name=page|job", "name"),
        ("?name=pages|color", "name"),
        ("?name=ok|host=a.test", "name"),
        ("?name=status|host", "name"),
        ("?name=module:fetch|job=a", "name"),
        ("?name=pages&step=year", "step"),
        ("?name=pages&since=yesterday", "since"),
        ("?name=pages&since=2026-01-01T00:00:00", "since"),
        ("?name=pages&since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "since"),
        ("?name=pages&step=10s&since=2020-01-01T00:00:00Z", "since"),
        ("?name=pages&until=1900-01-01T00:00:00Z", "until"),
        ("?name=a%00b", "name"),
    ],
)
async def test_what_cannot_be_asked_is_refused_by_name(
    here: Served, query: str, field: str
) -> None:
    answer = await here.http.get(f"/v1/stats/series{query}")
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)
