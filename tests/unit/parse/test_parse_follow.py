import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.document import parse_page
from skitter.parse.follow import DEFAULT, FollowOptions
from skitter.parse.page import ParsedPage

URL = "http://site.test/"


def read(html: str, follow: FollowOptions = DEFAULT) -> ParsedPage:
    return parse_page(html.encode(), "text/html; charset=utf-8", URL, follow=follow)


EVERYTHING = """
<link rel="Next" href="/next"><link rel=stylesheet href=/style.css>
<a href=/a>a</a>
<map><area href=/area><area alt=none></map>
<iframe src=/inner></iframe>
<a name=here>no link</a>
<link rel="prev nofollow" href=/prev>
<a href=/z rel="external">z</a>
"""


def test_everything_that_leads_to_a_page_is_followed_in_document_order() -> None:
    page = read(EVERYTHING)
    assert page.hrefs == ["/next", "/a", "/area", "/inner", "/prev", "/z"]
    assert page.n_links == 3


def test_a_frameset_leads_to_its_frames() -> None:
    page = read("<frameset><frame src=/menu><frame src=/main></frameset>")
    assert page.hrefs == ["/menu", "/main"]


@pytest.mark.parametrize(
    ("options", "left_out"),
    [
        (FollowOptions(frames=False), {"/inner"}),
        (FollowOptions(pagination=False), {"/next", "/prev"}),
        (FollowOptions(frames=False, pagination=False), {"/inner", "/next", "/prev"}),
    ],
)
def test_frames_and_pagination_can_be_left_out(options: FollowOptions, left_out: set[str]) -> None:
    expected = [href for href in read(EVERYTHING).hrefs if href not in left_out]
    assert read(EVERYTHING, options).hrefs == expected


@pytest.mark.parametrize(
    "rel", ["nofollow", "NoFollow", "external nofollow", "noopener\nNOFOLLOW", " nofollow "]
)
def test_nofollow_links_are_left_out_and_still_counted(rel: str) -> None:
    html = f"<a href=/a>a</a><a href=/b rel='{rel}'>b</a><area href=/c rel='{rel}'>"
    page = read(html)
    assert (page.hrefs, page.n_links) == (["/a"], 3)
    assert read(html, FollowOptions(nofollow=True)).hrefs == ["/a", "/b", "/c"]


@pytest.mark.parametrize("rel", ["noopener", "nofollower", "ugc", "sponsored", "no follow", ""])
def test_other_relations_do_not_hold_a_crawler_back(rel: str) -> None:
    assert read(f"<a href=/a rel='{rel}'>a</a>").hrefs == ["/a"]


def test_a_link_followed_once_is_followed_although_another_says_nofollow() -> None:
    assert read("<a href=/a rel=nofollow>a</a><a href=/a>a</a>").hrefs == ["/a"]


@pytest.mark.parametrize(
    "href",
    [
        "",
        "#",
        "#top",
        "javascript:void(0)",
        " JavaScript:x",
        "java\nscript:x",
        "mailto:ana@site.test",
        "tel:+123",
        "data:text/html,x",
        "about:blank",
        "ftp://site.test/",
        "x-app://open",
        "\x01javascript:x",
    ],
)
def test_what_cannot_be_fetched_is_left_out(href: str) -> None:
    page = read(f'<a href="{href}">x</a><a href="/y">y</a>')
    assert (page.hrefs, page.n_links) == (["/y"], 2)


@pytest.mark.parametrize(
    ("href", "kept"),
    [
        ("  /a\t", "/a"),
        ("\n/a\n/b", "/a/b"),
        ("/a b", "/a b"),
        ("http://x.test/", "http://x.test/"),
        ("HTTP://x.test/", "HTTP://x.test/"),
        ("Https:rel", "Https:rel"),
        ("//x.test/", "//x.test/"),
        ("?q=a:b", "?q=a:b"),
        ("./a:b", "./a:b"),
        ("&#x4e2d;.html", "中.html"),
        ("a#b", "a#b"),
    ],
)
def test_a_target_is_kept_as_written_without_the_space_around_it(href: str, kept: str) -> None:
    assert read(f'<a href="{href}">x</a>').hrefs == [kept]


def test_an_endless_target_is_dropped_and_its_neighbours_stay() -> None:
    long = "/" + "x" * DEFAULT.max_href_chars
    page = read(f"<a href=/a>a</a><a href={long}>b</a><a href={long[:-1]}>c</a>")
    assert page.hrefs == ["/a", long[:-1]]


HREFS = st.text(st.characters(codec="utf-8", exclude_characters="\r\0"), max_size=12)


@given(st.lists(st.tuples(st.sampled_from(["a", "area", "iframe"]), HREFS), max_size=12))
def test_the_fast_and_the_thorough_way_agree(links: list[tuple[str, str]]) -> None:
    def page(tags: list[tuple[str, str]]) -> ParsedPage:
        return read(
            "".join(
                f'<{tag} {"src" if tag == "iframe" else "href"}="{quoted(href)}"></{tag}>'
                for tag, href in tags
            )
        )

    mixed = page(links)
    plain = page([("a", href) for _, href in links])
    assert mixed.hrefs == plain.hrefs


def quoted(href: str) -> str:
    return href.replace("&", "&amp;").replace('"', "&quot;")
