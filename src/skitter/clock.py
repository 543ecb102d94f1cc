"""Time as a dependency, so that leases, delays and caches are tested in virtual time."""

import time
from datetime import UTC, datetime
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


class StoreClock:
    """The time of a store in another process, counted on from when it was told.

    A machine whose time of day is wrong then waits as long as all the others.
    """

    def __init__(self, base: Clock | None = None) -> None:
        self._base = base or SystemClock()
        self._zero_ms = self._base.now_ms() - self._base.boot() * 1000

    def set(self, now_ms: int) -> None:
        """Take the store's time at this moment."""
        self._zero_ms = now_ms - self._base.boot() * 1000

    def now_ms(self) -> int:
        """Return the milliseconds since the epoch that the store counts."""
        return round(self._zero_ms + self._base.boot() * 1000)

    def boot(self) -> float:
        """Return the boot time of this machine."""
        return self._base.boot()


def time_text(at_ms: int) -> str:
    """Return a time in RFC 3339, to the millisecond."""
    text = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"
