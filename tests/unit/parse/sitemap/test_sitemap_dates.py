"""Dates as sitemaps and feeds write them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.parse.sitemap.dates import lastmod_ms


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("2024", "2024-01-01T00:00:00+00:00"),
        ("2024-05", "2024-05-01T00:00:00+00:00"),
        ("2024-05-17", "2024-05-17T00:00:00+00:00"),
        ("2024-05-17T08:30Z", "2024-05-17T08:30:00+00:00"),
        ("2024-05-17T08:30+02:00", "2024-05-17T06:30:00+00:00"),
        ("2024-05-17T08:30:15-05:30", "2024-05-17T14:00:15+00:00"),
        ("2024-05-17T08:30:15.5Z", "2024-05-17T08:30:15.500+00:00"),
        ("2024-05-17T08:30:15.123456789Z", "2024-05-17T08:30:15.123+00:00"),
        ("2024-05-17T08:30:15", "2024-05-17T08:30:15+00:00"),
        (" 2024-05-17 08:30:15 ", "2024-05-17T08:30:15+00:00"),
        ("2024-05-17 08:30:15 UTC", "2024-05-17T08:30:15+00:00"),
        ("2024-05-17T08:30:15 +0000", "2024-05-17T08:30:15+00:00"),
        ("2024-05-17t08:30:15+02", "2024-05-17T06:30:15+00:00"),
        ("2024/5/7", "2024-05-07T00:00:00+00:00"),
        ("20240517", "2024-05-17T00:00:00+00:00"),
        ("20240517T083015Z", "2024-05-17T08:30:15+00:00"),
        ("20240517083015", "2024-05-17T08:30:15+00:00"),
        ("1715934600", "2024-05-17T08:30:00+00:00"),
        ("1715934600123", "2024-05-17T08:30:00.123+00:00"),
        ("Fri, 17 May 2024 08:30:15 GMT", "2024-05-17T08:30:15+00:00"),
        ("Fri, 17 May 2024 08:30:15 +0200", "2024-05-17T06:30:15+00:00"),
        ("17 May 24 08:30 EST", "2024-05-17T13:30:00+00:00"),
        ("Friday, 17-May-24 08:30:15 GMT", "2024-05-17T08:30:15+00:00"),
        ("Fri, 17 May 2024 08:30:15 +0200 (CEST)", "2024-05-17T06:30:15+00:00"),
        ("Fri May 17 08:30:15 2024", "2024-05-17T08:30:15+00:00"),
        ("May 17, 2024", "2024-05-17T00:00:00+00:00"),
        ("May 17th, 2024 8:30 PM", "2024-05-17T20:30:00+00:00"),
        ("17.05.2024", "2024-05-17T00:00:00+00:00"),
        ("2024-05-17T24:00:00Z", "2024-05-18T00:00:00+00:00"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"),
    ],
)
def test_a_date_is_read(written: str, meant: str) -> None:
    moment = datetime.fromisoformat(meant)
    assert lastmod_ms(written) == round(moment.timestamp() * 1000)


@pytest.mark.parametrize(
    "written",
    [
        None,
        "",
        "yesterday",
        "0000",
        "0001-01-01T00:00:00Z",
        "2024-13-01",
        "2024-02-30",
        "2024-05-17T25:00:00Z",
        "2024-05-17T08:61:00Z",
        "2024-05-17T08:30:15+99:00",
        "May 17, 2024 13:30 pm",
        "9999-12-31T23:59:59-12:00",
        "٢٠٢٤",
        "2" * 10_000,
    ],
)
def test_what_is_no_date_is_none(written: str | None) -> None:
    assert lastmod_ms(written) is None


@given(st.integers(0, 4_000_000_000_000))
@settings(deadline=None)
def test_a_date_written_in_iso_format_comes_back(ms: int) -> None:
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
    assert lastmod_ms(moment.isoformat()) == ms


@given(st.text(alphabet="0123456789-/:.,+TZ MayFri()", max_size=40) | st.text(max_size=40))
@settings(deadline=None)
def test_no_text_makes_it_raise(text: str) -> None:
    assert isinstance(lastmod_ms(text), int | None)
