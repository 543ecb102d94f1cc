"""Reads the lines of a robots.txt file; what they mean for one agent is decided in ``robots``.

Works on bytes, so that a file in any encoding survives, and forgives what Google's reference
parser forgives: misspelt fields, a missing colon, a byte order mark, any line ending.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

MAX_BODY_BYTES = 500 * 1024
"""RFC 9309 §2.5: what lies beyond may be ignored."""

MAX_LINE_BYTES = 8 * 2083 - 1
"""Eight times the longest URL browsers take; the rest of a longer line is cut off."""

_BOM = b"\xef\xbb\xbf"


class Field(Enum):
    """The fields that mean something to a crawler."""

    AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    SITEMAP = "sitemap"
    DELAY = "crawl-delay"


class Line(NamedTuple):
    """One meaningful line: its field, its raw value and its number, counted from 1."""

    field: Field
    value: bytes
    number: int


# A field is known by how it begins; the misspellings are those that occur often.
_FIELDS: tuple[tuple[Field, tuple[bytes, ...]], ...] = (
    (Field.AGENT, (b"user-agent", b"useragent", b"user agent")),
    (Field.ALLOW, (b"allow",)),
    (
        Field.DISALLOW,
        (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw"),
    ),
    (Field.SITEMAP, (b"sitemap", b"site-map")),
    (Field.DELAY, (b"crawl-delay", b"crawldelay", b"crawl delay")),
)


def read_lines(body: bytes) -> Iterator[Line]:
    """Yield the meaningful lines of ``body`` in order, reading at most ``MAX_BODY_BYTES``."""
    for number, raw in enumerate(_without_bom(_capped(body)).splitlines(), start=1):
        pair = _split(raw[:MAX_LINE_BYTES])
        if pair is None:
            continue
        field = _field(pair[0].lower())
        if field is not None:
            yield Line(field, pair[1], number)


def _capped(body: bytes) -> bytes:
    """Drop what lies beyond the cap, and the line the cap cuts through: half a rule misleads."""
    if len(body) <= MAX_BODY_BYTES:
        return body
    whole = body[: MAX_BODY_BYTES + 1]
    end = max(whole.rfind(b"\n"), whole.rfind(b"\r"))
    return whole[: end + 1]


def _without_bom(body: bytes) -> bytes:
    """Drop a byte order mark, also one that lost its last bytes."""
    for length in (3, 2, 1):
        if body.startswith(_BOM[:length]):
            return body[length:]
    return body


def _split(raw: bytes) -> tuple[bytes, bytes] | None:
    """Split one line into field and value, or return None when it has neither."""
    line = raw.partition(b"\0")[0].partition(b"#")[0].strip()
    key, colon, value = line.partition(b":")
    if not colon:
        # A forgotten colon is forgiven where nothing else can be meant: exactly two words.
        words = line.replace(b"\t", b" ").split(b" ")
        if len(words) < 2 or any(words[1:-1]):
            return None
        key, value = words[0], words[-1]
    key = key.strip()
    return (key, value.strip()) if key else None


def _field(key: bytes) -> Field | None:
    for field, prefixes in _FIELDS:
        if key.startswith(prefixes):
            return field
    return None
