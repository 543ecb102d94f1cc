"""Numbers and times as people read them."""

import pytest

from skitter.cli import wording


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (wording.count(1234567), "1,234,567"),
        (wording.rate(0.44), "0.4/s"),
        (wording.rate(1234.4), "1,234/s"),
        (wording.size(999), "999 bytes"),
        (wording.size(1_500_000), "1.5 MB"),
        (wording.size(5 * 10**18), "5000.0 PB"),
        (wording.clock(59.9), "00:59"),
        (wording.clock(3_661), "1:01:01"),
        (wording.roughly(0.2), "1 s"),
        (wording.roughly(89), "89 s"),
        (wording.roughly(600), "10 min"),
        (wording.roughly(7_200), "2 h"),
        (wording.roughly(200_000), "2 days"),
        (wording.duration(1.26), "1.3 s"),
        (wording.duration(75), "01:15"),
        (wording.plural(1, "page"), "1 page"),
        (wording.plural(0, "page"), "0 pages"),
    ],
)
def test_numbers_read_well(shown: str, expected: str) -> None:
    assert shown == expected
