"""How much waits to be resolved, and whether more may come: overload is refused at once."""

import math
import time
from collections import deque
from collections.abc import Awaitable, Callable

from skitter.frontier.model import Counts

MOST_PENDING = 10_000
LOOK_S = 0.25
"""How long a count is taken for true; what was added since is counted in."""
RATE_S = 10.0
"""The stretch of time over which the rate is measured."""
MOST_RETRY_S = 60
LEAST_RATE = 1.0


class Overloaded(Exception):
    """More waits than may; to be asked again after so many seconds."""

    def __init__(self, pending: int, retry_s: int) -> None:
        super().__init__(
            f"{pending} URLs wait to be resolved, which is as many as may; ask again in {retry_s} s"
        )
        self.retry_s = retry_s


class Load:
    """The URLs of the lane that are not done, as this process knows."""

    def __init__(
        self,
        look: Callable[[], Awaitable[Counts]],
        most: int = MOST_PENDING,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look = look
        self._most = most
        self._now = now
        self._counts = Counts()
        self._added = 0
        self._looked = float("-inf")
        self._ended: deque[tuple[float, int]] = deque()

    @property
    def pending(self) -> int:
        """How many wait, as far as it is known."""
        return self._counts.pending + self._added

    async def admit(self, urls: int) -> None:
        """Count so many more; raises ``Overloaded`` when they are too many."""
        if self._now() - self._looked >= LOOK_S:
            await self._count()
        if self.pending + urls > self._most:
            raise Overloaded(self.pending, self.retry_s(urls))
        self._added += urls

    async def _count(self) -> None:
        self._looked = self._now()
        added = self._added
        counts = await self._look()
        # What was added while it was counted may be in it, or not: it is counted twice at worst.
        self._counts, self._added = counts, self._added - added
        self._ended.append((self._looked, counts.done + counts.dead))
        while len(self._ended) > 2 and self._ended[0][0] < self._looked - RATE_S:
            self._ended.popleft()

    def retry_s(self, urls: int) -> int:
        """Return after how many seconds there should be room."""
        (first_at, first), (last_at, last) = self._ended[0], self._ended[-1]
        rate = max(LEAST_RATE, (last - first) / max(LOOK_S, last_at - first_at))
        missing = self.pending + urls - self._most
        return min(MOST_RETRY_S, max(1, math.ceil(missing / rate)))
