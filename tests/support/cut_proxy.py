"""A line to a server of this machine that can be cut."""

import asyncio
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self

from stores import HOST, free_port


class CutProxy:
    """A line to a server of this machine that can be cut, held up and healed.

    It begins whole. ``url`` is the server's with the line's port.
    """

    def __init__(self, server_port: int) -> None:
        self.port = free_port()
        self._server_port = server_port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._open = asyncio.Event()
        self._delay = 0.0
        self._listener: asyncio.Server | None = None
        self._pumps: set[asyncio.Task[None]] = set()
        self.heal()

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/"

    def cut(self) -> None:
        """Break all connections and refuse new ones."""
        self._do(self._cut())

    def hang(self) -> None:
        """Accept connections and keep those there are, but pass nothing on."""
        self._do(self._set(flowing=False))

    def slow(self, seconds: float) -> None:
        """Pass everything on, later."""
        self._do(self._set(flowing=True, delay=seconds))

    def heal(self) -> None:
        """Pass everything on at once, also what was held up."""
        self._do(self._set(flowing=True))

    def close(self) -> None:
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, step: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(step, self._loop).result(30)

    async def _set(self, *, flowing: bool, delay: float = 0.0) -> None:
        if self._listener is None:
            self._listener = await asyncio.start_server(self._connected, HOST, self.port)
        self._delay = delay
        if flowing:
            self._open.set()
        else:
            self._open.clear()

    async def _cut(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        pumps = list(self._pumps)
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            to_server = await asyncio.open_connection(HOST, self._server_port)
        except OSError:
            writer.transport.abort()
            return
        for source, sink in ((reader, to_server[1]), (to_server[0], writer)):
            pump = self._loop.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65_536):
                await asyncio.sleep(self._delay)
                await self._open.wait()
                sink.write(data)
                await sink.drain()
        except OSError:
            pass
        finally:
            sink.transport.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
