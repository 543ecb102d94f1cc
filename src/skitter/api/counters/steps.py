"""Counters over time: buckets of the store made into series without holes, and into windows."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from skitter.client.events import Point, Series, Step, Window
from skitter.clock import time_text

Buckets = Mapping[int, int]
"""What was counted, by the beginning of each bucket in milliseconds."""
Counted = Mapping[str, Buckets]

LENGTH_MS: Final = {
    Step.TEN_SECONDS: 10_000,
    Step.MINUTE: 60_000,
    Step.HOUR: 3_600_000,
    Step.DAY: 86_400_000,
}
POINTS: Final = {Step.TEN_SECONDS: 360, Step.MINUTE: 180, Step.HOUR: 72, Step.DAY: 30}
"""How many points of each step are told when nobody says since when."""
MOST_POINTS: Final = 6_000


class WindowShape(NamedTuple):
    """A stretch of time that ends now, and the buckets it is made of."""

    name: str
    seconds: int
    step: Step


WINDOWS: Final = (
    WindowShape("minute", 60, Step.TEN_SECONDS),
    WindowShape("ten_minutes", 600, Step.TEN_SECONDS),
    WindowShape("hour", 3_600, Step.MINUTE),
    WindowShape("day", 86_400, Step.HOUR),
)


def bucket_start(at_ms: int, step: Step) -> int:
    """Return when the bucket began that a time falls into."""
    return at_ms - at_ms % LENGTH_MS[step]


def series_of(name: str, step: Step, buckets: Buckets, since_ms: int, until_ms: int) -> Series:
    """Return a series from one time to another, with 0 where nothing was counted."""
    first, last = bucket_start(since_ms, step), bucket_start(until_ms, step)
    starts = range(first, last + 1, LENGTH_MS[step])
    points = [Point(at=time_text(at), n=buckets.get(at, 0)) for at in starts]
    return Series(name=name, step=step, points=points)


def sliding(buckets: Buckets, step: Step, seconds: int, now_ms: int) -> int:
    """Return what was counted in the seconds before now.

    Of the bucket in which the window begins, the part counts that lies within.
    """
    since_ms, length = now_ms - seconds * 1000, LENGTH_MS[step]
    first = bucket_start(since_ms, step)
    part = buckets.get(first, 0) * (first + length - since_ms) / length
    return round(part) + sum(n for at, n in buckets.items() if first < at <= now_ms)


def window_of(shape: WindowShape, counted: Counted, now_ms: int) -> Window:
    """Return the counts of one window."""
    sums = {
        name: sliding(buckets, shape.step, shape.seconds, now_ms)
        for name, buckets in counted.items()
        if "|" not in name
    }
    return Window(
        seconds=shape.seconds,
        pages=sums.get("pages", 0),
        ok=sums.get("ok", 0),
        failed=sums.get("failed", 0),
        bytes=sums.get("bytes", 0),
        media=sums.get("media", 0),
        status_codes=under("status:", sums),
        modules=under("module:", sums),
    )


def under(prefix: str, sums: Mapping[str, int]) -> dict[str, int]:
    """Return the numbers whose names begin so, the rest of each name, and no zeros."""
    return {
        name.removeprefix(prefix): n
        for name, n in sorted(sums.items())
        if name.startswith(prefix) and n
    }


def by_dimension(
    dimension: str, counted: Counted, shape: WindowShape, now_ms: int
) -> dict[str, int]:
    """Return the pages of a window by job, kind, node or host."""
    prefix = f"pages|{dimension}="
    sums = {
        name: sliding(buckets, shape.step, shape.seconds, now_ms)
        for name, buckets in counted.items()
        if name.startswith(prefix)
    }
    return under(prefix, sums)
