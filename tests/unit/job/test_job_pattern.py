"""Include and exclude patterns."""

import pytest

from skitter.job.pattern import LinkFilter


def test_without_patterns_every_link_may_be_followed() -> None:
    assert LinkFilter((), ()).refusal("https://example.com/") is None


def test_with_include_patterns_only_matching_links_are_followed() -> None:
    links = LinkFilter((r"/blog/", r"\.html$"), ())
    assert links.refusal("https://example.com/blog/1") is None
    assert links.refusal("https://example.com/x.html") is None
    assert links.refusal("https://example.com/shop/1") == "no include pattern matches"


def test_exclude_wins_over_include_and_the_first_matching_pattern_is_named() -> None:
    links = LinkFilter((r"/blog/",), (r"zzz", r"draft", r"blog/dr"))
    assert links.refusal("https://example.com/blog/draft-1") == "excluded by draft"


@pytest.mark.parametrize("url", ["https://example.com/%E4%B8%AD", "https://例え.example/中文"])
def test_patterns_match_text_beyond_ascii(url: str) -> None:
    assert LinkFilter((), (r"中|%E4",)).refusal(url) == "excluded by 中|%E4"


def test_a_pattern_that_would_hang_a_backtracking_engine_answers() -> None:
    links = LinkFilter((), (r"(a+)+$",))
    assert links.refusal("https://example.com/" + "a" * 5_000 + "!") is None
