"""Who waits for a page is woken by its event."""

import json

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
