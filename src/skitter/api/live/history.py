"""What happened lately, for listeners who come back.

The newest events are kept in memory; who was away for longer is answered from the store, once for
all who were away as long: after a restart everybody comes back at the same time.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterable
from itertools import dropwhile, takewhile
from typing import Final, NamedTuple, Protocol

from skitter.api.live.filters import Filter
from skitter.api.live.told import EventKey, Told, id_of, read_event

REMEMBERED: Final = 10_000
"""Events in memory."""
REPEATED: Final = 200
"""Events that one listener who comes back is told of; what is older is counted."""
PAGE: Final = 1_000

Row = tuple[str, bytes]


class EventLog(Protocol):
    """Where events are kept for a while."""

    async def events(self, after: str, limit: int, wait_ms: int = 0) -> list[Row]:
        """Return events after an id, oldest first; waits so long when there are none."""

    async def latest_event(self) -> str:
        """Return the id of the newest event; "0" when there is none."""


class Missed(NamedTuple):
    """What a listener has missed: the newest of it, and how much came before that."""

    events: deque[Told]
    dropped: int


class History:
    """The newest events, without a gap, from right after one of them on."""

    def __init__(self, log: EventLog, start: EventKey) -> None:
        self._log = log
        self._floor = start
        self._events: deque[Told] = deque()
        self._reading = asyncio.Lock()

    def add(self, event: Told) -> None:
        """Remember an event that has just happened."""
        self._events.append(event)
        if len(self._events) > REMEMBERED:
            self._floor = self._events.popleft().key

    def after(self, key: EventKey, limit: int) -> list[Told] | None:
        """Return what happened after an event; None when that is too long ago to be in memory."""
        if key < self._floor:
            return None
        newer = list(takewhile(lambda event: event.key > key, reversed(self._events)))
        return newer[: -limit - 1 : -1]

    async def missed(self, wanted: Filter, after: EventKey, until: EventKey) -> Missed:
        """Return what happened after one event, up to and with another."""
        found = _Found(wanted)
        async with self._reading:
            if after < self._floor:
                await self._look_back(found, after)
        for event in dropwhile(lambda event: event.key <= after, self._events):
            if event.key > until:
                break
            found.add(event)
        return Missed(found.events, found.seen - len(found.events))

    async def _look_back(self, found: "_Found", after: EventKey) -> None:
        """Read what is not in memory any more; keep it there, unless it is too much."""
        older: list[Told] = []
        fits = True
        async for page in self._older(after):
            older += page
            fits = fits and len(older) + len(self._events) <= REMEMBERED
            if not fits:
                found.take(older)
                older = []
        if fits:
            self._events.extendleft(reversed(older))
            self._floor = after

    async def _older(self, after: EventKey) -> AsyncIterator[list[Told]]:
        """Yield what the store has from ``after`` to where the memory begins.

        While that is read the memory may lose its oldest events, so its beginning is looked at
        anew each time.
        """
        at = id_of(after)
        while rows := await self._log.events(at, PAGE):
            at = rows[-1][0]
            events = read_events(rows)
            page = [event for event in events if event.key <= self._floor]
            yield page
            if len(page) < len(events):
                return


class _Found:
    """The newest events that pass a filter, and how many did."""

    def __init__(self, wanted: Filter) -> None:
        self._filter = wanted
        self.events: deque[Told] = deque(maxlen=REPEATED)
        self.seen = 0

    def add(self, event: Told) -> None:
        if self._filter.wants(event.facts):
            self.events.append(event)
            self.seen += 1

    def take(self, events: Iterable[Told]) -> None:
        for event in events:
            self.add(event)


def read_events(rows: Iterable[Row]) -> list[Told]:
    """Read events of the store; what is none is left out."""
    found = (read_event(event_id, raw) for event_id, raw in rows)
    return [event for event in found if event is not None]
