"""Fills page records from trips, responses and parsed pages."""

import msgspec
from xxhash import xxh3_128_digest

from skitter.clock import time_text
from skitter.crawl.trip import Trip, Visit
from skitter.fetch.base import Response
from skitter.frontier.model import own_note
from skitter.job.spec import Job
from skitter.parse.page import ParsedPage
from skitter.pipeline.record import MEDIA_CLASS, SITEMAP_CLASS, PageRecord, decode_line
from skitter.types import Outcome, PageClass, Role
from skitter.url.normalise import NormalUrl

_CLASSES = {Role.SITEMAP: SITEMAP_CLASS, Role.MEDIA: MEDIA_CLASS}


def begin_record(
    trip: Trip, job: Job, outcome: Outcome, error: str | None, now_ms: int
) -> PageRecord:
    """Return the record of a visit with what is known without a response."""
    lease = trip.lease
    return PageRecord(
        job=job.id,
        url=lease.url,
        final_url=trip.url,
        redirects=[url for url in trip.chain if url != trip.url],
        outcome=outcome,
        error=error,
        depth=lease.depth,
        page_class=_page_class(trip, job),
        referrer=lease.referrer or None,
        fetched_at=time_text(now_ms),
        visit=trip.number or lease.visit,
        labels=job.labels,
    )


def _page_class(trip: Trip, job: Job) -> str:
    if not trip.is_page:
        return _CLASSES[trip.lease.role]
    if job.visits_all_again:
        # All of them wait in the queue for pages that come again.
        return "data"
    return "nav" if trip.lease.page_class is PageClass.NAV else "data"


def lead_to(visit: Visit, trip: Trip, target: NormalUrl) -> PageRecord:
    """Name the target of a redirect that was not followed."""
    assert visit.record is not None
    visit.record.redirects = trip.chain
    visit.record.final_url = target.url
    return visit.record


_LASTING = (
    "outcome", "error", "page_class", "content_type", "encoding", "bytes", "digest", "title",
    "description", "image", "author", "published", "language", "canonical", "text", "n_links",
    "fields", "media", "duplicate_of", "truncated",
)  # fmt: skip
"""What stays as it was where nothing has changed."""


class _Recorded(msgspec.Struct):
    url: str


_recorded = msgspec.json.Decoder(_Recorded).decode


def recorded_url(note: bytes) -> str | None:
    """Return the spelling of a URL under which its page is recorded, if it is."""
    return _recorded(note).url if own_note(note) else None


def take_headers(record: PageRecord, response: Response) -> None:
    """Take over what a response says in its headers."""
    headers = response.headers
    record.status = response.status
    record.elapsed_ms = response.elapsed_ms
    record.content_type = response.read_as
    record.bytes = len(response.body)
    record.etag = headers.get("etag")
    record.last_modified = headers.get("last-modified")
    record.truncated = response.truncated


def take_over(record: PageRecord, note: bytes) -> None:
    """Fill in what the page was like at the visit before, since it has not changed."""
    earlier = decode_line(note) if own_note(note) else None
    if earlier is None or earlier.outcome not in (Outcome.OK, Outcome.NOINDEX):
        return
    for name in _LASTING:
        setattr(record, name, getattr(earlier, name))
    record.etag = record.etag or earlier.etag
    record.last_modified = record.last_modified or earlier.last_modified


def describe(record: PageRecord, page: ParsedPage, response: Response, *, noindex: bool) -> bytes:
    """Fill in what the page says of itself; answers the digest of its body, if it has one."""
    record.encoding = page.encoding
    record.n_links = page.n_links
    record.language = page.language
    record.truncated = record.truncated or page.cut
    digest = xxh3_128_digest(response.body)
    record.digest = digest.hex()
    if not noindex:
        record.title = page.title
        record.description = page.description
        record.image = page.image
        record.canonical = page.canonical
    return digest if response.body else b""
