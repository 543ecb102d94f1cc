"""A web without end on many loopback addresses: page n links to 2n + 1 and 2n + 2."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

_LINKS = '<a href="/p/{0}">one</a> <a href="/p/{1}">two</a>'
_TEXT = "<p>" + "Rain falls on the hills and runs down to the sea. " * 30 + "</p>"
_PAGE = "<!doctype html><html><head><title>Page {n}</title></head><body>{links}{text}</body></html>"
_MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class EndlessWeb:
    """Counts what is asked of it."""

    def __init__(self) -> None:
        self.port = 0
        self.pages = 0
        self.open: set[asyncio.Transport] = set()

    def entries(self, hosts: int) -> list[str]:
        """Return the first page of so many hosts."""
        return [
            f"http://127.0.{n // 250}.{n % 250 + 1}:{self.port}/p/0" for n in range(1, hosts + 1)
        ]

    def answer(self, path: str) -> bytes:
        """Return the answer to a request for a path."""
        name = path.removeprefix("/p/")
        if name == path or not name.isdecimal():
            return _MISSING
        self.pages += 1
        n = int(name)
        links = _LINKS.format(2 * n + 1, 2 * n + 2)
        body = _PAGE.format(n=n, links=links, text=_TEXT).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


class _Connection(asyncio.Protocol):
    def __init__(self, web: EndlessWeb) -> None:
        self._web = web
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Those of uvloop are not of the class.
        self._transport = cast("asyncio.Transport", transport)
        self._web.open.add(self._transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._web.open.discard(self._transport)

    def data_received(self, data: bytes) -> None:
        self._head += data
        while b"\r\n\r\n" in self._head:
            head, _, self._head = self._head.partition(b"\r\n\r\n")
            self._transport.write(self._web.answer(head.split(b" ", 2)[1].decode("latin-1")))


@asynccontextmanager
async def endless_web() -> AsyncIterator[EndlessWeb]:
    """Serve it on every address of this machine's loopback."""
    web = EndlessWeb()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(web), "0.0.0.0", 0, backlog=1_024)
    web.port = server.sockets[0].getsockname()[1]
    try:
        yield web
    finally:
        server.close()
        for transport in web.open:
            transport.abort()
        await asyncio.sleep(0.01)
