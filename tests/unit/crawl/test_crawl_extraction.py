"""What the rules of a job make of a page's record, and why one is set aside."""

from typing import Any

import pytest

from skitter.crawl.extraction import Extraction, Reject, read_rejects, reject_words
from skitter.crawl.link_rules import (
    Carried,
    LinkRules,
    RuledLink,
    decode_carried,
    encode_carried,
)
from skitter.crawl.trip import Visit
from skitter.frontier.model import Lease, Result
from skitter.job.spec import check_job
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.rules import ruleset
from skitter.parse.rules.ruleset import Picked
from skitter.pipeline.record import PageRecord
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

URL = "http://a.test/list"
LONG = "x" * 20_000


def read(
    html: str, *, noindex: bool = False, data: bytes = b"", depth: int = 0, **job: Any
) -> tuple[PageRecord, list[RuledLink]]:
    made = check_job({"entries": [URL], **job}, "test")
    links = LinkRules(made.links) if made.links else None
    extraction = Extraction.of(made, links, VirtualClock())
    assert extraction is not None
    leads_on = "list" in job or "refresh" in job
    is_detail = bool(data) and not decode_carried(data).items
    page_class = PageClass.DATA if is_detail or not leads_on else PageClass.NAV
    lease = Lease(
        1, URL, Fingerprint(1), HostKey("a.test"), JobNumber(1), 0, 1, page_class, 5, depth, 0, 0,
        1, "", 0, float("inf"), data=data,
    )  # fmt: skip
    name = page_class.name.lower()
    record = PageRecord(
        job="j", url=URL, outcome="ok", depth=0, page_class=name, fetched_at="", visit=1
    )
    visit = Visit(lease=lease, result=Result.DONE, record=record)
    page = parse_page(html.encode(), "text/html", URL, follow=FollowOptions(keep=True))
    record.title = page.title
    return record, extraction.read(visit, page, lease, noindex=noindex)


def rows(*texts: str) -> str:
    return "".join(f'<li><a href="/{n}">x</a><b>{text}</b></li>' for n, text in enumerate(texts))


def test_an_item_that_is_too_long_to_travel_is_told_of_and_its_page_still_asked_for() -> None:
    rules = {
        "from": "//li",
        "detail_url": "a/@href",
        "fields": {"b": {"css": "b", "required": True}},
    }
    record, links = read(rows("short", LONG), kind="list", list=rules)
    assert [link.url for link in links] == ["http://a.test/0", "http://a.test/1"]
    assert record.error == "rule list: field fields: 1 of 2 items"
    detail, _ = read("<p>", data=links[1].data, kind="list", list=rules)
    assert (detail.outcome, detail.error) == ("rejected", "rule list: field b: is empty")
    detail, _ = read("<p>", data=links[0].data, kind="list", list=rules)
    assert (detail.outcome, detail.fields) == ("ok", {"b": "short"})


@pytest.mark.parametrize("noindex", [False, True])
def test_of_a_page_that_asks_not_to_be_kept_only_links_are_taken(*, noindex: bool) -> None:
    rules = {"from": "//li", "next": "//i/@href", "continue": False, "fields": {"b": "b"}}
    record, links = read(
        rows("one") + '<i href="/more"></i>', noindex=noindex, kind="list", list=rules
    )
    assert record.fields == ({} if noindex else {"items": [{"b": "one"}]})
    assert [link.url for link in links] == ["http://a.test/more"]


def test_the_reason_is_that_of_the_field_itself() -> None:
    words = reject_words("detail", Picked(missing=["a", "ab"], problems=["ab: 'x' is no date"]))
    assert read_rejects(words) == [
        Reject("detail", "a", "is empty"),
        Reject("detail", "ab", "'x' is no date"),
    ]


def test_a_name_with_a_colon_is_read_again() -> None:
    words = reject_words("detail", Picked(missing=["og:title"], problems=["og:title: 'x: y' is"]))
    assert read_rejects(words) == [Reject("detail", "og:title", "'x: y' is")]


WATCHED: dict[str, Any] = {
    "refresh": "1h",
    "detail": {"fields": {"price": {"css": "b", "number": True}}},
}


def test_an_entry_that_is_looked_at_again_has_the_fields_of_its_page() -> None:
    assert read("<b>12.50</b>", **WATCHED)[0].fields == {"price": 12.5}
    # Not where it is there for what it leads to, nor what it leads to as a page of links.
    assert read("<b>12.50</b>", kind="news", **WATCHED)[0].fields == {}
    assert read("<b>12.50</b>", depth=1, **WATCHED)[0].fields == {}


@pytest.mark.parametrize(
    ("rule", "fields"), [({"class": "nav"}, {}), ({"priority": 3}, {"price": 12.5})]
)
def test_a_rule_that_names_the_class_of_an_entry_counts(
    rule: dict[str, Any], fields: dict[str, Any]
) -> None:
    assert read("<b>12.50</b>", links=[rule], **WATCHED)[0].fields == fields


def test_items_that_were_not_read_are_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ruleset, "MOST_ITEMS", 2)
    for rules in ({"continue": False}, {"detail_url": "a/@href"}):
        record, _ = read(rows("a", "b", "c"), kind="list", list={"from": "//li", **rules})
        assert record.error == "rule list: field from: 1 of 3 items"


def test_a_list_goes_on_until_a_page_has_the_items_of_the_one_before() -> None:
    rules = {"from": "//li", "detail_url": "a/@href", "next": "//i/@href", "fields": {"b": "b"}}
    more = '<i href="/more"></i>'
    data = b""
    for items in (rows("a", "b"), rows("a", "c"), "", rows("a", "c")):
        record, links = read(items + more, data=data, kind="list", list=rules)
        assert (links[0].url, links[0].page_class) == ("http://a.test/more", PageClass.NAV)
        assert record.error is None
        data = links[0].data
    record, links = read(rows("a", "c") + more, data=data, kind="list", list=rules)
    assert [link.url for link in links] == ["http://a.test/0", "http://a.test/1"]
    assert read_rejects(record.error) == [
        Reject("list", "next", "not followed, the items are those of the page before")
    ]


SOLD = "<h1>Lamp</h1><p>Item no longer available</p>"
SAYING = f"<title>Not found</title><p>{'The band sings of what it has lost. ' * 8}</p>"
ERROR = "<title>404 Not Found</title><h1>Not found</h1><p>Nothing is here.</p>"


@pytest.mark.parametrize(
    ("html", "fields", "why"),
    [
        (ERROR, {"name": "//h1", "price": "//b"}, "404, Not Found"),
        (ERROR, {"price": {"xpath": "//b", "required": True}}, "404, Not Found"),
        (ERROR, {"price": "//b", "text": {"article": True}}, "404, Not Found"),
        ("<title>A</title><p>您访问的页面不存在", {"name": "//h1"}, "不存在"),
        # What has what the rules are for is a page of its kind, whatever it is called.
        ("<title>404</title><h1>404</h1><b>7</b>", {"name": "//h1", "price": "//b"}, None),
        (f"<title>404</title><h1>404</h1><p>{'A car. ' * 90}", {"name": "//h1"}, None),
        ("<title>Lamp</title><h1>Lamp</h1>", {"name": "//h1", "price": "//b"}, None),
        (SOLD, {"name": {"css": "h1::text", "required": True}}, None),
        (SOLD, {"name": "//h1"}, None),
        (SAYING, {"text": {"article": True}}, None),
        (SOLD, {"text": {"article": True}}, "no longer available"),
    ],
)
def test_a_page_that_says_there_is_nothing_is_set_aside_for_that(
    html: str, fields: dict[str, object], why: str | None
) -> None:
    record, _ = read(html, detail={"fields": fields})
    told = [] if why is None else [f'looks like an error page: it says "{why}"']
    assert [one.reason for one in read_rejects(record.error)] == told
    assert record.outcome == ("ok" if why is None else "rejected")
    if told:
        assert read_rejects(record.error) == [Reject("detail", "*", told[0])]


def test_what_has_all_that_is_required_is_kept_whatever_it_says() -> None:
    fields = {"name": {"xpath": "//h1", "required": True}, "price": "//b", "size": "//i"}
    record, _ = read(SOLD, detail={"fields": fields})
    note = 'looks like an error page: it says "no longer available"'
    assert (record.outcome, record.error) == ("ok", note)
    assert record.fields == {"name": "Lamp", "price": None, "size": None}
    # What is required of a list is there as well when it came with the URL.
    rules = {"from": "//li", "detail_url": "a/@href", "fields": {"b": fields["name"]}}
    data = encode_carried(Carried(fields={"b": "Lamp"}, required=["b"]))
    record, _ = read(SOLD, data=data, kind="list", list=rules, detail={"fields": {"price": "//b"}})
    assert (record.outcome, record.error) == ("ok", note)


def test_a_list_without_items_may_be_an_error_page() -> None:
    rules = {"from": "//li", "detail_url": "a/@href"}
    record, _ = read(ERROR, kind="list", list=rules)
    assert read_rejects(record.error)[0][:2] == ("list", "*")
    record, _ = read(f"{ERROR}<li>x", kind="list", list=rules)
    assert record.outcome == "ok"
    record, _ = read("<title>Notices</title><p>None yet.", kind="list", list=rules)
    assert (record.outcome, record.error) == ("ok", None)


def test_an_empty_list_that_is_itself_the_result_is_kept() -> None:
    rules = {"from": "//li", "continue": False}
    record, _ = read(ERROR, kind="list", list=rules)
    assert (record.outcome, record.fields) == ("ok", {"items": []})
    assert record.error == 'looks like an error page: it says "404, Not Found"'


def test_a_job_without_rules_has_nothing_to_take() -> None:
    job = check_job({"entries": [URL], "links": [{"allow": ["/x"]}]}, "test")
    assert Extraction.of(job, LinkRules(job.links), VirtualClock()) is None
