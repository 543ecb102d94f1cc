"""One answer, from the bytes of a connection: caps, refusals and broken HTTP, without any socket.

Bytes go in as they arrive; an ``Answer`` comes out, or a ``FetchError`` is raised. ``reusable``
tells whether every byte belonged to that answer, so that the connection may serve another URL.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from aiohttp import hdrs
from aiohttp.base_protocol import BaseProtocol
from aiohttp.http import HttpResponseParser, RawResponseMessage
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.streams import StreamReader
from multidict import CIMultiDictProxy

from skitter.errors import (
    BodyTooLarge,
    FetchError,
    HeadersTooLarge,
    ProtocolError,
    ReadTimeout,
    TotalTimeout,
    TypeRefused,
)
from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.faults import answer_fault, fault_text
from skitter.fetch.types import sniff, type_from_url, wanted_type

_Messages = Sequence[tuple[RawResponseMessage, StreamReader]]

_MAX_INTERIM: Final = 16
_DRAINED_BYTES: Final = 16 * 1024
_FRAMING_BYTES: Final = 64 * 1024
# The parser must never slow a body down: the cap ends it first.
_NO_PAUSE: Final = 1 << 30
# Heads are capped by their size alone.
_ANY_NUMBER: Final = 1 << 30
_HEAD_ENDS: Final = b"\r\n\r\n"
_CHUNKS_END: Final = b"0\r\n\r\n"
_BODILESS: Final = (204, 304)
_UNKNOWN: Final = -1


class Answer(NamedTuple):
    """What came back, as it came."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    truncated: bool


class _Unhurried:
    """What the parser's reader believes to be its connection; nothing is ever slowed down.

    One for all: an exchange that was its own reader's owner would be garbage in a cycle, and with
    it the body, until the collector comes round.
    """

    def pause_reading(self) -> None: ...

    def resume_reading(self, resume_parser: bool = True) -> None: ...


_OWNER: Final = _Unhurried()


class Exchange:
    """Reads the answer to one request."""

    __slots__ = (
        "_body",
        "_expected",
        "_interim",
        "_limits",
        "_loop",
        "_message",
        "_parser",
        "_payload",
        "_refusal",
        "_request",
        "_surplus",
        "doubtful",
        "received",
        "reusable",
        "url",
    )

    def __init__(
        self, request: Request, limits: FetchLimits, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.url = request.url
        self._request = request
        self._limits = limits
        self._loop = loop
        self._parser = self._new_parser()
        self._message: RawResponseMessage | None = None
        self._payload: StreamReader | None = None
        self._body: bytearray | None = None
        self._expected = _UNKNOWN
        self._interim = 0
        self._refusal: FetchError | None = None
        self._surplus = False
        self.doubtful = False
        """Neither the header nor the URL tells whether the type is wanted."""
        self.received = 0
        """Bytes that came, heads and framing included."""
        self.reusable = False

    def feed(self, data: bytes) -> Answer | None:
        """Take the next bytes; return the answer once it is complete."""
        self.received += len(data)
        try:
            return self._take(data)
        except FetchError as fault:
            return self._break_off(fault)

    def end(self, lost: Exception | None) -> Answer:
        """Take the end of the connection, ``lost`` by a fault or closed by the peer."""
        why = "connection closed" if lost is None else f"connection lost ({fault_text(lost)})"
        payload = self._payload
        if payload is None:
            where = "inside the headers" if self.received else "before the answer"
            raise ProtocolError(self.url, f"{why} {where}")
        if lost is None and not payload.is_eof():
            try:
                self._parser.feed_eof()
            except HttpProcessingError as exc:
                return self._break_off(answer_fault(self.url, exc))
        if not payload.is_eof():
            return self._break_off(ProtocolError(self.url, f"{why} inside the body"))
        try:
            return self._complete(payload, b"")
        except FetchError as fault:
            return self._break_off(fault)

    def expire(self, total: bool, /) -> Answer:
        """Give up waiting for the first byte or, with ``total``, for the end."""
        fault: FetchError
        if total or self.received:
            fault = TotalTimeout(self.url, f"not done within {self._limits.total_s:g} s")
        else:
            fault = ReadTimeout(self.url, f"no answer within {self._limits.first_byte_s:g} s")
        return self._break_off(fault)

    def _new_parser(self) -> HttpResponseParser:
        cap = self._limits.header_bytes
        return HttpResponseParser(
            cast("BaseProtocol", _OWNER),
            self._loop,
            _NO_PAUSE,
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=cap,
            max_field_size=cap,
            max_headers=_ANY_NUMBER,
        )

    def _take(self, data: bytes) -> Answer | None:
        messages: _Messages
        broken: HttpProcessingError | None = None
        try:
            messages, _, _ = self._parser.feed_data(data)
        except HttpProcessingError as exc:
            messages, broken = self._salvage(data), exc
        if messages:
            self._begin(messages, data)
        payload = self._payload
        if payload is not None and payload.is_eof():
            self._surplus = self._surplus or broken is not None
            return self._complete(payload, data)
        if broken is not None:
            raise answer_fault(self.url, broken) from broken
        if payload is not None:
            return self._grow(payload)
        if self.received > self._limits.header_bytes:
            raise self._headers_too_large()
        return None

    def _salvage(self, data: bytes) -> _Messages:
        """Read the head on its own: the parser forgets it when garbage follows at once."""
        ends = data.find(_HEAD_ENDS)
        if self._payload is not None or self.received > len(data) or ends < 0:
            return ()
        self._parser = self._new_parser()
        self._surplus = True
        messages: _Messages = ()
        ends += len(_HEAD_ENDS)
        try:
            messages, _, _ = self._parser.feed_data(data[:ends])
            self._parser.feed_data(data[ends:])
        except HttpProcessingError:
            pass
        return messages

    def _begin(self, messages: _Messages, data: bytes) -> None:
        for message, payload in messages:
            if self._message is not None:
                self._surplus = True
            elif message.code >= 200:
                self._open(message, payload, data)
            else:
                self._interim += 1
                if self._interim > _MAX_INTERIM or message.code == 101:
                    raise ProtocolError(self.url, f"unasked status {message.code}")

    def _open(self, message: RawResponseMessage, payload: StreamReader, data: bytes) -> None:
        before = self.received - len(data)
        ends = data.find(_HEAD_ENDS)
        head = before + ends + len(_HEAD_ENDS) if ends >= 0 else before
        # What was found may be an end inside the body, when the head's own is cut in two.
        if head > self._limits.header_bytes < _head_bytes(message):
            raise self._headers_too_large()
        self._message = message
        self._payload = payload
        length = _content_length(message)
        if ends >= 0 and not self._interim and not message.chunked:
            self._expected = head + (0 if message.code in _BODILESS else length)
        if message.code == 200 and self._request.accept_types:
            self._judge_type(message)
        if payload.is_eof():
            return
        if self._refusal is not None and not 0 < length <= _DRAINED_BYTES:
            raise self._refusal
        if length > self._limits.body_bytes and not self._request.cut_bytes:
            raise BodyTooLarge(self.url, f"Content-Length is {length} bytes")

    def _judge_type(self, message: RawResponseMessage) -> None:
        kind = message.headers.get(hdrs.CONTENT_TYPE)
        wanted = wanted_type(kind, self._request.accept_types)
        if wanted is None:
            kind = type_from_url(self.url)
            wanted = wanted_type(kind, self._request.accept_types)
        self.doubtful = wanted is None
        if wanted is False:
            self._refusal = type_refusal(self.url, kind or "")

    def _grow(self, payload: StreamReader) -> Answer | None:
        """Gather what came in one piece, so that a flood of tiny chunks does not pile up."""
        body = self._body
        if body is None:
            body = self._body = bytearray()
        body += payload.read_nowait()
        if self.doubtful and body and hdrs.CONTENT_ENCODING not in self._headers():
            self.check_sniffed(bytes(body[:1024]))
        cut = self._request.cut_bytes
        if cut and len(body) >= cut:
            return self._answer(truncated=True)
        cap = self._limits.body_bytes
        if len(body) > cap or self.received > 2 * cap + _FRAMING_BYTES:
            raise BodyTooLarge(self.url, f"more than {cap} bytes on the wire")
        return None

    def check_sniffed(self, body: bytes) -> None:
        """Judge a body by its first bytes where neither header nor URL told its type."""
        self.doubtful = False
        kind = sniff(body)
        if not wanted_type(kind, self._request.accept_types):
            raise type_refusal(self.url, kind)

    def _complete(self, payload: StreamReader, data: bytes) -> Answer:
        message = self._message
        assert message is not None
        self.reusable = not (message.should_close or self._surplus) and (
            self.received == self._expected
            or (bool(message.chunked) and not self._interim and data.endswith(_CHUNKS_END))
        )
        if self._refusal is not None:
            raise self._refusal
        cap = self._limits.body_bytes
        if payload.total_bytes > cap and not self._request.cut_bytes:
            raise BodyTooLarge(self.url, f"more than {cap} bytes on the wire")
        return self._answer(truncated=False)

    def _answer(self, *, truncated: bool) -> Answer:
        assert self._message is not None
        assert self._payload is not None
        body = self._payload.read_nowait()
        if self._body is not None:
            self._body += body
            body = bytes(self._body)
        return Answer(self._message.code, self._message.headers, body, truncated)

    def _break_off(self, fault: FetchError) -> Answer:
        """Return what there is where it is worth something, else raise ``fault``.

        A page that breaks off in the middle is. For any status but 200 the head is all that
        matters.
        """
        message = self._message
        if message is None:
            raise fault
        answer = self._answer(truncated=True)
        if message.code != 200:
            return answer._replace(body=answer.body[: self._limits.body_bytes])
        if answer.body and isinstance(fault, ProtocolError):
            return answer
        raise fault

    def _headers(self) -> CIMultiDictProxy[str]:
        assert self._message is not None
        return self._message.headers

    def _headers_too_large(self) -> HeadersTooLarge:
        return HeadersTooLarge(self.url, f"more than {self._limits.header_bytes} bytes of headers")


def _content_length(message: RawResponseMessage) -> int:
    value = message.headers.get(hdrs.CONTENT_LENGTH)
    # The parser has refused anything but digits.
    return int(value) if value is not None and value.isdecimal() else 0


def type_refusal(url: str, kind: str) -> TypeRefused:
    """Return the error for a body of an unwanted media type."""
    why = f"media type {kind[:80]!r} is not wanted"
    return TypeRefused(url, why, status=200, content_type=kind)


def _head_bytes(message: RawResponseMessage) -> int:
    fields = sum(len(name) + len(value) + 4 for name, value in message.raw_headers)
    return fields + len("HTTP/1.1 200 \r\n\r\n") + len(message.reason)
