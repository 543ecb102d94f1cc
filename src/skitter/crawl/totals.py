"""The totals of a job, which survive restarts."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from skitter.observability.stats import CrawlStats

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
    aside: int = 0
    """Of those, the ones that a limit of pages counts: each page once."""
    body_bytes: int = 0
    sitemaps: int = 0
    sitemap_urls: int = 0
    """URLs of the job that sitemaps listed."""
    sitemap_faults: int = 0
    """Sitemaps that were named somewhere and could not be read, or not to their end."""
    again: int = 0
    """Visits to pages that were visited before; not among the pages."""
    media: int = 0
    """Pictures, films and sounds that came; not among the pages."""
    error_pages: int = 0
    """Pages that came with status 200 and only say that there is nothing: kept with a note, or set
    aside where rules were to read them."""
    garbled: int = 0
    """Pages with bytes that are no characters of their encoding."""
    status_codes: dict[int, int] = field(default_factory=dict)
    errors: dict[str, int] = field(default_factory=dict)
    """Reasons of pages that failed or were refused, by kind."""
    filled: dict[str, int] = field(default_factory=dict)
    """Pages on which each rule set was read ("detail"), and on which each of its fields was found
    ("detail.title"). A rule set is named with its digest, for its rules may change."""

    @property
    def used(self) -> int:
        """How much of its limit of pages the job has used up."""
        return self.pages + self.aside

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
        stats.rejected, stats.aside = self.rejected, self.aside
        stats.bytes = self.body_bytes
        stats.status_codes, stats.errors = Counter(self.status_codes), Counter(self.errors)
