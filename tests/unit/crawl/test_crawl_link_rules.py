"""Link rules: the parts of a page that a rule is restricted to."""

import time

import pytest

from skitter.crawl.link_rules import LinkRules
from skitter.job.spec import check_job
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.page import ParsedPage

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
