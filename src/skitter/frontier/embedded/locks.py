"""Locks that end by themselves. In memory only: a restart ends them all."""

from skitter.clock import Clock

SWEEP_ABOVE = 1_000
"""Locks beyond which those that have ended are looked for and forgotten."""


class Locks:
    """Who holds what, and until when on the boot clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, tuple[int, float]] = {}

    def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take, keep or give back a lock; 0, or the milliseconds until another's ends."""
        boot = self._clock.boot()
        other, until = self._held.get(name, (holder, boot))
        if other != holder and until > boot:
            return max(1, round((until - boot) * 1000)) if ttl_ms > 0 else 0
        if ttl_ms <= 0:
            self._held.pop(name, None)
            return 0
        if len(self._held) >= SWEEP_ABOVE:
            self._held = {name: held for name, held in self._held.items() if held[1] > boot}
        self._held[name] = (holder, boot + ttl_ms / 1000)
        return 0
