"""aiohttp's response parser, set up for our own connections."""

import asyncio
from typing import Final, cast

from skitter.fetch.aiohttp_parts import (
    BaseProtocol,
    HttpResponseParser,
    RawResponseMessage,
    hdrs,
)
from skitter.fetch.tape import IN_CHUNKS, TO_THE_END

BODILESS: Final = (204, 304)
"""The statuses that have no body, whatever the head says."""

# The parser must never slow a body down: the cap ends it first.
_NO_PAUSE: Final = 1 << 30
# Heads are capped by their size alone.
_ANY_NUMBER: Final = 1 << 30


class _Unhurried:
    """What the parser's reader believes to be its connection; nothing is ever slowed down.

    One for all: an exchange that was its own reader's owner would be garbage in a cycle, and with
    it the body, until the collector comes round.
    """

    def pause_reading(self) -> None: ...

    def resume_reading(self, resume_parser: bool = True) -> None: ...


_OWNER: Final = cast("BaseProtocol", _Unhurried())


def new_parser(loop: asyncio.AbstractEventLoop, header_bytes: int) -> HttpResponseParser:
    """Return a parser for one answer whose head lines have at most ``header_bytes``."""
    return HttpResponseParser(
        _OWNER,
        loop,
        _NO_PAUSE,
        max_line_size=header_bytes,
        max_headers=_ANY_NUMBER,
        max_field_size=header_bytes,
        read_until_eof=True,
        auto_decompress=False,
    )


def content_length(message: RawResponseMessage) -> int:
    """Return the length a head promises, 0 when it promises none."""
    value = message.headers.get(hdrs.CONTENT_LENGTH)
    # The parser has refused anything but digits.
    return int(value) if value is not None and value.isdecimal() else 0


def body_length(message: RawResponseMessage) -> int:
    """Return how long the body is by RFC 9112 §6.3, as ``Tape.message`` takes it."""
    if message.code in BODILESS:
        return 0
    if message.chunked:
        return IN_CHUNKS
    return content_length(message) if hdrs.CONTENT_LENGTH in message.headers else TO_THE_END


def head_bytes(message: RawResponseMessage) -> int:
    """Return about how long a head is on the wire."""
    fields = sum(len(name) + len(value) + 4 for name, value in message.raw_headers)
    return fields + len("HTTP/1.1 200 \r\n\r\n") + len(message.reason)
