"""Going on with an archive whose last file lost its end."""

import logging
from pathlib import Path

import pytest
from archiving import AT_MS, capture, check_with_tools, warcs_in

from skitter.errors import SinkError
from skitter.pipeline.archive.format import warc_date
from skitter.pipeline.archive.model import Capture, Location
from skitter.pipeline.archive.names import Compression
from skitter.pipeline.archive.read import damage, find_capture, read_response
from skitter.pipeline.archive.writer import Archive


def page(number: int) -> Capture:
    return capture(f"https://www.example.com/{number}", b"page %d" % number, at_ms=AT_MS + number)


async def opened(place: Path, mark: bytes | None, kind: Compression = "gzip") -> Archive:
    archive = Archive(place, job="job", compression=kind)
    await archive.open(mark)
    return archive


async def written(place: Path, kind: Compression = "gzip") -> tuple[list[Location], bytes]:
    """Write five pages and return where they are, and the mark."""
    archive = await opened(place, None, kind)
    done = await archive.write([page(number) for number in range(5)])
    await archive.close()
    return done


def found(place: Path) -> list[int]:
    """Return the pages that the indexes lead to."""
    places = [(n, find_capture(place, page(n).url, warc_date(AT_MS + n))) for n in range(10)]
    for number, at in places:
        if at is not None:
            assert read_response(*at).payload == b"page %d" % number
    return [number for number, at in places if at is not None]


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
@pytest.mark.parametrize("index", [True, False])
async def test_one_missing_byte_is_cut_with_its_record_and_the_next_file_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, compression: Compression, *, index: bool
) -> None:
    _, mark = await written(tmp_path, compression)
    [warc] = warcs_in(tmp_path)
    warc.write_bytes(warc.read_bytes()[:-1])
    if not index:
        (tmp_path / "job-00000.cdxj").unlink()
    with caplog.at_level(logging.WARNING):
        archive = await opened(tmp_path, mark, compression)
    [said] = caplog.messages
    assert str(warc) in said
    assert f"gone from its end: {0 if index else 'an unknown number'};" in said
    assert damage(warc) is None
    _, mark = await archive.write([page(5)])
    await archive.close()
    assert found(tmp_path) == [0, 1, 2, 3, 4, 5]
    first, second = warcs_in(tmp_path)
    # The metadata record of the last page is what was torn.
    assert check_with_tools(first) == 1 + 5 * 3 - 1
    assert second.name.startswith("job-00001.")
    caplog.clear()
    await (await opened(tmp_path, mark, compression)).close()
    assert caplog.messages == []


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
@pytest.mark.parametrize("lost", range(5))
async def test_captures_that_are_gone_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, compression: Compression, lost: int
) -> None:
    locations, mark = await written(tmp_path, compression)
    [warc] = warcs_in(tmp_path)
    warc.write_bytes(warc.read_bytes()[: locations[lost].offset + 30])
    with caplog.at_level(logging.WARNING):
        await (await opened(tmp_path, mark, compression)).close()
    assert f"{warc}: has {locations[lost].offset + 30} bytes" in caplog.text
    assert f"gone from its end: {5 - lost};" in caplog.text
    assert warc.stat().st_size == locations[lost].offset
    assert check_with_tools(warc) == 1 + 3 * lost
    assert found(tmp_path) == list(range(lost))
    with pytest.raises(SinkError, match=f"{warc}: damaged at byte {locations[-1].offset}"):
        read_response(warc, locations[-1].offset)


@pytest.mark.parametrize("left", [0, 100])
async def test_of_a_file_without_a_whole_record_nothing_is_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, left: int
) -> None:
    """Its name is not used again: pages that were in it are known by file and offset."""
    _, mark = await written(tmp_path)
    [warc] = warcs_in(tmp_path)
    warc.write_bytes(warc.read_bytes()[:left])
    with caplog.at_level(logging.WARNING):
        archive = await opened(tmp_path, mark)
    assert "gone from its end: 5;" in caplog.text
    assert list(tmp_path.iterdir()) == []
    [location], _ = await archive.write([page(7)])
    await archive.close()
    assert location.file == "job-00001.warc.gz"
    assert found(tmp_path) == [7]


async def test_a_crash_while_a_file_is_made_whole_loses_nothing_more(tmp_path: Path) -> None:
    locations, mark = await written(tmp_path)
    [warc] = warcs_in(tmp_path)
    warc.write_bytes(warc.read_bytes()[: locations[3].offset + 30])
    await (await opened(tmp_path, mark)).close()
    whole = warc.read_bytes()
    # The mark that says so was never kept.
    await (await opened(tmp_path, mark)).close()
    assert warc.read_bytes() == whole
    assert found(tmp_path) == [0, 1, 2]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "job-00000.cdxj",
        "job-00000.warc.gz",
    ]


async def test_what_lies_behind_a_damage_in_the_middle_stays(tmp_path: Path) -> None:
    locations, mark = await written(tmp_path)
    [warc] = warcs_in(tmp_path)
    data = bytearray(warc.read_bytes()[:-1])
    data[locations[1].offset + 40] ^= 0xFF
    warc.write_bytes(data)
    (tmp_path / "job-00000.cdxj").unlink()
    await (await opened(tmp_path, mark)).close()
    assert found(tmp_path) == [0, 2, 3, 4]
