"""Expressions that would take too long on a page are not evaluated, and all others are."""

import time

import pytest
from turbohtml import XPath, parse

from skitter.job.rules import FieldRule
from skitter.parse.document import parse_document
from skitter.parse.rules.cost import MOST_VISITS, CssGuard, Guard, TooSlow
from skitter.parse.rules.ruleset import Fields, make_sight
from skitter.url.parse import Base

FLAT = parse("<body><b>s</b>" + "<a href=/x>l</a>" * 4_000 + "<b>e</b>")
TABLE = parse("<table>" + "<tr><td>Number</td><td>7</td></tr>" * 3_000 + "</table>")
LONG = parse("<p>x</p>" * 8_000)
NESTED = parse("<div>" * 1_500 + "x")
SHOP = parse(
    "<title>T</title><h1>T</h1><div id=main><div>"
    + "<div class=a><ul><li><a href=/x>l</a></li><li>b</li><li>c</li></ul>"
    "<table><tr><td>Number</td><td>7</td></tr></table><p>t</p></div>" * 5_000
)
"""More than 50,000 elements."""


@pytest.mark.parametrize(
    "expression",
    [
        "//a/following::a",
        "//a/following-sibling::a",
        "//a[preceding-sibling::a]",
        "//a[count(preceding-sibling::a) > 3]/@href",
        "//b|//a/preceding::b/text()",
        "count(//a/preceding-sibling::*)",
        "string(//a[not(preceding-sibling::a)])",
        "//a[@href='/x' and preceding-sibling::b[.='[']]",
    ],
)
def test_axes_from_many_elements_are_too_slow(expression: str) -> None:
    began = time.thread_time()
    with pytest.raises(TooSlow):
        Guard(expression).check(FLAT)
    assert time.thread_time() - began < 1.5


@pytest.mark.parametrize(
    "expression",
    [
        "//b[.='s']/following-sibling::a",
        "//b[.='s']/following::a/@href",
        "//a[preceding-sibling::a[1]]",
        "//a/following-sibling::a[1]",
        "//a[.='preceding-sibling::a']",
        "//td[.='Number']/following-sibling::td/text()",
        "//td[preceding-sibling::td='Number']",
        "//none/preceding::*",
        "//tr",
    ],
)
def test_what_the_guard_lets_pass_is_quick(expression: str) -> None:
    for document in (FLAT, TABLE):
        Guard(expression).check(document)
        began = time.thread_time()
        XPath(expression)(document)
        assert time.thread_time() - began < 3.0


HOSTILE = [
    "//*[count(//*[count(//*)>0])>0]",
    "//*[//p]",
    "(//*)[//p]",
    "body/*[//p]",
    "//p[. = //p]",
    "//p[not(//i)]",
    "//p[- count(//p) < 1]",
    "//p[@class = //p/@class]",
    "//*[count(//p | //i) > 1]",
    "//*[count(/descendant::*) > 1]",
    "//*[self::*[//p]]",
    "//*[id('x')]",
    "//*[contains(/, 'y')]",
    "//*[count(following::p) > 0]",
    "/html/body/*[../* = 'y']",
    "string(//p[ancestor::*//p])",
    "count(//p[count((//p)[//p]) > 1])",
    # The count of where the axis begins would itself take as long.
    "//*[count(//*[count(//*)>0])>0]/following::p",
]


@pytest.mark.parametrize("expression", HOSTILE)
def test_paths_in_conditions_are_too_slow_where_they_visit_the_page_again(
    expression: str,
) -> None:
    with pytest.raises(TooSlow):
        Guard(expression).check(LONG)


@pytest.mark.parametrize("expression", HOSTILE[:-1])
def test_the_same_is_evaluated_on_a_short_page(expression: str) -> None:
    Guard(expression).check(parse("<p>x</p>" * 50))


@pytest.mark.parametrize(
    "expression",
    ["//*/ancestor::*", "//div[.//div[.//p]]", "//div[descendant::div[.//div/descendant::p]]"],
)
def test_a_page_that_is_nested_deeply_makes_what_is_below_slow(expression: str) -> None:
    Guard(expression).check(LONG)
    with pytest.raises(TooSlow):
        Guard(expression).check(NESTED)


@pytest.mark.parametrize(
    "expression",
    [
        "//div[@class='a']//p/text()",
        "//tr[td[2]]",
        "//a[contains(@href,'x')]",
        "//ul[count(li)>2]/li",
        "//div[.//p]",
        "//div[.//ul[.//li]]",
        "//div[h1 and .//a[@href]]//p",
        "//h1[. = //title]",
        "//div[@id='main'][//p]",
        "//a[ancestor::div[@class='a']]/@href",
        "//a/ancestor::div[1]",
        "//a[../../li]",
        "//td[../td = 'Number']",
        "//td[preceding-sibling::td='Number']",
        "//li[not(../li[4])]",
        "//p[normalize-space() = 'x']",
        "//*[self::h1 or self::h2]",
        "//table//tr[position() mod 2 = 1]/td[2] | //h1",
        "substring-before(//h1, '-')",
        "(//a)[1]/@href",
    ],
)
def test_ordinary_rules_are_evaluated_on_very_long_pages(expression: str) -> None:
    Guard(expression).check(SHOP)


def test_each_path_in_a_condition_multiplies_by_the_page() -> None:
    page = parse("<p>x</p>" * 100)
    once, twice, thrice = (
        Guard(text).visits(page)
        for text in ("//p[//p]", "//p[count(//p[//p])]", "//p[count(//p[count(//p[//p])])]")
    )
    assert 100**2 <= once <= 4 * 100**2
    assert 50 * once <= twice <= 200 * once
    assert 50 * twice <= thrice <= 200 * twice


def test_both_sides_of_a_condition_count() -> None:
    page = parse("<p>x</p>" * 100)
    one, both = (Guard(f"//p[{text}]").visits(page) for text in ("//p", "//p = //i"))
    assert both > 1.5 * one
    assert Guard("//p[//p | //i]").visits(page) == both


def test_what_is_asked_of_few_nodes_costs_little() -> None:
    assert Guard("//h1[. = //title]").visits(SHOP) < MOST_VISITS / 10
    assert Guard("//li[. = //title]").visits(SHOP) > MOST_VISITS


def test_the_page_of_an_item_is_judged_whole() -> None:
    item = LONG.select("p")[7]
    with pytest.raises(TooSlow):
        Guard("../p[//p]").check(item)


def test_a_hostile_field_is_refused_by_name() -> None:
    document = parse_document("<h1>T</h1>" + "<p>x</p>" * 8_000)
    sight = make_sight(document, Base("http://a.test/"), now=0.0)
    rules = {"p": FieldRule(xpath=HOSTILE[0]), "t": FieldRule(xpath="//h1")}
    found = Fields(rules).read(document, sight)
    assert found.fields == {"p": None, "t": "T"}
    assert found.problems == ["p: not read, its expression would take too long on this page"]


def test_a_field_that_would_take_too_long_is_told_of_and_the_others_are_read() -> None:
    html = "<h1>T</h1>" + "<p>x</p>" * 3_000
    document = parse_document(html)
    sight = make_sight(document, Base("http://a.test/"), now=0.0)
    rules = {"p": FieldRule(xpath="//p[preceding-sibling::p]"), "t": FieldRule(xpath="//h1")}
    found = Fields(rules).read(document, sight)
    assert found.fields == {"p": None, "t": "T"}
    assert found.problems == ["p: not read, its expression would take too long on this page"]


WIDE = parse("<body>" + "<a>l</a>" * 30_000)


@pytest.mark.parametrize(
    "selector",
    [
        "*:not(:has(.q)) *:not(:has(.r))",
        "body:has(.q) a",
        "body:not(:has(.q)) > a",
        "a:has(~ .q) ~ a",
        ":is(body:has(.q) a)",
        "*:has(*:has(*:has(b)))",
        "a:has(:not(:has(b)))",
    ],
)
def test_a_has_that_is_asked_for_every_element_is_too_slow(selector: str) -> None:
    began = time.thread_time()
    with pytest.raises(TooSlow):
        CssGuard(selector).check(WIDE)
    assert time.thread_time() - began < 1.5


@pytest.mark.parametrize(
    "selector",
    [
        "a", "*:has(.q)", "*:not(:has(.q)):has(a)", "a:has(~ .q)", "*:has(a ~ a.q)",
        "a[title=':has(:has(']", "li:has(a) td", "div.a:has(b) a", "div.a:has(p) > p",
        "table:has(td) ~ p", "div.a:has(:nth-child(2n + 1) .q) li",
    ],
)  # fmt: skip
def test_a_has_that_the_guard_lets_pass_is_quick(selector: str) -> None:
    for page in (WIDE, SHOP, NESTED):
        CssGuard(selector).check(page)
        began = time.thread_time()
        page.select(selector)
        assert time.thread_time() - began < 3.0


def test_a_field_with_a_slow_has_is_told_of_and_the_others_are_read() -> None:
    document = parse_document("<h1>T</h1>" + "<p>x</p>" * 30_000)
    sight = make_sight(document, Base("http://a.test/"), now=0.0)
    rules = {"p": FieldRule(css="body:has(.q) p::text"), "t": FieldRule(css="h1:not(:has(b))")}
    found = Fields(rules).read(document, sight)
    assert found.fields == {"p": None, "t": "T"}
    assert found.problems == ["p: not read, its expression would take too long on this page"]
