"""When to come back."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from skitter.client.answers import backoff, retry_after
from skitter.client.sse import EventReader


@pytest.mark.parametrize(
    ("text", "seconds"), [("", None), ("7", 7.0), ("soon", None), ("-3", None), ("1e999", None)]
)
def test_retry_after_in_seconds(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}) == seconds


def test_retry_after_may_name_a_moment() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert retry_after({"retry-after": later}) == pytest.approx(60, abs=3)
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0


def test_pauses_grow_and_end_growing() -> None:
    assert backoff(0) <= 0.1 < backoff(4) <= 1.6
    assert backoff(5000) <= 10.0


def test_lines_make_events_by_the_rules_of_server_sent_events() -> None:
    reader = EventReader()
    lines = ["data:{", 'data: "type":"job","at":"t"', "data: }", "id:9", "unknown: x", ":c", ""]
    [event] = [found for line in lines if (found := reader.feed(line))]
    assert (event.type, event.id, reader.last_id) == ("job", "9", "9")
    assert [reader.feed(line) for line in ("id: a\0b", "retry: x", "data", "")] == [None] * 4
    assert (reader.last_id, reader.retry_s) == ("9", None)
