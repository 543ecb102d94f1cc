"""What is remembered of a page, to compare it with another host's page at the same path."""

from enum import Enum
from typing import NamedTuple

import msgspec
from xxhash import xxh3_128_digest

from skitter.pipeline.record import PageRecord
from skitter.types import HostKey, Outcome

HEAD_BYTES = 4_096
"""A page that names its own address mostly does so here: canonical link, navigation."""
LEAST_BYTES = 100
"""Smaller pages are the same on many hosts: empty ones, "it works", one word."""
_OWN = b"//\0"
_GONE = frozenset({404, 410})
_FETCHED = frozenset({Outcome.OK, Outcome.NOINDEX})


class Fact(NamedTuple):
    """One page of a host."""

    digest: bytes
    """Of its content; b"" where the host has said that there is no such page."""
    looks: tuple[str | None, int | None] = (None, None)
    """Title and number of links."""
    size: int = 0
    content: str = ""
    """The first URL of the job with that content, where it is known."""
    at: str = ""
    """When it was fetched, RFC 3339."""
    plain: bytes = b""
    """The digest of the page as it is, where ``digest`` is that without the host's own address."""
    is_stored: bool = False
    """Whether it was read from the page index, where the digest is of the page as it is."""

    @property
    def digests(self) -> frozenset[bytes]:
        """All by which an equal page is known: copies may name one host, or each its own."""
        return frozenset((self.digest, self.plain) if self.plain else (self.digest,))


class Likeness(Enum):
    """How two pages compare."""

    EQUAL = "equal"
    NEAR = "near"
    """They may differ by a clock, a token or their own address alone: neither for nor against."""
    DIFFERENT = "different"


def likeness(one: Fact, other: Fact) -> Likeness:
    """Compare two pages that were fetched at the same path."""
    if not one.digest or not other.digest:
        return Likeness.DIFFERENT
    if not one.digests.isdisjoint(other.digests):
        return Likeness.EQUAL
    if one.content and one.content == other.content:
        return Likeness.EQUAL
    if (one.plain and other.is_stored) or (one.is_stored and other.plain):
        return Likeness.NEAR
    # A clock or a token has the same length every time, other words mostly have not.
    is_near = one.looks == other.looks and one.size == other.size
    return Likeness.NEAR if is_near else Likeness.DIFFERENT


def content_digest(body: bytes, plain: bytes, host: HostKey) -> bytes:
    """Return the digest of a body without the host's own address in it.

    ``plain`` is that of the body as it is, which is the answer for most pages.
    """
    own = b"//" + host.encode()
    if body.find(own, 0, HEAD_BYTES) < 0:
        return plain
    return xxh3_128_digest(body.replace(own, _OWN))


def path_of(url: str) -> str:
    """Return path and query of a serialised http(s) URL."""
    return url[url.index("/", 8) :]


def fact_of(record: PageRecord, digest: bytes, plain: bytes = b"") -> Fact | None:
    """Return what is remembered of a page that was just fetched; None for one of no use.

    ``plain`` is the digest of the page as it is, if that is another one.
    """
    if record.outcome not in _FETCHED or not digest or record.final_url != record.url:
        return None
    looks = (record.title, record.n_links)
    return Fact(digest, looks, record.bytes or 0, "", record.fetched_at, plain)


class _Stored(msgspec.Struct):
    """What of a stored record is compared."""

    url: str
    outcome: str
    fetched_at: str
    final_url: str | None = None
    status: int | None = None
    digest: str | None = None
    title: str | None = None
    n_links: int | None = None
    bytes: int | None = None
    duplicate_of: str | None = None


_decode = msgspec.json.Decoder(_Stored).decode


def stored_fact(note: bytes) -> Fact | None:
    """Return what the page index says of a page; None where that cannot be compared."""
    if not note:
        return None
    record = _decode(note)
    if record.status in _GONE:
        return Fact(b"", at=record.fetched_at)
    if record.outcome not in _FETCHED or record.final_url != record.url or not record.digest:
        return None
    return Fact(
        bytes.fromhex(record.digest),
        (record.title, record.n_links),
        record.bytes or 0,
        record.duplicate_of or record.url,
        record.fetched_at,
        is_stored=True,
    )
