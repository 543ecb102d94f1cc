"""The fetch seam: one request, one response, no redirects followed, no policy.

A fetcher opens sockets, enforces the caps it is given and translates every fault into the
``FetchError`` tree. Whether a URL may be fetched, and when, is decided above it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """Caps on one request. Sizes in bytes, times in seconds."""

    connect_s: float = 10.0
    first_byte_s: float = 20.0
    total_s: float = 60.0
    header_bytes: int = 64 * 1024
    body_bytes: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request to make."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
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
    stream: Callable[[bytes], None] | None = None
    """Takes the decompressed body of a status 200 piece by piece as it arrives; ``Response.body``
    is then empty. What it raises ends the fetch and reaches the caller as it is."""


@dataclass(frozen=True, slots=True)
class Raw:
    """One exchange as it went over the wire."""

    request: bytes
    """Request line and headers, with the blank line."""
    response: bytes
    """The final status line, headers and body, framing and coding included."""
    head_bytes: int
    """Length of the head within ``response``, blank line included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
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

    @property
    def content_type(self) -> str | None:
        """The raw Content-Type header."""
        return self.headers.get("content-type")


class Fetcher(Protocol):
    """Brings one response. Safe to call from many tasks at once."""

    async def fetch(self, request: Request) -> Response:
        """Fetch ``request.url`` or raise a ``FetchError``; never follows a redirect.

        The URL is a serialised http or https URL. A status 200 whose body breaks off raises
        ``ProtocolError`` when nothing of the body came, else the part is returned as truncated.
        """

    async def close(self) -> None:
        """Close every connection; idempotent."""
