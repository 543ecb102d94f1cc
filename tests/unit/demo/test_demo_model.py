import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.demo.model import Link, Page, Prose, Spelling, Target
from skitter.demo.pages import FixedSite, steps
from skitter.demo.spelling import href
from skitter.demo.web import Robots, Web
from skitter.url.parse import parse

PATHS = ("/", "/a", "/a/", "/a/b", "/a/b/", "/a/b.html?x=1&y=2", "/%E5%B1%95/%E7%9B%AE", "/a?q=1")


def small_web(port: int = 8123) -> Web:
    sites = {name: FixedSite([], Robots()) for name in ("one", "two")}
    hosts = {"one": "one.demo.test", "two": "two.demo.test"}
    return Web(sites=sites, hosts=hosts, home=Target("one", "/"), port=port)


@given(
    st.sampled_from(Spelling),
    st.sampled_from(PATHS),
    st.sampled_from(PATHS),
    st.sampled_from(("one", "two")),
    st.sampled_from((None, "/a/", "/a/b/c")),
)
def test_every_spelling_of_a_link_leads_back_to_its_target(
    spelling: Spelling, here: str, there: str, site: str, base: str | None
) -> None:
    web = small_web()
    page = Page(at=Target("one", here), base=base)
    target = Target(site, there)
    written = href(web, page, Link(target, "text", spelling))
    start = web.url(Target("one", base)) if base else web.url(page.at)
    reached = parse(written, parse(start))
    host, slash, path = reached.removeprefix("http://").partition("/")
    assert web.find(host, slash + path) == target


@pytest.mark.parametrize("spelling", [s for s in Spelling if s is not Spelling.PLAIN])
def test_no_spelling_is_the_plain_one(spelling: Spelling) -> None:
    web = small_web()
    page = Page(at=Target("one", "/a/b"))
    target = Target("one", "/a/%E5%B1%95")
    plain = href(web, page, Link(target, ""))
    assert href(web, page, Link(target, "", spelling)) != plain


def test_port_80_is_not_written() -> None:
    assert small_web(80).url(Target("one", "/a")) == "http://one.demo.test/a"
    assert small_web(81).url(Target("one", "/a")) == "http://one.demo.test:81/a"


def test_a_host_nobody_serves_is_not_found() -> None:
    assert small_web().find("three.demo.test:8123", "/") is None


def test_where_a_site_has_no_page_it_answers_404() -> None:
    page = small_web().page(Target("one", "/nothing"))
    assert page.answer.status == 404
    assert page.at == Target("one", "/nothing")


@pytest.mark.parametrize(
    ("meta", "header", "wanted"),
    [
        ("", "", set()),
        ("NoIndex, follow", "", {"noindex", "follow"}),
        ("none", "", {"none", "noindex", "nofollow"}),
        ("", "noindex", {"noindex"}),
        ("", "otherbot: noindex", set()),
    ],
)
def test_directives_for_every_agent_are_collected(meta: str, header: str, wanted: set[str]) -> None:
    page = Page(at=Target("one", "/"), robots_meta=meta, robots_header=header)
    assert page.directives == wanted


@pytest.mark.parametrize(
    ("path", "forbidden"),
    [
        ("/private/", True),
        ("/private/x", True),
        ("/private", False),
        ("/private/open/x", False),
        ("/a.secret", True),
        ("/a.secret.html", False),
        ("/", False),
    ],
)
def test_the_longest_robots_rule_decides(path: str, forbidden: bool) -> None:
    robots = Robots(disallow=("/private/", "/*.secret$"), allow=("/private/open/",))
    assert robots.forbids(path) is forbidden


def test_a_robots_file_says_its_rules_and_its_delay() -> None:
    text = Robots(disallow=("/a",), allow=("/a/b",), crawl_delay_s=0.5, bom=True).text()
    assert text.startswith("\ufeffUser-agent: *\nDisallow: /a\nAllow: /a/b\nCrawl-delay: 0.5\n")


def test_a_robots_file_names_its_sitemaps_in_full() -> None:
    text = Robots(sitemaps=("/one.xml", "/two.xml")).text("http://a.test:81")
    assert "\nSitemap: http://a.test:81/one.xml\nSitemap: http://a.test:81/two.xml\n" in text
    assert "Sitemap" not in Robots().text("http://a.test:81")


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("http://one.demo.test:8123/a?utm_source=x", Target("one", "/a")),
        ("http://two.demo.test:8123", Target("two", "/")),
        ("http://three.demo.test:8123/", None),
    ],
)
def test_a_url_means_a_page_whatever_its_spelling(url: str, wanted: Target | None) -> None:
    assert small_web().target_of(url) == wanted


def test_links_come_in_document_order_with_those_not_to_be_followed() -> None:
    first, second = Link(Target("one", "/1"), "1"), Link(Target("one", "/2"), "2", rel="nofollow")
    page = Page(at=Target("one", "/"), nav=(first,), blocks=(Prose(("text", second)),))
    assert list(page.links()) == [first, second]
    assert [link.followed for link in page.links()] == [True, False]


@given(st.integers(1, 2000), st.integers(1, 2000))
def test_a_pager_offers_existing_pages_and_always_a_way_on(number: int, last: int) -> None:
    number = min(number, last)
    offered = steps(number, last)
    assert all(1 <= n <= last and n != number for n in offered)
    assert number == last or number + 1 in offered


def test_the_last_page_of_a_long_list_is_a_few_clicks_away() -> None:
    last, near = 5000, {1}
    for _ in range(60):
        near |= {n for number in near for n in steps(number, last)}
    assert near == set(range(1, last + 1))
