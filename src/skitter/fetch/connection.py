"""One HTTP/1.1 connection to one origin, one exchange at a time.

What arrives while nothing was asked closes the connection, so that no answer is ever taken for
another URL's.
"""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

from skitter.errors import FetchError
from skitter.fetch.exchange import Answer, Exchange
from skitter.fetch.faults import answer_fault
from skitter.fetch.stream import ConsumerFault
from skitter.fetch.wire import Origin

_Given = TypeVar("_Given")


class StaleConnection(Exception):
    """A connection that had waited for work turned out closed before a byte of the answer came."""


class HttpConnection(asyncio.Protocol):
    """The protocol side of a socket. Whoever owns it calls ``expire`` when ``due`` has passed."""

    __slots__ = (
        "_exchange",
        "_on_lost",
        "_total_due",
        "_transport",
        "_waiter",
        "address",
        "counted",
        "due",
        "idle_since",
        "is_open",
        "origin",
        "place",
        "used",
        "waited_s",
    )

    def __init__(self, origin: Origin, on_lost: Callable[["HttpConnection"], None]) -> None:
        self.origin = origin
        self.address = ""
        self.is_open = False
        self.used = 0
        self.idle_since = 0.0
        self.counted = False
        """Whether its address has a gate that minds it."""
        self.place = ""
        """The address at whose gate it has been let in, until its request has ended."""
        self.waited_s = 0.0
        """How long that took before there was a connection."""
        self.due = 0.0
        self._total_due = 0.0
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._waiter: asyncio.Future[Answer] | None = None

    async def ask(
        self, head: bytes, exchange: Exchange, *, first_due: float, total_due: float
    ) -> Answer:
        """Send a request and return its answer; a connection serves one ``ask`` at a time."""
        transport = self._transport
        if transport is None or transport.is_closing():
            self.abort()
            raise StaleConnection
        waiter: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiter = waiter
        self._exchange = exchange
        self._total_due = total_due
        self.due = min(first_due, total_due)
        self.used += 1
        transport.write(head)
        try:
            return await waiter
        finally:
            self._exchange = None
            if self._waiter is not None:
                # Cancelled: the answer may still come and must not meet the next request.
                self._waiter = None
                self.abort()

    def abort(self) -> None:
        """Close at once; idempotent."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def expire(self) -> None:
        """Take the passing of ``due``."""
        exchange = self._exchange
        if exchange is not None and self._waiter is not None:
            self._step(exchange, exchange.expire, self.due >= self._total_due)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start; called by the event loop."""
        self._transport = cast("asyncio.Transport", transport)
        self.is_open = True
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if peer else ""

    def data_received(self, data: bytes) -> None:
        """Take bytes; called by the event loop."""
        exchange = self._exchange
        if exchange is None or self._waiter is None:
            self.abort()
            return
        if not exchange.received:
            self.due = self._total_due
        self._step(exchange, exchange.feed, data)
        if exchange.stream is not None and exchange.stream.full is not None:
            self._pause(exchange.stream.full)

    def _pause(self, full: asyncio.Future[None]) -> None:
        """Read no more until whoever takes the body has room."""
        transport = self._transport
        if self._waiter is None or transport is None or full.done():
            return
        transport.pause_reading()
        full.add_done_callback(lambda _: self._resume())

    def _resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Take the end; called by the event loop."""
        self.is_open = False
        self._transport = None
        self._on_lost(self)
        exchange, waiter = self._exchange, self._waiter
        if exchange is None or waiter is None:
            return
        if not exchange.received and self.used > 1:
            self._waiter = None
            if not waiter.done():
                waiter.set_exception(StaleConnection())
            return
        self._step(exchange, exchange.end, exc)

    def _step(
        self, exchange: Exchange, take: Callable[[_Given], Answer | None], given: _Given
    ) -> None:
        waiter = self._waiter
        assert waiter is not None
        fault: FetchError | ConsumerFault | None = None
        answer: Answer | None = None
        try:
            answer = take(given)
            if answer is None:
                return
        except FetchError as exc:
            fault = exc
        except ConsumerFault as exc:
            fault = exc
            exchange.reusable = False
        # An event loop swallows what its callbacks raise: the request would hang for ever.
        except Exception as exc:  # noqa: BLE001
            fault = answer_fault(exchange.url, exc)
        self._waiter = None
        if not exchange.reusable:
            self.abort()
        if waiter.done():
            return
        if answer is not None:
            waiter.set_result(answer)
        elif fault is not None:
            waiter.set_exception(fault)
