"""The page record and its line of JSON."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.pipeline.record import PageRecord, encode_line

NAMES = """
    job url final_url redirects status outcome error depth page_class referrer fetched_at
    elapsed_ms content_type encoding bytes digest title description image author published
    language canonical text n_links fields etag last_modified changed visit
"""
"""What the documentation promises, in its order."""


def record(**fields: Any) -> PageRecord:
    least: dict[str, Any] = {
        "job": "job",
        "url": "http://site.test/",
        "outcome": "ok",
        "depth": 0,
        "page_class": "data",
        "fetched_at": "2026-01-01T00:00:00.000Z",
        "visit": 1,
    }
    return PageRecord(**{**least, **fields})


def test_a_record_has_every_promised_name_in_order() -> None:
    names = NAMES.split()
    assert list(json.loads(encode_line(record())))[: len(names)] == names


def test_what_is_not_known_is_null_and_what_is_empty_is_empty() -> None:
    found = json.loads(encode_line(record()))
    assert found["title"] is None
    assert (found["redirects"], found["fields"], found["labels"]) == ([], {}, {})
    assert found["truncated"] is False


def test_a_record_needs_what_every_visit_has() -> None:
    with pytest.raises(TypeError):
        PageRecord(job="job", url="http://site.test/")  # type: ignore[call-arg]


def test_two_records_share_no_lists() -> None:
    one, two = record(), record()
    one.redirects.append("http://site.test/old")
    assert two.redirects == []


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


@given(
    title=TEXTS,
    url=TEXTS,
    redirects=st.lists(TEXTS, max_size=4),
    labels=st.dictionaries(TEXTS, TEXTS, max_size=3),
    status=st.none() | st.integers(100, 599),
)
def test_a_line_is_one_line_and_reads_back_whatever_the_page_says(
    title: str, url: str, redirects: list[str], labels: dict[str, str], status: int | None
) -> None:
    made = record(title=title, url=url, redirects=redirects, labels=labels, status=status)
    line = encode_line(made)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert msgspec.json.decode(line, type=PageRecord) == made
    assert json.loads(line)["title"] == title


def test_text_that_cannot_be_written_is_replaced_and_the_record_is_kept() -> None:
    odd = record(error="half a character: \udcc4", content_type="image/jpeg; name=\udcc4.jpg")
    line = encode_line(odd)
    assert json.loads(line)["error"] == "half a character: ?"
    assert odd.content_type == "image/jpeg; name=?.jpg"
