"""A running crawl answers questions on a local socket."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from skitter.crawl.inspect import SOCKET_NAME, InspectServer, Question, ask_running

Answer = dict[str, Any]


async def echo(question: Question) -> AsyncIterator[bytes]:
    for n in range(int(str(question.get("times", 1)))):
        yield json.dumps({"url": question["page"], "n": n}).encode() + b"\n"


async def asked(directory: Path, url: str = "http://site.test/", times: int = 1) -> list[Answer]:
    lines = ask_running(directory, {"page": url, "times": times})
    return [json.loads(line) async for line in lines]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[InspectServer]:
    made = InspectServer(tmp_path, echo)
    await made.open()
    yield made
    await made.close()


async def test_a_question_is_answered(server: InspectServer, tmp_path: Path) -> None:
    assert await asked(tmp_path, "http://site.test/é") == [{"url": "http://site.test/é", "n": 0}]


async def test_an_answer_may_have_many_lines(server: InspectServer, tmp_path: Path) -> None:
    answers = await asked(tmp_path, "x" * 5_000, times=2_000)
    assert [answer["n"] for answer in answers] == list(range(2_000))


async def test_many_questions_at_once_are_answered(server: InspectServer, tmp_path: Path) -> None:
    urls = [f"http://site.test/{n}" for n in range(20)]
    answers = await asyncio.gather(*(asked(tmp_path, url) for url in urls))
    assert [answer["url"] for [answer] in answers] == urls


async def test_nobody_answers_where_no_crawl_runs(tmp_path: Path) -> None:
    assert await asked(tmp_path) == []


async def test_nobody_answers_after_the_crawl_has_ended(
    server: InspectServer, tmp_path: Path
) -> None:
    await server.close()
    assert await asked(tmp_path) == []
    assert not (tmp_path / SOCKET_NAME).exists()


async def test_the_socket_of_a_crawl_that_was_killed_is_no_obstacle(tmp_path: Path) -> None:
    killed = InspectServer(tmp_path, echo)
    await killed.open()
    assert killed._server is not None
    killed._server.close()
    await killed._server.wait_closed()
    (tmp_path / SOCKET_NAME).touch()
    assert await asked(tmp_path) == []
    server = InspectServer(tmp_path, echo)
    await server.open()
    assert await asked(tmp_path)
    await server.close()


async def test_only_this_user_may_ask(server: InspectServer, tmp_path: Path) -> None:
    mode = (tmp_path / SOCKET_NAME).stat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) & 0o077 == 0


async def test_a_directory_with_a_very_long_name_works(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)
    server = InspectServer(deep, echo)
    await server.open()
    assert await asked(deep)
    await server.close()


@pytest.mark.parametrize(
    "nonsense", [b"\n", b"not json\n", b"[]\n", b'{"other": 1}\n', b"", b"x" * 2_000_000 + b"\n"]
)
async def test_nonsense_is_not_answered_and_does_no_harm(
    server: InspectServer, tmp_path: Path, nonsense: bytes
) -> None:
    reader, writer = await asyncio.open_unix_connection(tmp_path / SOCKET_NAME)
    writer.write(nonsense)
    writer.write_eof()
    with suppress(ConnectionError):
        assert await reader.read() == b""
    writer.close()
    assert await asked(tmp_path)


async def test_a_client_that_hangs_up_does_no_harm(server: InspectServer, tmp_path: Path) -> None:
    _, writer = await asyncio.open_unix_connection(tmp_path / SOCKET_NAME)
    writer.write(b'{"page": "http://site.test/"}\n')
    writer.transport.abort()
    assert await asked(tmp_path)
