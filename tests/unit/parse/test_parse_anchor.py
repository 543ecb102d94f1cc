"""What links say and what a page is about, read only where it was asked for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.parse.document import parse_page
from skitter.parse.follow import DEFAULT, FollowOptions
from skitter.parse.page import ParsedPage

URL = "http://site.test/"
TEXTS = FollowOptions(texts=True)


def read(html: str, follow: FollowOptions = TEXTS) -> ParsedPage:
    return parse_page(html.encode(), "text/html; charset=utf-8", URL, follow=follow)


def sample(html: str, chars: int = 1000) -> str:
    return read(html, FollowOptions(sample=chars)).sample


def test_nothing_is_read_that_nobody_asked_for() -> None:
    page = read("<title>t</title><a href=/a>text</a>", DEFAULT)
    assert (list(page.texts), page.sample, page.sketch) == ([], "", None)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("<a href=/x>plain</a>", "plain"),
        ("<a href=/x>  on \n <b>one</b>\tline </a>", "on one line"),
        ("<a href=/x></a>", ""),
        ("<a href=/x><img src=i alt='A picture'></a>", "A picture"),
        ("<a href=/x><img src=i alt=''><img src=j alt=second></a>", "second"),
        ("<a href=/x title=Titled></a>", "Titled"),
        ("<a href=/x aria-label=Spoken title=Titled><svg></svg></a>", "Spoken"),
        ("<a href=/x title=Titled>shown</a>", "shown"),
        ("<a href=/x>seen<script>var x</script><style>b{}</style></a>", "seen"),
        ("<area href=/x alt='North lock'>", "North lock"),
        ("<iframe src=/x title=Framed>fallback</iframe>", "Framed"),
        ("<link rel=next href=/x title='Page 2'>", "Page 2"),
        ("<a href=/x>选举 结果</a>", "选举 结果"),
    ],
)
def test_a_link_says_what_its_reader_sees(link: str, text: str) -> None:
    page = read(f"<p>before</p>{link}<p>after</p>")
    assert (page.hrefs, list(page.texts)) == (["/x"], [text])


def test_a_long_text_is_cut() -> None:
    [text] = read(f"<a href=/x>{'word ' * 100_000}</a>").texts
    assert len(text) <= 200
    assert text.startswith("word word")


def test_links_inside_links_each_have_their_text() -> None:
    html = "<svg><a href=/outer>one<a href=/inner>two</a></a></svg>"
    assert dict(zip(read(html).hrefs, read(html).texts, strict=True)) == {
        "/outer": "onetwo",
        "/inner": "two",
    }


def test_texts_of_links_that_are_not_followed_leave_no_gap() -> None:
    html = (
        "<a href='#top'>top</a><a href=/a>one</a><a href=mailto:x@y.test>mail</a>"
        "<a href=' /b '>two</a><a href=/c rel=nofollow>three</a><a href=/d>four</a>"
    )
    page = read(html)
    assert list(zip(page.hrefs, page.texts, strict=True)) == [
        ("/a", "one"),
        ("/b", "two"),
        ("/d", "four"),
    ]
    assert page.n_links == 6


PIECES = st.sampled_from(
    ["<a href=/a>one</a>", "<a href='b'>two</a>", "<a href='#c'>three</a>", "<a>four</a>",
     "<a href=/d rel=nofollow>five</a>", "<area href=/e alt=six>", "<iframe src=/f></iframe>",
     "<base href=/g/>", "<a href='javascript:h'>seven</a>", "<table><td><a href=i>", "<p>x",
     "<link rel=next href=/j>", "<svg><a href=/k>", "<a href=' /l'><img alt=m></a>", "</table>"]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(PIECES, max_size=10).map("".join))
def test_asking_for_texts_changes_nothing_else(html: str) -> None:
    plain, told = read(html, DEFAULT), read(html)
    assert told.hrefs == plain.hrefs
    assert told.n_links == plain.n_links
    assert len(told.texts) == len(told.hrefs)
    assert (told.base, told.title) == (plain.base, plain.title)


def test_a_sample_is_the_pages_own_text() -> None:
    html = """<title>Title</title><style>b{}</style>
    <nav><ul><li>Sports<li><a href=/e>Elections</a></ul></nav>
    <main><h1>Heading</h1><script>var election</script><p>First <b>bold</b>
    words. <a href=/x>a link</a></p><noscript>switch on</noscript><p>Last.</p></main>
    <footer>Imprint</footer>"""
    assert sample(html) == "Heading First bold words. Last."


def test_a_sample_is_no_longer_than_asked() -> None:
    html = "<p>one two</p><p>three</p>" + "<p>more</p>" * 1000
    assert sample(html, 9) == "one two t"
    assert len(sample(html, 500)) == 500
    assert sample("<p>short", 500) == "short"


@pytest.mark.parametrize("html", ["", "<frameset><frame src=/x></frameset>", "<a href=/x>only</a>"])
def test_a_page_without_text_has_an_empty_sample(html: str) -> None:
    assert sample(html) == ""


def test_a_sample_of_what_is_not_html_is_empty() -> None:
    options = FollowOptions(texts=True, sample=100)
    page = parse_page(b"plain words", "text/plain", URL, follow=options)
    assert (page.sample, list(page.texts)) == ("", [])


@pytest.mark.parametrize(
    "html",
    [
        "<svg>" + "<a href=x>" * 20_000 + "text",
        "<a href=x><table><tr><td>" * 5_000 + "text" * 50_000,
        "<nav>" * 20_000 + "text",
        "<a href=x>t</a>" * 50_000,
        "<a href=x><script>" + "x" * 1_000_000,
    ],
    ids=["svg", "tables", "nav", "flat", "script"],
)
def test_hostile_nesting_is_read_to_the_end(html: str) -> None:
    page = read(html, FollowOptions(texts=True, sample=4000))
    assert len(page.texts) == len(page.hrefs)
    assert all(len(text) <= 200 for text in page.texts)


def test_pages_that_read_alike_have_sketches_alike_where_asked() -> None:
    def simhash(text: str) -> int:
        sketch = read(f"<p>{text}</p>", FollowOptions(sketch=True)).sketch
        assert sketch is not None
        return sketch.simhash

    text = "the ferry crews agree on a shared water plan for the whole of the valley " * 3
    assert simhash(text) == simhash(text.upper())
    assert simhash(text) != simhash("an entirely different story about museum guides " * 3)
