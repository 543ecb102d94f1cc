"""Where a response sends its reader: one hop, decided without fetching anything."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import quote_from_bytes

from skitter.fetch.base import Response
from skitter.url.parse import Base

_STATUSES: Final = frozenset({301, 302, 303, 307, 308})
_ASCII: Final = "".join(map(chr, range(128)))


@dataclass(frozen=True, slots=True)
class NotRedirect:
    """The response is the answer itself."""


@dataclass(frozen=True, slots=True)
class Follow:
    """The answer is at ``url``, an http or https URL."""

    url: str


@dataclass(frozen=True, slots=True)
class BadRedirect:
    """The response redirects to nowhere that can be fetched."""

    reason: str


Hop = NotRedirect | Follow | BadRedirect


def next_hop(url: str, response: Response) -> Hop:
    """Tell where ``response``, the answer to ``url``, sends its reader (RFC 9110 §15.4).

    The Location is resolved by the WHATWG URL rules, as browsers do; bytes outside ASCII are
    percent-encoded as they came.
    """
    if response.status not in _STATUSES:
        return NotRedirect()
    location = response.headers.get("location")
    if location is None:
        return BadRedirect(f"status {response.status} without a Location")
    if not location.strip():
        return BadRedirect(f"status {response.status} with an empty Location")
    target = Base(url).join(percent_encoded(location))
    if target is None:
        return BadRedirect(f"Location {_shown(location)} is not an http or https URL")
    return Follow(target)


def percent_encoded(location: str) -> str:
    """Write the characters of a header value that are not ASCII as the bytes they came as."""
    if location.isascii():
        return location
    return quote_from_bytes(location.encode("utf-8", "surrogateescape"), safe=_ASCII)


def _shown(location: str) -> str:
    text = percent_encoded(location)
    return repr(text if len(text) <= 120 else f"{text[:117]}...")
