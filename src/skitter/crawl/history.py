"""What is remembered of a page that is visited again: how to ask for it, and what each visit saw.

It is kept beside the page index, and only for pages that may come again.
"""

from collections.abc import Mapping
from typing import Final

import msgspec
from xxhash import xxh3_128_digest

from skitter.frontier.model import HISTORY
from skitter.parse.page import ParsedPage
from skitter.pipeline.record import PageRecord
from skitter.types import Fingerprint, JobNumber, Outcome

NOT_MODIFIED: Final = 304
MOST_REDIRECTS: Final = 20
_TAKEN: Final = frozenset({Outcome.OK, Outcome.NOINDEX})
MOST_VISITS: Final = 50
"""Visits of one page that are remembered; the last ones stay."""
_encode_fields = msgspec.json.Encoder(order="sorted").encode


class PastVisit(msgspec.Struct, frozen=True, array_like=True):
    """One visit of a page."""

    number: int
    at: str
    """RFC 3339."""
    status: int | None
    outcome: str
    changed: bool | None
    """Whether the content was another than before; None on the first visit, or where it failed."""


def past_visit(record: PageRecord) -> PastVisit:
    """Return what is remembered of the visit that a record is of."""
    return PastVisit(record.visit, record.fetched_at, record.status, record.outcome, record.changed)


class History(msgspec.Struct, frozen=True):
    """The visits of one page."""

    url: str = ""
    """Where the content was found: the end of the redirects."""
    redirects: list[str] = []
    """Wherever it was redirected to, at any visit."""
    etag: str | None = None
    last_modified: str | None = None
    content: bytes = b""
    """Digest of what the page said, as far as it counts."""
    visits: list[PastVisit] = []
    goes_by: bytes = b""
    """What the content was read by: another rule may find something in the same page."""
    queued: int = 0
    """The number of the last visit as the queue has it: that of a page it forgot begins anew."""

    def conditions(self, url: str) -> Mapping[str, str]:
        """Return the headers that let a server answer that nothing has changed."""
        if url != self.url or not self.content:
            return {}
        said = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in said.items() if value}

    def leads_to(self, url: str) -> bool:
        """Tell whether an earlier visit was redirected to ``url``."""
        return url == self.url or url in self.redirects

    @property
    def last(self) -> int:
        """The number of the last visit; 0 before the first."""
        return self.visits[-1].number if self.visits else 0

    def before(self, number: int, goes_by: bytes = b"") -> "History":
        """Return what the visit of a number, which reads the page by ``goes_by``, begins with.

        Where that visit is remembered already, nobody knows what became of its links: it was
        broken off before they were safe, or the page was forgotten since. Then nothing is taken
        for known, nor where the page is read otherwise than it was.
        """
        holds = self.queued < number and self.goes_by == goes_by
        content = self.content if holds else b""
        return msgspec.structs.replace(self, content=content, goes_by=goes_by, queued=number)

    def after(self, record: PageRecord, content: bytes) -> "History":
        """Return it with one more visit; ``content`` is b"" for one that brought none.

        Only a page that came whole and was taken is asked for on condition: of any other, all is
        wanted the next time, whatever its server says.
        """
        visit = past_visit(record)
        earlier = [one for one in self.visits if one.number < record.visit]
        whole = bool(content) and record.outcome in _TAKEN and not record.truncated
        led = [self.url, *self.redirects, record.final_url or "", *record.redirects]
        return History(
            url=(record.final_url or record.url) if content else self.url,
            redirects=[url for url in dict.fromkeys(led) if url][:MOST_REDIRECTS],
            etag=record.etag if whole else None,
            last_modified=record.last_modified if whole else None,
            content=content or self.content,
            visits=[*earlier, visit][-MOST_VISITS:],
            goes_by=self.goes_by,
            queued=self.queued,
        )


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(History).decode
encode_history = _encode


def read_history(stored: bytes | None) -> History:
    """Return a stored history; an empty one where there is none or it cannot be read."""
    try:
        return _decode(stored) if stored else History()
    except msgspec.MsgspecError:
        return History()


def history_mark(job: JobNumber, fp: Fingerprint) -> str:
    """Return the name under which the history of a page is kept."""
    return f"{HISTORY}:{job}:{fp & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def content_of(record: PageRecord, page: ParsedPage, text: str | None) -> bytes:
    """Return the digest of what counts of a page: its fields, its text, or where it leads.

    Clocks, counters and advertisements around these are not changes.
    """
    if record.fields:
        said = _encode_fields(record.fields)
    elif text:
        said = f"{record.title}\n{text}".encode("utf-8", "replace")
    else:
        said = "\n".join((record.title or "", *sorted(set(page.hrefs)))).encode("utf-8", "replace")
    return xxh3_128_digest(said)
