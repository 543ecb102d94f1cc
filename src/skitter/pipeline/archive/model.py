"""What goes into the archive and where it ended up."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Original(NamedTuple):
    """The archived response whose payload a later one may repeat."""

    url: str
    date: str
    """WARC-Date of that response, RFC 3339."""
    payload_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """One exchange with a server: the bytes as sent and as received."""

    url: str
    at_ms: int
    """When the response had arrived, in milliseconds since the epoch."""
    request: bytes
    """Request line and headers, with the blank line."""
    response: bytes
    """Status line, headers and body exactly as they came, transfer coding included."""
    head_bytes: int
    """Length of the head within ``response``, blank line included."""
    address: str = ""
    truncated: str = ""
    """A WARC-Truncated reason ("length", "time", "disconnect") or "" when all came."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """What the metadata record says, such as "via" and "hopsFromSeed"; empty writes none."""
    original: Original | None = None
    """A response with the same content, archived earlier; used when the payload is equal."""


class Location(NamedTuple):
    """Where a response was archived."""

    file: str
    """File name within the archive directory."""
    offset: int
    """Where the response or revisit record begins."""
    payload_digest: str
    """"sha1:" and base 32."""
    revisit: bool = False
    """Whether a revisit record stands there, which names an earlier response."""
