"""Numbers and dates as pages write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.rules.values import read_number, read_time


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("about 1,299 people", 1299),
        ("1,299.50", 1299.5),
        ("1.299,50 €", 1299.5),
        ("12,5 %", 12.5),
        ("1.234.567", 1234567),
        ("3.141", 3.141),
        ("12 345 678", 12345678),
        ("1'000'000", 1000000),
        ("-4.5 °C", -4.5),
        ("−7", -7),
        ("１２３", 123),
        ("page 3 of 9", 3),
        ("ends with 5.", 5),
        ("12 5 sold", 12),
        ("3 4-room flats", 3),
        ("1 299,00", 1299.0),
        ("2026 123", 2026),
        ("9" * 5000, None),
        ("9" * 20, None),
        (f"{2**63 - 1}", 2**63 - 1),
        ("none", None),
        ("", None),
    ],
)
def test_a_number_is_read_however_it_is_marked(text: str, number: float | None) -> None:
    found = read_number(text)
    assert found == number
    assert type(found) is type(number)


@given(st.integers(-(10**12), 10**12))
def test_thousands_do_not_change_a_number(number: int) -> None:
    assert read_number(f"{number:,}") == number
    assert read_number(f"{number:,}".replace(",", " ")) == number


@given(st.text())
def test_any_text_is_read_or_not(text: str) -> None:
    read_number(text)
    read_time(text, "%Y", 0.0)


@pytest.mark.parametrize(
    ("text", "form", "time"),
    [
        ("31.01.2024", "%d.%m.%Y", "2024-01-31"),
        ("31.01.2024 17:05", "%d.%m.%Y %H:%M", "2024-01-31T17:05:00"),
        ("2024-01-31T17:05:00+0800", "%Y-%m-%dT%H:%M:%S%z", "2024-01-31T09:05:00Z"),
        ("tomorrow", "%d.%m.%Y", None),
        ("2024-02-03", None, "2024-02-03"),
    ],
)
def test_a_time_is_read_in_the_form_that_is_said(
    text: str, form: str | None, time: str | None
) -> None:
    assert read_time(text, form, 1_750_000_000.0) == time
