"""The fetch seam: one request, one response, no redirects followed, no policy.

A fetcher opens sockets, enforces the caps it is given and translates every fault into the
``FetchError`` tree. Whether a URL may be fetched, and when, is decided above it.
"""

from collections.abc import Mapping
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
    accept_types: tuple[str, ...] = ()
    """Media types whose body is wanted ("text/html", "text/*"); empty takes any. A response of
    another type with status 200 is closed unread and raises ``TypeRefused``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What one request brought. Header names are lower case; repeated ones are joined by ", "."""

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
    """The server closed before the length it promised, or inside a compressed stream."""

    @property
    def content_type(self) -> str | None:
        """The raw Content-Type header."""
        return self.headers.get("content-type")


class Fetcher(Protocol):
    """Brings one response. Safe to call from many tasks at once."""

    async def fetch(self, request: Request) -> Response:
        """Fetch ``request.url`` or raise a ``FetchError``; never follows a redirect."""

    async def close(self) -> None:
        """Close every connection; idempotent."""
