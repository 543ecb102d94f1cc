"""One URL's life: fetched by a traveller, parsed, its links found, its record made.

A visit decides and fetches but keeps nothing: what it brings is a ``Visit``, made safe by the
committer.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from skitter.crawl.aliases.ending import under_kept_name
from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.history import (
    NOT_MODIFIED,
    History,
    content_of,
    encode_history,
    history_mark,
    past_visit,
    read_history,
)
from skitter.crawl.media_visit import MediaVisitor
from skitter.crawl.ordering import is_doubtful
from skitter.crawl.records import describe, take_over
from skitter.crawl.rendering import Rendering
from skitter.crawl.retrying import look_at_past
from skitter.crawl.sitemap_visit import SitemapVisitor
from skitter.crawl.travel import Traveller
from skitter.crawl.trip import Ended, Trip, Visit
from skitter.crawl.windows import PutOff
from skitter.errors import FetchError, FrontierError
from skitter.fetch.base import Response
from skitter.frontier.model import (
    MAX_LOST,
    MAX_LOST_SHARED,
    Freed,
    Lease,
    Link,
    Result,
    own_note,
)
from skitter.job.spec import Kind
from skitter.parse.article.missing import title_says_missing
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.page import ParsedPage
from skitter.parse.simhash import visible_texts
from skitter.pipeline.record import TRAP_CLASS, PageRecord, decode_line
from skitter.politeness.decision import Code, Decision
from skitter.politeness.directives import robots_directives
from skitter.types import HostKey, Outcome, Role
from skitter.url.parse import Base

log = logging.getLogger(__name__)

MOST_WAITING = 8
"""Visits that wait for their turn; further ones are put off."""
TURN_MS = 250
UNGATED_MS = 2_000
"""How long a URL waits whose host has just ceased to be blacklisted: it came without a gate."""
SAMPLE_CHARS = 4_000
"""Text of a page that is looked at to judge its relevance."""


@dataclass(slots=True, weakref_slot=True)
class _Turn:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Visitor:
    """Visits URLs of one job."""

    def __init__(self, equipment: Equipment, free: Callable[[Freed], None]) -> None:
        self._with = equipment
        self._free = free
        self._endings = Endings(equipment)
        self._traveller = Traveller(equipment, self._endings, free)
        self._sitemaps = SitemapVisitor(equipment, self._traveller, self._endings)
        self._media = MediaVisitor(equipment, self._traveller, self._endings, free)
        browser = equipment.renderer
        self._rendering = None if browser is None else Rendering(equipment, browser)
        self._doubtful: WeakValueDictionary[HostKey, _Turn] = WeakValueDictionary()
        """By host: whose turn it is among the pages that may lie in a trap."""
        self._unheld: list[Link] = []
        scored = equipment.relevance is not None
        nofollow = not equipment.job.polite.robots
        rules = equipment.judge.links
        self._plain = FollowOptions(
            nofollow=nofollow,
            texts=scored,
            sample=SAMPLE_CHARS if scored else 0,
            keep=(
                equipment.extraction is not None
                or equipment.news is not None
                or equipment.media is not None
                or equipment.refresh is not None
                or (rules is not None and rules.restricted)
            ),
        )
        self._hashed = replace(self._plain, sketch=True)

    async def visit(self, lease: Lease) -> Visit:
        """Bring one URL as far as it goes now."""
        trip = Trip(lease, lease.url, lease.host, seen={lease.fp})
        visit = await self._brought(trip)
        if self._with.refresh is not None:
            self._remember(visit, trip)
        elif visit.record is not None and trip.before is not None:
            self._keep_history(visit, trip.before.after(visit.record, b""))
        await look_at_past(visit, trip, self._with.reader)
        return visit

    async def _brought(self, trip: Trip) -> Visit:
        try:
            await self._recall(trip)
            self._refuse_poison(trip)
            self._mind_settings(trip)
            return await self._visit(trip)
        except Ended as ended:
            return ended.visit
        except PutOff as put_off:
            return self._traveller.put_off(trip, put_off)
        except FetchError as error:
            return self._endings.failed(trip, error)
        except (FrontierError, asyncio.CancelledError):
            self._unheld += self._endings.release_hops(trip)
            if trip.found:
                # They count as announced but were never queued.
                self._with.sitemaps.forget()
            raise
        except Exception as error:  # noqa: BLE001  one page must not end the crawl
            return self._broken(trip, error)

    def take_unheld(self) -> list[Link]:
        """Return the links held back for visits that were broken off; they are in no queue."""
        links, self._unheld = self._unheld, []
        return links

    def _refuse_poison(self, trip: Trip) -> None:
        own = self._with.blackbox.losses(trip.lease)
        lost = trip.lease.lost + own
        # Where members come and go a lease is mostly lost for other reasons than its page.
        most = MAX_LOST if self._with.rights is None else MAX_LOST_SHARED
        if lost >= most or own >= MAX_LOST:
            why = f"given up: the process died or hung {lost} times while it was open"
            raise Ended(self._endings.end(trip, Outcome.FAILED, why, reason="poison"))

    def _mind_settings(self, trip: Trip) -> None:
        """End the visit when nothing is to be asked here any more since the URL was queued."""
        sites, lease = self._with.judge.sites, trip.lease
        if sites.any:
            decision = sites.explain(lease.host, lease.depth if trip.is_page else 0)
            if not decision.allowed:
                # Those behind it need not wait: nobody was asked for this one.
                drains = decision.code is Code.BLACKLIST
                self._free(Freed(lease.id, lease.host, drains=drains, unasked=True))
                raise Ended(self._endings.refused(trip, decision))
        if not lease.gated:
            at_ms = self._with.clock.now_ms() + UNGATED_MS
            raise Ended(self._endings.later(trip, Result.DEFER, at_ms, ""))

    async def _visit(self, trip: Trip) -> Visit:
        if trip.lease.role is Role.MEDIA:
            return await self._media.visit(trip)
        other = await under_kept_name(self._with, self._endings, trip)
        if other is not None:
            self._free(Freed(trip.lease.id, trip.host, unasked=True))
            return other
        if not trip.is_page:
            await self._look_back(trip)
            return await self._sitemaps.visit(trip)
        guard, lease = self._with.guard, trip.lease
        if guard is None or not is_doubtful(lease.rank) or guard.is_proven(lease.url):
            return await self._visit_page(trip)
        # One at a time: what it brings may spare the others. Those must not take up all workers.
        turn = self._doubtful.setdefault(trip.lease.host, _Turn())
        if turn.waiting >= MOST_WAITING:
            at_ms = self._with.clock.now_ms() + TURN_MS
            return self._endings.later(trip, Result.DEFER, at_ms, "")
        turn.waiting += 1
        try:
            async with turn.lock:
                return await self._visit_page(trip)
        finally:
            turn.waiting -= 1

    async def _look_back(self, trip: Trip) -> None:
        """Take up what earlier visits have brought, of a page that comes again."""
        refresh, lease = self._with.refresh, trip.lease
        if refresh is None or not refresh.keeps(lease.page_class):
            return
        stored = await self._with.reader.mark(history_mark(lease.job, lease.fp))
        history = read_history(stored)
        leaning = b"" if self._with.news is None else self._with.news.leaning(lease.url)
        shown = b"shown" if trip.is_shown else b""
        trip.history = history.before(lease.visit, refresh.goes_by + leaning + shown)
        trip.number = max(lease.visit, history.last + 1)

    def _remember(self, visit: Visit, trip: Trip) -> None:
        """Let a page come again that does, and keep what this visit has brought."""
        assert self._with.refresh is not None
        self._with.refresh.plan(visit)
        if visit.record is not None and trip.history is not None:
            self._keep_history(visit, trip.history.after(visit.record, trip.content))

    async def _recall(self, trip: Trip) -> None:
        """Take up the visits before this one, of a page that somebody wants to know about again.

        Most never come again: of a first visit the record says all, and there is nothing to read.
        """
        lease = trip.lease
        if lease.visit == 1 or self._with.job.kind is not Kind.RESOLVE:
            return
        reader = self._with.reader
        history = read_history(await reader.mark(history_mark(lease.job, lease.fp)))
        if not history.visits:
            note = own_note(await reader.note(lease.job, lease.host, lease.fp))
            history = History(visits=[past_visit(decode_line(note))]) if note else history
        trip.before = history

    @staticmethod
    def _keep_history(visit: Visit, history: History) -> None:
        lease = visit.lease
        visit.marks[history_mark(lease.job, lease.fp)] = encode_history(history)

    async def _visit_page(self, trip: Trip) -> Visit:
        self._beware(trip)
        if self._rendering is not None:
            trip.is_shown = self._rendering.wants(trip.lease)
        await self._look_back(trip)
        response = await self._traveller.fetch(trip)
        if response.status == NOT_MODIFIED and trip.was_conditional:
            return await self._unchanged(trip, response)
        if self._rendering is not None and trip.is_shown:
            response = await self._rendering.shown(trip, response)
        visit = self._read(trip, response)
        aliases = self._with.aliases
        if aliases is not None and aliases.is_due:
            await aliases.decide()
        return visit

    def _broken(self, trip: Trip, error: Exception) -> Visit:
        log.error("visiting %s failed", trip.url, exc_info=error)
        why = f"internal error: {type(error).__name__}: {error}"
        return self._endings.end(trip, Outcome.FAILED, why, reason="internal error")

    def _beware(self, trip: Trip) -> None:
        """End the visit when the URL was queued before its kind turned out to be a trap."""
        guard = self._with.guard
        lease = trip.lease
        if guard is None:
            return
        why = guard.before(lease.url, lease.depth, found_on=lease.referrer)
        if why is not None:
            why = f"it looks like part of a trap: {why}"
            visit = self._endings.refused(trip, Decision.refuse(Code.TRAP, why))
            assert visit.record is not None
            visit.record.page_class = TRAP_CLASS
            raise Ended(visit)

    def _read(self, trip: Trip, response: Response) -> Visit:
        """Turn the final response into a record and links."""
        if not 200 <= response.status < 300:
            reason = f"status {response.status}"
            return self._endings.end(
                trip, Outcome.HTTP_ERROR, reason, response=response, reason=reason
            )
        self._with.blackbox.note(trip.lease)
        try:
            return self._read_page(trip, response)
        finally:
            self._with.blackbox.clear()

    def _read_page(self, trip: Trip, response: Response) -> Visit:
        equipment = self._with
        page = self._parse(trip, response)
        if trip.moved_to is not None:
            page.refresh = page.refresh or trip.moved_to
        if equipment.judge.is_jump(trip.url):
            on = page.refresh and (page.joiner or Base(trip.url)).join(page.refresh)
            return self._traveller.jump(trip, on or None, response)
        directives = robots_directives(
            page.robots if equipment.manners.obeys_robots else (),
            response.headers.get("x-robots-tag") if equipment.manners.obeys_robots else None,
            equipment.manners.sites.agent(trip.host),
        )
        outcome = Outcome.NOINDEX if directives.noindex else Outcome.OK
        visit = self._endings.end(trip, outcome, None, response=trip.received or response)
        assert visit.record is not None
        visit.digest = describe(visit.record, page, response, noindex=directives.noindex)
        if equipment.news is not None:
            equipment.news.read(visit, page, trip.lease, noindex=directives.noindex)
        ruled = self._extract(visit, page, trip, noindex=directives.noindex)
        if visit.filled and equipment.drift is not None:
            equipment.drift.saw(visit.filled)
        _flag(visit, visit.record, page, judged=equipment.news is not None or bool(visit.filled))
        self._compare(visit.record, page, trip)
        if equipment.aliases is not None:
            visit.alike = equipment.aliases.saw(
                visit.record, response.body, visit.digest, trip.host
            )
        if trip.wider_scope:
            visit.wider_scope = [trip.url]
            equipment.widen(visit.wider_scope)
        if equipment.media is not None:
            shown = equipment.media.take(visit, page, trip, pictures=not directives.noimageindex)
            visit.links = [*visit.links, *shown]
        if not directives.nofollow:
            visit.links = [*visit.links, *ruled, *self._links(trip, page, visit.record)]
        return visit

    async def _unchanged(self, trip: Trip, response: Response) -> Visit:
        """End a visit to a page that is as it was."""
        lease = trip.lease
        assert trip.history is not None
        visit = self._endings.end(trip, Outcome.OK, None, response=response)
        assert visit.record is not None
        take_over(visit.record, await self._with.reader.note(lease.job, lease.host, lease.fp))
        visit.record.changed = False
        trip.content = trip.history.content
        return visit

    def _compare(self, record: PageRecord, page: ParsedPage, trip: Trip) -> None:
        """Say whether a page that comes again is another than it was."""
        if trip.history is None:
            return
        trip.content = content_of(record, page, self._text_of(record, page))
        if trip.history.content:
            record.changed = trip.content != trip.history.content

    def _text_of(self, record: PageRecord, page: ParsedPage) -> str | None:
        """Return the text that a page has for itself; a page of links has none."""
        if record.text is not None or record.page_class == "nav" or page.document is None:
            return record.text
        from skitter.parse.article.extract import extract_article  # noqa: PLC0415  takes long

        found = extract_article(page.document, record.final_url or record.url).text
        return found or " ".join(" ".join(visible_texts(page.document)).split())

    def _extract(self, visit: Visit, page: ParsedPage, trip: Trip, *, noindex: bool) -> list[Link]:
        """Fill in what the job's rules take of a page; answers the links they found."""
        extraction = self._with.extraction
        if extraction is None:
            return []
        found = extraction.read(visit, page, trip.lease, noindex=noindex)
        return self._with.finder.ruled_links(found, trip.url, trip.lease.depth)

    def _parse(self, trip: Trip, response: Response) -> ParsedPage:
        guard, lease = self._with.guard, trip.lease
        suspect = guard is not None and guard.wants_content(
            trip.url, lease.depth, found_on=lease.referrer
        )
        page = parse_page(
            response.body,
            response.read_as,
            trip.url,
            follow=self._hashed if suspect else self._plain,
        )
        if guard is not None:
            guard.page(
                trip.url,
                depth=lease.depth,
                found_on=lease.referrer,
                sketch=page.sketch,
            )
        return page

    def _links(self, trip: Trip, page: ParsedPage, record: PageRecord) -> list[Link]:
        lease = trip.lease
        is_leaf = self._with.news is not None and record.page_class == "data"
        if not self._with.judge.follows_plain or is_leaf:
            return []
        return self._with.finder.links(page, trip.url, lease.depth, lease.rank)


def _flag(visit: Visit, record: PageRecord, page: ParsedPage, *, judged: bool) -> None:
    """Say of a page that is kept what may be wrong with it.

    Where it was ``judged`` by its fields and by what it says, its title says nothing more.
    """
    # What was cut off was perhaps cut within a character.
    visit.garbled = page.unread > 0 and not record.truncated
    if record.outcome != Outcome.OK or record.error is not None:
        return
    if not judged:
        record.error = title_says_missing(record.title)
        visit.says_missing = record.error is not None
    if visit.garbled and record.error is None:
        record.error = f"not all of its bytes are {record.encoding}: {page.unread} unreadable"
