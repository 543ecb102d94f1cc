"""One URL's life: robots, fetch, redirects hop by hop, parse, links, record.

A visit decides and fetches but keeps nothing: what it brings is a ``Visit``, made safe by the
committer. A response frees its host at once; the ack follows when the record is safe.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping

from skitter.crawl.equipment import Equipment
from skitter.crawl.records import begin_record, describe, lead_to, take_headers
from skitter.crawl.trip import Ended, Trip, Visit
from skitter.errors import (
    AddressRefused,
    FetchError,
    FrontierError,
    TooManyRedirects,
    TypeRefused,
    UrlError,
)
from skitter.fetch.base import Request, Response
from skitter.fetch.redirects import BadRedirect, Follow, next_hop
from skitter.frontier.model import MAX_LOST, Freed, Hop, Lease, Link, Result
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.politeness.decision import Code, Decision
from skitter.politeness.directives import robots_directives
from skitter.politeness.pace import Verdict
from skitter.politeness.retry import RetryPolicy
from skitter.types import Outcome
from skitter.url.normalise import NormalUrl

log = logging.getLogger(__name__)

MAX_HOP_WAIT_MS = 10_000
"""A redirect to a host that rests longer than this leaves its target to the queue."""
_NO_HEADERS: Mapping[str, str] = {}
RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
ROBOTS_TRIES = 3


class Visitor:
    """Visits URLs of one job."""

    def __init__(self, equipment: Equipment, free: Callable[[Freed], None]) -> None:
        self._with = equipment
        self._free = free
        """Called when a response has arrived, so that its host may be asked again."""
        job = equipment.job
        self._headers = job.http.resolved_headers()
        self._retry = RetryPolicy(tries=job.http.tries)
        self._follows = FollowOptions(nofollow=not job.polite.robots)

    async def visit(self, lease: Lease) -> Visit:
        """Bring one URL as far as it goes now."""
        trip = Trip(lease, lease.url, lease.host, seen={lease.fp})
        try:
            lost = lease.lost + self._with.blackbox.losses(lease)
            if lost >= MAX_LOST:
                why = f"given up: the process died or hung {lost} times while it was open"
                return self._end(trip, Outcome.FAILED, why, reason="poison")
            response = await self._fetch_through(trip)
            return self._read(trip, response)
        except Ended as ended:
            return ended.visit
        except FetchError as error:
            return self._failed(trip, error)
        except FrontierError:
            raise
        except Exception as error:  # noqa: BLE001  one page must not end the crawl
            return self._broken(trip, error)

    def _broken(self, trip: Trip, error: Exception) -> Visit:
        log.error("visiting %s failed", trip.url, exc_info=error)
        why = f"internal error: {type(error).__name__}: {error}"
        return self._end(trip, Outcome.FAILED, why, reason="internal error")

    async def _fetch_through(self, trip: Trip) -> Response:
        """Fetch, following redirects, each hop judged on its own."""
        await self._robots_allow(trip)
        while True:
            response, verdict = await self._request(trip)
            match next_hop(trip.url, response):
                case Follow(target):
                    await self._follow(trip, target, response, verdict)
                case BadRedirect(why):
                    self._let_go(trip, verdict)
                    raise Ended(
                        self._end(trip, Outcome.FAILED, why, response=response, reason="redirect")
                    )
                case _:
                    self._let_go(trip, verdict)
                    return response

    async def _request(self, trip: Trip) -> tuple[Response, Verdict]:
        equipment = self._with
        try:
            request = Request(
                url=trip.url,
                headers=self._own_headers(trip),
                accept_types=equipment.job.http.types,
            )
            response = await equipment.fetcher.fetch(request)
        except FetchError as error:
            self._let_go(trip, equipment.manners.faulted(trip.host, error))
            raise
        verdict = equipment.manners.answered(trip.host, response)
        if response.status in RETRYABLE_STATUSES:
            self._let_go(trip, verdict)
            raise Ended(self._put_off(trip, response, verdict))
        return response, verdict

    def _own_headers(self, trip: Trip) -> Mapping[str, str]:
        """Return the job's headers for its own sites: they may hold secrets."""
        if not self._headers or not self._with.home.contains(trip.url, trip.host):
            return _NO_HEADERS
        downgraded = trip.lease.url.startswith("https") and not trip.url.startswith("https")
        return _NO_HEADERS if downgraded else self._headers

    def _let_go(self, trip: Trip, verdict: Verdict) -> None:
        rest_ms = verdict.next_allowed_ms
        # Without a delay the gate needs no time of its own: it is open.
        if not verdict.delay_ms and rest_ms <= self._with.clock.now_ms():
            rest_ms = 0
        self._free(Freed(trip.lease.id, trip.host, verdict.delay_ms, rest_ms))

    async def _robots_allow(self, trip: Trip) -> None:
        """Ask the site's rules about the URL at hand; ends the visit when they forbid it."""
        manners = self._with.manners
        if not manners.obeys_robots:
            return
        robots = manners.robots_at_hand(trip.url) or await manners.robots_stored(trip.url)
        asked = robots is None
        if robots is None:
            robots = await manners.ask_robots(trip.url)
        if robots.decide(trip.url).allowed:
            if asked:
                await self._after_robots_request(trip)
            return
        decision = robots.judge(trip.url)
        if decision.code is Code.ROBOTS_UNAVAILABLE and trip.lease.attempts + 1 < ROBOTS_TRIES:
            at_ms = max(robots.expires_at_ms, manners.rests_until_ms(trip.url))
            self._free(Freed(trip.lease.id, trip.host, None, manners.rests_until_ms(trip.url)))
            raise Ended(self._later(trip, Result.RETRY, at_ms, decision.code))
        if robots.unavailable and robots.status is None:
            why = f"robots.txt could not be read: {robots.error}"
            raise Ended(self._end(trip, Outcome.FAILED, why, reason=decision.code))
        raise Ended(self._refused(trip, decision))

    async def _after_robots_request(self, trip: Trip) -> None:
        """Let the delay pass after the request for robots.txt, in the queue where that is due."""
        manners = self._with.manners
        delay_ms = manners.pace(trip.host).effective_delay_ms(manners.crawl_delay(trip.url))
        if trip.chain and delay_ms <= MAX_HOP_WAIT_MS:
            await asyncio.sleep(delay_ms / 1000)
        elif delay_ms:
            self._free(Freed(trip.lease.id, trip.host, delay_ms))
            raise Ended(self._later(trip, Result.DEFER, None, ""))

    async def _follow(self, trip: Trip, target: str, response: Response, verdict: Verdict) -> None:
        """Move the trip to a redirect's target, or end it there."""
        trip.chain.append(trip.url)
        try:
            normal = self._with.normaliser.absolute(target)
            self._judge_hop(trip, normal)
            await self._settle_hop(trip, normal, response)
        except UrlError as error:
            self._let_go(trip, verdict)
            raise Ended(
                self._end(trip, Outcome.FAILED, str(error), response=response, reason="redirect")
            ) from error
        except (Ended, FetchError):
            self._let_go(trip, verdict)
            raise
        alone = self._with.job.polite.per_host == 1 or not verdict.delay_ms
        if normal.host == trip.host and alone and verdict.delay_ms <= MAX_HOP_WAIT_MS:
            # The gate is this visit's own: nobody else asks the host meanwhile.
            trip.url = normal.url
            await asyncio.sleep(verdict.delay_ms / 1000)
            await self._robots_allow(trip)
            return
        self._let_go(trip, verdict)
        trip.url, trip.host = normal.url, normal.host
        await self._enter(trip)
        await self._robots_allow(trip)

    def _judge_hop(self, trip: Trip, normal: NormalUrl) -> None:
        if normal.fp in trip.seen:
            raise TooManyRedirects(trip.lease.url, f"redirects in a circle at {normal.url}")
        limit = self._with.job.http.max_redirects
        if len(trip.chain) > limit:
            raise TooManyRedirects(trip.lease.url, f"more than {limit} redirects")
        judge = self._with.judge
        decision = judge.explain(normal.url, normal.host)
        if decision.allowed:
            return
        if trip.lease.depth == 0 and decision.code is Code.SCOPE:
            # Where an entry leads is what the user asked for: http to https, a bare domain to www.
            trip.wider_scope.append(normal.url)
            return
        sentence = f"redirects to {normal.url}: {decision.sentence}"
        visit = self._refused(trip, Decision.refuse(decision.code, sentence))
        lead_to(visit, trip, normal)
        raise Ended(visit)

    async def _settle_hop(self, trip: Trip, normal: NormalUrl, response: Response) -> None:
        """Make the target this visit's own, or end as a duplicate of a known URL."""
        equipment = self._with
        trip.seen.add(normal.fp)
        if equipment.reservations.reserve(normal.fp):
            [known] = await equipment.reader.seen(trip.lease.job, [(normal.host, normal.fp)])
            if not known:
                trip.hops.append(Hop(normal.fp, normal.host))
                return
            trip.hops.append(Hop(normal.fp, normal.host))
        visit = self._end(trip, Outcome.DUPLICATE, None, response=response)
        lead_to(visit, trip, normal).duplicate_of = normal.url
        raise Ended(visit)

    async def _enter(self, trip: Trip) -> None:
        """Wait for the target host's gate; a hop is a request like any other."""
        equipment = self._with
        patience = equipment.clock.boot() + MAX_HOP_WAIT_MS / 1000
        while True:
            wait_ms = await equipment.frontier.enter(trip.lease, trip.host, MAX_HOP_WAIT_MS)
            if not wait_ms:
                return
            if wait_ms > MAX_HOP_WAIT_MS or equipment.clock.boot() > patience:
                raise Ended(self._leave_to_queue(trip))
            await asyncio.sleep(wait_ms / 1000)

    def _leave_to_queue(self, trip: Trip) -> Visit:
        """End a visit whose redirect leads to a resting host: the target becomes a link."""
        equipment = self._with
        target = equipment.normaliser.absolute(trip.url)
        held = self._release_hops(trip)
        visit = self._end(trip, Outcome.DUPLICATE, None)
        lead_to(visit, trip, target).duplicate_of = target.url
        if trip.wider_scope:
            visit.wider_scope = [trip.url]
            self._widen(visit.wider_scope)
        link = equipment.finder.make_link(target, trip.lease.depth, trip.lease.url)
        visit.links = [link, *held]
        return visit

    def _release_hops(self, trip: Trip) -> list[Link]:
        """Give up the targets this trip reserved; answers the links held back for them."""
        held: list[Link] = []
        for hop in trip.hops:
            held += self._with.reservations.release(hop.fp)
        trip.hops = []
        return held

    def _read(self, trip: Trip, response: Response) -> Visit:
        """Turn the final response into a record and links."""
        if not 200 <= response.status < 300:
            return self._end(
                trip,
                Outcome.HTTP_ERROR,
                f"status {response.status}",
                response=response,
                reason=f"status {response.status}",
            )
        equipment = self._with
        equipment.blackbox.note(trip.lease)
        try:
            page = parse_page(response.body, response.content_type, trip.url, follow=self._follows)
        finally:
            equipment.blackbox.clear()
        directives = robots_directives(
            page.robots if equipment.manners.obeys_robots else (),
            response.headers.get("x-robots-tag") if equipment.manners.obeys_robots else None,
            equipment.job.http.agent,
        )
        outcome = Outcome.NOINDEX if directives.noindex else Outcome.OK
        visit = self._end(trip, outcome, None, response=response)
        assert visit.record is not None
        visit.digest = describe(visit.record, page, response, noindex=directives.noindex)
        if trip.wider_scope:
            visit.wider_scope = [trip.url]
            self._widen(visit.wider_scope)
        if not directives.nofollow:
            visit.links = equipment.finder.links(page, trip.url, trip.lease.depth)
        return visit

    def _widen(self, urls: list[str]) -> None:
        for url in urls:
            if self._with.judge.scope.add(url):
                self._with.finder.forget()

    def _put_off(self, trip: Trip, response: Response, verdict: Verdict) -> Visit:
        """Try again later, unless the tries are used up or the site asks for too long a wait."""
        at_ms = self._next_try_ms(trip)
        if at_ms is None or verdict.give_up:
            why = f"status {response.status}" + (f": {verdict.reason}" if verdict.give_up else "")
            reason = f"status {response.status}"
            return self._end(trip, Outcome.HTTP_ERROR, why, response=response, reason=reason)
        at_ms = max(at_ms, verdict.retry_at_ms or 0)
        return self._later(trip, Result.RETRY, at_ms, f"status {response.status}")

    def _failed(self, trip: Trip, error: FetchError) -> Visit:
        reason = type(error).__name__
        if isinstance(error, TypeRefused):
            visit = self._end(trip, Outcome.SKIPPED, error.why, reason=reason)
            assert visit.record is not None
            visit.record.status, visit.record.content_type = error.status, error.content_type
            return visit
        if isinstance(error, AddressRefused):
            why = f"{error.why}; the operator may allow it with --allow-private"
            return self._refused(trip, Decision.refuse(Code.ADDRESS, why))
        if isinstance(error, TooManyRedirects):
            # Each hop may be fine when it is asked for itself.
            held = self._release_hops(trip)
            visit = self._end(trip, Outcome.FAILED, error.why, reason=reason)
            visit.links = held
            return visit
        at_ms = self._next_try_ms(trip) if error.retryable else None
        if at_ms is None:
            return self._end(trip, Outcome.FAILED, error.why, reason=reason)
        return self._later(trip, Result.RETRY, at_ms, reason)

    def _next_try_ms(self, trip: Trip) -> int | None:
        equipment = self._with
        done = trip.lease.attempts + 1
        return self._retry.next_try_ms(done, equipment.clock.now_ms(), equipment.rng)

    def _later(self, trip: Trip, result: Result, at_ms: int | None, reason: str) -> Visit:
        """Leave the URL for another time; what was held back for its target goes on its way."""
        visit = Visit(lease=trip.lease, result=result, at_ms=at_ms, reason=reason)
        visit.links = self._release_hops(trip)
        return visit

    def _refused(self, trip: Trip, decision: Decision) -> Visit:
        return self._end(trip, Outcome.REFUSED, decision.sentence, reason=decision.code)

    def _end(
        self,
        trip: Trip,
        outcome: Outcome,
        error: str | None,
        *,
        response: Response | None = None,
        reason: str = "",
    ) -> Visit:
        """End the visit with its record."""
        kept = outcome in (Outcome.OK, Outcome.NOINDEX, Outcome.DUPLICATE, Outcome.SKIPPED)
        record = begin_record(trip, self._with.job, outcome, error, self._with.clock.now_ms())
        if response is not None:
            take_headers(record, response)
        return Visit(
            lease=trip.lease,
            result=Result.DONE if kept else Result.DEAD,
            reason=reason,
            record=record,
            hops=trip.hops,
        )
