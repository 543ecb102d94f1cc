import pytest
from hypothesis import given
from hypothesis import strategies as st
from url_strategies import HREFS

from skitter.types import HostKey
from skitter.url.host import host_key
from skitter.url.scope import Scope, ScopeKind

ENTRY = "https://news.example.co.uk/start"


@pytest.mark.parametrize(
    ("kind", "href", "inside"),
    [
        ("host", "http://news.example.co.uk/other", True),
        ("host", "https://news.example.co.uk:8443/", False),
        ("host", "https://www.example.co.uk/", False),
        ("domain", "http://www.example.co.uk:81/", True),
        ("domain", "https://example.co.uk/", True),
        ("domain", "https://other.co.uk/", False),
        ("domain", "https://notexample.co.uk/", False),
        ("subsite", "https://news.archive.example.co.uk:81/", True),
        ("subsite", "https://example.co.uk/", False),
        ("subsite", "https://news.other.co.uk/", False),
        ("any", "http://10.0.0.1/", True),
    ],
)
def test_each_kind_reaches_just_as_far_as_it_says(kind: str, href: str, inside: bool) -> None:
    scope = Scope(ScopeKind(kind), [ENTRY])
    assert scope.contains(href, host_key(href)) is inside
    assert scope.contains(href) is inside
    assert (scope.why_not(href) is None) is inside


def test_addresses_compare_whole() -> None:
    scope = Scope(ScopeKind.DOMAIN, ["http://10.0.0.1:81/"])
    assert scope.contains("http://10.0.0.1:82/")
    assert not scope.contains("http://11.0.0.1/")


def test_an_entry_that_redirects_elsewhere_widens_the_scope_at_once() -> None:
    scope = Scope(ScopeKind.HOST, ["http://site.test/"])
    assert not scope.contains("https://www.site.test/a")
    assert scope.add("https://www.site.test/")
    assert scope.contains("https://www.site.test/a")
    assert not scope.add("https://www.site.test/b")
    assert not Scope(ScopeKind.ANY).add("http://site.test/")


def test_the_reason_names_the_host_and_the_scope() -> None:
    scope = Scope(ScopeKind.HOST, [f"http://h{number}.a/" for number in range(4)])
    why = scope.why_not("http://other.test:81/x")
    assert why == (
        "other.test:81 is outside the host scope of this crawl, h0.a, h1.a, h2.a and 1 more"
    )
    assert "no entries" in (Scope(ScopeKind.HOST).why_not("http://a.test/") or "")


def test_verdicts_hold_for_more_hosts_than_are_remembered() -> None:
    scope = Scope(ScopeKind.HOST, ["http://site.test/"])
    for number in range(70_000):
        host = HostKey(f"h{number}.test")
        assert not scope.contains(f"http://{host}/", host)
    assert scope.contains("http://site.test/")


@given(st.sampled_from(ScopeKind), st.lists(HREFS, max_size=4), HREFS)
def test_a_scope_contains_its_entries_and_survives_being_stored(
    kind: ScopeKind, seeds: list[str], other: str
) -> None:
    scope = Scope(kind, seeds)
    assert all(scope.contains(seed) for seed in seeds)
    restored = Scope.restore(kind, scope.members())
    assert restored.members() == scope.members()
    assert restored.contains(other) == scope.contains(other)
