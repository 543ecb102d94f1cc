"""The visit of a file that a page shows: fetched for the archive, and not read."""

from collections.abc import Callable

from xxhash import xxh3_128_hexdigest

from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.media import kind_of
from skitter.crawl.travel import Traveller
from skitter.crawl.trip import Trip, Visit
from skitter.errors import BodyTooLarge
from skitter.fetch.base import FetchLimits, Response
from skitter.fetch.types import HTML, sniff
from skitter.frontier.model import Freed
from skitter.politeness.directives import robots_directives
from skitter.types import Outcome

_SVG = "image/svg+xml"
"""It is markup, and may begin with a comment as pages do."""


class MediaVisitor:
    """Visits pictures, films and sounds."""

    def __init__(
        self,
        equipment: Equipment,
        traveller: Traveller,
        endings: Endings,
        free: Callable[[Freed], None],
    ) -> None:
        self._with = equipment
        self._traveller = traveller
        self._endings = endings
        self._free = free
        http = equipment.job.http
        self._limits = FetchLimits(
            connect_s=min(http.connect_timeout, http.timeout),
            first_byte_s=min(http.first_byte_timeout, http.timeout),
            total_s=http.timeout,
            header_bytes=http.max_header_bytes,
            body_bytes=equipment.job.limits.media_bytes,
        )

    async def visit(self, trip: Trip) -> Visit:
        """Bring one file."""
        media, kind = self._with.media, kind_of(trip.lease)
        if media is None or not media.wants(kind):
            self._free(Freed(trip.lease.id, trip.host, unasked=True))
            why = f"the job does not ask for files of this kind any more: {kind}"
            return self._endings.end(trip, Outcome.SKIPPED, why, reason="media")
        try:
            response = await self._traveller.fetch(trip, limits=self._limits, types=(f"{kind}/*",))
        except BodyTooLarge as error:
            why = f"{error.why}, and limits.media_bytes is {self._limits.body_bytes}"
            reason = type(error).__name__
            return self._endings.end(trip, Outcome.FAILED, why, reason=reason)
        return self._end(trip, response)

    def _end(self, trip: Trip, response: Response) -> Visit:
        outcome, why, manners = Outcome.OK, None, self._with.manners
        tag = response.headers.get("x-robots-tag") if manners.obeys_robots else None
        if response.status != 200:
            outcome, why = Outcome.HTTP_ERROR, f"status {response.status}"
        elif sniff(response.body) == HTML and response.media_type != _SVG:
            outcome, why = Outcome.SKIPPED, f"it says {response.media_type}, and is a page"
        elif robots_directives((), tag, manners.sites.agent(trip.host)).noindex:
            outcome = Outcome.NOINDEX
        reason = "" if why is None else "media"
        visit = self._endings.end(trip, outcome, why, response=response, reason=reason)
        assert visit.record is not None
        visit.record.digest = xxh3_128_hexdigest(response.body)
        return visit
