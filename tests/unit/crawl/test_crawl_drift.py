"""Fields that are found no more."""

import logging

import pytest

from skitter.crawl.drift import RECENT, Drift, drift_mark, read_alarms
from skitter.types import JobNumber


def watched(**restored: int) -> Drift:
    drift = Drift()
    drift.prefix = drift_mark(JobNumber(3))
    drift.restore({name.replace("__", "."): n for name, n in restored.items()})
    return drift


def pages(drift: Drift, count: int, *names: str) -> None:
    for _ in range(count):
        drift.saw(("detail", *names))


def test_a_field_that_falls_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    drift = watched()
    with caplog.at_level(logging.WARNING):
        pages(drift, 100, "title", "price")
        assert drift.take_marks() == {}
        pages(drift, RECENT, "title")
    [told] = caplog.messages
    assert "detail.price was found on 100% of the pages" in told
    [alarm] = read_alarms(drift.take_marks())
    assert (alarm.field, alarm.before) == ("detail.price", 1.0)
    assert alarm.now < 0.5
    assert drift.take_marks() == {}


def test_what_earlier_runs_found_counts() -> None:
    drift = watched(detail=200, detail__title=180, detail__tags=20)
    pages(drift, RECENT - 1)
    assert drift.take_marks() == {}
    pages(drift, 1)
    alarms = read_alarms(drift.take_marks())
    assert [alarm.field for alarm in alarms] == ["detail.title"], "tags were always rare"


def test_few_pages_raise_no_alarm() -> None:
    drift = watched(detail=RECENT - 1, detail__title=RECENT - 1)
    pages(drift, RECENT)
    assert drift.take_marks() == {}


def test_an_alarm_is_settled_when_the_field_comes_back() -> None:
    drift = watched(detail=500, detail__title=500)
    pages(drift, RECENT)
    [(name, _)] = drift.take_marks().items()
    pages(drift, RECENT, "title")
    settled = drift.take_marks()
    assert settled == {name: b""}
    assert read_alarms(settled) == []


def test_an_alarm_of_an_earlier_run_is_settled_too() -> None:
    drift = watched(detail=500, detail__title=500)
    pages(drift, RECENT)
    stored = drift.take_marks()
    again = watched(detail=540, detail__title=500)
    again.take_up(read_alarms(stored))
    pages(again, RECENT, "title")
    assert again.take_marks() == dict.fromkeys(stored, b"")
