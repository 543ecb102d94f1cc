"""List pages: items, where their own pages are, and how the list goes on."""

from typing import Any

import pytest
from pydantic import ValidationError

from skitter.job.rules import ListRules
from skitter.parse.document import parse_document
from skitter.parse.rules import ruleset
from skitter.parse.rules.ruleset import Listed, ListPage, make_sight
from skitter.url.parse import Base

PAGE = """
<table id="t">
<tr><td><span><a href="/n/1.html">One</a></span></td><td>x <em>2024-01-02</em></td></tr>
<tr><td><span><a href="http://other.example.com/2">Two</a></span></td><td><em>soon</em></td></tr>
<tr><td>no link</td><td><em>2024-01-04</em></td></tr>
</table>
<a class="next" href="?page=2">next</a> <a class="next" href="?page=2">again</a>
"""


def read(rules: dict[str, Any], html: str = PAGE) -> Listed:
    document = parse_document(html)
    sight = make_sight(document, Base("https://www.example.com/list?page=1"), now=1_750_000_000.0)
    return ListPage(ListRules.model_validate(rules)).read(document, sight)


def test_items_have_fields_and_links_and_the_list_goes_on() -> None:
    found = read(
        {
            "from": "//table[@id='t']//tr",
            "detail_url": "td/span/a/@href",
            "next": "//a[@class='next']/@href",
            "fields": {
                "title": {"css": "a::text", "required": True},
                "date": {"xpath": "td[2]/em/text()", "date": True},
            },
        }
    )
    assert [item.url for item in found.items] == [
        "https://www.example.com/n/1.html",
        "http://other.example.com/2",
        None,
    ]
    assert [item.picked.fields for item in found.items] == [
        {"title": "One", "date": "2024-01-02"},
        {"title": "Two", "date": None},
        {"title": None, "date": "2024-01-04"},
    ]
    assert [item.picked.missing for item in found.items] == [[], [], ["title"]]
    assert found.next_urls == ["https://www.example.com/list?page=2"]
    assert found.problems == ["date: 'soon' is no date"]


def test_links_may_be_said_by_css_or_by_their_elements() -> None:
    found = read({"from": {"css": "tr"}, "detail_url": {"css": "a"}, "next": {"css": "a.next"}})
    assert [item.url for item in found.items][:2] == [
        "https://www.example.com/n/1.html",
        "http://other.example.com/2",
    ]
    assert found.next_urls == ["https://www.example.com/list?page=2"]


def test_a_list_that_is_not_there_is_empty() -> None:
    found = read({"from": "//ol/li", "detail_url": "a", "next": "//a[@rel='next']/@href"})
    assert (found.items, found.next_urls) == ([], [])


def test_a_list_whose_items_lead_nowhere_is_refused_unless_they_are_all_there_is() -> None:
    with pytest.raises(ValidationError, match=r"wanted detail_url.*or continue = false"):
        read({"from": "//tr"})
    assert len(read({"from": "//tr", "continue": False}).items) == 3


def test_items_beyond_the_time_or_the_room_for_them_are_counted_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = {"from": "//tr", "continue": False, "next": "//a[@class='next']/@href"}
    monkeypatch.setattr(ruleset, "LONGEST_S", -1.0)
    found = read(rules)
    assert (len(found.items), found.unread, len(found.next_urls)) == (0, 3, 1)
    monkeypatch.undo()
    monkeypatch.setattr(ruleset, "MOST_ITEMS", 2)
    found = read(rules)
    assert (len(found.items), found.unread) == (2, 1)
    assert found.problems == ["from: 1 of 3 items were not read"]
