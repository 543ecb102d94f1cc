"""The fetch seam: one request, one response, no redirects followed, no policy.

A fetcher opens sockets, enforces the caps it is given and translates every fault into the
``FetchError`` tree. Whether a URL may be fetched, and when, is decided above it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from skitter.fetch import types

Taker = Callable[[bytes], asyncio.Future[None] | None]
"""Takes pieces of a body; what it answers, if anything, is waited for before more is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Caps on one request. Sizes in bytes, times in seconds."""

    connect_s: float = 10.0
    first_byte_s: float = 20.0
    total_s: float = 60.0
    header_bytes: int = 64 * 1024
    body_bytes: int = 32 * 1024 * 1024


# Structs, because one of each is made for every page and they cost a fifth of a dataclass.
class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One request to make."""

    url: str
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Override the fetcher's own of the same name, whatever the case of the letters."""
    accept_types: tuple[str, ...] = ()
    """Media types whose body is wanted ("text/html", "text/*"); empty takes any. A response of
    another type with status 200 is closed unread and raises ``TypeRefused``."""
    limits: FetchLimits | None = None
    """Caps of this request alone; None takes the fetcher's."""
    cut_bytes: int = 0
    """When not 0, a longer body is cut here and marked truncated instead of being refused."""
    keep_raw: bool = False
    """Keep the bytes as sent and received in ``Response.raw``."""
    stream: Taker | None = None
    """Takes the decompressed body of a status 200 piece by piece as it arrives; ``Response.body``
    is then empty. What it raises ends the fetch and reaches the caller as it is. A fetch may
    still fail after some pieces: over a cap, on broken data, in time."""
    permit: Callable[[], None] | None = None
    """Called right before the request is written; what it raises calls the request off."""
    ready: Callable[[], Awaitable[None]] | None = None
    """Awaited when there is a connection, before ``permit``; what it raises calls the request off,
    and the connection is kept. The time it takes is not the server's and does not count."""


class Raw(msgspec.Struct, frozen=True):
    """One exchange as it went over the wire."""

    request: bytes
    """Request line and headers, with the blank line."""
    response: bytes
    """The final status line, headers and body, framing and coding included."""
    head_bytes: int
    """Length of the head within ``response``, blank line included."""
    cut: str = ""
    """Why the end of the message is missing, in the words of ``Response.cut``; empty when it is
    whole, whatever became of the body that was read from it."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """What one request brought.

    Header names are lower case; repeated ones are joined by ", ", except that the first Location
    stands alone. Header values are text that can be written as UTF-8.

    For a status other than 200 the headers are the answer: a body that is too large, too slow or
    cannot be decoded is left out or cut, and ``truncated`` says so.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    """Decompressed."""
    wire_bytes: int
    """Size of the body as it came, before decompression."""
    elapsed_ms: int
    address: str = ""
    """The IP address that answered."""
    truncated: bool = False
    """Part of the body is missing: the server closed before the length it promised or inside a
    compressed stream, or the body was cut at ``Request.cut_bytes``."""

    raw: Raw | None = None
    """The exchange as it went, where ``Request.keep_raw`` asked for it."""
    cut: str = ""
    """Why the body is truncated, as WARC 1.1 puts it: "length" (``cut_bytes`` or a cap), "time" or
    "disconnect" (the server closed or broke off early). Empty for a body that is whole, and for
    that of an error page which came whole and cannot be decompressed."""
    sniffed: str = ""
    """What the first bytes of a streamed body say of its type, where nothing else tells."""

    @property
    def content_type(self) -> str | None:
        """The raw Content-Type header."""
        return self.headers.get("content-type")

    @property
    def media_type(self) -> str:
        """The bare media type: of the header, else by the URL's suffix, else by the first bytes.

        Lower case; empty when nothing tells. The suffix counts for a status 2xx alone: an error
        page for a missing picture is no picture.
        """
        url = self.url if 200 <= self.status < 300 else ""
        return types.guess_type(self.content_type, url, self.body, self.sniffed)

    @property
    def read_as(self) -> str | None:
        """The Content-Type to read the body by: the header where it tells, else ``media_type``."""
        header = self.headers.get("content-type")
        if types.is_telling(header):
            return header
        kind = self.media_type
        return header if header and types.media_type(header) == kind else kind or None


class Gate(Protocol):
    """Lets so many requests at a time go to one address."""

    def minds(self, address: str) -> bool:
        """Tell whether requests to an IP address are counted."""

    async def enter(self, address: str) -> None:
        """Wait until a request may go to ``address``; what it raises calls the request off."""

    def leave(self, address: str) -> None:
        """Take note that a request has ended."""


class Fetcher(Protocol):
    """Brings one response. Safe to call from many tasks at once."""

    async def fetch(self, request: Request) -> Response:
        """Fetch ``request.url`` or raise a ``FetchError``; never follows a redirect.

        The URL is a serialised http or https URL. A status 200 whose body breaks off raises
        ``ProtocolError`` when nothing of the body came, else the part is returned as truncated.
        """

    async def close(self) -> None:
        """Close every connection; idempotent."""
