"""How far a run has got, and how much more it may take on under its limits."""

from skitter.crawl.totals import Totals
from skitter.crawl.trip import Visit
from skitter.crawl.works import EngineOptions
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import Result
from skitter.observability.stats import CrawlStats
from skitter.types import JobNumber, Role

SETTLED = 16
"""A best-first crawl has one page under way for this many it has seen, and at least two."""


class Quota:
    """Counts the pages of one run, beside those of earlier runs and of other members.

    Those that are set aside are among them: a wrong rule must not let a crawl go on without end.
    ``live`` is how many leases of its own job the run has at a moment.
    """

    def __init__(self, stats: CrawlStats, options: EngineOptions) -> None:
        self._stats = stats
        self._options = options
        self._pages = stats.pages + stats.aside
        self._bytes = stats.bytes
        self._others_pages = 0
        self._others_leased = 0

    def others_have(self, pages: int, leased: int, live: int) -> None:
        """Take note of how far the job is over all members: pages ended, URLs leased."""
        self._others_pages = max(0, pages + leased - self._pages - live)
        self._others_leased = max(0, leased - live)

    def most(self, wanted: int, live: int) -> int:
        """Return how many of ``wanted`` leases may be claimed."""
        if self._options.best_first:
            wanted = min(wanted, max(2, self._pages // SETTLED) - live)
        if self._options.pages is not None:
            wanted = min(wanted, self._left(live))
        return max(0, wanted)

    def reached(self, live: int) -> str:
        """Return the limit that the run is at; "" for none."""
        if self._options.bytes is not None and self._bytes >= self._options.bytes:
            return "bytes limit"
        # What is under way, here or elsewhere, may bring no page.
        if live or self._others_leased or self._options.pages is None:
            return ""
        return "pages limit" if self._left(live) <= 0 else ""

    async def reached_by_all(self, reader: FrontierReader, job: JobNumber) -> str:
        """Return the limit that the job is at while nobody has anything of it under way.

        Others may have brought the last page that was wanted since they were last heard of.
        """
        self.others_have(Totals.of(await reader.tallies(job)).used, leased=0, live=0)
        return self.reached(live=0)

    def _left(self, live: int) -> int:
        assert self._options.pages is not None
        return self._options.pages - self._pages - self._others_pages - live

    def ended(self, visit: Visit) -> None:
        """Count a visit that is safe."""
        stats, record = self._stats, visit.page
        if record is not None:
            self._pages += not visit.never_kept
            self._bytes += record.bytes or 0
            stats.run_pages += 1
            stats.run_bytes += record.bytes or 0
            if record.status is not None:
                stats.status_codes[record.status] += 1
        elif visit.media is not None:
            self._bytes += visit.media.bytes or 0
            stats.run_bytes += visit.media.bytes or 0
        elif visit.aside is not None:
            self._pages += not (visit.comes_again or visit.was_aside)
            self._bytes += visit.aside.bytes or 0
            stats.run_bytes += visit.aside.bytes or 0
        # Most sitemaps are guessed at, and what the trap guard cuts has a list of its own.
        is_page = visit.lease.role is Role.PAGE and (visit.record is None or record is not None)
        if visit.reason and is_page and visit.result is not Result.DEFER:
            stats.errors[visit.reason] += 1
