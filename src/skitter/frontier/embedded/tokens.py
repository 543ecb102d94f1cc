"""Tokens, and values that members share for a while.

In memory: a restart ends them all, but for values that are shared for hours (``lasting.py``).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from skitter.clock import Clock
from skitter.frontier.embedded.lasting import LASTING_MS, Lasting
from skitter.frontier.limits import TURN_MS, Holding, TokenWish, deal

SWEEP_ABOVE: Final = 1_000
"""Names beyond which those whose time is over are looked for and forgotten."""


class Tokens:
    """Who holds how many tokens of what, until when on the boot clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._held: dict[str, dict[str, Holding]] = {}
        self._sweep_above = SWEEP_ABOVE

    def take(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Take, keep or give back tokens; answers how many may be used of each."""
        if len(self._held) > self._sweep_above:
            self._sweep()
        return [self._take(holder, wish, ttl_ms) for wish in wanted]

    def _take(self, holder: str, wish: TokenWish, ttl_ms: int) -> int:
        boot = self._clock.boot()
        holdings = self._held.get(wish.name, {})
        others = {
            name: held for name, held in holdings.items() if name != holder and held.until > boot
        }
        turn = round(boot * 1000) // TURN_MS
        allowed, own = deal(wish, holder, others, turn)
        own.until = boot + ttl_ms / 1000
        if own.held or own.wanted:
            others[holder] = own
        if others:
            self._held[wish.name] = others
        else:
            self._held.pop(wish.name, None)
        return allowed

    def _sweep(self) -> None:
        boot = self._clock.boot()
        self._held = {
            name: holdings
            for name, holdings in self._held.items()
            if any(held.until > boot for held in holdings.values())
        }
        self._sweep_above = max(SWEEP_ABOVE, 2 * len(self._held))


class Shared:
    """Values that end by themselves."""

    def __init__(self, clock: Clock, lasting: Lasting) -> None:
        self._clock = clock
        self._lasting = lasting
        self._values: dict[str, tuple[bytes, float]] = {}
        self._sweep_above = SWEEP_ABOVE
        self._gone = 0

    def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Keep values for a time; those that were there under the same names are gone."""
        if ttl_ms > LASTING_MS:
            for name in values:
                self._values.pop(name, None)
            self._lasting.share(values, ttl_ms)
            return
        boot = self._clock.boot()
        if len(self._values) > self._sweep_above:
            self._sweep(boot)
        until = boot + ttl_ms / 1000
        self._values.update((name, (value, until)) for name, value in values.items())

    def _sweep(self, boot: float) -> None:
        before = len(self._values)
        self._values = {name: kept for name, kept in self._values.items() if kept[1] > boot}
        self._gone += before - len(self._values)
        self._sweep_above = max(SWEEP_ABOVE, 2 * len(self._values))

    def bury(self) -> int:
        """Forget the values whose time is over; answers how many were since the last call."""
        self._sweep(self._clock.boot())
        gone, self._gone = self._gone + self._lasting.bury(), 0
        return gone

    def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values that are there, in order."""
        boot = self._clock.boot()
        kept = [self._values.get(name) for name in names]
        lasting = iter(self._lasting.shared([n for n, k in zip(names, kept, strict=True) if not k]))
        return [next(lasting) if k is None else k[0] if k[1] > boot else None for k in kept]
