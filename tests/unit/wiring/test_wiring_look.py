"""Questions about a state directory: by the process that runs the crawl, or by opening it."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from archiving import AT_MS, capture
from states import SITE, State, site_job

from skitter.crawl.inspect import InspectServer, Question, ask_running
from skitter.errors import DataDirError, SinkError, StoreUnavailable
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.model import Result
from skitter.pipeline.archive.format import payload_digest, warc_date
from skitter.pipeline.archive.model import Capture, Location, Original
from skitter.pipeline.archive.writer import Archive
from skitter.types import Role
from skitter.wiring.look import Where, ask, complete_answer, explain_page, read_archived


async def listed(data: Path, question: Question) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in complete_answer(Where(data), question)]


async def test_every_page_has_its_record_and_sitemaps_have_none(tmp_path: Path) -> None:
    # The label says what the class of a sitemap says.
    async with State(tmp_path, site_job(labels={"page_class": "sitemap"})) as state:
        wanted = await state.add("/", "/a", "/b")
        wanted += await state.add("/gone", result=Result.DEAD, outcome="http_error", status=404)
        await state.add("/sitemap.xml", role=Role.SITEMAP)
    found = await listed(tmp_path, {"records": True})
    assert sorted(found, key=str) == sorted(wanted, key=str)


async def test_many_records_come_in_several_steps(tmp_path: Path) -> None:
    async with State(tmp_path) as state:
        await state.add(*(f"/{n}" for n in range(900)))
        await state.add(*(f"/{n}" for n in range(900, 1500)))
    found = await listed(tmp_path, {"records": True})
    assert len({record["url"] for record in found}) == len(found) == 1500


async def test_the_most_linked_are_pages_that_were_fetched_and_hosts(tmp_path: Path) -> None:
    async with State(tmp_path) as state:
        await state.add("/one", "/two", "/three")
        await state.add("/gone", result=Result.DEAD, outcome="http_error", status=404)
        paths = ["/gone"] * 9 + ["/two"] * 3 + ["/one"] * 2 + ["/three", "/never-fetched"]
        await state.count(paths, ["http://far.test"] * 20 + ["http://near.test"])
    found = await listed(tmp_path, {"linked": 2})
    assert found == [
        {"kind": "page", "url": f"{SITE}/two", "links": 3},
        {"kind": "page", "url": f"{SITE}/one", "links": 2},
        {"kind": "host", "url": "http://far.test/", "links": 20},
        {"kind": "host", "url": f"{SITE}/", "links": 16},
    ]


async def test_a_crawl_that_counted_nothing_has_no_most_linked_pages(tmp_path: Path) -> None:
    async with State(tmp_path):
        pass
    assert await listed(tmp_path, {"linked": 5}) == []


async def test_a_question_nobody_knows_is_answered_with_an_error(tmp_path: Path) -> None:
    async with State(tmp_path):
        pass
    [line] = [line async for line in ask(Where(tmp_path), {"weather": "tomorrow"})]
    assert "not a question" in json.loads(line)["error"]
    with pytest.raises(DataDirError, match=f"--data {tmp_path}: not a question"):
        await listed(tmp_path, {"weather": "tomorrow"})


async def test_a_directory_that_holds_another_job_says_which(tmp_path: Path) -> None:
    async with State(tmp_path) as state:
        await state.add("/")
    assert len(await listed(tmp_path, {"records": True, "job": "job"})) == 1
    with pytest.raises(DataDirError, match="jobs there: job; name one of them"):
        await listed(tmp_path, {"records": True, "job": "other"})


async def test_a_directory_is_free_again_after_a_look(tmp_path: Path) -> None:
    async with State(tmp_path) as state:
        await state.add("/")
    [found] = await explain_page(Where(tmp_path), f"{SITE}/")
    assert found["state"] == "done"
    directory = DataDir(tmp_path)
    directory.acquire()
    directory.release()


async def test_a_look_that_is_broken_off_lets_the_directory_go(tmp_path: Path) -> None:
    async with State(tmp_path) as state:
        await state.add("/", "/a")
    lines = ask(Where(tmp_path), {"records": True})
    await anext(lines)
    await lines.aclose()
    directory = DataDir(tmp_path)
    directory.acquire()
    directory.release()


async def test_where_no_crawl_has_begun_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataDirError, match="no crawl has begun"):
        await explain_page(Where(tmp_path), f"{SITE}/")
    assert list(tmp_path.iterdir()) == []


# While a crawl runs


class Lines:
    """An answer of many lines, given slowly or not to its end."""

    def __init__(self, *lines: bytes, error: Exception | None = None) -> None:
        self._lines = lines
        self._error = error
        self.ended = asyncio.Event()

    async def answer(self, _: Question) -> AsyncIterator[bytes]:
        try:
            for line in self._lines:
                yield line
            if self._error is not None:
                raise self._error
        finally:
            self.ended.set()


async def test_a_running_crawl_is_asked_itself(tmp_path: Path) -> None:
    server = InspectServer(tmp_path, Lines(b'{"url": "x"}\n', b'{"complete": 1}\n').answer)
    await server.open()
    assert await listed(tmp_path, {"records": True}) == [{"url": "x"}]
    await server.close()


@pytest.mark.parametrize("error", [StoreUnavailable("the disk is gone"), OSError("gone")])
async def test_a_list_that_breaks_off_is_an_error(tmp_path: Path, error: Exception) -> None:
    server = InspectServer(tmp_path, Lines(b'{"url": "x"}\n', error=error).answer)
    await server.open()
    with pytest.raises(DataDirError, match="ended while it was read; ask again"):
        await listed(tmp_path, {"records": True})
    await server.close()


async def test_a_crawl_that_ends_breaks_off_its_answers_first(tmp_path: Path) -> None:
    """Else they would read from a store that is closed."""

    class Endless(Lines):
        async def answer(self, _: Question) -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b'{"url": "x"}\n' * 1000
            finally:
                self.ended.set()

    endless = Endless()
    server = InspectServer(tmp_path, endless.answer)
    await server.open()
    lines = ask_running(tmp_path, {"records": True})
    await anext(lines)
    await server.close()
    left = [line async for line in lines]
    assert all(line == b'{"url": "x"}\n' for line in left)
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_process_that_dies_while_it_answers_ends_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dying:
        def __init__(self, reader: asyncio.StreamReader) -> None:
            self._reader = reader

        async def readline(self) -> bytes:
            line = await self._reader.readline()
            if not line:
                raise ConnectionResetError("Connection reset by peer")
            return line

    connect = asyncio.open_unix_connection

    async def resetting(*args: Any, **kwargs: Any) -> tuple[Dying, asyncio.StreamWriter]:
        reader, writer = await connect(*args, **kwargs)
        return Dying(reader), writer

    server = InspectServer(tmp_path, Lines(b'{"url": "x"}\n').answer)
    await server.open()
    monkeypatch.setattr(asyncio, "open_unix_connection", resetting)
    assert [line async for line in ask_running(tmp_path, {"records": True})] == [b'{"url": "x"}\n']
    await server.close()


# Bodies from the archive


def repeating(number: int, of: int, body: bytes = b"<p>hello</p>") -> Capture:
    """Return a page that repeats another one, by what an earlier run has kept."""
    taken = capture(f"{SITE}/{number}", body, at_ms=AT_MS + number)
    original = Original(f"{SITE}/{of}", warc_date(AT_MS + of), payload_digest(taken))
    return capture(f"{SITE}/{number}", body, at_ms=AT_MS + number, original=original)


async def archived(place: Path, *captures: Capture) -> list[Location]:
    """Write each capture as a run of its own would, which knows what it is told alone."""
    locations = []
    for number, each in enumerate(captures):
        archive = Archive(place, job=f"job{number}", compression="none", durable=False)
        await archive.open(None)
        locations += (await archive.write([each]))[0]
        await archive.close()
    return locations


def place_of(directory: Path, location: Location) -> dict[str, object]:
    return {"file": str(directory / location.file), "offset": location.offset}


async def test_a_repeat_of_a_repeat_has_the_body_of_the_first(tmp_path: Path) -> None:
    first = capture(f"{SITE}/0", at_ms=AT_MS)
    captures = [first, *(repeating(n, n - 1) for n in range(1, 6))]
    locations = await archived(tmp_path, *captures)
    assert [at.revisit for at in locations] == [False] + [True] * 5
    for location in locations:
        assert read_archived(place_of(tmp_path, location)).body == b"<p>hello</p>"


async def test_repeats_that_lead_nowhere_are_an_error_and_not_an_empty_page(
    tmp_path: Path,
) -> None:
    locations = await archived(tmp_path, repeating(1, 2), repeating(2, 1), repeating(3, 0))
    for location in locations[:2]:
        with pytest.raises(DataDirError, match=f"{location.file}, byte .* none has a body"):
            read_archived(place_of(tmp_path, location))
    with pytest.raises(DataDirError, match=f"repeats {SITE}/0 of .* not in {tmp_path}"):
        read_archived(place_of(tmp_path, locations[2]))


async def test_a_repeat_is_never_shown_with_another_body(tmp_path: Path) -> None:
    other = capture(f"{SITE}/0", b"other", at_ms=AT_MS)
    _, location = await archived(tmp_path, other, repeating(1, 0))
    with pytest.raises(DataDirError, match="has another body"):
        read_archived(place_of(tmp_path, location))


async def test_a_body_that_was_changed_is_refused(tmp_path: Path) -> None:
    [location] = await archived(tmp_path, capture())
    warc = tmp_path / location.file
    warc.write_bytes(warc.read_bytes().replace(b"hello", b"hallo"))
    with pytest.raises(SinkError, match=f"{warc}: damaged at byte {location.offset} "):
        read_archived(place_of(tmp_path, location))


async def test_a_directory_whose_crawl_is_in_a_store_says_so_and_stays_as_it_is(
    tmp_path: Path,
) -> None:
    directory = DataDir(tmp_path)
    directory.acquire()
    directory.release()
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataDirError, match=r"no crawl has begun in this directory; .* --store URL"):
        await listed(tmp_path, {"records": True})
    assert sorted(tmp_path.iterdir()) == before
