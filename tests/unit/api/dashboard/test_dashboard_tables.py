from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.tables import Column, badge_cell, cell, number_cell, outside_cell

ENGLISH = Words("en")


def test_a_number_is_sorted_as_one_and_shown_with_separators() -> None:
    assert number_cell("pages", 12345) == cell("pages", 12345, "12,345")


def test_a_state_has_a_colour_also_a_new_one() -> None:
    assert badge_cell("state", "failed", ENGLISH)["state_tone"] == "bad"
    assert badge_cell("state", "hibernating", ENGLISH)["state_tone"] == "plain"


def test_a_crawled_page_is_a_link_only_if_a_browser_may_go_there() -> None:
    assert outside_cell("url", "https://example.com/")["url_href"] == "https://example.com/"
    shown = outside_cell("url", "javascript:alert(1)")
    assert shown["url_href"] is None
    assert shown["url_text"] == "javascript:alert(1)"


def test_numbers_stand_to_the_right_and_wide_columns_leave_narrow_screens() -> None:
    made = Column("n", "N", "number", wide=True).definition()
    assert (made["align"], made["classes"], made["headerClasses"]) == ("right", "wide", "wide")
