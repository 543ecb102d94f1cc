"""Sitemaps in every encoding, whatever they say it is."""

import pytest
from sitemap_help import end, locs

from skitter.url.parse import parse


def document(encoding: str | None, path: str, records: int = 1) -> str:
    declared = f" encoding='{encoding}'" if encoding else ""
    record = f"<url><loc>https://site.test/{path}</loc></url>"
    return f"<?xml version='1.0'{declared}?><urlset>{record * records}</urlset>"


CASES = [
    ("windows-1251", "cp1251", "новости/весна"),
    ("koi8-r", "koi8-r", "новости/весна"),
    ("iso-8859-1", "latin-1", "café"),
    ("iso-8859-2", "iso-8859-2", "żółw"),
    ("gb18030", "gb18030", "新闻/春天"),
    ("gb2312", "gbk", "新闻/春天"),
    ("big5", "big5", "新聞/春天"),
    ("shift_jis", "cp932", "ニュース/春"),
    ("euc-jp", "euc-jp", "ニュース/春"),
    ("euc-kr", "cp949", "뉴스/봄날"),
    ("iso-2022-jp", "iso-2022-jp", "ニュース/春"),
    ("macintosh", "mac-roman", "café"),
    ("utf-8", "utf-8", "新闻/春天"),
    (None, "utf-8", "новости/весна"),
    ("utf-16", "utf-16", "новости/весна"),
    ("utf-16", "utf-16-le", "новости/весна"),
    ("utf-16", "utf-16-be", "новости/весна"),
    ("utf-8", "utf-8-sig", "новости/весна"),
    ("utf-16", "utf-8", "новости/весна"),
    ("windows-1251", "utf-8", "новости/весна"),
    ("iso-8859-1", "utf-8", "新闻/春天"),
    ("no-such-encoding", "utf-8", "新闻/春天"),
]


@pytest.mark.parametrize(("declared", "codec", "path"), CASES)
@pytest.mark.parametrize("records", [1, 3000])
def test_a_document_is_read_in_the_encoding_it_is_in(
    declared: str | None, codec: str, path: str, records: int
) -> None:
    body = document(declared, path, records).encode(codec)
    assert locs(body) == [parse(f"https://site.test/{path}")] * records
    assert end(body).problem is None


def test_a_wrong_declaration_far_before_the_first_letter_is_seen_through() -> None:
    plain = "<url><loc>https://site.test/plain</loc></url>" * 5000
    text = document("utf-8", "новости/весна", 50).replace("<urlset>", f"<urlset>{plain}")
    assert locs(text.encode("cp1251"))[5000:] == [parse("https://site.test/новости/весна")] * 50


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_a_plain_list_may_have_any_unicode_encoding(codec: str) -> None:
    body = "https://site.test/a\r\nhttps://site.test/é\r\n".encode(codec)
    assert locs(body) == ["https://site.test/a", "https://site.test/%C3%A9"]


def test_broken_bytes_spoil_nothing_around_them() -> None:
    body = b"<urlset><url><loc>/a</loc></url>\xff\xfe<url><loc>/b\xff</loc></url></urlset>"
    assert locs(body)[0] == "https://site.test/a"
    assert len(locs(body)) == 2
