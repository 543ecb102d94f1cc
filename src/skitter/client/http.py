"""``AsyncClient``: every call of the REST API as a coroutine.

async with AsyncClient("http://127.0.0.1:8440", token=...) as client:
    job = await client.add_job({"id": "news", "entries": ["https://example.com/"]})
    async for page in client.job_pages(job.id):
        ...
    async for event in client.events(job=job.id):
        ...
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from itertools import count
from typing import Self

import httpx

from skitter.client.answers import Absence, Patience, nobody, read_answer, refusal
from skitter.client.calls.base import Answer, Call, Page, Row
from skitter.client.calls.events import LAST_EVENT_ID
from skitter.client.connection import Access
from skitter.client.events import Event
from skitter.client.sse import EventReader
from skitter.client.verbs import Awaiting, Verbs
from skitter.errors import ApiError


class AsyncClient(Verbs, Awaiting):
    """A service, spoken to by coroutines; ``blocking.Client`` has the same methods without."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._access = Access(url=url, token=token, timeout=timeout, patience=Patience(retries))
        # A proxy of the environment is meant for the web, not for the own service.
        self._http = httpx.AsyncClient(transport=transport, trust_env=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of all connections."""
        await self._http.aclose()

    async def send(self, call: Call[Answer]) -> Answer:
        """Send a call until there is an answer to go by; raises ApiError for any other."""
        request = self._access.request(call)
        for attempt in count():
            try:
                response = await self._http.send(request)
            except httpx.TransportError as fault:
                pause = self._access.patience.after_fault(call, attempt, fault)
                if pause is None:
                    raise nobody(request.url, fault) from fault
            else:
                pause = self._access.patience.after_answer(call, attempt, response)
                if pause is None:
                    return read_answer(call, response)
            await asyncio.sleep(pause)
        raise AssertionError  # counting does not end

    async def join(
        self, calls: Sequence[Call[Answer]], join: Callable[[Sequence[Answer]], Answer]
    ) -> Answer:
        """Send calls one after the other; return their answers as one."""
        return join([await self.send(call) for call in calls])

    async def every(
        self, call: Call[Page], rows: Callable[[Page], list[Row]]
    ) -> AsyncGenerator[Row, None]:
        """Yield the rows of a list, asking for page after page."""
        while True:
            page = await self.send(call)
            for row in rows(page):
                yield row
            if page.next is None:
                return
            call = call.following(page.next)

    async def hear(self, call: Call[None]) -> AsyncGenerator[Event, None]:
        """Yield what happens, for ever; after a break it goes on where it was.

        Raises ApiAway when the service stays away.
        """
        reader, absence = EventReader(call.headers.get(LAST_EVENT_ID)), Absence()
        while True:
            try:
                async with aclosing(self._listen(call, reader)) as heard:
                    async for event in heard:
                        absence.ended()
                        yield event
            except (httpx.TransportError, ApiError) as fault:
                absence.goes_on(self._access.url, fault)
            reader.broken()
            await asyncio.sleep(absence.pause(reader.retry_s))

    async def _listen(self, call: Call[None], reader: EventReader) -> AsyncGenerator[Event, None]:
        request = self._access.listening(call, reader.last_id)
        response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                await response.aread()
                raise refusal(response)
            async for line in response.aiter_lines():
                event = reader.feed(line)
                if event is not None:
                    yield event
        finally:
            await response.aclose()
