"""Notes cut to what a look-up tells, in the names of the API."""

import msgspec

from skitter.client import pages
from skitter.crawl.resolve.found import Found, Page, read_note, tell
from skitter.pipeline.record import PageRecord, encode_line

URL = "https://a.test/"


def record(**given: object) -> PageRecord:
    facts: dict[str, object] = {
        "job": "j", "url": URL, "final_url": URL, "outcome": "ok", "depth": 0,
        "page_class": "data", "fetched_at": "2026-01-31T09:30:00.250Z", "visit": 1,
    }  # fmt: skip
    return PageRecord(**{**facts, **given})  # type: ignore[arg-type]


def test_the_fields_are_those_of_the_api_with_the_same_defaults() -> None:
    told = msgspec.to_builtins(Found("x", found=False))
    assert pages.Found.model_validate(told).model_dump() == told
    assert set(told) == set(pages.Found.model_fields)


def test_a_note_is_cut_to_what_is_told_of_it() -> None:
    whole = record(
        status=200, title="T", description="D", image="https://a.test/i.png", language="en",
        content_type="text/html", canonical=URL, text="long" * 1000, media=[{"url": "u"}],
        redirects=["https://b.test/"], fields={"x": [1]},
    )  # fmt: skip
    found = Found("a.test")
    tell(found, Page(read_note(encode_line(whole))))
    assert msgspec.to_builtins(found) == {
        "url": "a.test", "found": True, "error": None, "job": "j", "requested_url": URL,
        "final_url": URL, "redirects": ["https://b.test/"], "status": 200, "outcome": "ok",
        "title": "T", "description": "D", "image": "https://a.test/i.png", "language": "en",
        "content_type": "text/html", "canonical": URL, "fetched_at": "2026-01-31T09:30:00.250Z",
        "media": [{"url": "u"}],
    }  # fmt: skip


def test_a_redirect_to_a_known_page_tells_what_is_there() -> None:
    leads = read_note(
        encode_line(
            record(outcome="duplicate", duplicate_of="https://b.test/", redirects=[URL],
                   final_url="https://b.test/")
        )
    )  # fmt: skip
    there = read_note(
        encode_line(
            record(url="https://b.test/", final_url="https://c.test/", title="C", status=200,
                   redirects=["https://b.test/"], fetched_at="2025-01-01T00:00:00.000Z")
        )
    )  # fmt: skip
    assert leads.leads_on == "https://b.test/"
    assert there.leads_on is None
    found = Found(URL)
    tell(found, Page(leads, there))
    assert (found.title, found.outcome, found.final_url) == ("C", "ok", "https://c.test/")
    assert found.redirects == [URL, "https://b.test/"]
    assert (found.requested_url, found.fetched_at) == (URL, "2026-01-31T09:30:00.250Z")


def test_times_are_read_to_the_millisecond() -> None:
    assert read_note(encode_line(record())).fetched_ms() == 1769851800250
