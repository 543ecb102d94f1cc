"""The HTTP server around ``RemoteServer``: a TCP address for a token, a local socket for nothing.

On the network nothing of a request but its head is read before the token is known to be right, and
whoever does not show it in time is hung up on (``door.py``).

Everything about sessions and verbs is in the core, so that another HTTP server can stand here.
"""

import asyncio
import errno
import json
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from skitter.errors import ConfigError
from skitter.frontier.remote.address import ShortPath
from skitter.frontier.remote.door import MOST_STRANGERS, STRANGER_S, Door
from skitter.frontier.remote.reception import HandOver, Reception
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.wire import MAX_BODY_BYTES, PATH, SESSION_HEADER

CLOSE_S = 1.0
"""How long a connection may take to end when its last answer is out."""
IDLE_S = 75.0
"""How long an unused connection is kept: longer than a child does."""
BACKLOG = 128

Handler = Callable[[web.Request], Awaitable[web.Response]]


class RemoteShell:
    """Serves a core on a TCP address, on a local socket, or on both."""

    def __init__(
        self,
        core: RemoteServer,
        *,
        tcp: tuple[str, int] | None = None,
        socket_path: Path | None = None,
        hand_over: HandOver | None = None,
        stranger_s: float = STRANGER_S,
        most_strangers: int = MOST_STRANGERS,
    ) -> None:
        if tcp is None and socket_path is None:
            raise ConfigError("a master needs an address or a socket to be reached by")
        if tcp is not None and not core.guarded:
            raise ConfigError(
                f"address {tcp[0]}:{tcp[1]}: a master on the network needs a token; set one"
            )
        self._core = core
        self._tcp = tcp
        self._path = socket_path
        self._hand_over = hand_over
        """Takes connections to the TCP address that want something else; None has them all."""
        self._stranger_s = stranger_s
        self._most_strangers = most_strangers
        self._door: Door | None = None
        self._listening: asyncio.Server | Reception | None = None
        self._runners: list[web.AppRunner] = []
        self._has_socket = False
        self.port = 0
        """The TCP port that is listened on; 0 when there is none."""

    async def open(self) -> None:
        """Listen; raises ``ConfigError`` when the address cannot be had."""
        await self._core.open()
        try:
            if self._tcp is not None:
                listening = listen_tcp(*self._tcp)
                self.port = listening.getsockname()[1]
                await self._serve_strangers(listening)
            if self._path is not None:
                listening = _listen_unix(self._path)
                self._has_socket = True
                runner = await self._runner(self._answer_local)
                await web.SockSite(runner, listening, backlog=BACKLOG).start()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Let running calls end, then hang up; idempotent."""
        await self._core.close()
        if self._listening is not None:
            self._listening.close()
            self._listening = None
        runners, self._runners = self._runners, []
        for runner in runners:
            await runner.cleanup()
        if self._path is not None and self._has_socket:
            self._has_socket = False
            with suppress(OSError):
                self._path.unlink()

    @property
    def strangers(self) -> int:
        """How many connections have not shown the token."""
        return self._door.strangers if self._door is not None else 0

    async def _runner(
        self,
        answer: Handler,
        expect: Callable[[web.Request], Awaitable[web.Response | None]] | None = None,
    ) -> web.AppRunner:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_post(PATH + "{verb}", answer, expect_handler=expect)
        runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=CLOSE_S,
            keepalive_timeout=IDLE_S,
            lingering_time=CLOSE_S,
        )
        self._runners.append(runner)
        await runner.setup()
        return runner

    async def _serve_strangers(self, listening: socket.socket) -> None:
        """Serve an address that anybody may connect to."""
        try:
            runner = await self._runner(self._answer_guarded, self._expect)
            server = runner.server
            assert server is not None
            self._door = Door(server, patience_s=self._stranger_s, most=self._most_strangers)
            await self._let_in(listening, self._door)
        except BaseException:
            listening.close()
            raise

    async def _let_in(self, listening: socket.socket, door: Door) -> None:
        if self._hand_over is None:
            loop = asyncio.get_running_loop()
            self._listening = await loop.create_server(door, sock=listening, backlog=BACKLOG)
            return
        patience_s, most = self._stranger_s, self._most_strangers
        self._listening = reception = Reception(
            listening, door, self._hand_over, patience_s=patience_s, most=most
        )
        reception.open()

    async def _answer_guarded(self, request: web.Request) -> web.Response:
        if not self._is_admitted(request):
            return _unauthorised()
        assert self._door is not None
        transport = request.transport
        self._door.admit(transport)
        try:
            return await self._answer(request)
        finally:
            self._door.part(transport)

    async def _expect(self, request: web.Request) -> web.Response | None:
        """Ask for a body that a client has announced, unless the token is wrong."""
        if not self._is_admitted(request):
            return _unauthorised()
        if request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return None

    def _is_admitted(self, request: web.Request) -> bool:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._core.admits(token.strip())

    async def _answer_local(self, request: web.Request) -> web.Response:
        return await self._answer(request, local=True)

    async def _answer(self, request: web.Request, *, local: bool = False) -> web.Response:
        try:
            body = await request.read()
        except web.HTTPRequestEntityTooLarge:
            return _error(413, "too_large", f"more than {MAX_BODY_BYTES} bytes", None)
        session = request.headers.get(SESSION_HEADER, "")
        answer = await self._core.handle(request.match_info["verb"], session, body, local=local)
        return web.Response(body=answer, content_type="application/msgpack")


def _unauthorised() -> web.Response:
    refusal = _error(401, "unauthorized", "the token is missing or wrong", "Authorization")
    refusal.headers["WWW-Authenticate"] = "Bearer"
    refusal.force_close()
    return refusal


def _error(status: int, code: str, message: str, field: str | None) -> web.Response:
    said = {"error": {"code": code, "message": message, "field": field}}
    return web.Response(status=status, text=json.dumps(said), content_type="application/json")


def listen_tcp(host: str, port: int) -> socket.socket:
    """Listen on an address; raises ``ConfigError`` when it cannot be had."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except BaseException:
            listening.close()
            raise
    except OSError as error:
        raise ConfigError(f"address {host}:{port}: {error.strerror or error}") from error
    return listening


def _listen_unix(path: Path) -> socket.socket:
    """Listen on a socket that is this user's alone before anybody can connect to it."""
    try:
        place = ShortPath(path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            _remove_left_over(path, place.path)
            listening.bind(place.path)
            path.chmod(0o600)
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except BaseException:
            listening.close()
            raise
        finally:
            place.close()
    except OSError as error:
        raise ConfigError(f"socket {path}: {error.strerror or error}") from error
    return listening


def _remove_left_over(path: Path, short: str) -> None:
    """Remove the socket of a process that is gone."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        failed = probe.connect_ex(short)
    if failed == 0:
        raise ConfigError(f"socket {path}: another process answers there; wanted a free one")
    if failed == errno.ECONNREFUSED:
        path.unlink()
