"""The page record: what is kept of one visit, in every sink and in the page index."""

from collections.abc import Mapping
from typing import Any

import msgspec

from skitter.types import Outcome

SITEMAP_CLASS = "sitemap"
"""The page class of lists of URLs."""
TRAP_CLASS = "trap"
"""The page class of URLs that were queued and then taken for part of a trap, unasked."""
JUMP_CLASS = "jump"
"""The page class of links that only lead on to others."""
MEDIA_CLASS = "media"
"""The page class of pictures, films and sounds that pages show."""
UNLISTED = frozenset({SITEMAP_CLASS, TRAP_CLASS, JUMP_CLASS, MEDIA_CLASS})
"""Page classes that are in the page index alone: no output lists them."""


def is_listed(page_class: str, outcome: str) -> bool:
    """Tell whether a record is for the outputs; all are in the page index."""
    return page_class not in UNLISTED and outcome != Outcome.REJECTED


class PageRecord(msgspec.Struct, kw_only=True):
    """One visit. Times are RFC 3339 UTC; None means not known or not said by the page."""

    job: str
    url: str
    final_url: str | None = None
    """Where the redirects led; equals ``url`` without any."""
    redirects: list[str] = []
    """Every URL asked before the final one, in order."""
    status: int | None = None
    outcome: str
    error: str | None = None
    """Why it failed or was refused, in words."""
    depth: int
    page_class: str
    referrer: str | None = None
    fetched_at: str
    elapsed_ms: int | None = None
    content_type: str | None = None
    encoding: str | None = None
    bytes: int | None = None
    """Size of the decompressed body."""
    digest: str | None = None
    """xxh3-128 of the body."""
    title: str | None = None
    description: str | None = None
    image: str | None = None
    author: str | None = None
    published: str | None = None
    language: str | None = None
    canonical: str | None = None
    text: str | None = None
    n_links: int | None = None
    fields: dict[str, Any] = {}
    """What the rules of the job took of the page: texts, numbers, lists and tables of these."""
    etag: str | None = None
    last_modified: str | None = None
    changed: bool | None = None
    """Whether the content differs from the visit before; None on the first visit."""
    visit: int
    duplicate_of: str | None = None
    """The URL with the same page: a redirect's known target, or the first of equal content."""
    media: list[dict[str, str]] = []
    """Files that are fetched because the page shows them: ``url`` and ``kind`` of each."""
    truncated: bool = False
    warc_file: str | None = None
    """Name of the archive file that holds the response; None without an archive."""
    warc_offset: int | None = None
    """Where in it the response (or the revisit that stands for it) begins."""
    warc_revisit: bool = False
    """Whether a revisit record stands there: an earlier response had the same payload."""
    payload_digest: str | None = None
    """"sha1:..." of the payload as archived."""
    labels: Mapping[str, str] = {}


_encode = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(PageRecord).decode
"""Read a record from its line of JSON."""


def encode_line(record: PageRecord) -> bytes:
    """Return the record as one line of JSON.

    Text that cannot be written, half of a character, is replaced in the record itself: one odd
    page must not end a crawl.
    """
    try:
        return _encode(record) + b"\n"
    except UnicodeEncodeError:
        for name in record.__struct_fields__:
            setattr(record, name, _writable(getattr(record, name)))
        return _encode(record) + b"\n"


def _writable(value: object) -> object:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case list():
            return [_writable(item) for item in value]
        case dict():
            return {_writable(key): _writable(item) for key, item in value.items()}
        case _:
            return value
