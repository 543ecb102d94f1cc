import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.label import resolve_label
from skitter.parse.prescan import declared_encoding


@pytest.mark.parametrize(
    "html",
    [
        '<meta charset="iso-8859-5">',
        "<META CHARSET=ISO-8859-5>",
        "<meta/charset='iso-8859-5'/>",
        "<meta\n charset\t=  iso-8859-5 >",
        "<meta name=x><meta charset=iso-8859-5>",
        "<meta charset=iso-8859-5 charset=gbk>",
        '<meta charset=iso-8859-5 http-equiv=Content-Type content="text/html; charset=gbk">',
        '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-5">',
        '<meta content="charset = iso-8859-5;" http-equiv=content-type>',
        "<meta http-equiv=content-type content='charset charset=\"iso-8859-5\"'>",
        "<!-- <meta charset=gbk> --><meta charset=iso-8859-5>",
        "<!--><meta charset=iso-8859-5>",
        "<p title='<meta charset=gbk>'><meta charset=iso-8859-5>",
        "<!doctype html><?pi x?></ bogus><meta charset=iso-8859-5>",
        "<meta charset=nonsense><meta charset=iso-8859-5>",
        "a < b <<meta charset=iso-8859-5>",
        "<meta =x charset=iso-8859-5>",
        "</meta charset=gbk><meta charset=iso-8859-5>",
    ],
)
def test_the_first_valid_declaration_is_found(html: str) -> None:
    assert declared_encoding(html.encode()) == "iso-8859-5"


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<meta charset=gbk",
        '<meta charset="gbk>',
        "<meta charset=gbk x",
        "<meta charset=>",
        "<meta charset>",
        "<metal charset=gbk>",
        "<meta content='text/html; charset=gbk'>",
        "<meta http-equiv=refresh content='text/html; charset=gbk'>",
        "<meta http-equiv='content-type ' content='text/html; charset=gbk'>",
        "<meta http-equiv=content-type content='text/html; charset=\"gbk'>",
        "<meta http-equiv=content-type content='text/html; charset gbk'>",
        "<p title='<meta charset=gbk>",
        "<!-- <meta charset=gbk>",
        "<meta charset=gbk\0>",
    ],
)
def test_what_a_browser_would_not_read_is_no_declaration(html: str) -> None:
    assert declared_encoding(html.encode()) is None


def test_a_declaration_behind_a_long_comment_is_found() -> None:
    assert declared_encoding(b"<!--" + b"x" * 30_000 + b"--><meta charset=euc-kr>") == "euc-kr"


def test_beyond_the_first_kilobyte_the_text_of_scripts_is_passed_over() -> None:
    script = b'<script>if (a<b) document.write("<meta charset=gbk>\'")</script>'
    head = b"<!--" + b"x" * 1100 + b"-->"
    assert declared_encoding(head + script + b"<meta charset=euc-jp>") == "euc-jp"
    assert declared_encoding(head + script) is None


def test_a_quote_in_a_style_does_not_hide_the_declaration_after_it() -> None:
    html = b"<style>p::before{content:'<p title=\"'}</style><meta charset=big5>"
    assert declared_encoding(html) == "big5"


@pytest.mark.parametrize(
    ("label", "name"),
    [("utf-16", "utf-8"), ("UTF-16BE", "utf-8"), ("x-user-defined", "windows-1252")],
)
def test_a_label_that_cannot_be_true_means_its_ascii_cousin(label: str, name: str) -> None:
    assert declared_encoding(f"<meta charset={label}>".encode()) == name


def test_a_meta_beats_the_xml_declaration() -> None:
    xml = b'<?xml version="1.0" encoding="shift_jis"?>'
    assert declared_encoding(xml) == "shift_jis"
    assert declared_encoding(xml + b"<meta charset=euc-jp>") == "euc-jp"


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("GB2312", "gbk"),
        ("gb_2312-80", "gbk"),
        ("gb18030", "gb18030"),
        ("x-sjis", "shift_jis"),
        ("ks_c_5601-1987", "euc-kr"),
        ("big5-hkscs", "big5"),
        ("latin1", "windows-1252"),
        (" utf8 ", "utf-8"),
        ("iso-2022-kr", None),
        ("utf-7", None),
        ("klingon", None),
        ("", None),
        ("ütf-8", None),
        ("\ud800", None),
        ("a" * 100, None),
    ],
)
def test_labels_resolve_to_standard_names(label: str, name: str | None) -> None:
    assert resolve_label(label) == name


PIECES = st.sampled_from(
    ["<meta ", "charset", "=", '"', "'", "gbk", ">", "<!--", "-->", "<script>", "</script>", " "]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_any_soup_is_read_without_an_error(soup: str) -> None:
    found = declared_encoding(soup.encode("utf-8", "replace"))
    assert found is None or resolve_label(found) == found
