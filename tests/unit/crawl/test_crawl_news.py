"""What is remembered of URL templates, of visits, and of links that lead on."""

from typing import Any

import pytest

from skitter.clock import SystemClock
from skitter.crawl.history import History, encode_history, history_mark, read_history
from skitter.crawl.judge import Judge
from skitter.crawl.jumps import Jumps, carried
from skitter.crawl.news import STORE_EVERY_S, News, Templates
from skitter.job.spec import check_job
from skitter.parse.article.missing import says_missing
from skitter.pipeline.record import PageRecord
from skitter.types import Fingerprint, JobNumber, PageClass
from skitter.url.scope import Scope

STORY = "https://example.com/world/2026/11/the-bridge-that-was-not-built-{}.html"
LIST = "https://example.com/topics/{}"


def news(**more: object) -> News:
    job = check_job({"entries": ["https://example.com/"], "kind": "news", **more}, "job")
    found = News.of(job, Judge(job, Scope(job.scope, job.entries)), SystemClock())
    assert found is not None
    return found


def test_a_template_tells_links_once_pages_have_told_it() -> None:
    found = news()
    assert found.class_of_link(STORY.format(1)) is PageClass.NAV
    found.templates.saw(STORY.format(1), PageClass.DATA, sure=True)
    assert found.class_of_link(STORY.format(2)) is PageClass.DATA
    assert found.class_of_link(LIST.format("bridges")) is PageClass.NAV


def test_a_judgement_is_corrected_when_pages_contradict_it() -> None:
    found = news()
    for number in range(20):
        found.templates.saw(STORY.format(number), PageClass.DATA, sure=True)
    for number in range(10):
        assert found.class_of_link(STORY.format(99)) is PageClass.DATA or number >= 3
        found.templates.saw(STORY.format(number), PageClass.NAV, sure=True)
    assert found.class_of_link(STORY.format(99)) is PageClass.NAV


def test_patterns_decide_where_there_are_some() -> None:
    found = news(article=[r"/topics/\w+$"])
    found.templates.saw(STORY.format(1), PageClass.DATA, sure=True)
    assert found.class_of_link(STORY.format(2)) is PageClass.NAV
    assert found.class_of_link(LIST.format("bridges")) is PageClass.DATA


def test_templates_are_stored_now_and_then_and_taken_up_by_all() -> None:
    one, other = Templates(), Templates()
    one.mark_name, other.mark_name = "templates:1:a", "templates:1:b"
    assert one.take_mark(0.0) == {}
    one.saw(STORY.format(1), PageClass.DATA, sure=True)
    other.saw(LIST.format("x"), PageClass.NAV, sure=True)
    stored = one.take_mark(0.0) | other.take_mark(0.0)
    one.saw(STORY.format(2), PageClass.DATA, sure=True)
    assert one.take_mark(1.0) == {}
    stored |= one.take_mark(STORE_EVERY_S)
    both = Templates()
    both.restore(stored)
    assert both.of(STORY.format(7)) == 4
    assert both.of(LIST.format("x")) == -2


def record(visit: int, outcome: str = "ok", **more: Any) -> PageRecord:
    return PageRecord(
        job="j",
        url="https://e.com/",
        outcome=outcome,
        depth=0,
        page_class="nav",
        fetched_at=f"2026-11-16T00:{visit:02}:00Z",
        visit=visit,
        **more,
    )


def test_a_history_remembers_how_to_ask_and_what_came() -> None:
    first = History().after(record(1, etag='"a"', last_modified="Mon"), b"one")
    assert first.conditions("https://e.com/") == {
        "If-None-Match": '"a"',
        "If-Modified-Since": "Mon",
    }
    moved = History().after(record(1, etag='"a"', final_url="https://e.com/x"), b"one")
    assert moved.conditions("https://e.com/x") == {"If-None-Match": '"a"'}
    assert moved.conditions("https://e.com/") == {}
    again = moved.after(record(2, status=200, changed=True, final_url="https://e.com/y"), b"two")
    again = read_history(encode_history(again))
    assert [(visit.number, visit.outcome) for visit in again.visits] == [(1, "ok"), (2, "ok")]
    assert again.leads_to("https://e.com/x"), "it may lead there again"
    assert again.leads_to("https://e.com/y")
    assert read_history(b"\x00 nothing of the kind") == History()


@pytest.mark.parametrize(
    ("more", "content"),
    [
        ({"outcome": "failed"}, b""),
        ({"outcome": "http_error", "status": 404}, b""),
        ({"outcome": "rejected"}, b"two"),
        ({"truncated": True}, b"two"),
    ],
)
def test_what_did_not_come_whole_is_asked_for_without_condition(
    more: dict[str, Any], content: bytes
) -> None:
    first = History().after(record(1, etag='"a"'), b"one")
    second = first.after(record(2, etag='"b"', **more), content)
    assert second.conditions("https://e.com/") == {}
    assert second.content == (content or b"one")


def test_where_a_redirect_led_is_remembered_though_nothing_was_there() -> None:
    first = History().after(
        record(1, outcome="http_error", status=404, final_url="https://e.com/x"), b""
    )
    assert first.leads_to("https://e.com/x")


def test_a_visit_that_was_broken_off_is_made_without_condition() -> None:
    first = History().before(1).after(record(1, etag='"a"'), b"one")
    second = first.before(2).after(record(2, etag='"b"'), b"two")
    assert first.before(2).content == b"one"
    assert first.before(2, b"other rules").content == b""
    assert second.before(2).conditions("https://e.com/") == {}
    assert second.before(2).content == b""
    assert second.last == 2


def test_a_page_that_the_queue_forgot_is_asked_for_on_condition_from_its_second_visit_on() -> None:
    before = History().before(7).after(record(7, etag='"a"'), b"one")
    assert before.before(1).content == b""
    anew = before.before(1).after(record(8, etag='"a"'), b"one")
    assert anew.before(2).conditions("https://e.com/") == {"If-None-Match": '"a"'}
    assert [visit.number for visit in anew.visits] == [7, 8]


def test_a_history_is_bounded() -> None:
    history = History()
    for number in range(1, 200):
        history = history.after(record(number), b"x")
    assert [visit.number for visit in history.visits] == list(range(150, 200))


def test_marks_of_pages_differ() -> None:
    names = {history_mark(JobNumber(1), Fingerprint(fp)) for fp in (0, 1, -1, 2**64 - 2)}
    assert len(names) == 4


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://s.com/link?url=abcdef", None),
        ("https://s.com/out?u=https%3A%2F%2Fa.org%2Fx%3Fy%3D1&z=2", "https://a.org/x?y=1"),
        ("https://s.com/out?u=ftp%3A%2F%2Fa.org", None),
        ("https://s.com/out", None),
    ],
)
def test_some_jump_links_carry_where_they_lead(url: str, target: str | None) -> None:
    assert carried(url) == target


def test_jump_links_are_named_by_the_job() -> None:
    jumps = Jumps((r"https://www\.baidu\.com/link\?url=.+",))
    assert jumps.has("https://www.baidu.com/link?url=abc")
    assert not jumps.has("https://www.baidu.com/s?wd=abc")


@pytest.mark.parametrize(
    ("title", "text", "missing"),
    [
        ("404 Not Found", "", True),
        ("页面不存在", "您访问的页面不存在", True),
        ("Access denied", "You have no permission.", True),
        ("News", "The page you asked for does not exist.", True),
        ("Highway 404 reopens", "The road was closed. " * 40, False),
        ("Missing hiker not found after week-long search", "He is sought.", False),
        ("Peugeot 404 wird 60", "Ein Auto.", False),
        ("Bericht 1404", "Zahlen.", False),
        ("404 - page not found | The Gazette", "Sorry.", True),
        ("A bridge is built", "It stands.", False),
        (None, "", False),
    ],
)
def test_pages_that_say_there_is_nothing(title: str | None, text: str, missing: bool) -> None:
    assert (says_missing(title, text) is not None) is missing
