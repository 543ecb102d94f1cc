"""The answer to somebody who listens: one that does not end.

It speaks to the server directly. A response that is made of an iterator would cost a listener
several tasks, and each message several turns of the loop.
"""

import asyncio

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from skitter.api.live.filters import Filter
from skitter.api.live.hub import EventHub
from skitter.api.live.listener import Listener
from skitter.api.live.told import GREETING, HEARTBEAT

HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-store",
    # Else a proxy may keep messages back until it has a good many of them.
    "X-Accel-Buffering": "no",
}


class EventStream(Response):
    """Events that pass a filter, until the listener goes or the service ends."""

    def __init__(self, hub: EventHub, wanted: Filter, after: str = "") -> None:
        super().__init__(headers=HEADERS)
        del self.headers["content-length"]
        self._hub = hub
        self._filter = wanted
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with what happens, as it happens."""
        del scope
        async with self._hub.listen(self._filter, self._after) as listener:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            await send({"type": "http.response.body", "body": GREETING, "more_body": True})
            gone = asyncio.create_task(_gone(receive))
            gone.add_done_callback(lambda _: listener.wake())
            try:
                await self._tell(listener, gone, send)
            finally:
                gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, listener: Listener, gone: asyncio.Task[None], send: Send) -> None:
        while True:
            await listener.wait()
            if gone.done() or self._hub.is_closed:
                return
            data = self._hub.take(listener).data
            if not data and listener.is_behind:
                # It has been told as much as it may be told in a second.
                continue
            data = data or HEARTBEAT
            await send({"type": "http.response.body", "body": data, "more_body": True})


async def _gone(receive: Receive) -> None:
    """Wait until the listener has hung up."""
    while (await receive())["type"] != "http.disconnect":
        pass
