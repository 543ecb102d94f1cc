"""The line-block distribution."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.article.lineblock import densest


def test_the_text_is_the_densest_stretch_of_lines() -> None:
    menu, text, links = [8] * 20, [120, 90, 0, 140, 60, 110], [12, 0, 9] * 10
    assert densest([*menu, *text, *links]) == (20, 26)


def test_short_lines_between_long_ones_belong_to_the_text() -> None:
    assert densest([0, 0, 0, 200, 5, 5, 180, 0, 0, 0, 9]) == (3, 7)


def test_of_two_stretches_the_larger_one_is_the_text() -> None:
    gap = [0] * 6
    assert densest([*[100] * 3, *gap, *[90] * 8, *gap, *[300]]) == (9, 17)


def test_lines_of_a_menu_are_no_text() -> None:
    assert densest([10] * 50) == (0, 0)
    assert densest([]) == (0, 0)


@given(st.lists(st.integers(min_value=0, max_value=2000), max_size=200))
def test_the_stretch_lies_within_the_page_and_has_text_at_both_ends(lengths: list[int]) -> None:
    first, last = densest(lengths)
    assert 0 <= first <= last <= len(lengths)
    assert first == last or (lengths[first] and lengths[last - 1])
