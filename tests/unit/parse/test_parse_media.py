import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.media import read_content_type


@pytest.mark.parametrize(
    ("header", "name", "charset"),
    [
        ("text/html", "text/html", None),
        ("Text/HTML; Charset=UTF-8", "text/html", "utf-8"),
        ('text/html; charset="gb2312"', "text/html", "gbk"),
        ("text/html; charset='big5'", "text/html", "big5"),
        ("text/html;charset = utf-8", "text/html", "utf-8"),
        ("text/html; boundary=x; charset=euc-jp; charset=gbk", "text/html", "euc-jp"),
        ("text/html, text/html; charset=gbk", "text/html", "gbk"),
        ("text/html; mycharset=gbk", "text/html", None),
        ("text/html; charset=klingon", "text/html", None),
        ("text/html; charset=", "text/html", None),
        ('text/html; charset=""', "text/html", None),
        ("; charset=gbk", "", "gbk"),
        ("html", "", None),
        ("", "", None),
        (None, "", None),
    ],
)
def test_a_header_is_read(header: str | None, name: str, charset: str | None) -> None:
    assert read_content_type(header) == (name, charset)


@pytest.mark.parametrize(
    ("header", "is_html"),
    [
        ("text/html", True),
        ("application/xhtml+xml", True),
        (None, True),
        ("*/*", True),
        ("nonsense", True),
        ("text/plain", False),
        ("text/xml", False),
        ("application/pdf", False),
    ],
)
def test_only_html_and_the_unknown_are_read_as_html(header: str | None, is_html: bool) -> None:
    assert read_content_type(header).is_html is is_html


@given(st.text(max_size=400))
def test_any_header_is_read_without_an_error(header: str) -> None:
    assert read_content_type(header).name == read_content_type(header).name.lower()
