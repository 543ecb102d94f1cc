"""Who waits for which page, and is woken when it has come.

Events say when to look; whether a page is there the page index says. Events may be late or lost,
so everyone who waits also looks by themselves now and then.
"""

import asyncio
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import msgspec

from skitter.crawl.resolve.lane import LANE
from skitter.errors import SkitterError
from skitter.frontier.base import FrontierReader

MOST_EVENTS = 2_000
MOST_WAITED_FOR = 20_000
"""Pages that are waited for; whoever comes then is answered at once, and has a ticket."""
WAIT_MS = 5_000
"""How long one question for events waits."""
PAUSE_S = 1.0
"""Before the store is asked again after an error."""

log = logging.getLogger(__name__)


class _Event(msgspec.Struct):
    type: str
    job: str | None = None
    url: str | None = None


_read = msgspec.json.Decoder(_Event).decode


class Arrivals:
    """Wakes those who wait for pages of the lane."""

    def __init__(self, reader: FrontierReader) -> None:
        self._reader = reader
        self._waiting: dict[str, set[asyncio.Event]] = {}

    @property
    def is_crowded(self) -> bool:
        """Whether so much is waited for that nobody else should."""
        return len(self._waiting) > MOST_WAITED_FOR

    @contextmanager
    def watch(self, urls: Collection[str]) -> Iterator[asyncio.Event]:
        """Give an event that is set whenever one of the URLs has come, as they were queued."""
        bell = asyncio.Event()
        for url in urls:
            self._waiting.setdefault(url, set()).add(bell)
        try:
            yield bell
        finally:
            for url in urls:
                bells = self._waiting[url]
                bells.discard(bell)
                if not bells:
                    del self._waiting[url]

    async def run(self) -> None:
        """Follow the events of the store until cancelled."""
        after = ""
        while True:
            try:
                # Not "from now on" each time: what comes between two questions is heard as well.
                after = after or await self._reader.latest_event()
                events = await self._reader.events(after, MOST_EVENTS, WAIT_MS)
            except SkitterError as error:
                log.info("events cannot be read at the moment: %s", error)
                await asyncio.sleep(PAUSE_S)
                continue
            for _, data in events:
                self.heard(data)
            if events:
                after = events[-1][0]

    def heard(self, data: bytes) -> None:
        """Take note of an event."""
        if not self._waiting:
            return
        try:
            event = _read(data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            # Whoever published it is another process; what follows it is heard all the same.
            return
        if event.type == "page" and event.job == LANE and event.url is not None:
            for bell in self._waiting.get(event.url, ()):
                bell.set()
