"""Documents made to take long: a quadratic step anywhere would pass the suite's time limit."""

import pytest

from skitter.parse.document import parse_page
from skitter.parse.encoding import sniff_encoding
from skitter.parse.links import extract_links

URL = "http://site.test/"
UTF8 = "text/html; charset=utf-8"

DOCUMENTS = {
    "nested divs": b"<div>" * 200_000,
    "links": b"<a href=/x>y</a>" * 100_000,
    "nested links": b"<object><a href=/x>" * 50_000,
    "links and one nofollow": b"<a href=/x>y" * 100_000 + b"<a rel=nofollow href=/n>",
    "formatting": b"<a href=/x><b><i>" * 20_000,
    "an endless attribute": b'<a href=/x title="' + b"t" * 10_000_000 + b'">y</a>',
    "many attributes": b"<a " + b" ".join(b"a%d=1" % n for n in range(200_000)) + b" href=/x>",
    "many html attributes": b"<html " + b" ".join(b"a%d" % n for n in range(200_000)) + b">",
    "many directives": b"<meta name=robots content='" + b"a," * 200_000 + b"'>",
    "many metas": b"<meta name=robots content=noindex>" * 50_000,
    "empty titles": b"<title></title>" * 50_000,
    "nested headings": b"<h1><div>" * 50_000,
    "zero bytes": b"\0" * 2_000_000,
    "high bytes": b"\xff" * 5_000_000,
    "refresh of spaces": b"<meta http-equiv=refresh content='0" + b" " * 1_000_000 + b"'>",
    "srcset of commas": b"<img srcset='" + b"," * 1_000_000 + b"'>",
    "images in a link": b"<a href=/x>" + b"<img alt=''>" * 50_000,
    "relations": b"<link rel='" + b"next " * 100_000 + b"' href=/x>",
    "half metas": b"<meta charset" * 100_000,
    "half comments": b"<!-- <meta charset=x " * 50_000,
    "open brackets": b"<" * 1_000_000,
    "escapes": b"\x1b$" * 500_000,
}


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("content_type", [UTF8, None])
def test_hostile_documents_are_read(name: str, content_type: str | None) -> None:
    page = parse_page(DOCUMENTS[name], content_type, URL)
    assert len(page.hrefs) <= DOCUMENTS[name].count(b"href=")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_full_report_of_hostile_documents_is_made(name: str) -> None:
    assert extract_links(DOCUMENTS[name], URL) is not None


def test_no_link_of_a_hostile_document_is_lost() -> None:
    assert parse_page(DOCUMENTS["links"], UTF8, URL).hrefs == ["/x"] * 100_000
    assert len(parse_page(DOCUMENTS["nested links"], UTF8, URL).hrefs) == 50_000
    assert parse_page(DOCUMENTS["many attributes"], UTF8, URL).hrefs == ["/x"]
    assert parse_page(DOCUMENTS["an endless attribute"], UTF8, URL).hrefs == ["/x"]


def test_a_huge_target_is_dropped() -> None:
    page = parse_page(b"<a href=/" + b"x" * 2_000_000 + b">a</a><a href=/b>b</a>", UTF8, URL)
    assert page.hrefs == ["/b"]


def test_the_text_of_a_link_full_of_links_is_bounded() -> None:
    report = extract_links(b"<object><a href=/x>word " * 20_000, URL)
    assert len(report.links) == 20_000
    assert max(len(link.text) for link in report.links) < 2_000


def test_detection_looks_at_a_sample_of_a_huge_body() -> None:
    body = "<p>河边的柳树都绿了，孩子们在放风筝。</p>".encode("gbk") * 100_000
    assert sniff_encoding(body, None) == "gbk"
