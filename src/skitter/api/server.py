"""uvicorn, given its connections by another process or by a socket that is open already."""

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from skitter.api.errors import problem
from skitter.api.headers import ALWAYS
from skitter.api.herald import let_go

HEAD_S = 10.0
"""How long the head of a request may take to come."""
MOST_HEAD_BYTES = 64 << 10
IDLE_S = 75
"""How long an unused connection is kept."""
STOP_S = 4
"""How long requests in hand may take when the process is told to end."""
TAKES = 64
"""Connections taken over at a time."""

log = logging.getLogger(__name__)


class _Bounded(HttpToolsProtocol):
    """HTTP on one connection, with bounds to the head of a request: its size, and its time."""

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._head_bytes = 0
        self._in_head = True
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._deadline is None:
                self._expect_head()
        super().data_received(data)
        if self._in_head and self._head_bytes > MOST_HEAD_BYTES:
            self._refuse()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._settle()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        # The next one has its own bounds, from its first byte on.
        self._in_head = True

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the shape of every error."""
        refusal = problem(400, msg, headers={**ALWAYS, "Connection": "close"})
        head = (*self.server_state.default_headers, *refusal.raw_headers)
        lines = [b"HTTP/1.1 400 Bad Request", *(b": ".join(pair) for pair in head)]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(refusal.body)]))
        self.transport.close()

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_S, self._refuse)

    def _settle(self) -> None:
        self._head_bytes = 0
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self) -> None:
        self._settle()
        if not self.transport.is_closing():
            self.transport.abort()


class Server(uvicorn.Server):
    """Serves an app on connections that are handed over, or on a socket."""

    def __init__(self, app: FastAPI, on_start: Callable[[], object]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=_Bounded,
                ws="websockets-sansio",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=IDLE_S,
                timeout_graceful_shutdown=STOP_S,
                ws_max_size=1 << 20,
            )
        )
        self._app = app
        self._on_start = on_start
        self._adopting: set[asyncio.Task[None]] = set()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """End in good order when told to, and leave the signal at that."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end)
        yield

    def _end(self) -> None:
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and tell so."""
        await super().startup(sockets)
        self._on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, once those who listen are told so."""
        let_go(self._app)
        await super().shutdown(sockets)

    def take_from(self, line: socket.socket) -> None:
        """Take every connection that comes over ``line``; the end of it is the end of this."""
        line.setblocking(False)
        loop = asyncio.get_running_loop()
        loop.add_reader(line, self._take, line)

    def _take(self, line: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        for _ in range(TAKES):
            try:
                said, fds, _, _ = socket.recv_fds(line, 16, 8)
            except (BlockingIOError, InterruptedError):
                return
            except OSError:
                said, fds = b"", []
            if not said:
                loop.remove_reader(line)
                self.should_exit = True
                return
            for fd in fds:
                task = loop.create_task(self._adopt(socket.socket(fileno=fd)))
                self._adopting.add(task)
                task.add_done_callback(self._adopting.discard)

    async def _adopt(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        connection.setblocking(False)
        try:
            await loop.connect_accepted_socket(self._protocol, connection)
        except OSError as error:
            log.debug("a connection was gone before it could be taken: %s", error)
            connection.close()

    def _protocol(self) -> _Bounded:
        return _Bounded(self.config, self.server_state, self.lifespan.state)
