"""What may start a crawl."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import InvalidUrl, UnsupportedScheme, UrlError
from skitter.job.entry import entry_host, entry_url, without_credentials


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("https://example.com", "https://example.com/"),
        ("  HTTP://Example.COM:80/a/../b#top ", "http://example.com/b"),
        ("example.com/x", "https://example.com/x"),
        ("localhost:8080", "http://localhost:8080/"),
        ("http://[::1]:81/", "http://[::1]:81/"),
        ("https://bücher.example/ü?q=1", "https://xn--bcher-kva.example/%C3%BC?q=1"),
    ],
)
def test_what_a_person_types_becomes_a_whole_url(typed: str, meant: str) -> None:
    assert entry_url(typed) == meant


@pytest.mark.parametrize(
    "typed", ["", "word", "/path", "https://", "https://a b/", "http://1.2.3.999/"]
)
def test_what_is_no_url_is_refused_with_what_was_wanted(typed: str) -> None:
    with pytest.raises(InvalidUrl, match="wanted an http or https URL"):
        entry_url(typed)


@pytest.mark.parametrize(
    "typed", ["ftp://example.com/", "mailto:a@example.com", "htp://example.com"]
)
def test_other_schemes_are_refused(typed: str) -> None:
    with pytest.raises(UnsupportedScheme, match="wanted an http or https URL"):
        entry_url(typed)


@pytest.mark.parametrize(
    "typed", ["https://ana:hunter2@example.com/", "https:\\\\ana:hunter2@example.com"]
)
def test_credentials_are_refused_and_not_repeated(typed: str) -> None:
    with pytest.raises(InvalidUrl, match="user name or password") as caught:
        entry_url(typed)
    assert "hunter2" not in str(caught.value)


def test_an_at_sign_in_the_path_is_not_a_credential() -> None:
    assert entry_url("https://example.com//team/@ana") == "https://example.com//team/@ana"


def test_credentials_are_blanked_out_of_any_text() -> None:
    assert without_credentials("see https://a:b@c.d/e and f@g") == "see https://***@c.d/e and f@g"


@pytest.mark.parametrize(
    ("entry", "host"), [("https://a.example:81/x", "a.example"), ("http://[::1]/", "::1")]
)
def test_the_host_of_an_entry_has_no_port_and_no_brackets(entry: str, host: str) -> None:
    assert entry_host(entry) == host


@given(st.text())
def test_reading_an_entry_twice_changes_nothing(text: str) -> None:
    try:
        once = entry_url(text)
    except UrlError:
        return
    assert entry_url(once) == once
