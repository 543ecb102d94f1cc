"""URLs that somebody wants to know about now: decided one by one, fetched first, answered.

What was submitted is in the store, as a ticket and as queued URLs, before it is answered; from then
on nothing depends on this process. Many calls at once share the store's round trips.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from skitter.clock import Clock
from skitter.crawl.gather import Gather
from skitter.crawl.resolve.arrivals import Arrivals
from skitter.crawl.resolve.decide import answers, is_blocked, lacks_files
from skitter.crawl.resolve.found import Found, Page, tell
from skitter.crawl.resolve.index import PageIndex
from skitter.crawl.resolve.intake import Intake, Judged, Known
from skitter.crawl.resolve.load import Load
from skitter.crawl.resolve.tickets import Item, Ticket, Tickets, Written
from skitter.errors import NotFound

POLL_S = 1.0
"""When whoever waits looks without having been told to; the next time after twice as long."""

PAUSE_S = 0.02
"""From one call to the store to the next of its kind, while many submit."""

State = Literal["done", "pending", "blocked", "invalid"]


class Resolved(Found):
    """What came of one URL; names as in ``client.pages.Resolved``."""

    state: State = "pending"
    cached: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known of a ticket's URLs."""

    ticket: str
    results: list[Resolved]
    left_out: int = 0
    """URLs of a text that were too many."""

    def is_done(self) -> bool:
        """Whether nothing is pending any more."""
        return all(result.state != "pending" for result in self.results)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a caller wants."""

    urls: Sequence[str]
    max_age_s: float
    wait_s: float = 0.0
    media: str = ""
    left_out: int = 0
    """URLs that were too many to be among these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a resolver works with."""

    index: PageIndex
    intake: Intake
    tickets: Tickets
    load: Load
    arrivals: Arrivals
    clock: Clock


class Resolver:
    """Takes URLs and answers for tickets."""

    def __init__(self, desk: Desk) -> None:
        self._with = desk
        self._found = Gather(self._look_up, pause_s=PAUSE_S)
        self._keep = Gather(self._keep_tickets, pause_s=PAUSE_S)
        self._queue = Gather(self._offer, pause_s=PAUSE_S)

    async def close(self) -> None:
        """Let what is under way end."""
        for gather in (self._found, self._keep, self._queue):
            await gather.close()

    async def submit(self, asked: Asked) -> Answer:
        """Take URLs; raises ``Overloaded`` or ``NoRoom`` when too many were taken already."""
        desk = self._with
        if not asked.urls:
            return await self._nothing()
        # First of all: a lane that is new to this process has to be looked into.
        await desk.intake.lane()
        at_ms = desk.clock.now_ms()
        max_age_ms = min(round(asked.max_age_s * 1000), at_ms)
        pages = await self._pages(asked.urls)
        known = [
            Known(answers(page, at_ms - max_age_ms, asked.media, at_ms)) if page else None
            for page in pages
        ]
        judged = await desk.intake.judge(asked.urls, known, asked.media)
        wanted = [one for one in judged if one.is_wanted]
        items = [one.item for one in judged]
        ticket = Ticket(
            at_ms=at_ms,
            max_age_ms=max_age_ms,
            media=asked.media,
            items=items,
            left_out=asked.left_out,
        )
        written = await desk.tickets.write(ticket)
        if wanted:
            await desk.load.admit(len(wanted))
        results = self._results(ticket, pages)
        answer = Answer(ticket=written.key, results=results, left_out=ticket.left_out)
        _name(answer, judged)
        with desk.arrivals.watch(_urls(wanted)) as bell:
            await asyncio.gather(self._keep([written]), self._queue(wanted))
            desk.intake.count(judged)
            await self._wait(answer, ticket, bell, asked.wait_s)
        return answer

    async def _nothing(self) -> Answer:
        """Answer for a text without URLs, which is no reason to make the lane."""
        ticket = Ticket(at_ms=self._with.clock.now_ms(), max_age_ms=0, items=[])
        written = await self._with.tickets.write(ticket)
        await self._keep([written])
        return Answer(ticket=written.key, results=[])

    async def answer(self, key: str, wait_s: float) -> Answer:
        """Answer for a ticket; raises ``NotFound`` where there is none."""
        ticket = await self._with.tickets.get(key)
        if ticket is None:
            raise NotFound(f"ticket {key}: there is none, or its time is over")
        results = [Resolved(item.url) for item in ticket.items]
        answer = Answer(ticket=key, results=results, left_out=ticket.left_out)
        if not results:
            return answer
        waits = [item.url for item in ticket.items if not item.stopped and not item.cached]
        queued = await self._with.intake.queued_as(waits)
        names = dict(zip(waits, queued, strict=False))
        for result in answer.results:
            result.requested_url = names.get(result.url)
        with self._with.arrivals.watch(queued) as bell:
            await self._look(answer, ticket)
            await self._wait(answer, ticket, bell, wait_s)
        return answer

    async def _pages(self, urls: Sequence[str]) -> Sequence[Page | None]:
        return await self._found([Found(url) for url in urls])

    async def _look_up(self, asked: Sequence[Found]) -> Sequence[Page | None]:
        index = self._with.index
        return await index.pages(asked, await index.rules())

    async def _keep_tickets(self, tickets: Sequence[Written]) -> Sequence[None]:
        await self._with.tickets.put(tickets)
        return [None] * len(tickets)

    async def _offer(self, judged: Sequence[Judged]) -> Sequence[None]:
        await self._with.intake.offer(judged)
        return [None] * len(judged)

    async def _ask_for_files(
        self, ticket: Ticket, items: Sequence[Item], pages: Sequence[Page | None]
    ) -> None:
        """Queue pages anew that came for somebody who did not want the files on them."""
        short = [
            item.url
            for item, page in zip(items, pages, strict=True)
            if page is not None and lacks_files(page, ticket.at_ms, ticket.media)
        ]
        if short:
            judged = await self._with.intake.judge(short, [Known()] * len(short), ticket.media)
            await self._queue([one for one in judged if one.is_wanted])

    def _results(self, ticket: Ticket, pages: Sequence[Page | None]) -> list[Resolved]:
        now_ms = self._with.clock.now_ms()
        pairs = zip(ticket.items, pages, strict=True)
        return [_result(ticket, item, page, now_ms) for item, page in pairs]

    async def _wait(
        self, answer: Answer, ticket: Ticket, bell: asyncio.Event, wait_s: float
    ) -> None:
        """Wait until nothing is pending, or for so long."""
        if self._with.arrivals.is_crowded:
            # They have their tickets.
            return
        loop = asyncio.get_running_loop()
        until, poll_s = loop.time() + wait_s, POLL_S
        while not answer.is_done() and (left_s := until - loop.time()) > 0:
            # Where all have to wait for long, looking for oneself is no help.
            poll_s = POLL_S if await _rung(bell, min(poll_s, left_s)) else 2 * poll_s
            await self._look(answer, ticket)

    async def _look(self, answer: Answer, ticket: Ticket) -> None:
        """Look what has come of what is pending."""
        pending = [n for n, one in enumerate(answer.results) if one.state == "pending"]
        items = [ticket.items[n] for n in pending]
        pages = await self._pages([item.url for item in items])
        await self._ask_for_files(ticket, items, pages)
        now_ms = self._with.clock.now_ms()
        for n, item, page in zip(pending, items, pages, strict=True):
            result = _result(ticket, item, page, now_ms)
            result.requested_url = result.requested_url or answer.results[n].requested_url
            answer.results[n] = result


def _urls(judged: Sequence[Judged]) -> list[str]:
    return [one.normal.url for one in judged if one.normal is not None]


def _name(answer: Answer, judged: Sequence[Judged]) -> None:
    """Say of what is pending how it is asked for, which is how events name it."""
    for result, one in zip(answer.results, judged, strict=True):
        if result.state == "pending" and one.normal is not None:
            result.requested_url = one.normal.url


def _result(ticket: Ticket, item: Item, page: Page | None, now_ms: int) -> Resolved:
    if item.stopped:
        return Resolved(item.url, error=item.why, state=item.stopped)
    result = Resolved(item.url, cached=item.cached)
    if page is None or not answers(page, ticket.since_ms, ticket.media, now_ms):
        return result
    tell(result, page)
    result.state = "blocked" if is_blocked(page) else "done"
    result.seconds = max(0, page.kept.fetched_ms() - ticket.at_ms) / 1000
    return result


async def _rung(bell: asyncio.Event, timeout_s: float) -> bool:
    """Tell whether the bell rang in time."""
    try:
        async with asyncio.timeout(timeout_s):
            return await bell.wait()
    except TimeoutError:
        return False
    finally:
        bell.clear()
