"""Limits that span members: rate windows over domains, and tokens for what bears only so much.

The records cross the seam; the rules below them are those of the embedded store. The scripts in
``redis/lua`` follow the same rules.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

TURN_MS: Final = 2_000
"""How long a holder keeps its tokens before others who got none have their turn."""
_STEPPED_MS: Final = 1_000


class Window(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """At most ``most`` grants in any ``span_ms`` milliseconds."""

    name: str
    """Which of a domain's windows."""
    most: int
    span_ms: int


class Wish(msgspec.Struct, frozen=True, array_like=True):
    """One request that is to be made, and the windows it counts in."""

    domain: str
    """What the windows belong to."""
    windows: tuple[Window, ...]
    unused_ms: int = 0
    """When a grant under the same windows was given that nobody has used: this one takes its
    place. 0 for none."""


class Permit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """The answer to a wish."""

    granted: bool
    at_ms: int
    """When it was granted; or when it may be, as far as is known now."""


class TokenWish(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """How many tokens somebody has in use and would like to have."""

    name: str
    """What bears only so much."""
    most: int
    """Tokens there are, over all holders."""
    used: int
    wanted: int
    """Those in use included."""


class Keep(NamedTuple):
    """How long grants are kept, and until when a shorter span does not change that."""

    span_ms: int
    until_ms: int


class SlidingLog:
    """The times of the last grants of one window, oldest first."""

    __slots__ = ("keep", "times")

    def __init__(self, times: Iterable[int] = ()) -> None:
        self.times = deque(times)
        self.keep = Keep(0, 0)

    def trim(self, now_ms: int, span_ms: int | None = None) -> list[int]:
        """Forget what no window asks for any more; answers what was forgotten.

        Jobs may know one window by different spans: the longest of the last time decides. Without
        a span nobody asks, and what was asked for before decides.
        """
        if span_ms is not None and (span_ms >= self.keep.span_ms or now_ms >= self.keep.until_ms):
            self.keep = Keep(span_ms, now_ms + 2 * span_ms)
        times = self.times
        if times and times[-1] > now_ms + _STEPPED_MS:
            # The clock was set back: what is ahead of it was granted a moment ago.
            self.times = times = deque(min(time, now_ms) for time in times)
        gone: list[int] = []
        while times and times[0] <= now_ms - self.keep.span_ms:
            gone.append(times.popleft())
        return gone

    def take_back(self, at_ms: int) -> bool:
        """Forget one grant that was not used; False when it is not known."""
        try:
            self.times.remove(at_ms)
        except ValueError:
            return False
        return True

    def opens_ms(self, window: Window, now_ms: int, before: int = 0) -> int:
        """Return when a grant may be given, if ``before`` others get theirs first; 0 for now."""
        times = self.times
        rounds, place = divmod(before, window.most)
        at = len(times) - window.most + place
        if at < 0:
            return 0
        opens = times[at] + (rounds + 1) * window.span_ms
        return opens if opens > now_ms else 0


def fair_share(most: int, wanted: Mapping[str, int], holder: str, turn: int) -> int:
    """Return how many of ``most`` tokens a holder is to have, by what each one would like.

    Who wants little gets it, the others share what is left evenly. Where there are fewer tokens
    than holders they take turns.
    """
    left = sorted(wanted.items(), key=lambda item: (item[1], item[0]))
    for at, (name, wants) in enumerate(left):
        if wants > most // (len(left) - at):
            names = sorted(other for other, _ in left[at:])
            break
        if name == holder:
            return wants
        most -= wants
    else:
        return 0
    each, odd = divmod(most, len(names))
    if holder not in names:
        return 0
    shift = 0 if each else turn * odd
    return each + ((names.index(holder) - shift) % len(names) < odd)


class Holding(msgspec.Struct, gc=False):
    """What one holder has of one kind of tokens, until a time."""

    held: int
    wanted: int
    until: float


def deal(
    wish: TokenWish, holder: str, others: Mapping[str, Holding], turn: int
) -> tuple[int, Holding]:
    """Return how many tokens a holder may use from here on, and what it holds meanwhile.

    Tokens in use stay held, even when they are more than the holder may use: nobody else gets
    them before they are given back.
    """
    wanted = {name: other.wanted for name, other in others.items() if other.wanted}
    wanted[holder] = wish.wanted
    free = wish.most - sum(other.held for other in others.values())
    share = fair_share(wish.most, wanted, holder, turn)
    allowed = max(0, min(wish.wanted, share, free))
    return allowed, Holding(max(wish.used, allowed), wish.wanted, 0.0)
