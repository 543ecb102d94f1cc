"""What is remembered of pages, and how two of them compare."""

import pytest
from xxhash import xxh3_128_digest

from skitter.crawl.aliases.facts import (
    Fact,
    Likeness,
    content_digest,
    fact_of,
    likeness,
    path_of,
    stored_fact,
)
from skitter.pipeline.record import PageRecord, encode_line
from skitter.types import HostKey

A, B = HostKey("a.test"), HostKey("b.test:8080")


def digest_of(body: str, host: HostKey) -> bytes:
    return content_digest(body.encode(), xxh3_128_digest(body.encode()), host)


def record(**fields: object) -> PageRecord:
    url = "http://a.test/x"
    given: dict[str, object] = {
        "job": "j",
        "url": url,
        "final_url": url,
        "outcome": "ok",
        "status": 200,
        "depth": 1,
        "page_class": "data",
        "fetched_at": "2026-01-01T00:00:00.000Z",
        "digest": "00" * 16,
        "bytes": 500,
        "n_links": 3,
        "title": "A page",
        "visit": 1,
    }
    return PageRecord(**{**given, **fields})  # type: ignore[arg-type]


def test_a_page_that_names_its_own_address_is_the_same_under_another() -> None:
    page = '<link rel="canonical" href="http://{0}/x"><a href="//{0}/y">y</a><p>the text'
    assert digest_of(page.format(A), A) == digest_of(page.format(B), B)


def test_a_page_that_names_its_host_in_its_text_is_another_page() -> None:
    page = "<p>welcome to {0}, page 3"
    assert digest_of(page.format(A), A) != digest_of(page.format(B), B)


def test_the_address_of_another_host_stays() -> None:
    page = '<a href="http://c.test/{0}">'
    assert digest_of(page.format(1), A) != digest_of(page.format(2), B)
    plain = xxh3_128_digest(page.encode())
    assert content_digest(page.encode(), plain, A) is plain


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a.test/", "/"),
        ("https://a.test:8443/x/y?b=1&a=//", "/x/y?b=1&a=//"),
    ],
)
def test_paths_have_their_query(url: str, path: str) -> None:
    assert path_of(url) == path


def test_pages_compare_by_content_then_by_looks() -> None:
    fact = Fact(b"1" * 16, looks=("A", 7), size=10_000)
    assert likeness(fact, fact._replace(looks=("A", 8), size=1)) is Likeness.EQUAL
    other = fact._replace(digest=b"2" * 16)
    assert likeness(fact, other) is Likeness.NEAR
    assert likeness(fact, other._replace(size=10_001)) is Likeness.DIFFERENT
    assert likeness(fact, other._replace(looks=("A", 8))) is Likeness.DIFFERENT
    assert likeness(fact, Fact(b"")) is Likeness.DIFFERENT


def test_pages_with_the_content_of_one_third_page_are_equal() -> None:
    one = Fact(b"1" * 16, content="http://c.test/x")
    assert likeness(one, Fact(b"2" * 16, content="http://c.test/x")) is Likeness.EQUAL
    assert likeness(one._replace(content=""), Fact(b"2" * 16, size=99)) is Likeness.DIFFERENT


def test_what_the_store_knows_compares_with_what_was_just_fetched() -> None:
    digest = bytes(range(16))
    stored = stored_fact(encode_line(record(digest=digest.hex())))
    fresh = fact_of(record(), digest)
    assert stored is not None
    assert fresh is not None
    assert stored._replace(content="", is_stored=False) == fresh
    assert stored.content == "http://a.test/x"
    twin = stored_fact(encode_line(record(duplicate_of="http://c.test/x")))
    assert twin is not None
    assert twin.content == "http://c.test/x"


@pytest.mark.parametrize(
    "fields",
    [
        {"outcome": "failed", "status": None},
        {"final_url": "http://a.test/other", "redirects": ["http://a.test/x"]},
        {"outcome": "duplicate", "status": None, "digest": None},
        {"outcome": "http_error", "status": 500},
    ],
)
def test_what_is_no_page_of_its_own_says_nothing(fields: dict[str, object]) -> None:
    assert stored_fact(encode_line(record(**fields))) is None
    assert fact_of(record(**fields), b"1" * 16) is None
    assert stored_fact(b"") is None


def test_a_page_that_is_not_there_is_a_difference() -> None:
    gone = stored_fact(encode_line(record(outcome="http_error", status=404, digest=None)))
    assert gone is not None
    assert likeness(gone, Fact(b"1" * 16)) is Likeness.DIFFERENT
