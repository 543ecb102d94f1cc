import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.fetch.types import (
    SuffixFilter,
    media_type,
    sniff,
    suffix_of,
    type_from_url,
    wanted_type,
)


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("text/html", "text/html"),
        (" Text/HTML ; charset=utf-8", "text/html"),
        ("text/html, text/html", "text/html"),
        ("application/xhtml+xml;q=1", "application/xhtml+xml"),
        (";;;=", ""),
        ("html", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_a_media_type_is_read_from_its_header(header: str | None, kind: str) -> None:
    assert media_type(header) == kind


@pytest.mark.parametrize(
    ("header", "accept", "wanted"),
    [
        ("text/html", ("text/html",), True),
        ("TEXT/HTML; charset=x", ("Text/Html",), True),
        ("text/plain", ("text/html", "text/*"), True),
        ("image/png", ("text/*",), False),
        ("textile/x", ("text/*",), False),
        ("image/png", ("*/*",), True),
        ("image/png", (), True),
        (None, (), True),
        (None, ("text/html",), None),
        (";;;=", ("text/html",), None),
    ],
)
def test_wanted_types(header: str | None, accept: tuple[str, ...], wanted: bool | None) -> None:
    assert wanted_type(header, accept) is wanted


@pytest.mark.parametrize(
    ("url", "suffix"),
    [
        ("http://a.test/x/page.HTML", "html"),
        ("http://a.test/archive.tar.gz?x=y.html#z.pdf", "gz"),
        ("http://a.test/page.php;jsessionid=1.zip", "php"),
        ("http://a.test/v1.2/page", ""),
        ("http://a.test/.htaccess", ""),
        ("http://a.zip/", ""),
        ("http://a.zip", ""),
        ("http://a.test/dir.zip/", ""),
        ("/relative/x.png", "png"),
        ("", ""),
    ],
)
def test_the_suffix_is_that_of_the_last_path_segment(url: str, suffix: str) -> None:
    assert suffix_of(url) == suffix


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://a.test/x.htm", "text/html"),
        ("http://a.test/x.php?y=1", "text/html"),
        ("http://a.test/x.xml", "text/xml"),
        ("http://a.test/x.jpg", "image/jpeg"),
        ("http://a.test/x.woff2", "font/woff2"),
        ("http://a.test/x.zip", "application/octet-stream"),
        ("http://a.test/x.unheard", None),
        ("http://a.test/", None),
    ],
)
def test_a_type_is_guessed_from_the_suffix(url: str, kind: str | None) -> None:
    assert type_from_url(url) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<!DOCTYPE html><p>", "text/html"),
        (b"\xef\xbb\xbf\n <HTML>", "text/html"),
        (b"<!-- a --> <!-- b --><body>", "text/html"),
        (b"<p>fragment", "text/html"),
        ("<html>".encode("utf-16"), "text/html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "text/html"),
        (b"<?xml version='1.0'?><rss/>", "text/xml"),
        (b"%PDF-1.4\n", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "application/octet-stream"),
        (b"GIF89a\x01\x00", "application/octet-stream"),
        (b"plain words", "text/plain"),
        ("普通文字".encode("gbk"), "text/plain"),
        (b"", "text/plain"),
    ],
)
def test_the_first_bytes_tell_the_kind(body: bytes, kind: str) -> None:
    assert sniff(body) == kind


@given(st.binary(max_size=2000))
def test_sniffing_takes_any_bytes(body: bytes) -> None:
    assert "/" in sniff(body)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://a.test/film.MP4", "suffix .mp4 (video)"),
        ("http://a.test/x.pdf?page=1", "suffix .pdf (document)"),
        ("http://a.test/style.css", "suffix .css (page part)"),
        ("http://a.test/page.html", None),
        ("http://a.test/page", None),
        ("http://a.test/site/example.com", None),
        ("http://a.test/download?file=x.zip", None),
        ("http://a.test/feed.xml", None),
    ],
)
def test_urls_that_hold_no_page_are_named_by_their_suffix(url: str, why: str | None) -> None:
    assert SuffixFilter().why_not(url) == why


def test_a_filter_may_have_suffixes_of_its_own() -> None:
    own = SuffixFilter([".Log", "html"])
    assert own.why_not("http://a.test/x.log") == "suffix .log"
    assert own.why_not("http://a.test/x.html") == "suffix .html"
    assert own.why_not("http://a.test/x.pdf") is None
    assert SuffixFilter([]).why_not("http://a.test/x.exe") is None
