"""The visit of a sitemap: its URLs are offered while it still arrives, so memory stays flat."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.travel import Traveller
from skitter.crawl.trip import Trip, Visit
from skitter.fetch.base import FetchLimits, Response
from skitter.frontier.model import Link
from skitter.parse.sitemap.model import Found, SitemapEnd, SitemapEntry
from skitter.parse.sitemap.reader import SitemapReader
from skitter.pipeline.record import SITEMAP_CLASS
from skitter.types import Outcome

MAX_BYTES = 100 * 1024 * 1024
"""Twice what the sitemap protocol allows, packed and unpacked."""
MIN_TOTAL_S = 300.0
"""A large sitemap may take longer than a page."""
OFFERED_AT_ONCE = 500


class _Listing:
    """One sitemap on its way in. Bytes are taken as they come, and read when there is time."""

    def __init__(self, url: str) -> None:
        self.reader = SitemapReader(url, max_bytes=MAX_BYTES)
        self.sitemaps: list[str] = []
        self.offered = 0
        self._arrived = asyncio.Event()
        self._complete = False
        self.end: SitemapEnd | None = None

    def feed(self, data: bytes) -> None:
        """Take bytes as they arrive."""
        self.reader.feed(data)
        self._arrived.set()

    def finish(self) -> None:
        """Take note that nothing more comes."""
        self._complete = True
        self._arrived.set()

    async def pages(self) -> AsyncIterator[Sequence[SitemapEntry]]:
        """Yield the pages it lists, some at a time; ``end`` is set after the last."""
        while True:
            found = self.reader.take()
            if not found:
                if self._complete:
                    break
                self._arrived.clear()
                await self._arrived.wait()
                continue
            yield self._pages(found)
        self.end = self.reader.close()
        while found := self.reader.take():
            yield self._pages(found)

    def _pages(self, found: Found) -> Sequence[SitemapEntry]:
        self.sitemaps += found.sitemaps
        return found.entries


class SitemapVisitor:
    """Visits sitemaps and feeds."""

    def __init__(self, equipment: Equipment, traveller: Traveller, endings: Endings) -> None:
        self._with = equipment
        self._traveller = traveller
        self._endings = endings
        http = equipment.job.http
        self._limits = FetchLimits(
            connect_s=min(http.connect_timeout, http.timeout),
            first_byte_s=min(http.first_byte_timeout, http.timeout),
            total_s=max(http.timeout, MIN_TOTAL_S),
            header_bytes=http.max_header_bytes,
            body_bytes=MAX_BYTES,
        )

    async def visit(self, trip: Trip) -> Visit:
        """Read one sitemap; what it lists is queued before the visit ends."""
        listing = _Listing(trip.url)
        offering = asyncio.create_task(self._offer(trip, listing))
        try:
            response = await self._traveller.fetch(trip, stream=listing.feed, limits=self._limits)
        finally:
            listing.finish()
            await offering
        return self._end(trip, response, listing)

    async def _offer(self, trip: Trip, listing: _Listing) -> None:
        """Queue entries as they are read, a handful at a time so that fetches go on meanwhile."""
        equipment = self._with
        async for entries in listing.pages():
            for at in range(0, len(entries), OFFERED_AT_ONCE):
                links = equipment.sitemaps.listed(entries[at : at + OFFERED_AT_ONCE], trip.url)
                if links:
                    await equipment.frontier.offer(links)
                    equipment.sitemaps.offered()
                listing.offered += len(links)

    def _end(self, trip: Trip, response: Response, listing: _Listing) -> Visit:
        assert listing.end is not None
        problem = listing.end.problem
        outcome = Outcome.OK
        if response.status != 200:
            problem, outcome = f"status {response.status}", Outcome.HTTP_ERROR
        elif not listing.reader.found:
            outcome = Outcome.FAILED if problem else Outcome.OK
        reason = "" if outcome is Outcome.OK else "sitemap"
        visit = self._endings.end(trip, outcome, problem, response=response, reason=reason)
        assert visit.record is not None
        visit.record.page_class = SITEMAP_CLASS
        visit.record.n_links = listing.offered
        visit.links = [*visit.links, *self._further(trip, listing, outcome)]
        return visit

    def _further(self, trip: Trip, listing: _Listing, outcome: Outcome) -> list[Link]:
        """Return the sitemaps an index lists, or the next guess where a guess held nothing."""
        lease, sitemaps = trip.lease, self._with.sitemaps
        if outcome is not Outcome.OK and not lease.referrer:
            return sitemaps.another_guess(lease.url)
        return sitemaps.links(listing.sitemaps, lease.depth + 1, trip.url)
