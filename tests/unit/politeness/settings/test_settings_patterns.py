"""Which hosts a pattern is for, and which of two patterns counts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.politeness.settings.patterns import (
    covers,
    parse_pattern,
    patterns_of,
    wider_patterns,
)
from skitter.types import HostKey

LABELS = ("a", "b", "c")
NAMES = [
    ".".join(labels) for depth in (1, 2, 3) for labels in itertools.product(LABELS, repeat=depth)
]
HOSTS = [HostKey(name + port) for name in NAMES for port in ("", ":81", ":82")]
ADDRESSES = [HostKey("127.0.0.1"), HostKey("127.0.0.1:81"), HostKey("[::1]:82")]
PATTERNS = ["*", *HOSTS, *(f"*.{name}" for name in NAMES), *(f".{name}" for name in NAMES)]
UNIVERSE = [*HOSTS, *(HostKey(f"deep.{name}") for name in NAMES), *ADDRESSES]

hosts = st.sampled_from(UNIVERSE)
patterns = st.sampled_from(PATTERNS)


def reach(pattern: str) -> frozenset[HostKey]:
    return frozenset(host for host in UNIVERSE if covers(pattern, host))


@pytest.mark.parametrize(
    ("pattern", "host", "is_covered"),
    [
        ("*", "www.a.com", True),
        ("www.a.com", "www.a.com", True),
        ("www.a.com", "www.a.com:8080", True),
        ("www.a.com:8080", "www.a.com", False),
        ("www.a.com:8080", "www.a.com:8080", True),
        ("*.a.com", "www.a.com:8080", True),
        ("*.a.com", "deep.www.a.com", True),
        ("*.a.com", "a.com", False),
        ("*.a.com", "ba.com", False),
        (".a.com", "a.com", True),
        (".a.com", "a.com:81", True),
        (".a.com", "www.a.com", True),
        (".a.com", "ba.com", False),
        ("*.gov.cn", "www.sc.gov.cn", True),
        ("127.0.0.1", "127.0.0.1:81", True),
        ("[::1]", "[::1]:81", True),
    ],
)
def test_a_pattern_covers_what_the_table_says(pattern: str, host: str, is_covered: bool) -> None:
    assert covers(pattern, HostKey(host)) is is_covered


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("*", "*"),
        (" WWW.A.com ", "www.a.com"),
        ("www.a.com.", "www.a.com"),
        ("www.a.com:8080", "www.a.com:8080"),
        ("www.a.com:443", "www.a.com"),
        ("www.a.com:80", "www.a.com"),
        ("*.GOV.cn", "*.gov.cn"),
        (".a.com", ".a.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.bücher.example", "*.xn--bcher-kva.example"),
        ("[0:0::1]:81", "[::1]:81"),
        ("127.1", "127.0.0.1"),
    ],
)
def test_a_pattern_has_one_spelling(text: str, spelling: str) -> None:
    assert parse_pattern(text) == spelling
    assert parse_pattern(spelling) == spelling


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "that is no host"),
        ("https://a.com/", "that is no host"),
        ("a.com/path", "that is no host"),
        ("ana@a.com", "that is no host"),
        ("a b.com", "that is no host"),
        ("a..com", "that is no host"),
        ("a.com:port", "that is no host"),
        ("a.com:99999", "that is no host"),
        (".", "that is no host"),
        ("*.", "that is no host"),
        ("**", 'a "*" stands alone, or before the first dot'),
        ("*a.com", 'a "*" stands alone, or before the first dot'),
        ("www.*.com", 'a "*" stands alone, or before the first dot'),
        ("*.*.com", 'a "*" stands alone, or before the first dot'),
        ("*:81", 'a "*" stands alone, or before the first dot'),
        ("*.a.com:81", "a port goes with one host"),
        (".127.0.0.1", "nothing is under an address"),
        ("*.[::1]", "nothing is under an address"),
    ],
)
def test_a_bad_pattern_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_pattern(text)
    assert why in str(refused.value)
    assert repr(text) in str(refused.value)
    assert "wanted a host" in str(refused.value)


@given(hosts)
def test_the_patterns_of_a_host_are_those_that_cover_it(host: HostKey) -> None:
    own = list(patterns_of(host))
    assert len(set(own)) == len(own)
    assert {one for one in PATTERNS if covers(one, host)} == set(own) & set(PATTERNS)
    assert all(covers(one, host) for one in own)


@given(hosts)
def test_each_pattern_of_a_host_covers_more_than_the_one_before(host: HostKey) -> None:
    known = [one for one in patterns_of(host) if one in PATTERNS]
    for narrow, wide in itertools.pairwise(known):
        assert reach(narrow) < reach(wide)


@given(patterns)
def test_wider_patterns_are_those_that_cover_everything_a_pattern_does(pattern: str) -> None:
    own = reach(pattern)
    wider = list(wider_patterns(pattern))
    assert wider[0] == pattern
    assert wider[-1] == "*"
    assert {one for one in PATTERNS if own <= reach(one)} == set(wider) & set(PATTERNS)


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_is_refused(text: str) -> None:
    try:
        pattern = parse_pattern(text)
    except ConfigError:
        return
    assert parse_pattern(pattern) == pattern
