import pytest
from hypothesis import given
from hypothesis import strategies as st
from url_strategies import HREFS, TEXTS

from skitter.errors import InvalidUrl, UnsupportedScheme, UrlError
from skitter.url.canonical import DEFAULT_RULES, CanonicalRules, canonicalize, fetch_url
from skitter.url.fingerprint import Fingerprinter
from skitter.url.host import host_key
from skitter.url.normalise import Normaliser
from skitter.url.parse import Base

FINGERPRINTER = Fingerprinter(bytes(32))
PAGE = Base("https://site.test/dir/page.html")


@pytest.fixture
def normaliser() -> Normaliser:
    return Normaliser(DEFAULT_RULES, FINGERPRINTER)


def test_a_link_comes_back_with_all_the_crawl_needs(normaliser: Normaliser) -> None:
    found = normaliser.link(PAGE, "../a?utm_source=x&b=1#part")
    assert found is not None
    assert found.url == "https://site.test/a?utm_source=x&b=1"
    assert found.canonical == "https://site.test/a?b=1"
    assert found.host == "site.test"
    assert found.fp == FINGERPRINTER("https://site.test/a?b=1")


def test_a_link_to_another_host_carries_that_host(normaliser: Normaliser) -> None:
    found = normaliser.link(PAGE, "//site.test:81/x")
    assert found is not None
    assert found.host == "site.test:81"
    neighbour = normaliser.link(PAGE, "//site.test.evil.test/x")
    assert neighbour is not None
    assert neighbour.host == "site.test.evil.test"


def test_userinfo_is_neither_requested_nor_compared(normaliser: Normaliser) -> None:
    found = normaliser.link(PAGE, "https://ana:pw@site.test/@x")
    assert found is not None
    assert found.url == found.canonical == "https://site.test/@x"


@pytest.mark.parametrize(
    "href", ["mailto:a@b.test", "javascript:x()", "http://[", "//", "http://a b/", "data:,x"]
)
def test_what_cannot_be_crawled_is_nothing(normaliser: Normaliser, href: str) -> None:
    assert normaliser.link(PAGE, href) is None


def test_the_length_cap_counts_what_is_requested() -> None:
    normaliser = Normaliser(CanonicalRules(max_length=40), FINGERPRINTER)
    fits = "/" + "a" * (40 - len("https://site.test/"))
    assert normaliser.link(PAGE, fits) is not None
    assert normaliser.link(PAGE, fits + "#fragment") is not None
    assert normaliser.link(PAGE, fits + "a") is None
    assert normaliser.link(PAGE, "#" + "x" * 1000) is None
    with pytest.raises(InvalidUrl, match="longer than 40"):
        normaliser.absolute("https://site.test" + fits + "a")


def test_a_host_name_longer_than_the_dns_holds_is_refused(normaliser: Normaliser) -> None:
    host = ".".join(["a" * 60] * 5)
    assert normaliser.link(PAGE, f"http://{host}/") is None
    with pytest.raises(InvalidUrl, match="host name"):
        normaliser.absolute(f"http://{host}/")


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (" https://site.test/a#b \n", "https://site.test/a"),
        ("site.test", "https://site.test/"),
        ("Site.Test:8080/a?b", "https://site.test:8080/a?b"),
        ("bücher.example?q", "https://xn--bcher-kva.example/?q"),
        ("site.test/http://x", "https://site.test/http://x"),
        ("localhost", "http://localhost/"),
        ("localhost:8080/a", "http://localhost:8080/a"),
        ("127.0.0.1:8080", "http://127.0.0.1:8080/"),
        ("[::1]:8080/a", "http://[::1]:8080/a"),
    ],
)
def test_a_person_may_leave_out_the_scheme(normaliser: Normaliser, text: str, url: str) -> None:
    assert normaliser.absolute(text).url == url


@pytest.mark.parametrize("text", ["", "   ", "word", "two words", "/path", "./a", "http://", "-"])
def test_what_is_no_url_is_refused(normaliser: Normaliser, text: str) -> None:
    with pytest.raises(InvalidUrl):
        normaliser.absolute(text)


@pytest.mark.parametrize("text", ["ftp://site.test/", "mailto:ana@site.test", "file:///etc/hosts"])
def test_another_scheme_is_named_in_the_refusal(normaliser: Normaliser, text: str) -> None:
    with pytest.raises(UnsupportedScheme, match=text.partition(":")[0]):
        normaliser.absolute(text)


@given(HREFS, st.one_of(TEXTS, st.text(max_size=20), st.text(st.characters(), max_size=5)))
def test_the_quick_way_gives_what_the_single_steps_give(page: str, href: str) -> None:
    normaliser = Normaliser(DEFAULT_RULES, FINGERPRINTER)
    base = Base(page)
    found = normaliser.link(base, href)
    joined = base.join(href)
    if found is None:
        assert joined is None
        return
    assert joined is not None
    assert found.url == fetch_url(joined)
    assert found.canonical == canonicalize(joined)
    assert found.host == host_key(joined)
    assert found.fp == FINGERPRINTER(found.canonical)


@given(st.text(max_size=30))
def test_any_text_as_a_seed_is_a_url_or_a_url_error(text: str) -> None:
    normaliser = Normaliser(DEFAULT_RULES, FINGERPRINTER)
    try:
        found = normaliser.absolute(text)
    except UrlError:
        return
    assert found.url.startswith(("http://", "https://"))
    assert normaliser.absolute(found.url) == found
