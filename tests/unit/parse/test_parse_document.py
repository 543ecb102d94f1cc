import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.document import MAX_PARSED_CHARS, parse_page
from skitter.parse.metadata import MAX_TEXT_CHARS
from skitter.parse.page import ParsedPage

URL = "https://site.test/news/today.html?p=1"
UTF8 = "text/html; charset=utf-8"


def read(html: str, url: str = URL) -> ParsedPage:
    return parse_page(html.encode(), UTF8, url)


def test_a_whole_page_is_read_in_one_go() -> None:
    page = read(
        """<!doctype html><html lang="de-AT"><head><meta charset=utf-8>
        <title> Der&nbsp;Fluss
          steigt </title>
        <meta name=description content="Was heute   geschah">
        <meta property="og:image" content="/bild.jpg">
        <meta name="robots" content="NoArchive, max-snippet:50">
        <link rel=canonical href="/news/heute">
        </head><body><a href="/a">A</a> <a href="b.html#x">B</a></body></html>"""
    )
    assert page.encoding == "utf-8"
    assert page.title == "Der Fluss steigt"
    assert page.description == "Was heute geschah"
    assert page.image == "https://site.test/bild.jpg"
    assert page.language == "de-AT"
    assert page.canonical == "https://site.test/news/heute"
    assert page.robots == {"noarchive", "max-snippet:50"}
    assert page.hrefs == ["/a", "b.html#x"]
    assert page.n_links == 2
    assert page.base is None
    assert page.refresh is None
    assert not page.cut


def test_a_page_that_says_nothing_gives_nothing() -> None:
    page = read("")
    assert page == ParsedPage(encoding="utf-8", joiner=page.joiner)


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>one</title><title>two</title>", "one"),
        ("<title> </title><title>two</title>", "two"),
        ("<svg><title>icon</title></svg><title>page</title>", "page"),
        ("<title></title><meta property=og:title content=' From  OG '><h1>h</h1>", "From OG"),
        ("<h1> </h1><h1>The <b>river</b>\nrises</h1>", "The river rises"),
        ("<h2>no</h2>", None),
        ("<p>late<title>in the body</title>", "in the body"),
        ("<title>a<b>c</title>", "a<b>c"),
    ],
)
def test_the_title_is_found(html: str, title: str | None) -> None:
    assert read(html).title == title


def test_endless_titles_and_descriptions_are_cut() -> None:
    page = read(f"<title>{'x ' * 100_000}</title><meta name=description content='{'y' * 100_000}'>")
    assert page.title is not None
    assert page.description is not None
    assert len(page.title) <= MAX_TEXT_CHARS
    assert len(page.description) == MAX_TEXT_CHARS


@pytest.mark.parametrize(
    ("html", "description"),
    [
        ("<META NAME=Description CONTENT=x>", "x"),
        ("<meta property=og:description content=og><meta name=description content=own>", "own"),
        ("<meta property=og:description content=og>", "og"),
        ("<meta name=description content=''><meta name=description content=second>", "second"),
        ("<meta name=description>", None),
        ("<meta name=keywords content=x>", None),
    ],
)
def test_the_description_is_found(html: str, description: str | None) -> None:
    assert read(html).description == description


@pytest.mark.parametrize(
    ("html", "image"),
    [
        ("<meta property=og:image content=//cdn.test/i.png>", "https://cdn.test/i.png"),
        ("<meta name=twitter:image content=i.png>", "https://site.test/news/i.png"),
        ("<link rel='image_src' href=/i.png>", "https://site.test/i.png"),
        (
            "<meta name=twitter:image content=t.png><meta property=og:image content=/o.png>",
            "/o.png",
        ),
        ("<meta property=og:image content='data:image/png;base64,AAAA'>", None),
        ("<img src=/i.png>", None),
    ],
)
def test_the_image_is_found_and_absolute(html: str, image: str | None) -> None:
    if image is not None and image.startswith("/"):
        image = f"https://site.test{image}"
    assert read(html).image == image


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ("<html lang=fr>", "fr"),
        ("<html lang=' zh-Hans-CN '>", "zh-Hans-CN"),
        ("<html xml:lang=nl>", "nl"),
        ("<meta http-equiv=Content-Language content='pt-BR, en'>", "pt-BR"),
        ("<meta property=og:locale content=ja_JP>", "ja-JP"),
        ("<html lang=''><meta property=og:locale content=ko_KR>", "ko-KR"),
        ("<html lang='{{ page.lang }}'>", None),
        ("<html lang=x>", None),
    ],
)
def test_the_language_is_found(html: str, language: str | None) -> None:
    assert read(html).language == language


@pytest.mark.parametrize(
    ("html", "robots"),
    [
        ("<meta name=ROBOTS content='NOINDEX,nofollow , '>", {"noindex", "nofollow"}),
        ("<meta name=skitter content=none>", {"none"}),
        ("<meta name=robots content=noindex><meta name=Skitter content=nofollow>", 2),
        ("<meta name=otherbot content=noindex>", set()),
        ("<meta name=robots>", set()),
        ("<body><p>late<meta name=robots content=noindex>", {"noindex"}),
    ],
)
def test_robots_directives_for_everyone_and_for_us_are_kept(
    html: str, robots: set[str] | int
) -> None:
    found = read(html).robots
    assert (len(found) if isinstance(robots, int) else found) == robots


def test_a_base_changes_what_links_mean() -> None:
    page = read("<base href='/other/'><link rel=canonical href=x><a href=y>y</a><a href=#z>z</a>")
    assert page.base == "https://site.test/other/"
    assert page.canonical == "https://site.test/other/x"
    assert page.hrefs == ["y", "#z"]
    assert page.joiner is not None
    assert page.joiner.join("y") == "https://site.test/other/y"


@pytest.mark.parametrize(
    "html",
    [
        "<base target=_blank>",
        f"<base href='{URL}'>",
        "<base href='javascript:alert(1)'>",
        "<base href='http://['>",
        f"<base href='/{'x' * 100_000}'>",
    ],
)
def test_a_base_that_changes_nothing_is_no_base(html: str) -> None:
    page = read(html)
    assert page.base is None
    assert page.joiner is not None
    assert page.joiner.url == URL


def test_the_first_base_with_an_address_counts() -> None:
    page = read("<base target=x><base href=/one/><base href=/two/>")
    assert page.base == "https://site.test/one/"


def test_queries_are_joined_in_the_encoding_of_the_page() -> None:
    page = parse_page("<a href='?q=河'>河</a>".encode("gbk"), "text/html; charset=gbk", URL)
    assert page.joiner is not None
    assert page.joiner.join(page.hrefs[0]) == "https://site.test/news/today.html?q=%BA%D3"


@pytest.mark.parametrize(
    ("content", "refresh"),
    [
        ("0;url=/next", "/next"),
        ("5; URL = 'next page.html'", "next page.html"),
        ('0,url="/next" trailing', "/next"),
        ("3 /bare", "/bare"),
        (".5;url=/next", "/next"),
        ("0", None),
        ("0;", None),
        ("0;url=", None),
        ("0;url=#top", None),
        ("0;url=today.html?p=1", None),
        ("url=/next", None),
        ("soon;url=/next", None),
        ("0;url=javascript:void(0)", None),
    ],
)
def test_a_refresh_leads_to_another_page(content: str, refresh: str | None) -> None:
    quoted = content.replace('"', "&quot;")
    assert read(f'<meta http-equiv=Refresh content="{quoted}">').refresh == refresh


def test_a_refresh_for_readers_without_scripts_counts() -> None:
    html = "<head><noscript><meta http-equiv=refresh content='0;url=/plain'></noscript></head>"
    assert read(html).refresh == "/plain"


@pytest.mark.parametrize("kind", ["text/plain", "text/xml", "application/pdf", "image/png"])
def test_a_body_that_is_not_html_has_an_encoding_and_nothing_else(kind: str) -> None:
    page = parse_page("<title>x</title><a href=/a>é".encode(), kind, URL)
    assert page == ParsedPage(encoding="utf-8")


@pytest.mark.parametrize("kind", [None, "", "application/xhtml+xml", "TEXT/HTML", "junk"])
def test_html_and_the_unknown_are_parsed(kind: str | None) -> None:
    page = parse_page(b"<title>x</title><a href=/a>", kind, URL)
    assert (page.title, page.hrefs) == ("x", ["/a"])


def test_a_url_that_is_none_leaves_the_rest_of_the_page_readable() -> None:
    page = read("<title>x</title><link rel=canonical href=/c><a href=/a>", url="about:blank")
    assert (page.title, page.hrefs) == ("x", ["/a"])
    assert page.canonical is None
    assert page.joiner is None


def test_a_document_without_end_is_read_from_its_beginning() -> None:
    body = b"<a href=/first>" + b" " * MAX_PARSED_CHARS + b"<a href=/last>"
    page = parse_page(body, UTF8, URL)
    assert page.cut
    assert page.hrefs == ["/first"]


def test_facts_are_found_in_frames_and_declarative_shadow_roots() -> None:
    page = read("<div><template shadowrootmode=open><a href=/shadow>s</a></template></div>")
    assert page.hrefs == ["/shadow"]


MARKUP = st.sampled_from(
    [
        b"<a href=",
        b"<a rel=nofollow href='",
        b"<base href=",
        b"<meta http-equiv=refresh content='0;url=",
        b"<meta property=og:image content=",
        b"<link rel='canonical next' href=",
        b"<iframe src=",
        b"<title>",
        b"<h1>",
        b"http://",
        b"&#xD800;",
        b"'",
        b">",
        b"\0",
        b"\xed\xa0\x80",
        b"\xff\xfe",
    ]
)


@given(
    st.lists(MARKUP | st.binary(max_size=6), max_size=30).map(b"".join),
    st.sampled_from([None, UTF8, "text/html; charset=utf-16", "text/html; charset=gbk"]),
)
def test_any_bytes_are_read_without_an_error(body: bytes, content_type: str | None) -> None:
    page = parse_page(body, content_type, URL)
    assert page.n_links >= 0
    for fact in (page.title, page.description, page.canonical, page.image, *page.hrefs):
        assert fact is None or fact.encode()


@given(st.binary(max_size=300), st.text(max_size=30), st.text(max_size=30))
def test_any_header_and_url_are_taken(body: bytes, content_type: str, url: str) -> None:
    assert parse_page(body, content_type, url).encoding


REPLACED = f"<p>{'中文网页内容' * 9} � twice �</p>"


@pytest.mark.parametrize(
    ("body", "header", "unread"),
    [
        (b"<p>plain</p>", "text/html", 0),
        ("<p>çà et là</p>".encode(), "text/html; charset=utf-8", 0),
        ("<p>already � there, twice �</p>".encode(), "text/html; charset=utf-8", 0),
        ("<p>中文网页内容</p>".encode() * 9 + b"\xff <p>\xc3(</p>", "text/html; charset=utf-8", 2),
        ("<p>中文网页内容</p>".encode("gbk") * 9 + b"<p>\xff</p>", "text/html; charset=gbk", 1),
        ("<p>caf\xe9</p>".encode("latin-1"), "text/html", 0),
        (REPLACED.encode("gb18030"), "text/html; charset=gb18030", 0),
        (REPLACED.encode("gb18030") + b"<p>\xff</p>", "text/html; charset=gbk", 1),
        # These bytes are what UTF-8 has for U+FFFD, and three characters here.
        ("<p>锟斤拷 中文网页</p>".encode("gbk") * 9 + b"<p>\xff</p>", "text/html; charset=gbk", 1),
        (f"\ufeff{REPLACED}".encode("utf-16-le"), "text/html", 0),
        (f"\ufeff{REPLACED}".encode("utf-16-be"), "text/html", 0),
        # A half of a pair alone, and one U+FFFD that is none: it begins within a character.
        (f"\ufeff{REPLACED}\ufd00ÿ".encode("utf-16-le") + b"\x00\xd8<\x00", "text/html", 1),
    ],
)
def test_bytes_that_are_no_characters_are_counted(body: bytes, header: str, unread: int) -> None:
    assert parse_page(body, header, URL).unread == unread
