from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.retry_after import parse_retry_after

NOW = round(datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("value", "wait_ms"),
    [
        ("120", 120_000),
        (" 7 ", 7_000),
        ("0", 0),
        ("1.5", 1_500),
        ("10, 30", 30_000),
        ("Tue, 04 Mar 2025 05:07:07 GMT", 60_000),
        ("Tuesday, 04-Mar-25 05:07:07 GMT", 60_000),
        ("Tue Mar  4 05:07:07 2025", 60_000),
        ("Tue, 04 Mar 2025 06:07:07 +0100", 60_000),
        ("Tue, 04 Mar 2025 05:06:06 GMT", 0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
)
def test_seconds_and_dates_are_understood(value: str, wait_ms: int) -> None:
    assert parse_retry_after(value, NOW) == wait_ms


@pytest.mark.parametrize(
    "value",
    [None, "", "-5", "soon", "1e3", "١٢", "0x10", "Tue, 99 Mar 2025 05:07:07 GMT", "12 s", ","],
)
def test_nonsense_says_nothing(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


def test_absurd_numbers_are_bounded_and_absurd_lengths_ignored() -> None:
    assert parse_retry_after("9" * 150, NOW) == 10**13
    assert parse_retry_after("9" * 100_000, NOW) is None


@given(st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1)))  # noqa: DTZ001
def test_every_date_is_counted_from_now(when: datetime) -> None:
    date = when.replace(tzinfo=UTC, microsecond=0)
    expected = max(0, round(date.timestamp() * 1000) - NOW)
    assert parse_retry_after(format_datetime(date, usegmt=True), NOW) == expected


@given(st.one_of(st.text(max_size=40), st.text("0123456789:+-, GMTWedOct", max_size=40)))
def test_no_value_is_an_error(value: str) -> None:
    wait = parse_retry_after(value, NOW)
    assert wait is None or wait >= 0
