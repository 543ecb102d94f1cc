"""How a crawl stands: totals that survive restarts, and the closing summary."""

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from skitter.crawl.traps.guard import Cut
from skitter.crawl.trip import Visit
from skitter.observability.stats import CrawlStats
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, Role


class Totals(msgspec.Struct):
    """Counted per job since its first run, kept in the same step as the acks."""

    pages: int = 0
    ok: int = 0
    failed: int = 0
    refused: int = 0
    duplicates: int = 0
    body_bytes: int = 0
    status_codes: dict[int, int] = {}
    errors: dict[str, int] = {}
    """Reasons of pages that failed or were refused, by kind."""
    sitemaps: int = 0
    sitemap_urls: int = 0
    """URLs of the job that sitemaps listed."""
    sitemap_faults: int = 0
    """Sitemaps that were named somewhere and could not be read, or not to their end."""

    def take(self, visit: Visit) -> None:
        """Take one visit into account; one that goes on is not counted."""
        if visit.page is not None:
            self.count(visit.page, visit.reason)
        elif visit.record is not None and visit.lease.role is Role.SITEMAP:
            self._count_sitemap(visit.record, guessed=not visit.lease.referrer)

    def _count_sitemap(self, record: PageRecord, *, guessed: bool) -> None:
        if record.outcome == Outcome.OK:
            self.sitemaps += 1
            self.sitemap_urls += record.n_links or 0
        # Nobody has promised that there is something at the usual places.
        if record.error and not guessed:
            self.sitemap_faults += 1

    def count(self, record: PageRecord, reason: str) -> None:
        """Take one page into account."""
        self.pages += 1
        self.body_bytes += record.bytes or 0
        match record.outcome:
            case Outcome.OK | Outcome.NOINDEX:
                self.ok += 1
                self.duplicates += record.duplicate_of is not None
            case Outcome.DUPLICATE:
                self.duplicates += 1
            case Outcome.REFUSED | Outcome.SKIPPED:
                self.refused += 1
            case _:
                self.failed += 1
        if record.status is not None:
            codes = self.status_codes
            codes[record.status] = codes.get(record.status, 0) + 1
        if reason:
            self.errors[reason] = self.errors.get(reason, 0) + 1

    def encode(self) -> bytes:
        """Return the form kept in the store."""
        return _encode(self)

    @staticmethod
    def decode(data: bytes | None) -> "Totals":
        """Read what the store kept; zeros when it kept nothing."""
        return _decode(data) if data else Totals()

    def show(self, stats: CrawlStats) -> None:
        """Copy the counts a person watches."""
        stats.pages, stats.ok, stats.failed = self.pages, self.ok, self.failed
        stats.refused, stats.duplicates = self.refused, self.duplicates
        stats.bytes = self.body_bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Totals).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """The end of one run."""

    pages: int
    ok: int
    failed: int
    refused: int
    duplicates: int
    queued: int
    seconds: float
    dropped: int
    stopped_by: str
    """"finished", "interrupted", "waiting", or "pages limit" and the like."""
    out: tuple[Path, ...]
    data: Path
    hosts: int
    status_codes: dict[int, int]
    errors: dict[str, int]
    waiting_until: str | None = None
    """When the first of the queued URLs may be fetched, if that is what ended the run."""
    run_pages: int | None = None
    """Visits of this run alone; None when it is not known."""
    trouble: str | None = None
    """Why the start brought nothing, when not one page of the job came."""
    cut: dict[str, int] = field(default_factory=dict)
    """Links of this run's pages that were not followed, by reason."""
    sitemaps: int = 0
    sitemap_urls: int = 0
    sitemap_faults: int = 0
    only_sitemaps: bool = False
    """Whether the crawl was to follow nothing but sitemaps."""
    traps: dict[str, Cut] = field(default_factory=dict)
    """By URL template: what the trap guard cut."""
    warc: Path | None = None
