"""The visit of a sitemap: its URLs are offered while it still arrives, so memory stays flat."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import TypeVar

from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.history import NOT_MODIFIED
from skitter.crawl.travel import Traveller
from skitter.crawl.trip import Ended, Trip, Visit
from skitter.errors import FetchError
from skitter.fetch.base import FetchLimits, Response
from skitter.frontier.model import Link, Result
from skitter.parse.sitemap.model import Found, SitemapEnd
from skitter.parse.sitemap.reader import SitemapReader
from skitter.types import Outcome

MAX_BYTES = 100 * 1024 * 1024
"""Twice what the sitemap protocol allows, packed and unpacked."""
MIN_TOTAL_S = 300.0
"""A large sitemap may take longer than a page."""
OFFERED_AT_ONCE = 500
MAX_UNREAD = 1 << 20
"""Bytes that have come and are not read yet, at which the server has to wait."""

LISTED = b"listed"
"""Stands for the content of a list in its history."""

_T = TypeVar("_T")


class _Listing:
    """One sitemap on its way in. Bytes are taken as they come, and read when there is time."""

    def __init__(self, trip: Trip) -> None:
        self._trip = trip
        self._reader: SitemapReader | None = None
        self.offered = 0
        self._arrived = asyncio.Event()
        self._complete = False
        self._unread = 0
        self._room: asyncio.Future[None] | None = None
        self.end: SitemapEnd | None = None

    @property
    def reader(self) -> SitemapReader:
        """Reads it; what it lists is relative to where the redirects have led."""
        if self._reader is None:
            self._reader = SitemapReader(self._trip.url, max_bytes=MAX_BYTES)
        return self._reader

    def feed(self, data: bytes) -> asyncio.Future[None] | None:
        """Take bytes as they arrive; answers what to wait for when there are too many."""
        self.reader.feed(data)
        self._arrived.set()
        self._unread += len(data)
        if self._unread >= MAX_UNREAD and self._room is None:
            self._room = asyncio.get_running_loop().create_future()
        return self._room

    def make_room(self) -> None:
        """Take note that everything is read, or that nobody reads any more."""
        self._unread = 0
        if self._room is not None:
            self._room.set_result(None)
            self._room = None

    def finish(self) -> None:
        """Take note that nothing more comes."""
        self._complete = True
        self._arrived.set()

    async def found(self) -> AsyncIterator[Found]:
        """Yield what it lists, some at a time; ``end`` is set after the last."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while found := self.reader.take():
                yield found
                if found.goes_on:
                    # Much may be read that lists nothing to offer: others get their turn even so.
                    await asyncio.sleep(0)
            self.make_room()
            if self._complete:
                break
        self.end = self.reader.close()
        while found := self.reader.take():
            yield found


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
        listing = _Listing(trip)
        goes_on = True
        try:
            visit = self._end(trip, await self._read(trip, listing), listing)
        except Ended as ended:
            visit = ended.visit
        except FetchError as error:
            visit = self._endings.failed(trip, error)
            # A host that is down is not asked for other places.
            goes_on = not error.retryable
        if visit.record is not None:
            visit.record.n_links = listing.offered
            if goes_on and not trip.lease.referrer and visit.result is Result.DEAD:
                visit.links = [*visit.links, *self._with.sitemaps.another_guess(trip.lease.url)]
        return visit

    async def _read(self, trip: Trip, listing: _Listing) -> Response:
        offering = asyncio.create_task(self._offer(trip, listing))
        offering.add_done_callback(lambda _: listing.make_room())

        def take(data: bytes) -> asyncio.Future[None] | None:
            if offering.done():
                # It ends before the last byte only when it fails; this ends the fetch with it.
                offering.result()
            return listing.feed(data)

        try:
            return await self._traveller.fetch(trip, stream=take, limits=self._limits)
        except asyncio.CancelledError:
            offering.cancel()
            raise
        finally:
            listing.finish()
            await offering

    async def _offer(self, trip: Trip, listing: _Listing) -> None:
        """Queue entries as they are read, a handful at a time so that fetches go on meanwhile."""
        sitemaps, level = self._with.sitemaps, trip.lease.depth + 1
        async for found in listing.found():
            for some in _chunks(found.entries):
                links = sitemaps.listed(some, trip.url)
                await self._queue(links)
                listing.offered += len(links)
            for urls in _chunks(found.sitemaps):
                await self._queue(sitemaps.children(urls, level, trip.url, trip.host))

    async def _queue(self, links: list[Link]) -> None:
        equipment = self._with
        # A page that a redirect is fetching in this moment is not to be fetched beside it.
        links = equipment.reservations.unreserved(links)
        if links:
            await equipment.frontier.offer(links)
            equipment.sitemaps.offered()

    def _end(self, trip: Trip, response: Response, listing: _Listing) -> Visit:
        assert listing.end is not None
        problem = listing.end.problem
        outcome = Outcome.OK
        if response.status == NOT_MODIFIED and trip.was_conditional:
            return self._unchanged(trip, response)
        if response.status != 200:
            problem, outcome = f"status {response.status}", Outcome.HTTP_ERROR
        elif problem and not listing.reader.found:
            outcome = Outcome.FAILED
        elif response.truncated:
            problem = problem or "it broke off before its end"
        if outcome is Outcome.OK and not problem:
            # Known by what the server says of it: what it lists is offered and forgotten.
            trip.content = LISTED
        reason = "" if outcome is Outcome.OK else "sitemap"
        return self._endings.end(trip, outcome, problem, response=response, reason=reason)

    def _unchanged(self, trip: Trip, response: Response) -> Visit:
        """End a visit to a list that is as it was."""
        assert trip.history is not None
        visit = self._endings.end(trip, Outcome.OK, None, response=response)
        assert visit.record is not None
        visit.record.changed = False
        visit.record.etag = visit.record.etag or trip.history.etag
        visit.record.last_modified = visit.record.last_modified or trip.history.last_modified
        trip.content = LISTED
        return visit


def _chunks(found: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (found[at : at + OFFERED_AT_ONCE] for at in range(0, len(found), OFFERED_AT_ONCE))
