"""The machine's clock as the crawl sees it."""

import time

import pytest

from skitter.clock import SystemClock


def test_a_time_of_day_that_is_set_back_does_not_move_the_clock_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = SystemClock()
    before = clock.now_ms()
    hour_ago = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: hour_ago)
    assert clock.now_ms() >= before


def test_the_clock_starts_at_the_time_of_day() -> None:
    assert abs(SystemClock().now_ms() - time.time() * 1000) < 1000
