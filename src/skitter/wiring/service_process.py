"""The process of the service: started, watched, started again when it ends, and stopped.

It gets its connections from this process: either the socket to accept them from, or one by one as
they are handed over. What it is to do comes on its standard input, because it holds secrets.
"""

import asyncio
import json
import logging
import signal
import socket
from collections import deque
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress

import msgspec

from skitter.cluster.crew import ending
from skitter.errors import ConfigError, SkitterError
from skitter.wiring.service import ServiceOptions
from skitter.wiring.service_child import ServiceChild

FIRST_WAIT_S = 0.2
LONGEST_WAIT_S = 10.0
CALM_S = 60.0
"""A process that lasted this long is started anew at once."""
STOP_S = 8.0
READY = b"r"
"""What the process says on its line when it takes connections."""
PASSED = b"c"
"""What goes with a connection."""
MOST_WAITING = 1_000
"""Connections that wait for the process to take them."""
RETRY_S = 2

log = logging.getLogger(__name__)


class ServiceProcess:
    """One process, over all the times it is started."""

    def __init__(
        self,
        options: ServiceOptions,
        listening: socket.socket | None = None,
        first: ServiceChild | None = None,
    ) -> None:
        self._options = options
        self._first = first
        """A process that was started before; None starts the first one here."""
        self._listening = listening
        """Where it accepts connections itself; None when they are handed over."""
        self._child: ServiceChild | None = None
        self._was_ready = False
        self._line: socket.socket | None = None
        self._waiting: deque[socket.socket] = deque()
        self._stopping = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None
        self._store_is_open = asyncio.Event()
        self.ready = asyncio.Event()
        """Set while the process takes connections."""

    @property
    def pid(self) -> int | None:
        """The process at work, if there is one."""
        return self._child.pid if self._child is not None else None

    def begin(self) -> None:
        """Let the process come to the store, which is open now; it loads itself before."""
        self._store_is_open.set()

    def start(self) -> None:
        """Begin to keep the process going."""
        self._keeping = asyncio.create_task(self._keep())

    async def run(self) -> None:
        """Return when the process was stopped; raises when it cannot work."""
        assert self._keeping is not None
        await asyncio.shield(self._keeping)

    async def until_ready(self) -> None:
        """Return when the process takes connections; raises when it cannot work."""
        assert self._keeping is not None
        ready = asyncio.create_task(self.ready.wait())
        try:
            await asyncio.wait((ready, self._keeping), return_when=asyncio.FIRST_COMPLETED)
            if self._keeping.done():
                self._keeping.result()
        finally:
            ready.cancel()

    async def _keep(self) -> None:
        wait_s = FIRST_WAIT_S
        clock = asyncio.get_running_loop().time
        while not self._stopping.is_set():
            started = clock()
            code = await self._live()
            if self._stopping.is_set():
                return
            if code == 2 and not self._was_ready:
                raise ConfigError("the service refuses to work; it has said why above")
            if clock() - started > CALM_S:
                wait_s = FIRST_WAIT_S
            log.warning("the service ended (%s); again in %.1f s", ending(code), wait_s)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_s):
                    await self._stopping.wait()
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _live(self) -> int:
        """Start a process; return its exit code when it has ended."""
        self._child = child = self._first or ServiceChild()
        self._first = None
        self._line = child.line
        asyncio.get_running_loop().add_reader(child.line, self._hear)
        try:
            await self._store_is_open.wait()
            child.tell(msgspec.json.encode(self._options), self._listening)
            if self._stopping.is_set():
                child.send(signal.SIGTERM)
            return await child.ended()
        finally:
            self._hang_up()
            self._child = None

    def _hear(self) -> None:
        assert self._line is not None
        try:
            said = self._line.recv(16)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            said = b""
        if said == READY:
            self._was_ready = True
            self.ready.set()
            self._flush()
        elif not said:
            self._hang_up()

    def _hang_up(self) -> None:
        """Take note that the process takes no more connections."""
        self.ready.clear()
        line, self._line = self._line, None
        if line is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(line)
            loop.remove_writer(line)
            line.close()
        waiting, self._waiting = self._waiting, deque()
        for connection in waiting:
            turn_away(connection)

    def hand_over(self, connection: socket.socket) -> None:
        """Give the process a connection; without a process, say so and close it."""
        if not self.ready.is_set() or len(self._waiting) >= MOST_WAITING:
            turn_away(connection)
            return
        self._waiting.append(connection)
        self._flush()

    def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        assert self._line is not None
        while self._waiting:
            try:
                socket.send_fds(self._line, [PASSED], [self._waiting[0].fileno()])
            except (BlockingIOError, InterruptedError):
                loop.add_writer(self._line, self._flush)
                return
            except OSError:
                self._hang_up()
                return
            self._waiting.popleft().close()
        loop.remove_writer(self._line)

    async def stop(self) -> None:
        """Let requests in hand be answered, then end the process; idempotent."""
        self._stopping.set()
        self._store_is_open.set()
        if self._child is not None:
            self._child.send(signal.SIGTERM)
        if self._keeping is not None:
            _, late = await asyncio.wait((self._keeping,), timeout=STOP_S)
            if late:
                self.kill()

    async def close(self) -> None:
        """End the process, at once if it was not asked to; idempotent."""
        self.kill()
        if self._keeping is not None:
            with suppress(SkitterError):
                await self._keeping

    def kill(self) -> None:
        """End the process at once; idempotent."""
        self._stopping.set()
        self._store_is_open.set()
        if self._child is not None:
            self._child.send(signal.SIGKILL)


def start_service(
    stack: AsyncExitStack,
    options: ServiceOptions,
    listening: socket.socket | None = None,
    first: ServiceChild | None = None,
) -> ServiceProcess:
    """Start the process; the stack ends it at the latest."""
    service = ServiceProcess(options, listening, first)
    service.start()
    stack.push_async_callback(service.close)
    return service


def turn_away(connection: socket.socket) -> None:
    """Answer that the service is away for a moment, whatever was asked, and hang up."""
    with suppress(OSError):
        # What lies unread when a connection is closed would take the answer with it.
        connection.recv(1 << 16)
        connection.send(AWAY)
        connection.shutdown(socket.SHUT_WR)
    connection.close()


def _away() -> bytes:
    error = {"code": "unavailable", "message": "the service is starting; ask again", "field": None}
    body = json.dumps({"error": error}).encode()
    head: Sequence[str] = (
        "HTTP/1.1 503 Service Unavailable",
        f"Retry-After: {RETRY_S}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "X-Content-Type-Options: nosniff",
        "Cache-Control: no-store",
        "Connection: close",
    )
    return "\r\n".join([*head, "", ""]).encode() + body


AWAY = _away()
