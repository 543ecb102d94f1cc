"""Other people's tools read what the archive writes."""

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from archiving import AT_MS, BIN, capture, check_with_tools, every_kind, run_tool, warcs_in
from warcio.archiveiterator import ArchiveIterator

from skitter.pipeline.archive.model import Capture
from skitter.pipeline.archive.names import Compression
from skitter.pipeline.archive.writer import Archive


async def stored(
    place: Path, captures: list[Capture], compression: Compression = "gzip", most: int = 10**9
) -> list[Path]:
    archive = Archive(place, job="tools", compression=compression, max_file_bytes=most)
    await archive.open(None)
    for one in captures:
        await archive.write([one])
    await archive.close()
    return warcs_in(place)


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
async def test_every_kind_of_response_passes_the_checks(
    tmp_path: Path, compression: Compression
) -> None:
    captures = every_kind()
    [warc] = await stored(tmp_path, captures, compression)
    with_fields = sum(bool(one.fields) for one in captures)
    assert check_with_tools(warc) == 1 + 2 * len(captures) + with_fields


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
async def test_payload_digests_pass_where_the_payload_is_there(
    tmp_path: Path, compression: Compression
) -> None:
    """The tool hashes the empty payload of a revisit, so that no revisit can pass this one."""
    [warc] = await stored(tmp_path, every_kind()[:-1], compression)
    said = run_tool("fastwarc", "check", "-p", "--quiet", "-o", "/dev/stdout", str(warc))
    assert said.count("PAYLOAD_OK") == len(every_kind()) - 1
    assert "FAIL" not in said


async def test_the_checks_would_find_a_wrong_byte(tmp_path: Path) -> None:
    [warc] = await stored(tmp_path, every_kind(), "none")
    warc.write_bytes(warc.read_bytes().replace(b"in chunks", b"in chunkz"))
    for tool in ("warcio", "fastwarc"):
        done = subprocess.run([BIN / tool, "check", warc], capture_output=True, check=False)
        assert done.returncode == 1


async def test_every_file_of_a_rotated_archive_passes(tmp_path: Path) -> None:
    captures = [capture(f"https://a.example/{n}", b"%d" % n, at_ms=AT_MS + n) for n in range(30)]
    warcs = await stored(tmp_path, captures, most=5000)
    assert len(warcs) > 3
    assert sum(map(check_with_tools, warcs)) == len(warcs) + 3 * len(captures)


async def test_warcio_reads_the_bodies_decoded(tmp_path: Path) -> None:
    [warc] = await stored(tmp_path, every_kind())
    found = {}
    with warc.open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                url = record.rec_headers.get_header("WARC-Target-URI")
                found[url.rpartition("/")[2]] = record.content_stream().read()
    assert found["plain"] == b"<p>hello</p>"
    assert found["chunked"] == b"<p>in chunks"
    assert found["packed"] == found["both"] == b"<p>packed</p>" * 50


@pytest.mark.parametrize("compression", ["gzip", "zstd", "none"])
async def test_fastwarc_finds_request_and_metadata_beside_each_response(
    tmp_path: Path, compression: Compression
) -> None:
    captures = every_kind()
    [warc] = await stored(tmp_path, captures, compression)
    said = run_tool("fastwarc", "index", str(warc), "-f", "warc-type", "-o", "-")
    kinds = Counter(json.loads(line)["warc-type"] for line in said.splitlines())
    assert kinds == {
        "warcinfo": 1,
        "response": len(captures) - 1,
        "revisit": 1,
        "request": len(captures),
        "metadata": len(captures) - 1,
    }
