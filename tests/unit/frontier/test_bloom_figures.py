"""The published experiments on Bloom filters for crawlers, repeated: measured beside formula.

Seeds are fixed, so a result is right for ever or wrong for ever. The allowance is five standard
deviations of a count.
"""

from math import sqrt

import pytest
from bench.bloom_experiments import BITS, LOADS, Measured, groups, loads, overload, repeats
from bench.bloom_figures import BEGIN, DOCUMENT, END, loads_plot, loads_table, placed

from skitter.frontier.model import SeenOptions


def agree(point: Measured) -> bool:
    expected = point.formula * point.asked
    return abs(point.wrong - expected) <= 5 * sqrt(expected) + 1


def test_of_a_million_urls_with_50_000_repeats_no_repeat_is_missed_and_few_new_ones_are() -> None:
    result = repeats()
    assert result.repeats == 50_000
    assert result.wrong == pytest.approx(result.expected, abs=5 * sqrt(result.expected))
    assert agree(result.full)


def test_ten_million_bits_fill_up_as_the_formula_says() -> None:
    points = loads()
    assert [point.urls for point in points] == list(LOADS)
    assert all(agree(point) for point in points)
    # The published count for a million URLs is 11,804.
    assert points[3].wrong == pytest.approx(11_804, rel=0.02)


@pytest.mark.parametrize("bits", [BITS, 3 * BITS])
def test_every_group_multiplies_the_rate(bits: int) -> None:
    points = groups(bits, asked=500_000)
    assert [point.groups for point in points] == [1, 2, 3, 4]
    assert all(agree(point) for point in points)


def test_a_filter_sized_for_a_crawl_keeps_its_rate_until_it_is_full() -> None:
    options = SeenOptions("bloom", expected=100_000, rate=1e-3)
    points = overload(options, asked=1_000_000)
    assert all(agree(point) for point in points)
    assert all(point.rate < 1.2e-3 for point in points if point.urls <= options.expected)


def test_the_document_and_its_picture_are_those_of_this_code() -> None:
    points = loads()
    assert loads_table(points) in DOCUMENT.read_text(encoding="utf-8")
    picture = DOCUMENT.with_name("bloom-loads.svg").read_text(encoding="utf-8")
    assert picture == loads_plot(points).svg()


def test_figures_are_put_between_their_marks_and_nowhere_else() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert placed(text, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="wanted the marks"):
        placed("no marks", "new")
