"""Which rate windows a request counts in, and for how long a grant is good.

The store grants at one moment and the request arrives at another. A grant is used within a short
time or not at all, and windows are longer by that time and by what networks differ: so the server
never sees more requests in a window than the rate allows, though grants are all that is counted.
"""

from typing import Final, NamedTuple

from skitter.job.rate import Rate

LEAST_USABLE_MS: Final = 200
MOST_USABLE_MS: Final = 2_000
USABLE_SHARE: Final = 0.03
"""For how long a grant may be used: a part of its window, within bounds."""
LEAST_JITTER_MS: Final = 200
MOST_JITTER_MS: Final = 500
JITTER_SHARE: Final = 0.01
"""How much later than another a request may arrive that left at the same moment."""


class Rates(NamedTuple):
    """How often a domain may be asked; None for no limit of that kind."""

    by_kind: Rate | None = None
    """By all jobs of one kind, from wherever."""
    by_address: Rate | None = None
    """From one address, whatever the job."""


NO_RATES: Final = Rates()


class Counted(NamedTuple):
    """One window of a domain that requests are counted in."""

    name: str
    most: int
    span_ms: int
    """The window's length with what may lie between a grant and its request."""


def usable_ms(rate: Rate) -> int:
    """Return for how long a grant may be used, from before it was asked for."""
    return _within(rate.per_ms * USABLE_SHARE, LEAST_USABLE_MS, MOST_USABLE_MS)


def span_ms(rate: Rate) -> int:
    """Return the time in which no more than ``rate.most`` grants are given.

    Two requests are closer than their grants by as much as the first was used late and the second
    arrived early.
    """
    jitter = _within(rate.per_ms * JITTER_SHARE, LEAST_JITTER_MS, MOST_JITTER_MS)
    return rate.per_ms + usable_ms(rate) + jitter


def windows_of(rates: Rates, *, kind: str, egress: str) -> tuple[Counted, ...]:
    """Return the windows a request of a job of ``kind`` counts in, sent from ``egress``.

    Members that do not know their address count as one: they may be behind the same one.
    """
    found: list[Counted] = []
    if rates.by_kind is not None:
        found.append(Counted(f"kind:{kind}", rates.by_kind.most, span_ms(rates.by_kind)))
    if rates.by_address is not None:
        found.append(Counted(f"from:{egress}", rates.by_address.most, span_ms(rates.by_address)))
    return tuple(found)


def shortest_use_ms(rates: Rates) -> int:
    """Return for how long a grant under all these rates may be used."""
    return min(usable_ms(rate) for rate in rates if rate is not None)


def _within(value: float, least: int, most: int) -> int:
    return max(least, min(most, round(value)))
