import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.fetch.base import Response
from skitter.fetch.types import (
    SuffixFilter,
    declared_type,
    guess_type,
    media_type,
    sniff,
    sniff_start,
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
        ("*/*", ""),
        ("unknown/unknown; x=y", ""),
        ("Application/Unknown", ""),
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
        ("http://a.test/v1.2/", ""),
        ("http://a.test/dir.html/page", ""),
        ("http://a.test/page%2Ehtml", "html"),
        ("http://a.test/page.%68%54ml", "html"),
        ("http://a.test/file.pdf%20", "pdf"),
        ("http://a.test/%E4%B8%AD.html", "html"),
        ("http://a.test/page.html%E4%B8%AD", "html%e4%b8%ad"),
        ("http://a.test/page.html%3Fid=1", "html?id=1"),
        ("http://a.test/100%", ""),
        ("http://a.test/index.html.en", "en"),
        ("http://a.test/page.html.", ""),
        ("http://a.test/?file=x.html", ""),
        ("http://a.test?x=/y.html", ""),
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
        ("http://a.test/x.SHTML#top", "text/html"),
        ("http://a.test/x.zip", "application/octet-stream"),
        ("http://a.test/x.html.gz", "application/octet-stream"),
        ("http://a.test/x.unheard", None),
        ("http://a.test/", None),
    ],
)
def test_a_type_is_guessed_from_the_suffix(url: str, kind: str | None) -> None:
    assert type_from_url(url) == kind


@pytest.mark.parametrize(
    ("header", "url", "kind"),
    [
        ("Text/HTML; charset=x", "http://a.test/x.pdf", "text/html"),
        (None, "http://a.test/x.PDF?y=z.html", "application/pdf"),
        (";;;=", "http://a.test/x.txt", "text/plain"),
        ("*/*", "http://a.test/x.htm", "text/html"),
        ("unknown/unknown", "http://a.test/x", None),
        (None, "http://a.test/", None),
        ("text/plain", "http://a.test/x.html", "text/plain"),
        ("application/octet-stream", "http://a.test/x.html", None),
        ("binary/octet-stream", "http://a.test/x.xhtml", None),
        ("application/octet-stream", "http://a.test/x.php", "application/octet-stream"),
        ("application/octet-stream", "http://a.test/x", "application/octet-stream"),
    ],
)
def test_a_type_is_declared_by_the_header_or_else_by_the_suffix(
    header: str | None, url: str, kind: str | None
) -> None:
    assert declared_type(header, url) == kind


PAGE = b"<!doctype html><p>x"


@pytest.mark.parametrize(
    ("header", "url", "body", "kind"),
    [
        ("image/png", "http://a.test/x.html", PAGE, "image/png"),
        (None, "http://a.test/x.txt", PAGE, "text/plain"),
        (None, "http://a.test/x.html", b"words", "text/html"),
        (None, "http://a.test/x", PAGE, "text/html"),
        (None, "http://a.test/x", b"\0\1", "application/octet-stream"),
        (None, "http://a.test/x", b"", ""),
        (None, "http://a.test/x.php", PAGE, "text/html"),
        (None, "http://a.test/x.php", b"", "text/html"),
        (None, "http://a.test/x.php", b"%PDF-1.7", "application/pdf"),
        ("text/plain", "http://a.test/x.html", PAGE, "text/plain"),
        ("application/octet-stream", "http://a.test/x.html", PAGE, "text/html"),
        ("application/octet-stream", "http://a.test/x.html", b"\0", "application/octet-stream"),
        ("application/octet-stream", "http://a.test/x.html", b"", "application/octet-stream"),
        ("application/octet-stream", "http://a.test/x.zip", PAGE, "application/octet-stream"),
    ],
)
def test_a_type_is_guessed_from_header_suffix_and_first_bytes_in_this_order(
    header: str | None, url: str, body: bytes, kind: str
) -> None:
    assert guess_type(header, url, body) == kind


def response(url: str, body: bytes, header: str | None = None, status: int = 200) -> Response:
    headers = {} if header is None else {"content-type": header}
    return Response(
        url=url, status=status, headers=headers, body=body, wire_bytes=len(body), elapsed_ms=0
    )


@pytest.mark.parametrize(
    ("one", "media", "read_as"),
    [
        (
            response("http://a.test/x", PAGE, "Text/HTML; charset=gbk"),
            "text/html",
            "Text/HTML; charset=gbk",
        ),
        (response("http://a.test/x.pdf", b"%PDF-1.7"), "application/pdf", "application/pdf"),
        (
            response("http://a.test/x.html", PAGE, "application/octet-stream"),
            "text/html",
            "text/html",
        ),
        (response("http://a.test/x", PAGE, ";;;="), "text/html", "text/html"),
        (response("http://a.test/x", b""), "", None),
        (response("http://a.test/x.pdf", PAGE, status=404), "text/html", "text/html"),
        (response("http://a.test/x.pdf", b"", status=301), "", None),
    ],
)
def test_a_response_tells_its_media_type_and_what_to_read_it_as(
    one: Response, media: str, read_as: str | None
) -> None:
    assert (one.media_type, one.read_as) == (media, read_as)


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"", None),
        (b"<", None),
        (b"plain words", None),
        (b"plain words" * 100, "text/plain"),
        (b"<?xml version='1.0'?>", None),
        (b"<html", "text/html"),
        (b"\x89PNG\r\n\x1a\n", "application/octet-stream"),
        (b"%PDF-", "application/pdf"),
    ],
)
def test_the_first_bytes_tell_only_what_more_of_them_cannot_change(
    start: bytes, kind: str | None
) -> None:
    assert sniff_start(start) == kind


@given(st.binary(max_size=1500), st.binary(max_size=1500))
def test_what_the_first_bytes_tell_the_whole_body_tells_too(start: bytes, rest: bytes) -> None:
    kind = sniff_start(start)
    assert kind is None or kind == sniff(start + rest) or sniff(start + rest) == "text/html"


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
