"""Who waits for a page is woken by its event."""

import asyncio
import json
from typing import Any

import pytest

from skitter.crawl.resolve import arrivals
from skitter.crawl.resolve.arrivals import Arrivals
from skitter.crawl.resolve.lane import LANE
from skitter.frontier.base import FrontierReader


def event(url: str, job: str = LANE, kind: str = "page") -> bytes:
    return json.dumps({"type": kind, "job": job, "url": url, "at": ""}).encode()


def nobody() -> Arrivals:
    reader: FrontierReader = object()  # type: ignore[assignment]
    return Arrivals(reader)


def test_an_event_wakes_those_who_wait_for_its_page_and_nobody_else() -> None:
    here = nobody()
    with (
        here.watch(["https://a.test/", "https://b.test/"]) as first,
        here.watch(["https://b.test/"]) as second,
    ):
        here.heard(event("https://a.test/"))
        assert (first.is_set(), second.is_set()) == (True, False)
        first.clear()
        here.heard(event("https://b.test/", job="other"))
        here.heard(event("https://b.test/", kind="job"))
        assert not first.is_set()
        here.heard(event("https://b.test/"))
        assert (first.is_set(), second.is_set()) == (True, True)
    here.heard(event("https://b.test/"))


@pytest.mark.parametrize("data", [b"", b"[1]", b"{}", b'{"type": "\xff"}', b'{"type": 1}'])
def test_what_is_no_event_wakes_nobody_and_ends_nothing(data: bytes) -> None:
    here = nobody()
    with here.watch(["https://a.test/"]) as bell:
        here.heard(data)
        assert not bell.is_set()
        here.heard(event("https://a.test/"))
        assert bell.is_set()


def test_beyond_its_bound_nobody_else_is_to_wait() -> None:
    here = nobody()
    assert not here.is_crowded
    urls = [f"https://a.test/{n}" for n in range(arrivals.MOST_WAITED_FOR + 1)]
    with here.watch(urls):
        assert here.is_crowded
    assert not here.is_crowded


class GappyLog:
    """Has an event between two questions for events."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, bytes]] = []
        self.asked = 0

    async def latest_event(self) -> str:
        return self.rows[-1][0] if self.rows else "0"

    async def events(self, after: str, limit: int, wait_ms: int = 0) -> list[tuple[str, bytes]]:
        del limit, wait_ms
        self.asked += 1
        await asyncio.sleep(0)
        found = [] if after == "$" else [row for row in self.rows if int(row[0]) > int(after)]
        if self.asked == 1:
            self.rows.append(("1", event("https://a.test/")))
        return found


async def test_what_comes_between_two_questions_is_heard() -> None:
    log: Any = GappyLog()
    here = Arrivals(log)
    running = asyncio.create_task(here.run())
    try:
        with here.watch(["https://a.test/"]) as bell:
            async with asyncio.timeout(30):
                await bell.wait()
    finally:
        running.cancel()
