"""How a crawl stands: what visits add to its totals, and the closing summary."""

from dataclasses import dataclass, field
from pathlib import Path

from skitter.crawl.fitted import EDITION
from skitter.crawl.totals import ERROR, RULE, STATUS
from skitter.crawl.traps.guard import Cut
from skitter.crawl.trip import Visit
from skitter.frontier.model import ASIDE, PAGES, Tally
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, Role


def tally_of(visit: Visit) -> Tally:
    """Return what one visit adds to the totals of its job; nothing for one that goes on."""
    if visit.page is not None:
        counted = "again" if visit.comes_again and not visit.never_kept else PAGES
        told = (*_tally_page(visit.page, visit.reason), *_tally_passed(visit))
        return ((counted, 1), *told, *_tally_faults(visit), *_tally_rules(visit))
    if visit.aside is not None:
        aside: Tally = (("body_bytes", visit.aside.bytes or 0),)
        if not visit.was_aside:
            aside = (("rejected", 1), *aside)
            aside = aside if visit.comes_again else ((ASIDE, 1), *aside)
        return (*aside, *_tally_faults(visit), *_tally_rules(visit))
    if visit.record is not None and visit.lease.role is Role.SITEMAP:
        return _tally_sitemap(visit.record, guessed=not visit.lease.referrer)
    if visit.media is not None:
        return (("media", 1), ("body_bytes", visit.media.bytes or 0))
    return ()


def _tally_passed(visit: Visit) -> Tally:
    """Take back that a page was set aside: each counts as what it is now."""
    if not visit.was_aside:
        return ()
    return (("rejected", -1), (ASIDE, -1)) if visit.never_kept else (("rejected", -1),)


def _tally_faults(visit: Visit) -> Tally:
    """Count what may be wrong with a page that came."""
    if visit.says_missing:
        return (("error_pages", 1), ("garbled", 1)) if visit.garbled else (("error_pages", 1),)
    return (("garbled", 1),) if visit.garbled else ()


def _tally_rules(visit: Visit) -> Tally:
    """Count on how many pages a rule set was read, and each of its fields found."""
    if not visit.filled:
        return ()
    rule, *names = visit.filled
    rule = f"{rule}{EDITION}{visit.edition}" if visit.edition else rule
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
    found = [("body_bytes", record.bytes or 0)]
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
    out: tuple[Path | str, ...]
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
    again: int = 0
    """Visits to pages that were visited before."""
    rejected: int = 0
    """Records that were set aside for want of a field."""
    error_pages: int = 0
    """Pages that came as if all were well, and only say that there is nothing."""
    garbled: int = 0
    """Pages with bytes that are no characters of their encoding."""
    warnings: list[str] = field(default_factory=list)
    """Rules that found nothing, and on how many pages, in words."""
    alarms: list[str] = field(default_factory=list)
    """Fields that are found more rarely than they were, in words."""
    aliases: dict[str, str] = field(default_factory=dict)
    """Hosts that are crawled under another name, and that name."""
    left_out: int = 0
    """URLs that were not fetched under such a name."""
    traps: dict[str, Cut] = field(default_factory=dict)
    """By URL template: what the trap guard cut."""
    warc: Path | None = None
