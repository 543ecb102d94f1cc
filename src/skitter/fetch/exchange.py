"""One answer, from the bytes of a connection: caps, refusals and broken HTTP, without any socket.

Bytes go in as they arrive; an ``Answer`` comes out, or a ``FetchError`` is raised. ``reusable``
tells whether every byte belonged to that answer, so that the connection may serve another URL.
"""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Final, NamedTuple

from multidict import CIMultiDictProxy

from skitter.errors import (
    BodyTooLarge,
    FetchError,
    HeadersTooLarge,
    ProtocolError,
    ReadTimeout,
    TotalTimeout,
)
from skitter.fetch.aiohttp_parts import (
    HttpProcessingError,
    RawResponseMessage,
    StreamReader,
    hdrs,
)
from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.faults import answer_fault, fault_text, why_cut
from skitter.fetch.parser import BODILESS, body_length, content_length, head_bytes, new_parser
from skitter.fetch.refusal import TypeDoubt, judge_type
from skitter.fetch.stream import BodyStream
from skitter.fetch.tape import IN_CHUNKS, TO_THE_END, Message, Tape
from skitter.fetch.types import SNIFFED_BYTES, declared_type, wanted_type

_Messages = Sequence[tuple[RawResponseMessage, StreamReader]]

_MAX_INTERIM: Final = 16
_DRAINED_BYTES: Final = 16 * 1024
_FRAMING_BYTES: Final = 64 * 1024
_ERROR_BYTES: Final = 64 * 1024
"""Of a body that is no page where a stream was wanted, which nobody reads."""
_HEAD_ENDS: Final = b"\r\n\r\n"
_CHUNKS_END: Final = b"0\r\n\r\n"
_UNKNOWN: Final = -1


class Answer(NamedTuple):
    """What came back, as it came."""

    status: int
    headers: CIMultiDictProxy[str]
    body: bytes
    cut: str
    """Why the end is missing, in the words of ``Response.cut``; empty when all of it came."""


class Exchange:
    """Reads the answer to one request."""

    __slots__ = (
        "_body",
        "_expected",
        "_interim",
        "_loop",
        "_message",
        "_parser",
        "_payload",
        "_refusal",
        "_request",
        "_surplus",
        "_tape",
        "doubt",
        "limits",
        "received",
        "reusable",
        "stream",
        "url",
    )

    def __init__(
        self, request: Request, limits: FetchLimits, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.url = request.url
        self._request = request
        self.limits = limits
        """Caps of this answer; a body that is of no use has a low one."""
        self._loop = loop
        self._parser = new_parser(loop, limits.header_bytes)
        self._message: RawResponseMessage | None = None
        self._payload: StreamReader | None = None
        self._body: bytearray | None = None
        self._expected = _UNKNOWN
        self._interim = 0
        self._refusal: FetchError | None = None
        self._surplus = False
        self._tape = Tape() if request.keep_raw else None
        self.stream: BodyStream | None = None
        """Takes the body of this answer, when it is one to hand on."""
        self.doubt: TypeDoubt | None = None
        """Neither the header nor the URL tells whether the type is wanted."""
        self.received = 0
        """Bytes that came, heads and framing included."""
        self.reusable = False

    def feed(self, data: bytes) -> Answer | None:
        """Take the next bytes; return the answer once it is complete."""
        self.received += len(data)
        if self._tape is not None:
            self._tape.add(data)
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
            fault = TotalTimeout(self.url, f"not done within {self.limits.total_s:g} s")
        else:
            fault = ReadTimeout(self.url, f"no answer within {self.limits.first_byte_s:g} s")
        return self._break_off(fault)

    @property
    def wire_bytes(self) -> int:
        """Size of the body as it came, without framing."""
        return 0 if self._payload is None else self._payload.total_bytes

    def message(self) -> Message | None:
        """Return the answer's bytes as they came, when the request wants them kept."""
        message, payload = self._message, self._payload
        if self._tape is None or message is None or payload is None:
            return None
        length = body_length(message)
        if length == IN_CHUNKS and (self.reusable or not payload.is_eof()):
            # There is no surplus, or no last chunk to look for.
            length = TO_THE_END
        return self._tape.message(interim=self._interim, body_length=length)

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
        if self.received > self.limits.header_bytes:
            raise self._headers_too_large()
        return None

    def _salvage(self, data: bytes) -> _Messages:
        """Read the head on its own: the parser forgets it when garbage follows at once."""
        ends = data.find(_HEAD_ENDS)
        if self._payload is not None or self.received > len(data) or ends < 0:
            return ()
        self._parser = new_parser(self._loop, self.limits.header_bytes)
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
        if head > self.limits.header_bytes < head_bytes(message):
            raise self._headers_too_large()
        self._message = message
        self._payload = payload
        length = content_length(message)
        if ends >= 0 and not self._interim and not message.chunked:
            self._expected = head + (0 if message.code in BODILESS else length)
        if message.code == 200:
            self._begin_page(message)
        elif self._request.stream is not None and self._tape is None:
            # Limits of a stream are for what is never held in memory.
            cap = min(self.limits.body_bytes, _ERROR_BYTES)
            self.limits = dataclasses.replace(self.limits, body_bytes=cap)
        if payload.is_eof():
            return
        if self._refusal is not None and not 0 < length <= _DRAINED_BYTES:
            raise self._refusal
        if length > self.limits.body_bytes and not self._request.cut_bytes:
            raise BodyTooLarge(self.url, f"Content-Length is {length} bytes")

    def _begin_page(self, message: RawResponseMessage) -> None:
        request = self._request
        kind = message.headers.get(hdrs.CONTENT_TYPE)
        if not wanted_type(kind, request.accept_types):
            judged = judge_type(kind, self.url, request.accept_types)
            if isinstance(judged, FetchError):
                self._refusal = judged
                return
            self.doubt = judged
        if request.stream is not None:
            unknown = declared_type(kind, self.url) is None
            doubt = TypeDoubt(kind, self.url, request.accept_types) if unknown else None
            coding = message.headers.get(hdrs.CONTENT_ENCODING)
            self.stream = BodyStream(request, self.limits, coding, doubt)

    def _grow(self, payload: StreamReader) -> Answer | None:
        """Take what came; give the answer where the request wants the body cut."""
        cut, cap = self._request.cut_bytes, self.limits.body_bytes
        size = payload.total_bytes
        over = size > cap or self.received > 2 * cap + _FRAMING_BYTES
        if over and not size > cut > 0:
            raise BodyTooLarge(self.url, f"more than {cap} bytes on the wire")
        if self.stream is None:
            self._gather(payload)
        else:
            self.stream.feed(payload.read_nowait())
        if size > cut > 0 or (self.stream is not None and self.stream.over):
            return self._answer(cut="length")
        return None

    def _gather(self, payload: StreamReader) -> None:
        """Keep what came in one piece, so that a flood of tiny chunks does not pile up."""
        body = self._body
        if body is None:
            body = self._body = bytearray()
        body += payload.read_nowait()
        if (
            self.doubt is not None
            and hdrs.CONTENT_ENCODING not in self._headers()
            and self.doubt.settles(bytes(body[:SNIFFED_BYTES]))
        ):
            self.doubt = None

    def _complete(self, payload: StreamReader, data: bytes) -> Answer:
        message = self._message
        assert message is not None
        self.reusable = not (message.should_close or self._surplus) and (
            self.received == self._expected
            or (bool(message.chunked) and not self._interim and data.endswith(_CHUNKS_END))
        )
        if self._refusal is not None:
            raise self._refusal
        cap = self.limits.body_bytes
        if payload.total_bytes > cap and not self._request.cut_bytes:
            raise BodyTooLarge(self.url, f"more than {cap} bytes on the wire")
        return self._answer(cut="")

    def _answer(self, *, cut: str) -> Answer:
        assert self._message is not None
        assert self._payload is not None
        body = self._payload.read_nowait()
        if self._body is not None:
            self._body += body
            body = bytes(self._body)
        elif self.stream is not None:
            self.stream.feed(body)
            self.stream.finish()
            body = b""
        return Answer(self._message.code, self._message.headers, body, cut)

    def _break_off(self, fault: FetchError) -> Answer:
        """Return what there is where it is worth something, else raise ``fault``.

        A page that breaks off in the middle is. For any status but 200 the head is all that
        matters.
        """
        message = self._message
        if message is None:
            raise fault
        if message.code != 200:
            answer = self._answer(cut=why_cut(fault))
            return answer._replace(body=answer.body[: self.limits.body_bytes])
        if self._refusal is not None:
            raise self._refusal
        if self.wire_bytes and isinstance(fault, ProtocolError):
            return self._answer(cut=why_cut(fault))
        raise fault

    def _headers(self) -> CIMultiDictProxy[str]:
        assert self._message is not None
        return self._message.headers

    def _headers_too_large(self) -> HeadersTooLarge:
        return HeadersTooLarge(self.url, f"more than {self.limits.header_bytes} bytes of headers")
