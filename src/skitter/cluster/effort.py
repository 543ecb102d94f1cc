"""How long one member had enough to do, and what it got done in that time.

Its speed is told by nothing else: a member without work is not slow.
"""

from typing import NamedTuple

from skitter.clock import Clock


class Counted(NamedTuple):
    """What a member counts of its work, for control and for others to see."""

    pages: int = 0
    """Ended since it started."""
    leases: int = 0
    """Held at this moment."""
    busy_ms: int = 0
    """How long it has had as many URLs in hand as it can work on."""
    busy_visits: int = 0
    """Visits it has ended in that time."""
    spare_ms: int = 0
    """How long it has had fewer."""


class Effort:
    """A stop-watch with two hands: enough to do, and not enough."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy = False
        self._since = clock.boot()
        self._busy_s = 0.0
        self._spare_s = 0.0
        self._visits = 0

    def look(self, *, busy: bool) -> None:
        """Say whether there is enough to do, from here on until the next look."""
        now = self._clock.boot()
        if self._busy:
            self._busy_s += now - self._since
        else:
            self._spare_s += now - self._since
        self._since = now
        self._busy = busy

    def ended(self, visits: int) -> None:
        """Count visits that have just ended."""
        if self._busy:
            self._visits += visits

    def counted(self, pages: int, leases: int) -> Counted:
        """Return everything that was counted up to this moment."""
        self.look(busy=self._busy)
        busy_ms, spare_ms = int(self._busy_s * 1000), int(self._spare_s * 1000)
        return Counted(pages, leases, busy_ms, self._visits, spare_ms)
