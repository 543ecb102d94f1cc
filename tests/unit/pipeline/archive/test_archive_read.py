"""Reading the archive back."""

import asyncio
import gzip
import json
import logging
import tempfile
from pathlib import Path
from random import Random

import pytest
from archiving import AT_MS, capture, chunked, warcs_in
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.archive.format import warc_date
from skitter.pipeline.archive.model import Capture, Location
from skitter.pipeline.archive.names import Compression
from skitter.pipeline.archive.read import damage, find_capture, read_response, records_in
from skitter.pipeline.archive.writer import Archive

CHUNKED = "Content-Type: text/html\r\nTransfer-Encoding: chunked"
LONG_BODIES = st.builds(
    lambda seed, size: Random(seed).randbytes(size),
    st.integers(0, 3),
    st.integers(60_000, 90_000),
)


async def stored(
    place: Path, captures: list[Capture], compression: Compression = "gzip", job: str = "job"
) -> list[Location]:
    archive = Archive(place, job=job, compression=compression, durable=False, max_file_bytes=3000)
    await archive.open(None)
    locations = []
    for one in captures:
        locations += (await archive.write([one]))[0]
    await archive.close()
    return locations


@settings(max_examples=25, deadline=None)
@given(
    bodies=st.lists(st.binary(max_size=300) | LONG_BODIES, max_size=4),
    compression=st.sampled_from(["gzip", "zstd", "none"]),
    framed=st.booleans(),
)
def test_any_body_comes_back_as_it_was(
    bodies: list[bytes], compression: Compression, framed: bool
) -> None:
    """Repeats of a body are revisits, which lead to the first."""
    captures = [
        capture(
            f"https://a.example/{number}",
            chunked(*([body] if body else [])) if framed else body,
            headers=CHUNKED if framed else "Content-Type: text/html",
            at_ms=AT_MS + number,
        )
        for number, body in enumerate(bodies)
    ]
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        locations = asyncio.run(stored(place, captures, compression))
        for body, location in zip(bodies, locations, strict=True):
            there = read_response(place / location.file, location.offset)
            if there.refers_to is not None:
                original = find_capture(place, *there.refers_to)
                assert original is not None
                there = read_response(*original)
            assert there.payload == body
        assert [damage(warc) for warc in warcs_in(place)] == [None] * len(warcs_in(place))


async def test_transfer_coding_is_undone_and_content_coding_is_not(tmp_path: Path) -> None:
    packed = gzip.compress(b"hello")
    taken = capture(
        body=chunked(packed[:5], packed[5:]), headers=f"{CHUNKED}\r\nContent-Encoding: GZip"
    )
    [location] = await stored(tmp_path, [taken])
    there = read_response(tmp_path / location.file, location.offset)
    assert there.payload == packed
    assert there.content_encoding == "gzip"
    assert there.head == taken.response[: taken.head_bytes]


async def test_a_place_without_a_response_is_named(tmp_path: Path) -> None:
    [location] = await stored(tmp_path, [capture()])
    warc = tmp_path / location.file
    with pytest.raises(SinkError, match=f"{warc}: damaged at byte 0 .*found warcinfo"):
        read_response(warc, 0)
    for offset in (location.offset + 1, warc.stat().st_size, 10**9):
        with pytest.raises(SinkError, match=f"{warc}: damaged at byte {offset}"):
            read_response(warc, offset)
    with pytest.raises(ConfigError, match=r"gone\.warc\.gz"):
        read_response(tmp_path / "gone.warc.gz", 0)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
async def test_a_file_cut_anywhere_is_whole_or_damaged_at_a_record(
    tmp_path: Path, compression: Compression
) -> None:
    captures = [capture(f"https://a.example/{n}", b"%d" % n * 50) for n in range(3)]
    await stored(tmp_path, captures, compression)
    whole = warcs_in(tmp_path)[0].read_bytes()
    torn = tmp_path / "torn"
    clean = 0
    for cut in range(0, len(whole), 7):
        torn.write_bytes(whole[:cut])
        said = damage(torn)
        clean += said is None
        assert said is None or f"{torn}: damaged at byte " in said
    assert clean <= 11


async def test_a_changed_byte_is_noticed_where_it_is(tmp_path: Path) -> None:
    [first, second] = await stored(tmp_path, [capture(), capture(body=b"other")], "none")
    warc = tmp_path / second.file
    data = warc.read_bytes()
    warc.write_bytes(data.replace(b"other", b"oth3r"))
    assert str(damage(warc)).startswith(f"{warc}: damaged at byte {second.offset} ")
    assert read_response(tmp_path / first.file, first.offset).payload == b"<p>hello</p>"


# Looking up


async def test_a_capture_is_found_by_url_and_time(tmp_path: Path) -> None:
    captures = [
        capture(
            f"https://www.example.com/{number % 40}", b"%d" % number, at_ms=AT_MS + number * 777
        )
        for number in range(120)
    ]
    locations = await stored(tmp_path, captures)
    assert len(warcs_in(tmp_path)) > 3
    for taken, location in zip(captures, locations, strict=True):
        found = find_capture(tmp_path, taken.url, warc_date(taken.at_ms))
        assert found == (tmp_path / location.file, location.offset)
    assert find_capture(tmp_path, captures[0].url, "2001-01-01T00:00:00.000Z") is None
    assert find_capture(tmp_path, "https://a.example/", warc_date(AT_MS)) is None
    assert find_capture(tmp_path, "https://zz.example/", warc_date(AT_MS)) is None


async def test_captures_of_one_second_are_told_apart(tmp_path: Path) -> None:
    captures = [capture(body=b"%d" % n, at_ms=AT_MS + n) for n in range(3)]
    locations = await stored(tmp_path, captures)
    found = [find_capture(tmp_path, one.url, warc_date(one.at_ms)) for one in captures]
    assert found == [(tmp_path / at.file, at.offset) for at in locations]


async def test_a_capture_is_found_while_the_file_grows(tmp_path: Path) -> None:
    archive = Archive(tmp_path, job="job")
    await archive.open(None)
    [location], _ = await archive.write([capture()])
    found = find_capture(tmp_path, capture().url, warc_date(AT_MS))
    assert found == (tmp_path / location.file, location.offset)
    await archive.close()


async def test_an_index_cannot_lead_out_of_the_directory(tmp_path: Path) -> None:
    url, date = "https://a.example/", "2025-01-01T00:00:00.000Z"
    entry = json.dumps({"url": url, "offset": "0", "filename": "../../etc/passwd"})
    (tmp_path / "evil.cdxj").write_text(f"example,a)/ 20250101000000 {entry}\n")
    assert find_capture(tmp_path, url, date) is None


# Page records


async def test_page_records_come_in_the_order_of_writing(tmp_path: Path) -> None:
    def of(number: int) -> Capture:
        record = json.dumps({"n": number, "text": "two\r\nlines"})
        fields = {"via": "x", "skitter-record": record}
        return capture(f"https://a.example/{number}", b"%d" % number, fields=fields)

    await stored(tmp_path, [of(n) for n in range(20)])
    await stored(tmp_path, [of(99)], job="job-2")
    assert len(warcs_in(tmp_path)) > 3
    assert [json.loads(one)["n"] for one in records_in(tmp_path, "job")] == list(range(20))
    assert [json.loads(one)["n"] for one in records_in(tmp_path, None)] == [*range(20), 99]
    assert list(records_in(tmp_path, "no such job")) == []


def noted(number: int, body: bytes = b"") -> Capture:
    """Return a capture whose page record has its number."""
    record = json.dumps({"n": number, "bytes": 1, "warc_file": None, "payload_digest": None})
    return capture(
        f"https://a.example/{number}",
        body or b"page %d " % number * 20,
        at_ms=AT_MS + number,
        fields={"skitter-record": record},
    )


async def test_page_records_say_where_their_responses_are(tmp_path: Path) -> None:
    captures = [noted(0), noted(1), noted(2, b"page 0 " * 20)]
    locations = await stored(tmp_path, captures)
    found = [json.loads(one) for one in records_in(tmp_path, "job")]
    assert [one["n"] for one in found] == [0, 1, 2]
    assert [
        Location(one["warc_file"], one["warc_offset"], one["payload_digest"], one["warc_revisit"])
        for one in found
    ] == locations
    assert [at.revisit for at in locations] == [False, False, True]


async def test_a_page_record_without_a_body_has_no_place(tmp_path: Path) -> None:
    record = '{"n": 1, "bytes": null, "warc_file": null}'
    await stored(tmp_path, [capture(fields={"skitter-record": record})])
    assert list(records_in(tmp_path, "job")) == [record.encode()]


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
@pytest.mark.parametrize("index", [True, False])
async def test_what_follows_a_damage_is_read_and_what_was_skipped_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, compression: Compression, *, index: bool
) -> None:
    """The response of the second page is damaged; its record and all others come out."""
    archive = Archive(tmp_path, job="job", compression=compression)
    await archive.open(None)
    locations, _ = await archive.write([noted(n) for n in range(5)])
    await archive.close()
    [warc] = warcs_in(tmp_path)
    data = bytearray(warc.read_bytes())
    data[locations[1].offset : locations[1].offset + 60] = b"\xaa" * 60
    warc.write_bytes(data)
    if not index:
        (tmp_path / "job-00000.cdxj").unlink()
    with caplog.at_level(logging.WARNING):
        found = [json.loads(one) for one in records_in(tmp_path, "job")]
    assert [one["n"] for one in found] == list(range(5))
    assert found[1]["warc_file"] is None
    assert [found[n]["warc_offset"] for n in (0, 2, 3, 4)] == [
        locations[n].offset for n in (0, 2, 3, 4)
    ]
    [said] = caplog.messages
    assert said.startswith(f"{warc}: damaged at byte {locations[1].offset} (")
    skipped = int(said.rpartition("; ")[2].split()[0])
    assert 60 < skipped < locations[2].offset - locations[1].offset


@pytest.mark.parametrize("compression", ["gzip", "none"])
async def test_records_within_a_damaged_body_are_not_taken_for_the_archives_own(
    tmp_path: Path, compression: Compression
) -> None:
    inner = tmp_path / "inner"
    await stored(inner, [noted(666)], compression)
    [downloaded] = warcs_in(inner)
    archive = Archive(tmp_path / "outer", job="job", compression=compression)
    await archive.open(None)
    bodies = [b"", b"\x07" * 99 + downloaded.read_bytes(), b""]
    locations, _ = await archive.write([noted(n, body) for n, body in enumerate(bodies)])
    await archive.close()
    [warc] = warcs_in(tmp_path / "outer")
    data = bytearray(warc.read_bytes())
    data[locations[1].offset + 4] ^= 0xFF
    data[locations[1].offset + 12] ^= 0xFF
    warc.write_bytes(data)
    found = [json.loads(one)["n"] for one in records_in(tmp_path / "outer", "job")]
    assert found == [0, 1, 2]


async def test_a_page_record_that_was_changed_is_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await stored(tmp_path, [noted(0), noted(1)], "none")
    [warc] = warcs_in(tmp_path)
    warc.write_bytes(warc.read_bytes().replace(b'{"n": 0,', b'{"n": 7,'))
    with caplog.at_level(logging.WARNING):
        assert [json.loads(one)["n"] for one in records_in(tmp_path, "job")] == [1]
    assert "page record is left out" in caplog.text


async def test_a_payload_that_was_changed_is_refused_by_its_digest(tmp_path: Path) -> None:
    """Compression has a checksum of its own; plain files have the digest alone."""
    [location] = await stored(tmp_path, [capture(body=b"other")], "none")
    warc = tmp_path / location.file
    warc.write_bytes(warc.read_bytes().replace(b"other", b"oth3r"))
    with pytest.raises(SinkError, match=f"{warc}: damaged at byte {location.offset} .*payload"):
        read_response(warc, location.offset)


async def test_records_before_a_damage_are_read_and_the_damage_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    captures = [
        capture(f"https://a.example/{n}", b"%d" % n, fields={"skitter-record": str(n)})
        for n in range(3)
    ]
    await stored(tmp_path, captures)
    warc = warcs_in(tmp_path)[-1]
    warc.write_bytes(warc.read_bytes()[:-3])
    with caplog.at_level(logging.WARNING):
        assert list(records_in(tmp_path, "job")) == [b"0", b"1"]
    assert f"{warc}: damaged at byte" in caplog.text


def test_a_directory_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such directory"):
        list(records_in(tmp_path / "gone", None))
