"""Time as a dependency, so that leases, delays and caches are tested in virtual time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Where components get the time from."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch; may step when the machine's clock is set."""

    def boot(self) -> float:
        """Return seconds that only grow, suspend included; for deadlines."""


class SystemClock:
    """The machine's clocks."""

    def now_ms(self) -> int:
        """Return wall-clock milliseconds."""
        return time.time_ns() // 1_000_000

    def boot(self) -> float:
        """Return CLOCK_BOOTTIME, so that a laptop's sleep counts toward deadlines."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)
