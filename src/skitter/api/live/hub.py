"""One reader of the store's events for everybody who listens here.

Events are read while somebody listens, sorted into the channels of those who want them, and a few
times a second listeners are woken who have something waiting. The more there are, the more seldom
each is: it is told as many messages, several at once. Nobody waits for a slow one.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

from skitter.api.live.channel import Channel, Piece
from skitter.api.live.filters import Filter, places_of
from skitter.api.live.history import EventLog, History, read_events
from skitter.api.live.listener import RATE, Listener
from skitter.api.live.told import EventKey, Told, key_of
from skitter.crawl.kept_going import kept_going
from skitter.errors import SkitterError

WRITES: Final = 2_000
"""How often in a second all listeners together are written to at most."""
MOST_LISTENERS: Final = 5_000
HEARTBEAT_S: Final = 15.0
READ: Final = 1_000
WAIT_MS: Final = 2_000
CATCH_UP_S: Final = 3.0
"""How long one who comes back waits until this process has heard what it knows already."""

log = logging.getLogger(__name__)


class TooManyListeners(Exception):
    """There is no room for another one."""


class EventHub:
    """Everybody who listens in this process."""

    def __init__(self, source: EventLog) -> None:
        self._log = source
        self._channels: dict[Filter, Channel] = {}
        self._places: defaultdict[tuple[str, str], list[Channel]] = defaultdict(list)
        self._listeners: set[Listener] = set()
        self._present = 0
        self._at = ""
        self._key: EventKey = ()
        self._history: History | None = None
        self._opening = asyncio.Lock()
        self._somebody = asyncio.Event()
        self._news = asyncio.Condition()
        self.is_closed = False
        """Whether listeners are to go: the process ends."""
        self.sent = 0
        """Messages, of all listeners together."""
        self.dropped = 0

    @property
    def count(self) -> int:
        """How many listen."""
        return len(self._listeners)

    @property
    def is_full(self) -> bool:
        """Whether nobody else may listen."""
        return self._present >= MOST_LISTENERS or self.is_closed

    @property
    def is_reading(self) -> bool:
        """Whether events are read: somebody listens, or did a moment ago."""
        return self._somebody.is_set()

    @property
    def interval(self) -> float:
        """Seconds between two writes to one listener."""
        return max(1 / RATE, self.count / WRITES)

    @asynccontextmanager
    async def listen(
        self, wanted: Filter, after: str = "", *, owed: bool = False
    ) -> AsyncIterator[Listener]:
        """Listen to what passes a filter, also to what happened after an event if one is named.

        ``owed`` is for those who are few, and are not to wait because many others listen.
        """
        if self.is_full and not owed:
            raise TooManyListeners
        self._present += 1
        try:
            listener = await self._begin(wanted, key_of(after))
            try:
                yield listener
            finally:
                self._leave(listener)
        finally:
            self._present -= 1

    async def _begin(self, wanted: Filter, after: EventKey | None) -> Listener:
        history = await self._open()
        if after is None:
            return self._enter(wanted)
        await self._reach(after)
        listener, until = self._enter(wanted), self._key
        try:
            listener.repeat(await history.missed(wanted, after, until))
        except BaseException:
            self._leave(listener)
            raise
        return listener

    def take(self, listener: Listener) -> Piece:
        """Return what a listener that was woken is to send."""
        most = max(1, int(RATE * self.interval + 1e-6))
        piece = listener.take(most, asyncio.get_running_loop().time())
        self.sent += piece.messages
        self.dropped += piece.dropped
        return piece

    async def after(self, event_id: str, limit: int) -> list[Told]:
        """Return what happened after an event, oldest first; while somebody listens."""
        key = key_of(event_id) or ()
        found = None if self._history is None else self._history.after(key, limit)
        if found is not None:
            return found
        return read_events(await self._log.events(event_id, limit))

    def close(self) -> None:
        """Let everybody go who listens."""
        self.is_closed = True
        for listener in self._listeners:
            listener.wake()

    async def run(self) -> None:
        """Read and tell, until it is cancelled."""
        await kept_going("the reader of events", self._run)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._tell())

    async def _open(self) -> History:
        """Begin with what happens from now on, if nobody listened before."""
        async with self._opening:
            if self._history is None:
                self._at = await self._log.latest_event()
                self._key = key_of(self._at) or ()
                self._history = History(self._log, self._key)
            self._somebody.set()
            return self._history

    async def _reach(self, key: EventKey) -> None:
        """Wait until what somebody has heard from another process has come here as well."""
        try:
            async with asyncio.timeout(CATCH_UP_S), self._news:
                await self._news.wait_for(lambda: self._key >= key)
        except TimeoutError:
            log.debug("a listener knows an event that is not in the store: %s", key)

    def _enter(self, wanted: Filter) -> Listener:
        channel = self._channels.get(wanted)
        if channel is None:
            channel = self._channels[wanted] = Channel(wanted)
            for place in wanted.places():
                self._places[place].append(channel)
        listener = Listener(channel)
        channel.listeners += 1
        self._listeners.add(listener)
        return listener

    def _leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)
        channel = listener.channel
        channel.listeners -= 1
        if channel.listeners:
            return
        del self._channels[channel.filter]
        for place in channel.filter.places():
            self._places[place].remove(channel)
            if not self._places[place]:
                del self._places[place]

    async def _read(self) -> None:
        while True:
            await self._somebody.wait()
            try:
                rows = await self._log.events(self._at, READ, WAIT_MS)
            except SkitterError as error:
                log.warning("events cannot be read, trying again: %s", error)
                await asyncio.sleep(1)
                continue
            if rows:
                await self._take_in(rows[-1][0], read_events(rows))
            if not self._present:
                # Nobody is there to be told: the next one begins with what happens then.
                self._somebody.clear()
                self._history = None

    async def _take_in(self, last: str, events: Iterable[Told]) -> None:
        for event in events:
            try:
                self._sort(event)
            except Exception:  # those after it are told all the same
                log.exception("an event cannot be told: %s", event.id)
        self._at = last
        self._key = key_of(last) or self._key
        async with self._news:
            self._news.notify_all()

    def _sort(self, event: Told) -> None:
        if self._history is not None:
            self._history.add(event)
        for place in places_of(event.facts):
            for channel in self._places.get(place, ()):
                if channel.filter.wants(event.facts):
                    channel.add(event)

    async def _tell(self) -> None:
        loop = asyncio.get_running_loop()
        beat_at = loop.time() + HEARTBEAT_S
        while True:
            await asyncio.sleep(self.interval)
            is_beat = loop.time() >= beat_at
            if is_beat:
                beat_at += HEARTBEAT_S
            for listener in self._listeners:
                if is_beat or listener.is_behind:
                    listener.wake()
