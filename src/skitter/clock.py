"""Time as a dependency, so that leases, delays and caches are tested in virtual time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where components get the time from."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""

    def boot(self) -> float:
        """Return seconds that only grow, suspend included; for deadlines."""


class SystemClock:
    """The machine's clocks.

    The time of day is taken once and then counted on: a clock that is set back while a crawl
    runs would make every host wait, one set forward would cut every rest short.
    """

    def __init__(self) -> None:
        self._started_ms = time.time_ns() // 1_000_000 - round(self.boot() * 1000)

    def now_ms(self) -> int:
        """Return milliseconds since the epoch that never step."""
        return self._started_ms + int(time.clock_gettime(time.CLOCK_BOOTTIME) * 1000)

    def boot(self) -> float:
        """Return CLOCK_BOOTTIME, so that a laptop's sleep counts toward deadlines."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
