"""Connections that come from another process, as the service takes them."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI, WebSocket
from websockets.asyncio.client import connect

from skitter.api import server as module
from skitter.api.server import Server
from skitter.wiring.service_process import PASSED


def small_app() -> FastAPI:
    app = FastAPI()

    @app.get("/hello")
    async def hello() -> dict[str, str]:
        return {"hello": "you"}

    @app.websocket("/echo")
    async def echo(ws: WebSocket) -> None:
        await ws.accept()
        while True:
            await ws.send_text(await ws.receive_text())

    return app


class Front:
    """Accepts connections and passes each on, as a master does."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.setblocking(False)
        self.port = self._listening.getsockname()[1]
        self.passed = 0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        with self._listening:
            while True:
                connection, _ = await loop.sock_accept(self._listening)
                with connection:
                    socket.send_fds(self._line, [PASSED], [connection.fileno()])
                self.passed += 1


@asynccontextmanager
async def behind_a_front() -> AsyncIterator[Front]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    started = asyncio.Event()
    server = Server(small_app(), started.set)
    server.take_from(theirs)
    serving = asyncio.create_task(server.serve([]))
    await started.wait()
    front = Front(ours)
    fronting = asyncio.create_task(front.run())
    try:
        yield front
    finally:
        fronting.cancel()
        ours.close()
        # The end of the line is the end of the server.
        await asyncio.wait_for(serving, 60)
        theirs.close()


async def hung_up(reader: asyncio.StreamReader) -> bool:
    try:
        return await asyncio.wait_for(reader.read(), 30) == b""
    except ConnectionError:
        return True


async def test_a_connection_is_kept_for_several_requests() -> None:
    async with behind_a_front() as front, httpx.AsyncClient(timeout=60) as http:
        for _ in range(5):
            answer = await http.get(f"http://127.0.0.1:{front.port}/hello")
            assert answer.json() == {"hello": "you"}
            assert "server" not in answer.headers
        assert front.passed == 1


async def test_a_web_socket_is_opened_on_a_connection_that_was_passed_on() -> None:
    async with behind_a_front() as front, connect(f"ws://127.0.0.1:{front.port}/echo") as ws:
        for word in ("one", "two"):
            await ws.send(word)
            assert await ws.recv() == word


async def test_many_connections_at_once() -> None:
    async with behind_a_front() as front:
        limits = httpx.Limits(max_connections=200)
        async with httpx.AsyncClient(limits=limits, timeout=60) as http:
            url = f"http://127.0.0.1:{front.port}/hello"
            answers = await asyncio.gather(*(http.get(url) for _ in range(200)))
        assert {answer.status_code for answer in answers} == {200}
        assert front.passed >= 50


async def test_what_is_no_http_is_refused_in_the_one_shape() -> None:
    async with behind_a_front() as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"NONSENSE\r\n\r\n")
        head, _, body = (await asyncio.wait_for(reader.read(), 30)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b"x-frame-options: DENY" in head
        assert json.loads(body)["error"]["code"] == "bad_request"
        writer.close()


async def test_a_head_without_end_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEAD_S", 120)
    async with behind_a_front() as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"GET /hello HTTP/1.1\r\n" + b"X-More: " + b"x" * (module.MOST_HEAD_BYTES + 1))
        assert await hung_up(reader)
        writer.close()


async def test_a_head_that_does_not_come_in_time_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "HEAD_S", 0.1)
    async with behind_a_front() as front:
        reader, writer = await asyncio.open_connection("127.0.0.1", front.port)
        writer.write(b"GET /hello HTTP/1.1\r\nHost: x\r\n")
        assert await hung_up(reader)
        writer.close()
