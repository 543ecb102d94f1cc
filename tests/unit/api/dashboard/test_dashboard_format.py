from datetime import UTC, datetime

import pytest

from skitter.api.dashboard.format import (
    ago,
    exact,
    number,
    percent,
    rate,
    shorten,
    size,
    span,
    web_address,
)
from skitter.api.dashboard.i18n.words import Words

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
ENGLISH = Words("en")


def test_numbers_have_separators_and_nothing_is_a_dash() -> None:
    assert number(1234567) == "1,234,567"
    assert number(12.345, 1) == "12.3"
    assert number(None) == rate(None) == size(None) == "–"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 B"), (999, "999 B"), (20480, "20.5 kB"), (123456789, "123 MB"), (5e15, "5,000 TB")],
)
def test_sizes_are_short(value: float, shown: str) -> None:
    assert size(value) == shown


def test_speeds_have_a_digit_while_they_are_small() -> None:
    assert [rate(0), rate(3.14), rate(99.96), rate(1234.5)] == ["0", "3.1", "100.0", "1,234"]


def test_shares_of_nothing_are_a_dash() -> None:
    assert percent(1, 0) == "–"
    assert percent(1, 8) == "12.5 %"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("2026-01-31T09:29:59.500Z", "just now"),
        ("2026-01-31T09:29:20Z", "40 s ago"),
        ("2026-01-31T07:29:20Z", "2 h ago"),
        ("2026-02-03T09:30:00Z", "in 3 d"),
        ("2026-01-31T09:25:00", "5 min ago"),
        ("not a time", "not a time"),
        (None, "–"),
    ],
)
def test_times_are_relative(text: str | None, shown: str) -> None:
    assert ago(text, ENGLISH, NOW) == shown


def test_times_are_exact_on_hover() -> None:
    assert exact("2026-01-31T10:29:20.123+01:00") == "2026-01-31 09:29:20 UTC"
    assert exact(None) == ""
    assert exact("soon") == "soon"


def test_durations_are_told_in_their_largest_unit() -> None:
    assert [span(s, ENGLISH) for s in (0.3, 61, 7200, 200_000)] == ["0 s", "1 min", "2 h", "2 d"]
    assert span(61, Words("zh")) == "1 分钟"


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>1</script>",
        "vbscript:x",
        "//example.com/",
        "/login",
        "http:///nothing",
        "java\nscript:alert(1)",
        "http://exa\tmple.com/",
        " http://example.com/",
        "http://[half",
        "",
        None,
    ],
)
def test_only_addresses_of_the_web_are_links(url: str | None) -> None:
    assert web_address(url) is None


def test_addresses_of_the_web_are_links_as_they_are() -> None:
    for url in ("http://example.com/?a=<b>", "HTTPS://example.com", "https://example.com/ü"):
        assert web_address(url) == url


def test_long_texts_are_cut_to_one_line() -> None:
    assert shorten("a\n b\t c") == "a b c"
    assert shorten("x" * 200, 10) == "x" * 9 + "…"
    assert shorten(None) == ""
