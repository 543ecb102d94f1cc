"""How counters over time are kept: which steps there are, and for how long.

Pure. A count goes onto *shelves*: one for each step, and of their own for what is counted by host,
of which there is much more and which is kept for a shorter time. A shelf has a *bucket* for every
stretch of time, named after the millisecond in which it begins.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from skitter.errors import FrontierError

MAX_NAME: Final = 300
MOST_HOSTS: Final = 2_000
"""Hosts in one bucket, for each name; what else is counted goes to ``OTHER``."""
OTHER: Final = "other"
DIMENSION: Final = "|"
"""What stands before the dimension that something is counted by."""
BY_HOST: Final = f"{DIMENSION}host="
"""In a name: counted by host."""
MOST_URLS: Final = 20_000
"""URLs of which it is known how often they were submitted; the rarest are forgotten."""
SPARE_URLS: Final = 2_000
"""So many more there may be before some are forgotten."""
MAX_URL: Final = 2_048
"""Characters of such a URL; longer ones are not counted."""

_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS


class Shelf(NamedTuple):
    """Where the counts of one step are."""

    code: str
    step: str
    ms: int
    kept_ms: int
    hosts: bool = False
    """Whether what is counted by host is here, or everything else."""

    def bucket(self, at_ms: int) -> int:
        """Return the bucket of a moment."""
        return at_ms - at_ms % self.ms

    def buckets(self, since_ms: int, until_ms: int, now_ms: int) -> range:
        """Return the buckets that touch a stretch of time and are kept."""
        first = self.bucket(max(since_ms, now_ms - self.kept_ms, 0))
        return range(first, min(until_ms, now_ms + self.ms), self.ms)


SHELVES: Final = (
    Shelf("t", "10s", 10_000, _HOUR_MS),
    Shelf("m", "minute", 60_000, 2 * _DAY_MS),
    Shelf("h", "hour", _HOUR_MS, 62 * _DAY_MS),
    Shelf("d", "day", _DAY_MS, 1_830 * _DAY_MS),
    Shelf("H", "hour", _HOUR_MS, 7 * _DAY_MS, hosts=True),
    Shelf("D", "day", _DAY_MS, 400 * _DAY_MS, hosts=True),
)
STEPS: Final = ("10s", "minute", "hour", "day")

Place = tuple[Shelf, int]
"""A shelf and a bucket on it."""


def checked_counts(counts: Mapping[str, int]) -> Mapping[str, int]:
    """Return counts whose names can be kept, or say of which that is not so."""
    for name in counts:
        if not 0 < len(name) <= MAX_NAME or name.startswith("#") or not name.isprintable():
            raise FrontierError(f"no name of a counter: {name[:50]!r}")
    return counts


def shelved(counts: Mapping[str, int], at_ms: int) -> dict[Place, dict[str, int]]:
    """Return what is added where by counts of one moment."""
    by_host = {name: n for name, n in counts.items() if BY_HOST in name and n}
    others = {name: n for name, n in counts.items() if BY_HOST not in name and n}
    places: dict[Place, dict[str, int]] = {}
    for shelf in SHELVES:
        some = by_host if shelf.hosts else others
        if some:
            places[shelf, shelf.bucket(at_ms)] = some
    return places


def shelves_of(step: str, prefix: str, *, exact: bool) -> list[Shelf]:
    """Return the shelves on which names that begin so are, or that very name is.

    Hosts are many: what is counted by them is read where a dimension is asked for.
    """
    if step not in STEPS:
        raise FrontierError(f"no step of a series: {step[:50]!r}; wanted {', '.join(STEPS)}")
    found = [shelf for shelf in SHELVES if shelf.step == step]
    if exact:
        return [shelf for shelf in found if shelf.hosts == (BY_HOST in prefix)]
    if DIMENSION not in prefix:
        return [shelf for shelf in found if not shelf.hosts]
    return [shelf for shelf in found if shelf.hosts or BY_HOST not in prefix]


def as_other(name: str) -> str:
    """Return the name under which hosts are counted for which there is no room."""
    return name.partition(BY_HOST)[0] + BY_HOST + OTHER
