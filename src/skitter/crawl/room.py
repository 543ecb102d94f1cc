"""How long what is kept for people may stay, so that all of it together is bounded.

Tickets and answers to repeated requests are kept for a day. Each is small, but who asks a thousand
times a second could fill the store with them. So the more comes, the sooner it ends: what came in
the last minutes says how fast it comes, and how long so much may stay within the room there is.
What would not fit even for the shortest time is refused. The bytes are counted in the store, for
all processes that keep something there.
"""

from typing import Final

from skitter.clock import Clock
from skitter.frontier.base import Frontier, FrontierReader

ROOM_BYTES: Final = 256 << 20
LONGEST_MS: Final = 86_400_000
SHORTEST_MS: Final = 900_000
"""Long enough to be kept over a restart of an embedded store."""
LOOK_S: Final = 1.0
"""How long a count is taken for true; what was added here since is counted in."""
COUNTER: Final = "kept_bytes"
RETRY_S: Final = 30


class NoRoom(Exception):
    """More is kept than may be; to be asked again after so many seconds."""

    def __init__(self) -> None:
        super().__init__(f"too much is kept for those who ask; ask again in {RETRY_S} s")
        self.retry_s = RETRY_S


class Room:
    """The bytes that are kept for people in one store."""

    def __init__(
        self, frontier: Frontier, reader: FrontierReader, clock: Clock, most: int = ROOM_BYTES
    ) -> None:
        self._frontier = frontier
        self._reader = reader
        self._clock = clock
        self.most = most
        self._counted = 0
        self._added = 0
        self._looked = float("-inf")

    async def stay_ms(self, size: int) -> int:
        """Return how long so many bytes more may stay; raises ``NoRoom`` when they may not."""
        if self._clock.boot() - self._looked >= LOOK_S:
            await self._look()
        recent = self._counted + self._added + size
        if recent > self.most:
            raise NoRoom
        self.add(size)
        return stay_ms(recent, self.most)

    def add(self, size: int) -> None:
        """Count bytes that are kept."""
        self._added += size

    async def _look(self) -> None:
        self._looked = self._clock.boot()
        added, now_ms = self._added, self._clock.now_ms()
        if added:
            await self._frontier.count({COUNTER: added}, now_ms)
        since_ms = now_ms - SHORTEST_MS
        found = await self._reader.series(COUNTER, "minute", since_ms, now_ms + 1, exact=True)
        self._counted = sum(found.get(COUNTER, {}).values())
        self._added -= added


def stay_ms(recent: int, most: int) -> int:
    """Return how long bytes may stay when so many came within the shortest time there is."""
    return max(SHORTEST_MS, min(LONGEST_MS, SHORTEST_MS * most // max(1, recent)))
