"""``Client``: every call of the REST API as a function that waits for its answer.

with Client("http://127.0.0.1:8440", token=...) as client:
    job = client.add_job({"id": "news", "entries": ["https://example.com/"]})
    for page in client.job_pages(job.id):
        ...
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import count
from typing import Self

import httpx

from skitter.client.answers import Absence, Patience, nobody, read_answer, refusal
from skitter.client.calls.base import Answer, Call, Page, Row
from skitter.client.calls.events import LAST_EVENT_ID
from skitter.client.connection import Access
from skitter.client.events import Event
from skitter.client.sse import EventReader
from skitter.client.verbs import Verbs, Waiting
from skitter.errors import ApiError


class Client(Verbs, Waiting):
    """A service, spoken to by one thread; ``http.AsyncClient`` has the same methods to await."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 30.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._access = Access(url=url, token=token, timeout=timeout, patience=Patience(retries))
        # A proxy of the environment is meant for the web, not for the own service.
        self._http = httpx.Client(transport=transport, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections."""
        self._http.close()

    def send(self, call: Call[Answer]) -> Answer:
        """Send a call until there is an answer to go by; raises ApiError for any other."""
        request = self._access.request(call)
        for attempt in count():
            try:
                response = self._http.send(request)
            except httpx.TransportError as fault:
                pause = self._access.patience.after_fault(call, attempt, fault)
                if pause is None:
                    raise nobody(request.url, fault) from fault
            else:
                pause = self._access.patience.after_answer(call, attempt, response)
                if pause is None:
                    return read_answer(call, response)
            time.sleep(pause)
        raise AssertionError  # counting does not end

    def join(
        self, calls: Sequence[Call[Answer]], join: Callable[[Sequence[Answer]], Answer]
    ) -> Answer:
        """Send calls one after the other; return their answers as one."""
        return join([self.send(call) for call in calls])

    def every(
        self, call: Call[Page], rows: Callable[[Page], list[Row]]
    ) -> Generator[Row, None, None]:
        """Yield the rows of a list, asking for page after page."""
        while True:
            page = self.send(call)
            yield from rows(page)
            if page.next is None:
                return
            call = call.following(page.next)

    def hear(self, call: Call[None]) -> Generator[Event, None, None]:
        """Yield what happens, for ever; after a break it goes on where it was.

        Raises ApiAway when the service stays away.
        """
        reader, absence = EventReader(call.headers.get(LAST_EVENT_ID)), Absence()
        while True:
            try:
                with closing(self._listen(call, reader)) as heard:
                    for event in heard:
                        absence.ended()
                        yield event
            except (httpx.TransportError, ApiError) as fault:
                absence.goes_on(self._access.url, fault)
            reader.broken()
            time.sleep(absence.pause(reader.retry_s))

    def _listen(self, call: Call[None], reader: EventReader) -> Generator[Event, None, None]:
        request = self._access.listening(call, reader.last_id)
        response = self._http.send(request, stream=True)
        try:
            if not response.is_success:
                response.read()
                raise refusal(response)
            for line in response.iter_lines():
                event = reader.feed(line)
                if event is not None:
                    yield event
        finally:
            response.close()
