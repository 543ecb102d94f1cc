import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.robots_pattern import Rule, RuleTable, escape, path_of, spellings

PATTERNS = st.text("/ab.*$", min_size=1, max_size=12)
PATHS = st.text("/ab.$*", max_size=14).map(lambda text: "/" + text)


def slow_match(pattern: str, path: str) -> bool:
    """Try every way to read the pattern, one character at a time."""

    @cache
    def at(i: int, j: int) -> bool:
        if i == len(pattern):
            return True
        if pattern[i] == "$" and i + 1 == len(pattern):
            return j == len(path)
        if pattern[i] == "*":
            return any(at(i + 1, k) for k in range(j, len(path) + 1))
        return j < len(path) and path[j] == pattern[i] and at(i + 1, j + 1)

    return at(0, 0)


def _table(*patterns: str, wide: bool = False) -> RuleTable:
    rules = [Rule(not wide, pattern, n) for n, pattern in enumerate(patterns, start=1)]
    return RuleTable(((rule.pattern, rule) for rule in rules), wide=wide)


def _matches(pattern: str, path: str, *, wide: bool) -> bool:
    return _table(pattern, wide=wide).best(spellings(path)[0 if wide else 1]) is not None


@given(PATTERNS, PATHS, st.booleans())
def test_a_pattern_matches_what_the_slow_reading_matches(
    pattern: str, path: str, wide: bool
) -> None:
    assert _matches(pattern, path, wide=wide) == slow_match(pattern, path)


@given(st.lists(PATTERNS, min_size=1, max_size=8), PATHS, st.booleans())
def test_the_longest_matching_pattern_is_found(patterns: list[str], path: str, wide: bool) -> None:
    found = _table(*patterns, wide=wide).best(spellings(path)[0 if wide else 1])
    lengths = [len(pattern) for pattern in patterns if slow_match(pattern, path)]
    assert (found[0] if found else None) == max(lengths, default=None)
    assert found is None or slow_match(found[1].pattern, path)


def test_of_equal_patterns_the_first_line_is_named() -> None:
    found = _table("/a", "/a", "/a*b", "/a*b").best("/ab")
    assert found is not None
    assert found[1].line == 3
    found = _table("/a", "/a").best("/ab")
    assert found is not None
    assert found[1].line == 1


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("/" + "*a" * 5000 + "b", "/" + "a" * 4000),
        ("/" + "*a" * 5000 + "$", "/" + "a" * 4000 + "b"),
        ("*" * 10_000 + "b", "/" + "a" * 4000),
        ("/" + "*aab" * 3000, "/" + "aa" * 4000),
    ],
)
def test_hostile_patterns_are_answered_without_trying_every_way(pattern: str, path: str) -> None:
    # Any backtracking matcher would not come back from these.
    assert _table(pattern).best(path) is None


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://example.com", "/"),
        ("https://example.com/", "/"),
        ("https://example.com/a/b?c=/d#e", "/a/b?c=/d"),
        ("http://user:pw@example.com:81/a;b?c", "/a;b?c"),
        ("http://example.com?a=/b", "/?a=/b"),
        ("http://example.com;a/b", "/;a/b"),
        ("http://example.com#/a", "/"),
        ("//example.com/a", "/a"),
        ("//a/b/c", "/b/c"),
        ("example.com/a", "/a"),
        ("example.com", "/"),
        ("example.com/a?b=http://c/d", "/a?b=http://c/d"),
        ("ftp://example.com/a#b", "/a"),
        ("", "/"),
        ("/a", "/a"),
        ("#/a", "/"),
    ],
)
def test_the_path_of_a_url_is_what_follows_its_host(url: str, path: str) -> None:
    assert path_of(url) == path


@given(st.text(st.characters(), max_size=30))
def test_any_text_has_a_path(url: str) -> None:
    path = path_of(url)
    assert path.startswith("/")
    assert "#" not in path


def test_bytes_beyond_ascii_become_escapes_and_the_rest_stays_as_written() -> None:
    assert escape("/ü%e4 <".encode()) == "/%C3%BC%e4 <"
    assert escape(b"/\xff") == "/%FF"


@pytest.mark.parametrize(
    ("path", "wide", "narrow"),
    [
        ("/a-b.c_d~e/f?g=h&i", "/a-b.c_d~e/f?g=h&i", "/a-b.c_d~e/f?g=h&i"),
        ("/%c3%BC", "/%C3%BC", "/%C3%BC"),
        ("/%7Ejoe", "/~joe", "/~joe"),
        ("/%7ejoe", "/~joe", "/~joe"),
        ("/%61%62", "/ab", "/%61%62"),
        ("/a%2fb%3Fc", "/a%2Fb%3Fc", "/a%2Fb%3Fc"),
        ("/ü", "/%C3%BC", "/ü"),
        ("/a b", "/a%20b", "/a b"),
        ("/a$b*c", "/a%24b%2Ac", "/a$b*c"),
        ("/100%", "/100%", "/100%"),
        ("/%zz%a", "/%zz%a", "/%zz%a"),
        ("/\udc00", "/%ED%B0%80", "/\udc00"),
    ],
)
def test_paths_are_spelt_wide_for_disallow_and_narrow_for_allow(
    path: str, wide: str, narrow: str
) -> None:
    assert spellings(path) == (wide, narrow)


@given(st.text("/a%4 17Ee~$*<'ü?", max_size=20))
def test_the_wide_spelling_has_only_characters_of_urls(text: str) -> None:
    wide, _ = spellings("/" + text)
    assert re.fullmatch(r"[A-Za-z0-9\-._~!&()+,;=:@/?\[\]#%]*", wide)
