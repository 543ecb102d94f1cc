"""Link rules: the parts of a page that a rule is restricted to, and the domains."""

import time

import pytest

from skitter.crawl.link_rules import LinkRules
from skitter.job.spec import check_job
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.page import ParsedPage
from skitter.types import HostKey

PAGE = """
<div id=in><a href=" /a\n">a</a><area href="/b"><iframe src="/c"></iframe><p><a href="/d">d</a>
</p></div><div id=out><a href="/e">e</a><a href="/a">a</a></div>
"""


def page_of(html: str) -> ParsedPage:
    follow = FollowOptions(keep=True)
    return parse_page(html.encode(), "text/html", "http://a.test/", follow=follow)


def within(html: str, **rule: list[str]) -> list[str]:
    """Return the links of a page, as the crawl has them, that a rule finds in its parts."""
    [said] = check_job({"entries": ["http://a.test/"], "links": [rule]}, "job").links
    page = page_of(html)
    areas = LinkRules([said]).areas(page.document)
    assert areas is not None
    assert areas[0] is not None
    return [href for href in page.hrefs if href in areas[0]]


@pytest.mark.parametrize(
    "rule",
    [
        {"restrict_css": ["#in"]},
        {"restrict_xpaths": ["//div[@id='in']"]},
        {"restrict_xpaths": ["//div[@id='in']//p", "//div[@id='in']/*"]},
    ],
)
def test_every_link_of_a_part_is_in_it_as_the_crawl_writes_it(rule: dict[str, list[str]]) -> None:
    assert within(PAGE, **rule) == ["/a", "/b", "/c", "/d", "/a"]


def test_a_part_may_be_the_address_itself() -> None:
    assert within(PAGE, restrict_xpaths=["//div[@id='out']/a/@href"]) == ["/a", "/e", "/a"]


def test_parts_within_parts_cost_no_more_than_their_links() -> None:
    html = "<div>" * 500 + '<a href="/x">x</a>' * 20_000 + "</div>" * 500
    page = page_of(html)
    [said] = check_job(
        {"entries": ["http://a.test/"], "links": [{"restrict_css": ["div"]}]}, "job"
    ).links
    began = time.thread_time()
    areas = LinkRules([said]).areas(page.document)
    assert areas == [frozenset({"/x"})]
    assert time.thread_time() - began < 1.5


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("example.com", True),
        ("www.example.com", True),
        ("a.b.example.com", True),
        ("www.example.com:8080", True),
        ("notexample.com", False),
        ("example.com.evil.test", False),
        ("example.co", False),
        ("com", False),
    ],
)
def test_domains_are_themselves_and_what_is_below_them(host: str, allowed: bool) -> None:
    for key in ("allow_domains", "deny_domains"):
        said = check_job({"links": [{key: ["Example.com."]}]}, "job").links
        ruling = LinkRules(said).decide(f"http://{host}/x", HostKey(host))
        assert ruling.follow is (allowed if key == "allow_domains" else not allowed), key


def test_denied_domains_may_lie_within_allowed_ones() -> None:
    rule = {"allow_domains": ["example.com"], "deny_domains": ["ads.example.com"]}
    rules = LinkRules(check_job({"links": [rule, {"allow": ["/x"], "priority": 2}]}, "job").links)

    def number(host: str) -> int | None:
        return rules.decide(f"http://{host}/x", HostKey(host)).number

    assert number("www.example.com") == 0
    assert number("ads.example.com") == 1
    assert number("one.ads.example.com") == 1
    assert number("myads.example.com") == 0
