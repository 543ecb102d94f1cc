"""``skitter page --headers`` and ``--body``: the response as the archive has it."""

import asyncio
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from states import SITE, State

from skitter.cli import explain
from skitter.cli.main import run as run_command
from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError, DataDirError
from skitter.pipeline.archive.model import Capture
from skitter.pipeline.archive.writer import Archive
from skitter.types import Role
from skitter.wiring.look import Where, explain_page, read_archived

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"
BODY = "<title>é</title>".encode()
Capsys = pytest.CaptureFixture[bytes]


def capture(path: str, payload: bytes, at_ms: int = 0) -> Capture:
    return Capture(
        url=f"{SITE}{path}",
        at_ms=at_ms,
        request=b"GET / HTTP/1.1\r\n\r\n",
        response=HEAD + payload,
        head_bytes=len(HEAD),
    )


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A state and its archive: a page, its twin, a page without a capture, and a sitemap."""

    async def make() -> None:
        archive = Archive(tmp_path / "warc", job="job", durable=False)
        await archive.open(None)
        packed = gzip.compress(BODY)
        captures = [capture("/a", packed), capture("/twin", packed, 1), capture("/odd", b"plain")]
        places, mark = await archive.write(captures)
        await archive.close()
        async with State(tmp_path / "state") as state:
            for path, place in zip(("/a", "/twin", "/odd"), places, strict=True):
                await state.add(path, status=200, warc_file=place.file, warc_offset=place.offset)
            await state.add("/unkept", status=200)
            await state.add("/refused", outcome="refused", error="robots.txt forbids it")
            await state.add("/map.xml", role=Role.SITEMAP, status=200, n_links=7)
            name = job_mark(state.number, archive.mark_name)
            await state.frontier.ack([], marks={name: mark})

    asyncio.run(make())
    return tmp_path / "state"


def shown(capsys: Capsys, data: Path, path: str, *flags: str) -> bytes:
    assert run_command(["page", f"{SITE}{path}", "--data", str(data), *flags]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("path", ["/a", "/twin"])
def test_body_and_headers_are_those_of_the_response(
    data: Path, capfdbinary: Capsys, path: str
) -> None:
    assert shown(capfdbinary, data, path, "--body") == BODY
    assert shown(capfdbinary, data, path, "--headers") == HEAD
    assert shown(capfdbinary, data, path, "--headers", "--body") == HEAD + BODY


def test_a_body_that_is_not_packed_as_it_says_is_shown_as_it_came(
    data: Path, capfdbinary: Capsys
) -> None:
    assert shown(capfdbinary, data, "/odd", "--body") == b"plain"


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/unkept", "was not archived; crawl with --warc DIR"),
        ("/refused", "robots.txt forbids it"),
        ("/never", "has no response to show"),
    ],
)
def test_what_is_not_there_is_said_in_words(
    data: Path, capfdbinary: Capsys, path: str, said: str
) -> None:
    assert run_command(["page", f"{SITE}{path}", "--data", str(data), "--body"]) == 2
    printed = capfdbinary.readouterr()
    assert printed.out == b""
    assert said in printed.err.decode()


def test_a_sitemap_is_shown_as_one(data: Path, capfdbinary: Capsys) -> None:
    text = shown(capfdbinary, data, "/map.xml").decode()
    assert "sitemap" in text
    assert [line.split() for line in text.splitlines() if "n_links" in line] == [
        ["record.n_links", "7"]
    ]


def test_the_place_in_the_archive_is_shown(data: Path, tmp_path: Path, capfdbinary: Capsys) -> None:
    text = shown(capfdbinary, data, "/a").decode()
    assert f"{tmp_path / 'warc'}" in text


def test_an_archive_whose_original_is_gone_is_named(data: Path, tmp_path: Path) -> None:
    async def place(url: str) -> Mapping[str, Any]:
        [told] = await explain_page(Where(data), url)
        found = told["archive"]
        assert isinstance(found, Mapping)
        return found

    twin = asyncio.run(place(f"{SITE}/twin"))
    for index in (tmp_path / "warc").glob("*.cdxj*"):
        index.unlink()
    with pytest.raises(DataDirError, match=f"repeats {SITE}/a of"):
        read_archived(twin)


def test_a_page_without_an_archive_needs_no_archive(tmp_path: Path) -> None:
    async def make() -> None:
        async with State(tmp_path / "state") as state:
            await state.add("/a", status=200)

    asyncio.run(make())
    with pytest.raises(ConfigError, match="was not archived"):
        explain.print_archived(f"{SITE}/a", Where(tmp_path / "state"), headers=True, body=True)
