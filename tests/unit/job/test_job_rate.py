"""Rates as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.job.rate import LEAST_MS, MOST_MS, MOST_REQUESTS, Rate


@pytest.mark.parametrize(
    ("text", "most", "per_ms"),
    [
        ("20/60s", 20, 60_000),
        ("1/1s", 1, 1_000),
        ("20/6s", 20, 6_000),
        ("500/10m", 500, 600_000),
        ("5/1h", 5, 3_600_000),
        ("3/1.5s", 3, 1_500),
        (" 10 / 60s ", 10, 60_000),
        ("10000/24h", 10_000, 86_400_000),
    ],
)
def test_a_rate_is_read(text: str, most: int, per_ms: int) -> None:
    assert Rate.parse(text) == Rate(most, per_ms)


@pytest.mark.parametrize(
    "text",
    [
        *("", "20", "20/", "/60s", "20/60", "20/60d", "-1/60s", "20/-60s", "x/60s", "20/60s/2"),
        *("1e3/60s", "20/infs", "20//60s", "²/60s", "٣/60s", "20/60s\n20/60s", "9" * 400 + "/60s"),
    ],
)
def test_what_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match='"20/60s"'):
        Rate.parse(text)


@pytest.mark.parametrize("text", ["0/0s", "0/60s", "10001/60s"])
def test_an_impossible_number_of_requests_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="wanted 1 to 10000 requests"):
        Rate.parse(text)


@pytest.mark.parametrize("text", ["20/0s", "20/0.5s", "1/25h", "1/999999999h"])
def test_an_impossible_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="from 1 second to 24 hours"):
        Rate.parse(text)


@given(st.integers(1, MOST_REQUESTS), st.integers(LEAST_MS, MOST_MS))
def test_a_rate_is_written_as_it_is_read(most: int, per_ms: int) -> None:
    assert Rate.parse(str(Rate(most, per_ms))) == Rate(most, per_ms)
