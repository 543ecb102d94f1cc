"""How a crawl stands: totals that survive restarts, and the closing summary."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skitter.crawl.traps.guard import Cut
from skitter.crawl.trip import Visit
from skitter.frontier.model import Tally
from skitter.observability.stats import CrawlStats
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, Role

STATUS = "status:"
ERROR = "error:"
RULE = "rule:"


@dataclass(slots=True, kw_only=True)
class Totals:
    """Counted per job since its first run, by every member."""

    pages: int = 0
    ok: int = 0
    failed: int = 0
    refused: int = 0
    duplicates: int = 0
    aliases: int = 0
    """Of the duplicates, those left out because their host is another name of their site."""
    rejected: int = 0
    """Pages whose records were set aside for want of a field; not among the pages."""
    body_bytes: int = 0
    sitemaps: int = 0
    sitemap_urls: int = 0
    """URLs of the job that sitemaps listed."""
    sitemap_faults: int = 0
    """Sitemaps that were named somewhere and could not be read, or not to their end."""
    media: int = 0
    """Pictures, films and sounds that came; not among the pages."""
    status_codes: dict[int, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    """Reasons of pages that failed or were refused, by kind."""
    filled: dict[str, int] = field(default_factory=dict)
    """Pages on which each rule set was read ("detail"), and on which each of its fields was found
    ("detail.title")."""

    @staticmethod
    def of(tallies: Mapping[str, int]) -> "Totals":
        """Read what the tallies of a job's acks add up to."""
        totals = Totals()
        for name, n in tallies.items():
            if name.startswith(STATUS):
                totals.status_codes[int(name[len(STATUS) :])] = n
            elif name.startswith(ERROR):
                totals.errors[name[len(ERROR) :]] = n
            elif name.startswith(RULE):
                totals.filled[name[len(RULE) :]] = n
            elif hasattr(totals, name):
                # Members of a later version may count more.
                setattr(totals, name, n)
        return totals

    def show(self, stats: CrawlStats) -> None:
        """Copy the counts a person watches."""
        stats.pages, stats.ok, stats.failed = self.pages, self.ok, self.failed
        stats.refused, stats.duplicates = self.refused, self.duplicates
        stats.bytes = self.body_bytes


def tally_of(visit: Visit) -> Tally:
    """Return what one visit adds to the totals of its job; nothing for one that goes on."""
    if visit.page is not None:
        return (*_tally_page(visit.page, visit.reason), *_tally_rules(visit))
    if visit.record is not None and visit.record.outcome == Outcome.REJECTED:
        return (("rejected", 1), ("body_bytes", visit.record.bytes or 0), *_tally_rules(visit))
    if visit.record is not None and visit.lease.role is Role.SITEMAP:
        return _tally_sitemap(visit.record, guessed=not visit.lease.referrer)
    if visit.media is not None:
        return (("media", 1), ("body_bytes", visit.media.bytes or 0))
    return ()


def _tally_rules(visit: Visit) -> Tally:
    """Count on how many pages a rule set was read, and each of its fields found."""
    if not visit.filled:
        return ()
    rule, *names = visit.filled
    return ((f"{RULE}{rule}", 1), *((f"{RULE}{rule}.{name}", 1) for name in names))


def _tally_sitemap(record: PageRecord, *, guessed: bool) -> Tally:
    found: list[tuple[str, int]] = []
    if record.outcome == Outcome.OK:
        found += [("sitemaps", 1), ("sitemap_urls", record.n_links or 0)]
    # Nobody has promised that there is something at the usual places.
    if record.error and not guessed and record.outcome != Outcome.DUPLICATE:
        found.append(("sitemap_faults", 1))
    return tuple(found)


def _tally_page(record: PageRecord, reason: str) -> Tally:
    found = [("pages", 1), ("body_bytes", record.bytes or 0)]
    match record.outcome:
        case Outcome.OK | Outcome.NOINDEX:
            found.append(("ok", 1))
            if record.duplicate_of is not None:
                found.append(("duplicates", 1))
        case Outcome.DUPLICATE:
            found.append(("duplicates", 1))
            if record.error is not None:
                found.append(("aliases", 1))
        case Outcome.REFUSED | Outcome.SKIPPED:
            found.append(("refused", 1))
        case _:
            found.append(("failed", 1))
    if record.status is not None:
        found.append((f"{STATUS}{record.status}", 1))
    if reason:
        found.append((f"{ERROR}{reason}", 1))
    return tuple(found)


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
    finished_before: bool = False
    """Whether nothing was left to fetch when this run began, and nothing new came to it."""
    trouble: str | None = None
    """Why the start brought nothing, when not one page of the job came."""
    cut: dict[str, int] = field(default_factory=dict)
    """Links of this run's pages that were not followed, by reason."""
    sitemaps: int = 0
    sitemap_urls: int = 0
    sitemap_faults: int = 0
    media: int = 0
    only_sitemaps: bool = False
    """Whether the crawl was to follow nothing but sitemaps."""
    rejected: int = 0
    """Records that were set aside for want of a field."""
    unmatched: dict[str, int] = field(default_factory=dict)
    """Rules that found nothing, and on how many pages."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Hosts that are crawled under another name, and that name."""
    left_out: int = 0
    """URLs that were not fetched under such a name."""
    traps: dict[str, Cut] = field(default_factory=dict)
    """By URL template: what the trap guard cut."""
    warc: Path | None = None
