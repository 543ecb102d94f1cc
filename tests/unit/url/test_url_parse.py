import pytest
from hypothesis import given
from hypothesis import strategies as st
from url_strategies import HREFS, TEXTS

from skitter.errors import InvalidUrl, UnsupportedScheme
from skitter.url.parse import Base, parse, parse_http

PAGE = "http://site.test/dir/page.html?x=1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HTTP://Site.TEST", "http://site.test/"),
        ("  https://site.test:443/a/./b/../c \n", "https://site.test/a/c"),
        ("http://site.test:80/%7euser", "http://site.test/%7euser"),
        ("http:\\\\site.test\\a\\b", "http://site.test/a/b"),
        ("http://münchen.test/straße", "http://xn--mnchen-3ya.test/stra%C3%9Fe"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://site.test/a b?c d#e f", "http://site.test/a%20b?c%20d#e%20f"),
        ("mailto:ana@site.test", "mailto:ana@site.test"),
        ("data:text/plain,x #f", "data:text/plain,x%20#f"),
    ],
)
def test_a_url_is_serialised_by_the_whatwg_rules(text: str, expected: str) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("", "http://site.test/dir/page.html?x=1"),
        ("#top", "http://site.test/dir/page.html?x=1#top"),
        ("?y=2", "http://site.test/dir/page.html?y=2"),
        ("../up", "http://site.test/up"),
        ("//other.test/z", "http://other.test/z"),
        ("https:/other.test", "https://other.test/"),
        ("http:rel", "http://site.test/dir/rel"),
        ("a:b", "a:b"),
    ],
)
def test_a_link_is_resolved_against_its_base(href: str, expected: str) -> None:
    assert parse(href, PAGE) == expected


@pytest.mark.parametrize("href", ["///cdn.test/x", "/\\/cdn.test/x", " \t//\n//cdn.test/x"])
def test_surplus_slashes_before_a_host_are_ignored(href: str) -> None:
    assert parse(href, PAGE) == "http://cdn.test/x"
    assert Base(PAGE).join(href) == "http://cdn.test/x"


def test_many_slashes_inside_a_path_stay() -> None:
    assert parse("/a////b", PAGE) == "http://site.test/a////b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://xn--nope-zz.test/a", "http://xn--nope-zz.test/a"),
        ("http://ME:pw@www.XN--Nope-zz:81/a", "http://ME:pw@www.xn--nope-zz:81/a"),
        ("http://xn--nope%2Dzz.test/xn--nope-zz", "http://xn--nope-zz.test/xn--nope-zz"),
        ("//xn--nope-zz.test", "http://xn--nope-zz.test/"),
        ("ftp://xn--nope-zz.test", "ftp://xn--nope-zz.test/"),
    ],
)
def test_an_ascii_host_is_taken_whatever_its_punycode_decodes_to(text: str, expected: str) -> None:
    href = parse(text, PAGE)
    assert href == expected
    assert parse(href) == href


@pytest.mark.parametrize(
    "text", ["http://xn--nope-zz.ü/", "http://xn--nope zz/", "http://xn--a%2F/"]
)
def test_bad_punycode_does_not_excuse_other_faults(text: str) -> None:
    with pytest.raises(InvalidUrl):
        parse(text)


def test_a_page_on_such_a_host_is_a_base_like_any_other() -> None:
    base = Base("http://me@xn--nope-zz.test:81/dir/")
    assert base.host == "xn--nope-zz.test:81"
    assert base.join("x?^") == "http://me@xn--nope-zz.test:81/dir/x?^"
    assert base.join("http://other.test/xq--nope-zz") == "http://other.test/xq--nope-zz"
    assert base.join("mailto:ana@site.test") is None
    assert parse("mailto:ana@b.test", "http://xn--nope-zz.test/") == "mailto:ana@b.test"
    assert parse("x", "http://xn--nope-zz.test/") == "http://xn--nope-zz.test/x"


def test_a_caret_is_encoded_in_the_path_alone() -> None:
    expected = "http://site.test/a%5Eb?c^d#e^f"
    assert parse("http://site.test/a^b?c^d#e^f") == expected
    assert Base(PAGE).join("/a^b?c^d#e^f") == expected
    assert parse("view:a^b") == "view:a^b"


def test_a_lone_surrogate_reads_as_the_replacement_character() -> None:
    assert parse("http://site.test/\ud800x") == "http://site.test/%EF%BF%BDx"
    assert Base(PAGE).join("/\udfff") == "http://site.test/%EF%BF%BD"
    assert Base(PAGE).join("/\ud83d\ude00") == "http://site.test/%F0%9F%98%80"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no scheme",
        "http://",
        "http://a b/",
        "http://a:99999/",
        "http://[::1",
        "http://1.2.3.4.5/",
    ],
)
def test_what_is_no_url_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        parse(text)
    assert caught.value.url == text
    assert caught.value.why


def test_a_bad_base_is_named_as_the_culprit() -> None:
    with pytest.raises(InvalidUrl) as caught:
        parse("x", "nonsense")
    assert caught.value.url == "nonsense"


@pytest.mark.parametrize("text", ["ftp://site.test/", "javascript:void(0)", "httpx://site.test/"])
def test_only_http_and_https_pass_the_scheme_check(text: str) -> None:
    with pytest.raises(UnsupportedScheme, match="is not http or https"):
        parse_http(text)
    with pytest.raises(UnsupportedScheme):
        Base(text)
    assert Base(PAGE).join(text) is None


def test_an_invalid_link_joins_to_nothing() -> None:
    assert Base(PAGE).join("http://a b/") is None
    assert Base(PAGE).join("//") is None


@pytest.mark.parametrize(
    ("encoding", "href", "expected"),
    [
        ("gbk", "/s?q=中文#中", "/s?q=%D6%D0%CE%C4#%E4%B8%AD"),
        ("GB18030", "/中?q=中", "/%E4%B8%AD?q=%D6%D0"),
        ("big5", "?a=1&q=許功", "/dir/page.html?a=1&q=%B3\\%A5\\"),
        ("shift_jis", "/s?q=ソ", "/s?q=%83\\"),
        ("windows-1252", "/s?q=é€☃x", "/s?q=%E9%80%26%239731%3Bx"),
        ("utf-8", "/s?q=é", "/s?q=%C3%A9"),
        ("utf-16le", "/s?q=é", "/s?q=%C3%A9"),
        ("no-such-thing", "/s?q=é", "/s?q=%C3%A9"),
        ("gbk", "/中", "/%E4%B8%AD"),
        (None, "/s?q=中", "/s?q=%E4%B8%AD"),
    ],
)
def test_the_query_of_a_link_is_in_the_encoding_of_its_page(
    encoding: str | None, href: str, expected: str
) -> None:
    assert Base(PAGE, encoding).join(href) == f"http://site.test{expected}"


@given(HREFS)
def test_serialisation_is_stable(href: str) -> None:
    assert parse(href) == href


@given(st.one_of(st.text(max_size=20), TEXTS), HREFS)
def test_joining_to_a_base_gives_what_parsing_against_it_gives(href: str, page: str) -> None:
    try:
        expected = parse(href, page)
    except InvalidUrl:
        expected = ""
    joined = Base(page).join(href)
    assert joined == (expected if expected.startswith(("http://", "https://")) else None)
