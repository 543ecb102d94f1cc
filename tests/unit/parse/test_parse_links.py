import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import UrlError
from skitter.parse.links import MAX_HREF_CHARS, Link, extract_links
from skitter.parse.srcset import srcset_urls

URL = "http://site.test/dir/page.html"


def links(html: str) -> list[tuple[str, str]]:
    return [
        (link.tag, link.url.removeprefix("http://site.test"))
        for link in extract_links(html, URL).links
    ]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<a href=x>", [("a", "/dir/x")]),
        ("<map><area href=x></map>", [("area", "/dir/x")]),
        ("<base href=/b/>", [("base", "/b/")]),
        ("<frameset><frame src=x longdesc=y>", [("frame", "/dir/x"), ("frame", "/dir/y")]),
        ("<iframe src=x></iframe>", [("iframe", "/dir/x")]),
        (
            "<img src=x srcset='y 1x, z 2x'>",
            [("img", "/dir/x"), ("img", "/dir/y"), ("img", "/dir/z")],
        ),
        ("<link rel=stylesheet href=x>", [("link", "/dir/x")]),
        ("<form action=x></form>", [("form", "/dir/x")]),
        ("<meta http-equiv=refresh content='3;url=x'>", [("meta", "/dir/x")]),
        ("<body background=x>", [("body", "/dir/x")]),
        ("<applet code=X.class></applet>", [("applet", "/dir/X.class")]),
        ("<applet code=X.class codebase=/lib></applet>", [("applet", "/lib/X.class")]),
        ("<embed src=x>", [("embed", "/dir/x")]),
        ("<object data=x></object>", [("object", "/dir/x")]),
        ("<video src=x poster=y></video>", [("video", "/dir/x"), ("video", "/dir/y")]),
        ("<audio><source src=x></audio>", [("source", "/dir/x")]),
        ("<picture><source srcset='x 2x'></picture>", [("source", "/dir/x")]),
        ("<video><track src=x></video>", [("track", "/dir/x")]),
        ("<script src=x></script>", [("script", "/dir/x")]),
        ("<input type=image src=x>", [("input", "/dir/x")]),
        ("<button formaction=x>go</button>", [("button", "/dir/x")]),
        ("<svg><a xlink:href=x></a></svg>", [("a", "/dir/x")]),
    ],
)
def test_every_kind_of_element_that_holds_a_link_is_read(
    html: str, found: list[tuple[str, str]]
) -> None:
    assert links(html) == found


def test_links_stand_in_document_order() -> None:
    html = (
        "<link href=1><body background=2><a href=3><img src=4></a><form action=5></form><a href=6>"
    )
    assert [url for _, url in links(html)] == [f"/dir/{n}" for n in range(1, 7)]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<a href=x> The\n <b>river</b>  rises </a>", "The river rises"),
        ("<a href=x><img alt=''><img alt=' A  bridge '></a>", "A bridge"),
        ("<a href=x>See <img alt=bridge></a>", "See"),
        ("<a href=x><script>no()</script><style>p{}</style>yes</a>", "yes"),
        ("<a href=x><!-- no -->yes</a>", "yes"),
        ("<a href=x></a>", ""),
        ("<area href=x alt='North gate'>", "North gate"),
        ("<img src=x alt=' Two  swans'>", "Two swans"),
        ("<iframe src=x title=Map></iframe>", "Map"),
        ("<link rel=alternate href=x title=Feed>", "Feed"),
        ("<form action=x>no</form>", ""),
    ],
)
def test_a_link_has_the_text_a_reader_would_see(html: str, text: str) -> None:
    assert extract_links(html, URL).links[0].text == text


def test_the_relation_is_given_in_one_spelling() -> None:
    html = "<a href=x rel=' External\n NOFOLLOW '>a</a><a href=y>b</a>"
    assert [link.rel for link in extract_links(html, URL).links] == ["external nofollow", ""]


def test_links_are_absolute_and_joined_to_the_base() -> None:
    report = extract_links(
        "<base href=//cdn.test/x/><link rel=canonical href=c><a href='../a b?ü#f'>a</a>", URL
    )
    assert report.base == "http://cdn.test/x/"
    assert report.canonical == "http://cdn.test/x/c"
    assert report.links[-1].url == "http://cdn.test/a%20b?%C3%BC#f"


def test_a_link_to_the_page_itself_counts_for_anchors_alone() -> None:
    html = "<a href=''>self</a><a href=#part>part</a><img src=''><form action=''></form>"
    assert links(html) == [("a", "/dir/page.html"), ("a", "/dir/page.html#part")]


@pytest.mark.parametrize(
    "href",
    [
        "javascript:x()",
        "mailto:a@b.test",
        "data:,x",
        "tel:1",
        "http://[bad/",
        "http://a:port/",
        "ftp://[bad/",
        "/" + "x" * MAX_HREF_CHARS,
    ],
)
def test_what_is_no_address_is_left_out(href: str) -> None:
    assert links(f"<a href='{href}'>a</a><a href=/b>b</a>") == [("a", "/b")]


def test_ftp_links_are_reported() -> None:
    assert links("<a href=' FTP://files.test/x'>f</a>") == [("a", "ftp://files.test/x")]


def test_a_base_that_pages_cannot_have_changes_nothing() -> None:
    html = "<base href=ftp://files.test/><a href=x>x</a>"
    assert links(html) == [("base", "ftp://files.test/"), ("a", "/dir/x")]
    assert extract_links(html, URL).base is None


def test_robots_directives_keep_their_order() -> None:
    html = "<meta name=robots content='noindex, NoArchive'><meta name=skitter content=noindex>"
    assert extract_links(html, URL).robots == ["noindex", "noarchive"]


def test_a_page_that_says_nothing_reports_nothing() -> None:
    report = extract_links("", URL)
    assert (report.links, report.base, report.canonical, report.robots) == ([], None, None, [])


def test_bytes_are_read_in_their_own_encoding() -> None:
    body = "<meta charset=gbk><a href='?q=河'>河边的柳树</a>".encode("gbk")
    assert extract_links(body, URL).links == [Link(f"{URL}?q=%BA%D3", "河边的柳树", "", "a")]


def test_text_with_lone_surrogates_is_taken() -> None:
    [link] = extract_links("<a href='/\ud800'>\udfff</a>", URL).links
    assert link == Link("http://site.test/%EF%BF%BD", "\ufffd", "", "a")


def test_a_page_url_that_is_none_is_refused() -> None:
    with pytest.raises(UrlError):
        extract_links("<a href=x>", "mailto:ana@site.test")


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_any_input_gives_a_report_of_absolute_urls(html: str | bytes) -> None:
    for link in extract_links(html, URL).links:
        assert link.url.startswith(("http://", "https://", "ftp://"))


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("", []),
        (",, ,", []),
        ("a.jpg", ["a.jpg"]),
        ("a.jpg 1x, b.jpg 2x", ["a.jpg", "b.jpg"]),
        ("a.jpg 1x,b.jpg 2x", ["a.jpg", "b.jpg"]),
        ("a.jpg, b.jpg", ["a.jpg", "b.jpg"]),
        ("a,b.jpg 100w,\n\tc.jpg 200w", ["a,b.jpg", "c.jpg"]),
        ("a.jpg 1x ,b.jpg", ["a.jpg", "b.jpg"]),
        ("a.jpg 1x , b.jpg", ["a.jpg", "b.jpg"]),
    ],
)
def test_the_candidates_of_a_srcset_are_told_apart(srcset: str, urls: list[str]) -> None:
    assert list(srcset_urls(srcset)) == urls


@given(st.text(st.sampled_from("ab, x"), max_size=40))
def test_a_srcset_never_yields_space_or_outer_commas(srcset: str) -> None:
    for url in srcset_urls(srcset):
        assert url == url.strip(" ,")
        assert url
