"""Records as bytes."""

import re
from uuid import UUID

import pytest
from archiving import AT_MS, capture

from skitter.pipeline.archive.format import (
    RecordIds,
    capture_records,
    digest_of,
    payload_digest,
    target_uri,
    warc_date,
    warcinfo,
)
from skitter.pipeline.archive.model import Capture, Original

SEED = bytes(range(10))


def made(of: Capture, original: Original | None = None) -> list[tuple[dict[str, str], bytes]]:
    """Return headers and block of each record."""
    found = []
    for record in capture_records(of, payload_digest(of), original, RecordIds(SEED)):
        head, _, rest = record.partition(b"\r\n\r\n")
        version, *lines = head.decode().split("\r\n")
        assert version == "WARC/1.1"
        assert rest.endswith(b"\r\n\r\n")
        found.append((dict(line.split(": ", 1) for line in lines), rest[:-4]))
    return found


def test_an_exchange_is_response_request_and_metadata() -> None:
    taken = capture(fields={"via": "https://a.example/", "hopsFromSeed": "LL"})
    (response, body), (request, asked), (metadata, fields) = made(taken)
    assert [part["WARC-Type"] for part in (response, request, metadata)] == [
        "response",
        "request",
        "metadata",
    ]
    assert body == taken.response
    assert asked == taken.request
    assert fields == b"via: https://a.example/\r\nhopsFromSeed: LL\r\n"
    for part in (request, metadata):
        assert part["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    for part in (response, request, metadata):
        assert part["WARC-Date"] == "2025-11-16T04:57:27.123Z" == warc_date(AT_MS)
        assert part["WARC-Target-URI"] == taken.url
        assert part["WARC-IP-Address"] == "192.0.2.7"


def test_the_payload_digest_is_that_of_the_bytes_after_the_head() -> None:
    [(response, _), *_] = made(capture(body=b"abc"))
    assert response["WARC-Payload-Digest"] == "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"
    assert response["WARC-Payload-Digest"] == digest_of(b"abc")


def test_without_fields_there_is_no_metadata_record() -> None:
    assert len(made(capture(fields={}))) == 2


def test_a_repeat_has_the_head_and_says_where_the_payload_is() -> None:
    taken = capture()
    original = Original("https://a.example/x", "2025-01-01T00:00:00.000Z", payload_digest(taken))
    [(revisit, block), *_] = made(taken, original)
    assert revisit["WARC-Type"] == "revisit"
    assert revisit["WARC-Profile"].endswith("/revisit/identical-payload-digest")
    assert revisit["WARC-Refers-To-Target-URI"] == original.url
    assert revisit["WARC-Refers-To-Date"] == original.date
    assert revisit["WARC-Payload-Digest"] == original.payload_digest
    assert block == taken.response[: taken.head_bytes]


def test_what_is_missing_is_said() -> None:
    [(response, _), *_] = made(capture(truncated="length"))
    assert response["WARC-Truncated"] == "length"


@pytest.mark.parametrize("value", ["a\r\nWARC-Type: response", "a\nb", "a\rb"])
def test_nothing_in_a_url_or_a_field_can_begin_a_line_of_its_own(value: str) -> None:
    taken = capture(f"https://a.example/{value}", fields={"note": value})
    (response, _), _, (_, fields) = made(taken)
    assert response["WARC-Type"] == "response"
    assert re.fullmatch(rb"note: [^\r\n]*\r\n", fields)


def test_a_url_keeps_its_letters() -> None:
    assert target_uri("https://a.example/ü?q=1") == "https://a.example/ü?q=1"
    assert target_uri("https://a.example/a b\n") == "https://a.example/a%20b%0A"


def test_ids_are_uuids_and_never_the_same() -> None:
    ids = RecordIds(SEED)
    taken = [ids.take().decode() for _ in range(1000)]
    assert len(set(taken)) == 1000
    assert all(UUID(one.strip("<>")).version == 4 for one in taken)
    assert RecordIds(SEED[::-1]).take().decode() not in taken


def test_a_file_says_what_wrote_it_and_for_whom() -> None:
    record = warcinfo("j-00000.warc.gz", job="j", at_ms=AT_MS, ids=RecordIds(SEED)).decode()
    assert "WARC-Type: warcinfo\r\n" in record
    assert "WARC-Filename: j-00000.warc.gz\r\n" in record
    assert "software: Skitter/" in record
    assert "isPartOf: j\r\n" in record
