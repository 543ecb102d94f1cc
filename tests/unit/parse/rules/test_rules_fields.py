"""Fields of a page by XPath and CSS, and what is made of what they find."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from skitter.job.rules import Fields as FieldsModel
from skitter.parse.document import parse_document
from skitter.parse.rules.ruleset import Fields, Picked, make_sight
from skitter.url.parse import Base

NOW = 1_750_000_000.0
PAGE = """
<html><body><h1>  Notice of
 the  harbour </h1>
<p class="no">川府函〔2024〕12号 of the office</p>
<p class="price">now <b>￥1,299.00</b> only</p>
<span class="when">31/01/2024</span> <time>2024年3月5日 08:30</time>
<ul><li><a href="/a?x=1">first</a> <i>1</i></li><li><a href="b">second</a></li><li></li></ul>
<div id="body"><p>One.</p><p>Two.</p></div>
</body></html>
"""


def pick(fields: Mapping[str, Any], html: str = PAGE, **sight: Any) -> Picked:
    rules = TypeAdapter(FieldsModel).validate_python(fields)
    document = parse_document(html)
    base = Base("https://www.example.com/dir/page")
    return Fields(rules).read(document, make_sight(document, base, now=NOW, **sight))


def one(rule: Any, html: str = PAGE) -> Any:
    return pick({"it": rule}, html).fields["it"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("//h1/text()", "Notice of the harbour"),
        ("//h1", "Notice of the harbour"),
        ("count(//li)", "3"),
        ("boolean(//h1)", "true"),
        ("string(//li[2])", "second"),
        ({"css": "h1::text"}, "Notice of the harbour"),
        ({"css": "p.price"}, "now ￥1,299.00 only"),
        ({"css": "p.price::text", "all": True}, ["now", "only"]),
        ({"css": "a::attr(href)"}, "/a?x=1"),
        ({"css": "li > ::text"}, "first"),
        ({"css": "li a::text", "join": ", "}, "first, second"),
        ({"xpath": "//li/a/@href", "absolute": True}, "https://www.example.com/a?x=1"),
        (
            {"css": "a::attr(href)", "absolute": True, "all": True},
            ["https://www.example.com/a?x=1", "https://www.example.com/dir/b"],
        ),
        ({"css": ".no", "regex": "川府函.*号"}, "川府函〔2024〕12号"),
        ({"css": ".no", "regex": r"〔(\d+)〕"}, "2024"),
        ({"css": ".no", "regex": "nothing such"}, None),
        ({"css": ".price", "number": True}, 1299.0),
        ({"css": ".when", "date": "%d/%m/%Y"}, "2024-01-31"),
        ({"css": "time", "date": True}, "2024-03-05T08:30:00"),
        ("//nothing", None),
        ({"css": "nothing", "all": True}, []),
        ({"css": "h1", "strip": False}, "  Notice of\n the  harbour "),
        (
            {"css": "li", "fields": {"name": "a/text()", "n": {"xpath": "i", "number": True}}},
            [{"name": "first", "n": 1}, {"name": "second", "n": None}],
        ),
    ],
)
def test_a_field_is_found_and_made(rule: Any, value: Any) -> None:
    assert one(rule) == value


def test_the_article_is_a_field() -> None:
    text = "This is a sentence of an article that goes on for a while, as they do. " * 6
    page = f"<html><body><article><h1>T</h1><p>{text}</p><p>{text}</p></article></body></html>"
    found = one({"article": True}, page)
    assert found.count("\n\n") == 1
    assert found.startswith("This is a sentence")


def test_required_fields_that_are_empty_are_named() -> None:
    found = pick(
        {
            "title": {"css": "h1", "required": True},
            "author": {"css": ".author", "required": True},
            "tags": {"css": ".tag", "all": True, "required": True},
        }
    )
    assert found.missing == ["author", "tags"]
    assert found.fields["title"] == "Notice of the harbour"


def test_what_cannot_be_read_is_told_and_left_out() -> None:
    found = pick({"n": {"css": "h1", "number": True}, "d": {"css": "h1", "date": True}})
    assert found.fields == {"n": None, "d": None}
    assert found.problems == [
        "n: 'Notice of the harbour' is no number",
        "d: 'Notice of the harbour' is no date",
    ]


def test_rules_that_take_too_long_on_a_page_are_left_out_and_named() -> None:
    found = pick({"a": {"css": "h1", "required": True}, "b": "//h1"}, budget_s=0.0)
    assert found.fields == {"a": None, "b": None}
    assert found.missing == ["a"]
    assert found.problems[1] == "b: not read, the rules took too long on this page"


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("//td[", "not an XPath expression"),
        ("", "wanted an XPath expression"),
        ("re:test(., 'a')", "re:test() is an extension function"),
        ("//*[//*" * 30 + "]" * 30, "more than 6 conditions within one another"),
        ("//a[@x=$y]", "$y is a variable"),
        ("//svg:g", "undefined namespace prefix"),
        ({"css": "a >"}, "not a CSS selector"),
        ({"css": "a", "xpath": "b"}, "wanted one of xpath, css and article"),
        ({}, "wanted one of xpath, css and article"),
        ({"css": "a", "regex": "(?=x)"}, "not an RE2 regular expression"),
        ({"css": "a", "regex": "(?<!x)y"}, "RE2 has no look-ahead and no look-behind"),
        ({"css": "a", "all": True, "join": ","}, "a list is not joined"),
        ({"css": "a", "number": True, "date": True}, "wanted one of number, date and absolute"),
        ({"css": "a", "fields": {"b": "c"}, "join": ","}, "join: a table of fields has none"),
        ({"css": "a::text", "fields": {"b": "c"}}, "fields are read within elements"),
        ({"css": "a", "date": "%Q"}, "wanted the form of a date"),
        ({"css": "a", "date": "%y%y"}, "wanted the form of a date"),
        ({"css": "a", "date": "day"}, "wanted the form of a date"),
    ],
)
def test_a_bad_rule_is_refused_in_words(rule: Any, why: str) -> None:
    with pytest.raises(ValidationError, match="(?s)" + why.translate(_LITERAL)):
        pick({"it": rule})


_LITERAL = str.maketrans({char: f"\\{char}" for char in "()$.[]"})


def test_fields_within_fields_have_bounds() -> None:
    rule: dict[str, Any] = {"css": "a"}
    for _ in range(5):
        rule = {"css": "a", "fields": {"x": rule}}
    with pytest.raises(ValidationError, match="4 levels or fewer"):
        pick({"it": rule})
    with pytest.raises(ValidationError, match="201 fields; wanted 200"):
        pick({f"f{n}": "//a" for n in range(201)})


def test_an_axis_and_a_colon_in_a_text_are_no_extension() -> None:
    assert one("//li[1]/child::a[not(contains(., 're:test('))]") == "first"
