"""Expressions that would take too long on a page are not evaluated, and all others are."""

import time

import pytest
from turbohtml import XPath, parse

from skitter.job.rules import FieldRule
from skitter.parse.document import parse_document
from skitter.parse.rules.cost import Guard, TooSlow
from skitter.parse.rules.ruleset import Fields, make_sight
from skitter.url.parse import Base

FLAT = parse("<body><b>s</b>" + "<a href=/x>l</a>" * 4_000 + "<b>e</b>")
TABLE = parse("<table>" + "<tr><td>Number</td><td>7</td></tr>" * 3_000 + "</table>")


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
    assert time.thread_time() - began < 0.5


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
        assert time.thread_time() - began < 1.0


def test_a_field_that_would_take_too_long_is_told_of_and_the_others_are_read() -> None:
    html = "<h1>T</h1>" + "<p>x</p>" * 3_000
    document = parse_document(html)
    sight = make_sight(document, Base("http://a.test/"), now=0.0)
    rules = {"p": FieldRule(xpath="//p[preceding-sibling::p]"), "t": FieldRule(xpath="//h1")}
    found = Fields(rules).read(document, sight)
    assert found.fields == {"p": None, "t": "T"}
    assert found.problems == ["p: not read, its expression would take too long on this page"]
