"""A way to an ASGI application in this process that passes its answer on as it comes.

The one that comes with httpx waits for the end of an answer, which a stream of events has not.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any

import httpx

_WAITING = 16
"""Pieces of an answer that nobody has taken yet, before the application has to wait."""

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class AppTransport(httpx.AsyncBaseTransport):
    """Sends requests to an application as if they came from ``client``."""

    def __init__(self, app: App, client: tuple[str, int] = ("127.0.0.1", 0)) -> None:
        self._app = app
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer once it has begun."""
        exchange = _Exchange(await request.aread())
        exchange.begin(self._app, self._scope(request))
        try:
            start = await exchange.next()
        except BaseException:
            await exchange.aclose()
            raise
        return httpx.Response(start["status"], headers=start["headers"], stream=exchange)

    def _scope(self, request: httpx.Request) -> Message:
        url = request.url
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.split(b"?")[0],
            "query_string": url.query,
            "server": (url.host, url.port or 80),
            "client": self._client,
            "root_path": "",
        }


class _Exchange(httpx.AsyncByteStream):
    """One request and its answer."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._messages = asyncio.Queue[Message | None](_WAITING)
        self._left = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def begin(self, app: App, scope: Message) -> None:
        self._task = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: App, scope: Message) -> None:
        try:
            await app(scope, self._receive, self._messages.put)
        finally:
            # Nobody waits for the end of an answer that was left.
            if not self._left.is_set():
                await self._messages.put(None)

    async def _receive(self) -> Message:
        body, self._body = self._body, None
        if body is not None:
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def next(self) -> Message:
        """Return the next message of the application; raise when it ended without one."""
        message = await self._messages.get()
        if message is None:
            raise httpx.RemoteProtocolError("the application ended before its answer did")
        return message

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = True
        while more:
            message = await self.next()
            yield message.get("body", b"")
            more = message.get("more_body", False)

    async def aclose(self) -> None:
        """Tell the application that its client has left, and end it."""
        self._left.set()
        if self._task is not None:
            self._task.cancel()
            # What went wrong in it is its own affair, and logged there.
            await asyncio.gather(self._task, return_exceptions=True)
