"""Counters have no holes, and windows end now."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.api.counters.steps import (
    LENGTH_MS,
    WINDOWS,
    by_dimension,
    series_of,
    sliding,
    window_of,
)
from skitter.client.events import Step
from skitter.clock import time_text

NOW = 1_750_000_000_000
"""A time at which a bucket of ten seconds begins."""


def test_a_series_has_every_step_from_one_time_to_the_other() -> None:
    found = series_of("pages", Step.MINUTE, {120_000: 7}, 65_000, 185_000)
    assert [(point.at, point.n) for point in found.points] == [
        ("1970-01-01T00:01:00.000Z", 0),
        ("1970-01-01T00:02:00.000Z", 7),
        ("1970-01-01T00:03:00.000Z", 0),
    ]


@given(st.sampled_from(Step), st.integers(0, NOW), st.integers(0, 10_000_000))
def test_a_series_begins_and_ends_where_it_is_asked_to(step: Step, since: int, more: int) -> None:
    points = series_of("pages", step, {}, since, since + more).points
    assert len(points) in {more // LENGTH_MS[step] + 1, more // LENGTH_MS[step] + 2}
    assert points[0].at <= time_text(since)
    assert points[-1].at <= time_text(since + more)


@pytest.mark.parametrize(
    ("into_ms", "expected"),
    [(0, 60), (2_500, 58), (5_000, 55), (9_999, 50)],
)
def test_a_window_slides_within_a_bucket(into_ms: int, expected: int) -> None:
    buckets = {NOW - n * 10_000: 10 for n in range(1, 20)}
    assert sliding(buckets, Step.TEN_SECONDS, 60, NOW + into_ms) == expected


def test_a_window_tells_codes_and_modules_by_name_and_adds_no_dimension() -> None:
    counted = {
        "pages": {NOW: 5},
        "pages|job=a": {NOW: 3},
        "pages|job=b": {NOW: 2},
        "bytes": {NOW: 900},
        "status:200": {NOW: 4},
        "status:404": {NOW: 0},
        "module:fetch": {NOW: 6},
    }
    window = window_of(WINDOWS[0], counted, NOW + 1)
    assert (window.pages, window.bytes, window.seconds) == (5, 900, 60)
    assert window.status_codes == {"200": 4}
    assert window.modules == {"fetch": 6}
    assert by_dimension("job", counted, WINDOWS[0], NOW + 1) == {"a": 3, "b": 2}
