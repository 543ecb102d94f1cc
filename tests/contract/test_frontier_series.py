"""Counters over time, and how often URLs were submitted."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, Rig, open_rig

from skitter.errors import FrontierError
from skitter.frontier.series import MOST_HOSTS, MOST_URLS, SPARE_URLS
from skitter.testing.virtual_clock import VirtualClock

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
FAR = 1 << 60


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def at_hour(rig: Rig) -> int:
    """Go to the beginning of an hour and return it."""
    rig.tick((HOUR - rig.now_ms % HOUR) / 1000)
    return rig.now_ms


async def test_one_count_is_in_every_step(rig: Rig) -> None:
    base = at_hour(rig)
    rig.tick(3 * 60)
    await rig.store.count({"pages": 3, "status:200": 2}, base + 61_500)
    await rig.store.count({"pages": 4}, base + 69_999)
    await rig.store.count({"pages": 5}, base + 70_000)
    await rig.store.count({}, base)
    day = base - base % DAY
    expected = {
        "10s": {base + MINUTE: 7, base + 70_000: 5},
        "minute": {base + MINUTE: 12},
        "hour": {base: 12},
        "day": {day: 12},
    }
    for step, counts in expected.items():
        assert await rig.store.series("pages", step, 0, FAR) == {"pages": counts}
        assert await rig.store.series("pages", step, 0, FAR, exact=True) == {"pages": counts}
    assert await rig.store.series("", "hour", 0, FAR) == {
        "pages": {base: 12},
        "status:200": {base: 2},
    }


async def test_names_are_found_by_how_they_begin(rig: Rig) -> None:
    base = at_hour(rig)
    names = ["pages", "pages|job=a", "pages|job=b", "pages|jo*", "bytes", "page"]
    for place, name in enumerate(names):
        await rig.store.count({name: place + 1}, base)
        await rig.store.count({name: 1}, base - 2 * MINUTE)
    found = await rig.store.series("pages|job=", "minute", base - HOUR, base + 1)
    assert found == {
        "pages|job=a": {base - 2 * MINUTE: 1, base: 2},
        "pages|job=b": {base - 2 * MINUTE: 1, base: 3},
    }
    assert set(await rig.store.series("pages|jo*", "minute", 0, FAR)) == {"pages|jo*"}
    assert set(await rig.store.series("page", "hour", 0, FAR)) == set(names) - {"bytes"}
    assert set(await rig.store.series("page", "hour", 0, FAR, exact=True)) == {"page"}
    assert await rig.store.series("nothing", "hour", 0, FAR) == {}


async def test_a_stretch_of_time_has_the_steps_that_touch_it(rig: Rig) -> None:
    base = at_hour(rig)
    rig.tick(300)
    for minute in range(5):
        await rig.store.count({"pages": minute + 1}, base + minute * MINUTE)

    async def between(since: int, until: int) -> list[int]:
        found = await rig.store.series("pages", "minute", base + since, base + until)
        return list(found.get("pages", {}).values())

    assert await between(0, 5 * MINUTE) == [1, 2, 3, 4, 5]
    assert await between(MINUTE, 3 * MINUTE) == [2, 3]
    assert await between(MINUTE + 5, 3 * MINUTE + 1) == [2, 3, 4]
    assert await between(3 * MINUTE, 3 * MINUTE) == []
    assert await between(9 * MINUTE, 4 * MINUTE) == []


async def test_what_is_old_is_not_told(rig: Rig) -> None:
    for step, days in {"10s": 1 / 24, "minute": 2, "hour": 62, "day": 1830}.items():
        await rig.store.count({f"{step} pages": 1}, at_hour(rig))
        rig.tick(days * 86_400 - 1)
        await rig.store.count({"other": 1}, rig.now_ms)
        assert len(await rig.store.series(f"{step} ", step, 0, FAR)) == 1, step
        rig.tick(2 * 86_400)
        assert await rig.store.series(f"{step} ", step, 0, FAR) == {}, step
        await rig.store.count({"other": 1}, rig.now_ms)
        assert await rig.store.series(f"{step} ", step, 0, FAR) == {}, step


async def test_hosts_are_counted_by_hour_and_day_alone(rig: Rig) -> None:
    base = at_hour(rig)
    await rig.store.count({"pages|host=a.example": 2, "pages|host=b.example:81": 1}, base)
    await rig.store.count({"pages|host=a.example": 1}, base)
    for step in ("10s", "minute"):
        assert await rig.store.series("pages|host=", step, 0, FAR) == {}
    for step, start in (("hour", base), ("day", base - base % DAY)):
        expected = {"pages|host=a.example": {start: 3}, "pages|host=b.example:81": {start: 1}}
        assert await rig.store.series("pages|host=", step, 0, FAR) == expected
        assert await rig.store.series("pages|", step, 0, FAR) == expected
        # They are very many: who asks for no dimension does not read them.
        assert await rig.store.series("pages", step, 0, FAR) == {}


async def test_very_many_hosts_are_counted_together(rig: Rig) -> None:
    base = at_hour(rig)
    await rig.store.count({f"pages|host=h{n}": 1 for n in range(MOST_HOSTS)}, base)
    await rig.store.count({"pages|host=more": 2, "pages|host=much": 3, "pages|host=h7": 4}, base)
    await rig.store.count({"bytes|host=more": 5}, base)
    found = await rig.store.series("pages|host=", "hour", 0, FAR)
    assert len(found) == MOST_HOSTS + 1
    assert found["pages|host=other"] == {base: 5}
    assert found["pages|host=h7"] == {base: 5}
    assert await rig.store.series("bytes|", "hour", 0, FAR) == {"bytes|host=more": {base: 5}}


async def test_counters_outlive_restarts_and_crashes(rig: Rig) -> None:
    base = at_hour(rig)
    await rig.store.count({"pages": 1, "pages|host=a": 1}, base)
    await rig.store.count_urls({"https://a.example/": 2})
    await rig.restart()
    await rig.store.count({"pages": 1, "pages|host=a": 1}, base)
    await rig.store.count_urls({"https://a.example/": 2})
    await rig.crash()
    await rig.store.count({"pages": 1, "pages|host=a": 1}, base)
    assert await rig.store.series("", "hour", 0, FAR) == {"pages": {base: 3}}
    assert await rig.store.series("pages|", "hour", 0, FAR) == {"pages|host=a": {base: 3}}
    assert await rig.store.url_counts(["https://a.example/"]) == [4]


@pytest.mark.parametrize("name", ["", "#pages", "a\nb", "x" * 301])
async def test_a_name_that_cannot_be_kept_is_refused(rig: Rig, name: str) -> None:
    with pytest.raises(FrontierError, match="no name of a counter"):
        await rig.store.count({"pages": 1, name: 1}, rig.now_ms)
    assert await rig.store.series("", "hour", 0, FAR) == {}


async def test_a_step_that_there_is_not_is_refused(rig: Rig) -> None:
    with pytest.raises(FrontierError, match="no step of a series: 'week'"):
        await rig.store.series("", "week", 0, FAR)


async def test_how_often_urls_were_submitted(rig: Rig) -> None:
    assert await rig.store.top_urls() == []
    assert await rig.store.url_counts([]) == []
    await rig.store.count_urls({"https://a.example/": 1, "https://b.example/": 2})
    await rig.store.count_urls({"https://a.example/": 4, "https://c.example/": 2, "x" * 3000: 9})
    asked = ["https://c.example/", "https://a.example/", "https://never.example/"]
    assert await rig.store.url_counts(asked) == [2, 5, 0]
    assert await rig.store.top_urls() == [
        ("https://a.example/", 5),
        ("https://b.example/", 2),
        ("https://c.example/", 2),
    ]
    assert await rig.store.top_urls(1) == [("https://a.example/", 5)]
    assert await rig.store.top_urls(0) == []


async def test_urls_that_were_rarely_submitted_are_forgotten(rig: Rig) -> None:
    await rig.store.count_urls({"https://a.example/often": 3})
    for first in range(0, MOST_URLS + SPARE_URLS, 2_000):
        await rig.store.count_urls({f"https://a.example/{first + n}": 1 for n in range(2_000)})
    await rig.store.count_urls({"https://a.example/twice": 2})
    assert len(await rig.store.top_urls(2 * MOST_URLS)) <= MOST_URLS + SPARE_URLS
    assert (await rig.store.top_urls(2))[0] == ("https://a.example/often", 3)
    assert await rig.store.url_counts(["https://a.example/often"]) == [3]
