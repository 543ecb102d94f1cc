"""From a URL to its final response: robots, the host's gate, redirects hop by hop.

A response frees its host at once; the ack follows when the record is safe.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from skitter.crawl.aliases.ending import is_left_out
from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.keep import Keeper
from skitter.crawl.media import accept_media, media_link
from skitter.crawl.records import lead_to, recorded_url
from skitter.crawl.robots_errand import RobotsErrand
from skitter.crawl.trip import Ended, Trip, Visit
from skitter.crawl.windows import PutOff
from skitter.errors import FetchError, TooManyRedirects, UrlError
from skitter.fetch.base import FetchLimits, Request, Response, Taker
from skitter.fetch.redirects import BadRedirect, Follow, next_hop
from skitter.frontier.base import KNOWN
from skitter.frontier.model import Freed, Hop, Link, Result
from skitter.pipeline.record import JUMP_CLASS
from skitter.politeness.decision import Code, Decision
from skitter.politeness.pace import Verdict
from skitter.politeness.robots_entry import AgentRobots
from skitter.types import Outcome, Role
from skitter.url.normalise import NormalUrl

MAX_HOP_WAIT_MS = 10_000
"""A redirect to a host that rests longer than this leaves its target to the queue."""
RETRYABLE_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
ROBOTS_TRIES = 3
_NO_HEADERS: Mapping[str, str] = {}


class Traveller:
    """Makes the requests of visits."""

    def __init__(
        self, equipment: Equipment, endings: Endings, free: Callable[[Freed], None]
    ) -> None:
        self._with = equipment
        self._endings = endings
        self._free = free
        """Called when a response has arrived, so that its host may be asked again."""
        self._headers = equipment.job.http.own_headers()
        self._sites = equipment.manners.sites
        self._keeper = Keeper(equipment.job, equipment.clock) if equipment.keeps_raw else None

    async def fetch(
        self,
        trip: Trip,
        *,
        stream: Taker | None = None,
        limits: FetchLimits | None = None,
        types: tuple[str, ...] | None = None,
    ) -> Response:
        """Fetch, following redirects, each hop judged on its own; raises ``Ended`` on the way.

        With ``stream`` the body goes there, whatever its media type; else it has to be of one of
        ``types``, or of the job's. Raises ``PutOff`` when a request has to wait for longer than a
        visit may.
        """
        await self._robots_allow(trip)
        while True:
            response, verdict = await self._request(trip, stream, limits, types)
            match next_hop(trip.url, response):
                case Follow(target):
                    if trip.is_page and self._leads_out(trip.url, target):
                        self._let_go(trip, verdict)
                        raise Ended(self.jump(trip, target, response))
                    await self._follow(trip, target, response, verdict)
                    if self._with.windows is not None:
                        await self._with.windows.wait(trip.lease, trip.host, MAX_HOP_WAIT_MS)
                case BadRedirect(why):
                    self._let_go(trip, verdict)
                    raise Ended(
                        self._endings.end(
                            trip, Outcome.FAILED, why, response=response, reason="redirect"
                        )
                    )
                case _:
                    self._let_go(trip, verdict)
                    return response

    async def _request(
        self,
        trip: Trip,
        stream: Taker | None,
        limits: FetchLimits | None,
        types: tuple[str, ...] | None,
    ) -> tuple[Response, Verdict]:
        equipment = self._with
        keeps = self._keeper is not None and stream is None
        rights, windows = equipment.rights, equipment.windows
        if types is None:
            types = self._sites.types(trip.host) if stream is None else ()
        try:
            request = Request(
                url=trip.url,
                headers=self._own_headers(trip),
                accept_types=types,
                keep_raw=keeps,
                stream=stream,
                limits=limits,
                permit=None if rights is None else partial(rights.check, trip.lease),
                ready=None if windows is None else windows.ready(trip.lease, trip.host),
            )
            response = await equipment.fetcher.fetch(request)
        except FetchError as error:
            self._let_go(trip, equipment.manners.faulted(trip.host, error))
            raise
        trip.answered_ms = equipment.clock.now_ms()
        if self._keeper is not None and response.raw is not None:
            trip.kept.append(self._keeper.keep(response, trip.answered_ms))
        verdict = equipment.manners.answered(trip.host, response)
        if response.status in RETRYABLE_STATUSES:
            self._let_go(trip, verdict)
            raise Ended(self._endings.put_off(trip, response, verdict))
        return response, verdict

    def put_off(self, trip: Trip, put_off: PutOff) -> Visit:
        """End a visit whose next request may not be made now; nothing counts as tried."""
        windows, at_ms = self._with.windows, put_off.at_ms
        if windows is not None:
            at_ms = windows.rest_until_ms(trip.host, put_off)
        self._free(Freed(trip.lease.id, trip.host, None, at_ms))
        if trip.chain:
            return self._leave_to_queue(trip)
        return self._endings.later(trip, Result.DEFER, None, "")

    def _own_headers(self, trip: Trip) -> Mapping[str, str]:
        """Return the job's headers for its own sites, for they may hold secrets, and our name."""
        named = self._sites.agent_header(trip.host) if self._sites.renames else _NO_HEADERS
        if trip.lease.role is Role.MEDIA:
            named = {**named, "Accept": accept_media(trip.lease)}
        if trip.history is not None:
            named = {**named, **trip.conditions}
        if not self._headers or not self._with.home.contains(trip.url, trip.host):
            return named
        downgraded = trip.lease.url.startswith("https") and not trip.url.startswith("https")
        if downgraded:
            return named
        return {**self._headers.for_url(trip.url, self._with.clock.now_ms() / 1000), **named}

    def _let_go(self, trip: Trip, verdict: Verdict) -> None:
        rest_ms = verdict.next_allowed_ms
        # Without a delay the gate needs no time of its own: it is open.
        if not verdict.delay_ms and rest_ms <= self._with.clock.now_ms():
            rest_ms = 0
        told = (verdict.delay_ms, rest_ms, verdict.floor_ms, verdict.held_until_ms)
        # A member that had not heard of it yet may have been the first to meet the host.
        per_host = self._sites.of(trip.host).per_host
        self._free(Freed(trip.lease.id, trip.host, *told, per_host=per_host))

    async def _robots_allow(self, trip: Trip) -> None:
        """Ask the site's rules about the URL at hand; ends the visit when they forbid it."""
        manners = self._with.manners
        robots: AgentRobots | None = None
        if manners.obeys_robots:
            robots = manners.robots_at_hand(trip.url) or await manners.robots_stored(trip.url)
            asked = robots is None
            if robots is None:
                errand = RobotsErrand(self._with, trip, self._free)
                robots = await manners.ask_robots(trip.url, errand)
            if not robots.decide(trip.url).allowed:
                if robots.sitemaps:
                    self._announce(trip, robots)
                raise Ended(self._forbidden(trip, robots))
            if asked:
                await self._after_robots_request(trip)
        self._announce(trip, robots)

    def _announce(self, trip: Trip, robots: AgentRobots | None) -> None:
        """Take the sitemaps of a site along with a page of it.

        Not before the page itself is asked for: where an entry leads may widen the scope, and what
        a sitemap lists is judged when it is read.
        """
        if trip.is_page:
            trip.found += self._with.sitemaps.announced(trip.url, trip.host, robots)

    def _forbidden(self, trip: Trip, robots: AgentRobots) -> Visit:
        manners = self._with.manners
        decision = robots.judge(trip.url)
        if decision.code is Code.ROBOTS_UNAVAILABLE and trip.lease.attempts + 1 < ROBOTS_TRIES:
            at_ms = max(robots.expires_at_ms, manners.rests_until_ms(trip.url))
            rests_ms = manners.rests_until_ms(trip.url)
            self._free(Freed(trip.lease.id, trip.host, None, rests_ms, held_until_ms=rests_ms))
            return self._endings.later(trip, Result.RETRY, at_ms, decision.code)
        if robots.unavailable and robots.status is None:
            why = f"robots.txt could not be read: {robots.error}"
            return self._endings.end(trip, Outcome.FAILED, why, reason=decision.code)
        return self._endings.refused(trip, decision)

    async def _after_robots_request(self, trip: Trip) -> None:
        """Let the delay pass after the request for robots.txt, in the queue where that is due."""
        verdict = self._with.manners.delay(trip.host, trip.url)
        delay_ms = verdict.delay_ms
        if not delay_ms:
            return
        if trip.chain:
            turn = self._with.frontier.turn
            wait_ms = await turn(trip.lease, trip.host, delay_ms, MAX_HOP_WAIT_MS)
            if wait_ms <= MAX_HOP_WAIT_MS:
                await asyncio.sleep(wait_ms / 1000)
                return
        self._let_go(trip, verdict)
        raise Ended(self._endings.later(trip, Result.DEFER, None, ""))

    async def _follow(self, trip: Trip, target: str, response: Response, verdict: Verdict) -> None:
        """Move the trip to a redirect's target, or end it there."""
        trip.chain.append(trip.url)
        try:
            normal = self._with.normaliser.absolute(target)
            normal = self._with.normaliser.in_role(normal, trip.lease.role)
            self._judge_hop(trip, normal)
            await self._settle_hop(trip, normal, response)
        except UrlError as error:
            self._let_go(trip, verdict)
            raise Ended(
                self._endings.end(
                    trip, Outcome.FAILED, str(error), response=response, reason="redirect"
                )
            ) from error
        except (Ended, FetchError):
            self._let_go(trip, verdict)
            raise
        alone = self._with.manners.per_host(trip.host) == 1 or (
            not verdict.delay_ms and self._with.rights is None
        )
        if normal.host == trip.host and alone and verdict.delay_ms <= MAX_HOP_WAIT_MS:
            # The gate is this visit's own: nobody else asks the host meanwhile.
            trip.url = normal.url
            await asyncio.sleep(verdict.delay_ms / 1000)
            await self._robots_allow(trip)
            return
        if normal.host == trip.host and trip.entered:
            await self._ask_again(trip, normal, verdict)
            return
        self._let_go(trip, verdict)
        trip.url, trip.host = normal.url, normal.host
        await self._enter(trip, normal, response)
        await self._robots_allow(trip)

    async def _ask_again(self, trip: Trip, normal: NormalUrl, verdict: Verdict) -> None:
        """Make one more hop on a host whose gate was entered: others ask it as well."""
        trip.url = normal.url
        turn = self._with.frontier.turn
        wait_ms = await turn(trip.lease, trip.host, verdict.delay_ms, MAX_HOP_WAIT_MS)
        if wait_ms > MAX_HOP_WAIT_MS:
            self._let_go(trip, verdict)
            raise Ended(self._leave_to_queue(trip))
        await asyncio.sleep(wait_ms / 1000)
        await self._robots_allow(trip)

    def _judge_hop(self, trip: Trip, normal: NormalUrl) -> None:
        if normal.fp in trip.seen:
            raise TooManyRedirects(trip.lease.url, f"redirects in a circle at {normal.url}")
        limit = self._with.job.http.max_redirects
        if len(trip.chain) > limit:
            raise TooManyRedirects(trip.lease.url, f"more than {limit} redirects")
        if not trip.is_page:
            self._judge_other_hop(trip, normal)
            return
        decision = self._with.judge.explain(normal.url, normal.host, trip.lease.depth)
        if decision.allowed:
            return
        if self._with.judge.is_start(trip.lease) and decision.code is Code.SCOPE:
            # Where an entry leads is what the user asked for: http to https, a bare domain to www.
            trip.wider_scope.append(normal.url)
            return
        sentence = f"redirects to {normal.url}: {decision.sentence}"
        visit = self._endings.refused(trip, Decision.refuse(decision.code, sentence))
        lead_to(visit, trip, normal)
        raise Ended(visit)

    def _judge_other_hop(self, trip: Trip, normal: NormalUrl) -> None:
        refusal = self._sites.explain(normal.host, 0)
        # What a site or a person names may lie anywhere: what it lists is judged. Pictures, too.
        named = trip.lease.depth == 0 or trip.lease.role is Role.MEDIA
        near = named or self._with.sitemaps.is_near(normal, trip.lease.host)
        if near and refusal.allowed:
            return
        code = Code.SCOPE if refusal.allowed else refusal.code
        why = self._with.judge.scope.why_not(normal.url) if refusal.allowed else refusal.sentence
        refusal = Decision.refuse(code, f"redirects to {normal.url}: {why}")
        visit = self._endings.refused(trip, refusal)
        lead_to(visit, trip, normal)
        raise Ended(visit)

    async def _settle_hop(self, trip: Trip, normal: NormalUrl, response: Response) -> None:
        """Make the target this visit's own, or end as a duplicate of a known URL."""
        equipment = self._with
        trip.seen.add(normal.fp)
        if not equipment.reservations.reserve(normal.fp):
            visit = await self._duplicate(trip, normal, response)
            if not trip.wider_scope:
                # It waits, as a link would: whoever has the target may not bring it after all.
                visit.links = [*visit.links, self._link_to(trip, normal)]
            raise Ended(visit)
        # Noted before the store is asked: a visit that is broken off there lets its targets go.
        trip.hops.append(Hop(normal.fp, normal.host))
        known = await self._is_known(trip, normal)
        goes_on = trip.goes_on_to(normal.url, equipment.job)
        trip.to_alias = known and (goes_on or await is_left_out(equipment, trip, normal))
        if known and not trip.to_alias:
            raise Ended(await self._duplicate(trip, normal, response))

    async def _is_known(self, trip: Trip, normal: NormalUrl) -> bool:
        """Tell whether the target is known; one that is not is reserved on the way.

        To have the gate of its host does not keep others from offering it. On another host it is
        reserved together with the gate; where nobody else has the store, in memory alone.
        """
        equipment = self._with
        if equipment.rights is None or normal.host != trip.host:
            [known] = await equipment.reader.seen(trip.lease.job, [(normal.host, normal.fp)])
            return known
        reserve = equipment.frontier.reserve
        wait_ms = await self._patiently(lambda: reserve(trip.lease, normal.host, normal.fp))
        if wait_ms > 0:
            trip.url = normal.url
            raise Ended(self._leave_to_queue(trip))
        return wait_ms == KNOWN

    async def _patiently(self, ask: Callable[[], Awaitable[int]]) -> int:
        """Ask for something until it is there; more than 0 when that takes too long."""
        clock = self._with.clock
        patience = clock.boot() + MAX_HOP_WAIT_MS / 1000
        while True:
            wait_ms = await ask()
            if wait_ms <= 0 or wait_ms > MAX_HOP_WAIT_MS or clock.boot() > patience:
                return wait_ms
            await asyncio.sleep(wait_ms / 1000)

    async def _duplicate(self, trip: Trip, normal: NormalUrl, response: Response) -> Visit:
        """End at a redirect to a URL that is known: its own visit brings the page."""
        visit = self._endings.end(trip, Outcome.DUPLICATE, None, response=response)
        note = await self._with.reader.note(trip.lease.job, normal.host, normal.fp)
        lead_to(visit, trip, normal).duplicate_of = recorded_url(note) or normal.url
        return visit

    async def _enter(self, trip: Trip, normal: NormalUrl, response: Response) -> None:
        """Wait for the target host's gate; a hop is a request like any other."""
        target = None if trip.to_alias else normal.fp
        enter = self._with.frontier.enter
        wait_ms = await self._patiently(
            lambda: enter(trip.lease, trip.host, MAX_HOP_WAIT_MS, target)
        )
        if wait_ms == KNOWN:
            raise Ended(await self._duplicate(trip, normal, response))
        if wait_ms > 0:
            raise Ended(self._leave_to_queue(trip))
        trip.entered = True

    def _leads_out(self, url: str, target: str) -> bool:
        """Tell whether a redirect leads from a jump link to a page."""
        judge = self._with.judge
        return judge.is_jump(url) and not judge.is_jump(target)

    def jump(self, trip: Trip, target: str | None, response: Response) -> Visit:
        """End at a link that only leads on to another: that is queued in its place."""
        why = "it was to lead on to another page and does not" if target is None else None
        outcome = Outcome.OK if target is not None else Outcome.FAILED
        visit = self._endings.end(trip, outcome, why, response=response)
        assert visit.record is not None
        visit.record.page_class = JUMP_CLASS
        if target is None:
            return visit
        normal = self._with.normaliser.absolute(target)
        visit.record.final_url = normal.url
        link = self._with.finder.jumped(normal, trip.lease)
        visit.links = trip.found if link is None else [*trip.found, link]
        return visit

    def _leave_to_queue(self, trip: Trip) -> Visit:
        """End a visit whose redirect leads to a resting host: the target becomes a link."""
        equipment = self._with
        target = equipment.normaliser.absolute(trip.url)
        held = self._endings.release_hops(trip)
        visit = self._endings.end(trip, Outcome.DUPLICATE, None)
        lead_to(visit, trip, target).duplicate_of = target.url
        if trip.wider_scope:
            visit.wider_scope = [trip.url]
            equipment.widen(visit.wider_scope)
        visit.links = [*trip.found, self._link_to(trip, target), *held]
        visit.unheld = held
        return visit

    def _link_to(self, trip: Trip, target: NormalUrl) -> Link:
        """Return the target of a redirect as a link."""
        lease, finder = trip.lease, self._with.finder
        if trip.is_page:
            return finder.make_link(target, lease.depth, lease.url, lease.rank, data=lease.data)
        if lease.role is Role.MEDIA:
            return media_link(finder, self._with.normaliser, target, lease)
        return self._with.sitemaps.link(target, lease.depth, lease.url, lease.rank)
