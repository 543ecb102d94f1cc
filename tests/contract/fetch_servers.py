"""A server that says exactly the bytes a test gives it, however wrong they are."""

import asyncio
import functools
import inspect
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

Test = Callable[..., Coroutine[Any, Any, None]]


def on_each_loop(test: Test) -> Callable[..., None]:
    """Turn an asynchronous test into two plain ones: on asyncio's own loop and on uvloop."""

    @functools.wraps(test)
    def plain(run: Callable[[Coroutine[Any, Any, None]], None], **fixtures: Any) -> None:
        run(test(**fixtures))

    signature = inspect.signature(test)
    chosen = inspect.Parameter("run", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [chosen, *signature.parameters.values()]
    plain.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    mark = pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
    marked: Callable[..., None] = mark(plain)
    return marked


@dataclass(slots=True, eq=False)
class Talk:
    """One request as the server got it, and the means to answer it."""

    path: str
    head: bytes
    connection: int
    """Which connection it came on, counted from 1."""
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """Close with a TCP reset, unsent data lost."""
        self.writer.transport.abort()

    async def until_closed(self) -> None:
        """Wait for the client to hang up."""
        while await self.reader.read(65536):
            pass


Script = Callable[[Talk], Awaitable[None]]


class Done(Exception):
    """Raised by a script to close the connection."""


def says(data: bytes, *, then_close: bool = False) -> Script:
    """Return a script that sends ``data`` and leaves the connection open, or closes it."""

    async def script(talk: Talk) -> None:
        await talk.send(data)
        if then_close:
            raise Done

    return script


def answer(
    body: bytes = b"", status: str = "200 OK", headers: Mapping[str, str] | None = None
) -> bytes:
    """Return a well-formed response."""
    fields = {"Content-Type": "text/html", "Content-Length": str(len(body))} | dict(headers or {})
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


@dataclass(slots=True, eq=False)
class RawServer:
    """Runs a script per path; other paths get a page that names them."""

    port: int
    scripts: dict[str, Script]
    heads: list[bytes] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    scheme: str = "http"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open_connections += 1
        number = self.connections
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                path = head.split(b" ", 2)[1].decode("latin-1")
                talk = Talk(path, head, number, writer, reader)
                await self.scripts.get(path, _own_page)(talk)
        except (Done, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()


async def _own_page(talk: Talk) -> None:
    await talk.send(answer(f"<p>page {talk.path}</p>".encode()))


@asynccontextmanager
async def raw_server(
    scripts: Mapping[str, Script], tls: ssl.SSLContext | None = None
) -> AsyncIterator[RawServer]:
    """Run a server on a free port of the loopback address."""
    state = RawServer(0, dict(scripts), scheme="https" if tls else "http")
    tasks: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(state.handle(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    state.port = server.sockets[0].getsockname()[1]
    try:
        yield state
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()
