"""The fetcher for http and https: one request, one answer, under caps.

aiohttp's client costs several times what its response parser costs. Only the parser is used here,
on connections of our own, which also gives the address guard, the caps and the reuse of
connections a place that nothing can slip past.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final

from skitter import __version__
from skitter.clock import Clock, SystemClock
from skitter.errors import DecodingError, FetchError, ProtocolError
from skitter.fetch.base import FetchLimits, Raw, Request, Response
from skitter.fetch.connection import HttpConnection, StaleConnection
from skitter.fetch.decode import ACCEPT_ENCODING, Decoded, decode
from skitter.fetch.dns import Resolver
from skitter.fetch.exchange import Answer, Exchange
from skitter.fetch.guard import AddressGuard
from skitter.fetch.pool import ConnectionPool, PoolOptions
from skitter.fetch.stream import ConsumerFault
from skitter.fetch.wire import Origins, RequestHead, plain_headers

DEFAULT_AGENT: Final = f"Skitter/{__version__}"
DEFAULT_ACCEPT: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


def default_headers(agent: str) -> dict[str, str]:
    """Return what every request says unless it says otherwise."""
    return {"User-Agent": agent, "Accept": DEFAULT_ACCEPT, "Accept-Encoding": ACCEPT_ENCODING}


def verified_tls() -> ssl.SSLContext:
    """Return a TLS client context that verifies certificates and speaks HTTP/1.1."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


# Reading the authorities' certificates takes longer than fetching a hundred pages.
_shared_tls = cache(verified_tls)


class HttpFetcher:
    """Fetches over connections of its own. It belongs to the event loop of its first fetch."""

    def __init__(
        self,
        limits: FetchLimits | None = None,
        *,
        resolver: Resolver | None = None,
        headers: Mapping[str, str] | None = None,
        pool: PoolOptions | None = None,
        tls: ssl.SSLContext | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._resolver = resolver or Resolver(AddressGuard())
        self._head = RequestHead(default_headers(DEFAULT_AGENT) if headers is None else headers)
        self._origins = Origins()
        self._now = (clock or SystemClock()).boot
        self._closed = False
        self.pool = ConnectionPool(
            self._resolver,
            _shared_tls if tls is None else lambda: tls,
            options=pool or PoolOptions(),
            now=self._now,
        )

    async def fetch(self, request: Request) -> Response:
        """Fetch ``request.url`` or raise a ``FetchError``; never follows a redirect."""
        if self._closed:
            raise FetchError(request.url, "the fetcher is closed")
        started = self._now()
        origin, target = self._origins.split(request.url)
        head = self._head.write(origin, target, request.url, request.headers)
        connection = self.pool.take(origin)
        if connection is not None:
            if connection.counted:
                began = self._now()
                await self.pool.enter(connection)
                started += self._now() - began
            try:
                return await self._ask(connection, request, head, started)
            except StaleConnection:
                # RFC 9112 §9.3.1: the peer may close an idle connection at any time.
                pass
        limits = request.limits or self._limits
        timeout_s = min(limits.connect_s, limits.total_s)
        connection = await self.pool.open(origin, request.url, timeout_s)
        started += connection.waited_s
        if self._closed:
            connection.abort()
        try:
            return await self._ask(connection, request, head, started)
        except StaleConnection as exc:
            raise ProtocolError(request.url, "connection closed before the answer") from exc

    async def close(self) -> None:
        """Close every connection; idempotent. Fetches at work fail."""
        self._closed = True
        self._resolver.close()
        await self.pool.close()

    async def _ask(
        self, connection: HttpConnection, request: Request, head: bytes, started: float
    ) -> Response:
        """Make the request; whatever comes of it, the next one is let in at the gate."""
        try:
            if request.ready is not None:
                began = self._now()
                await self._get_ready(connection, request.ready)
                started += self._now() - began
            return await self._exchange(connection, request, head, started)
        finally:
            self.pool.leave(connection)

    async def _get_ready(
        self, connection: HttpConnection, ready: Callable[[], Awaitable[None]]
    ) -> None:
        try:
            await ready()
        except BaseException:
            self.pool.give_back(connection)
            raise

    async def _exchange(
        self, connection: HttpConnection, request: Request, head: bytes, started: float
    ) -> Response:
        if request.permit is not None:
            try:
                request.permit()
            except BaseException:
                connection.abort()
                raise
        limits = request.limits or self._limits
        exchange = Exchange(request, limits, asyncio.get_running_loop())
        first_due = self._now() + limits.first_byte_s
        answer = await self._answer(connection, exchange, head, first_due, started + limits.total_s)
        elapsed_ms = round((self._now() - started) * 1000)
        headers = plain_headers(answer.headers)
        stream = exchange.stream
        if stream is None:
            limits = exchange.limits
            body, short = _document(request, limits, answer, headers.get("content-encoding"))
            if exchange.doubt is not None and body:
                exchange.doubt.settle(body)
        else:
            body, short = b"", stream.cut != ""
        cut = answer.cut
        if short and not cut:
            cut = _why_short(request, limits, answer, body) if stream is None else stream.cut
        return Response(
            url=request.url,
            status=answer.status,
            headers=headers,
            body=body,
            wire_bytes=len(answer.body) if stream is None else exchange.wire_bytes,
            elapsed_ms=elapsed_ms,
            address=connection.address,
            truncated=short or answer.cut != "",
            raw=_raw(exchange, head, answer.cut) if request.keep_raw else None,
            cut=cut,
            sniffed="" if stream is None else stream.sniffed,
        )

    async def _answer(
        self,
        connection: HttpConnection,
        exchange: Exchange,
        head: bytes,
        first_due: float,
        total_due: float,
    ) -> Answer:
        """Return the answer when all that came of it is handed on, also before a fault."""
        answer: Answer | None = None
        raised: BaseException | None = None
        self.pool.watch(connection)
        try:
            answer = await connection.ask(head, exchange, first_due=first_due, total_due=total_due)
        except ConsumerFault as fault:
            raised = fault.raised
        except FetchError as fault:
            raised = fault
        finally:
            self.pool.unwatch(connection)
            self.pool.give_back(connection)
        if exchange.stream is not None:
            try:
                await exchange.stream.drain()
            except ConsumerFault as fault:
                raised = fault.raised
        if raised is not None:
            raise raised
        assert answer is not None
        return answer


def _raw(exchange: Exchange, head: bytes, cut: str) -> Raw | None:
    message = exchange.message()
    return None if message is None else Raw(head, *message, cut)


def _why_short(request: Request, limits: FetchLimits, answer: Answer, body: bytes) -> str:
    """Say why a document is short although all of the answer came."""
    if len(body) >= (request.cut_bytes or limits.body_bytes):
        return "length"
    # An error page that cannot be read is left out, but nothing of it is missing.
    return "disconnect" if body or answer.status == 200 else ""


def _document(request: Request, limits: FetchLimits, answer: Answer, coding: str | None) -> Decoded:
    cut = request.cut_bytes
    if not coding or not answer.body:
        if cut and len(answer.body) > cut:
            return Decoded(answer.body[:cut], truncated=True)
        return Decoded(answer.body, truncated=False)
    cap = cut or limits.body_bytes
    is_page = answer.status == 200
    try:
        return decode(answer.body, coding, url=request.url, cap=cap, cut=not is_page or cut > 0)
    except DecodingError:
        if is_page:
            raise
        return Decoded(b"", truncated=True)
