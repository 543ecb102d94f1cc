"""The counters of a store: over time, in windows that end now, and all in all."""

import asyncio
from collections.abc import Sequence
from typing import Final

from skitter.api.counters.names import Asked, Stretch, asked_for
from skitter.api.counters.steps import (
    LENGTH_MS,
    WINDOWS,
    Counted,
    WindowShape,
    bucket_start,
    by_dimension,
    series_of,
    sliding,
    window_of,
)
from skitter.client.events import Series, Step, Window
from skitter.wiring.store import Store

PLAIN: Final = ("pages", "ok", "failed", "refused", "bytes", "media", "elapsed_ms")
WINDOW_NAMES: Final = (
    *(Asked(name, exact=True) for name in ("pages", "ok", "failed", "bytes", "media")),
    Asked("status:", exact=False),
    Asked("module:", exact=False),
)
MOST_SERIES: Final = 200
SPEED_S: Final = 20
"""How many of the last seconds the speed is taken from."""
TOTAL_DAYS: Final = 31
"""Of counters that are many, how many days before the start of this process are in the totals."""
TEN_MINUTES: Final = WINDOWS[1]


class Counters:
    """Reads the counters of a store."""

    def __init__(self, store: Store) -> None:
        self._reader = store.reader
        self._clock = store.clock
        self._earlier: dict[str, int] = {}
        self._day_ms = -1
        self._since_ms = bucket_start(
            max(0, self._clock.now_ms() - TOTAL_DAYS * LENGTH_MS[Step.DAY]), Step.DAY
        )

    async def series(self, names: Sequence[str], step: Step, stretch: Stretch) -> list[Series]:
        """Return counters over time; of those asked for by how they begin, the largest."""
        found: dict[str, Series] = {}
        for name in dict.fromkeys(names):
            asked = asked_for(name)
            counted = dict(await self._read(asked, step, *stretch))
            if asked.exact:
                counted.setdefault(name, {})
            largest = sorted(counted, key=lambda name: (-sum(counted[name].values()), name))
            for one in largest[:MOST_SERIES]:
                found[one] = series_of(one, step, counted[one], *stretch)
        return list(found.values())[:MOST_SERIES]

    async def windows(self) -> dict[str, Window]:
        """Return what was counted in each window."""
        now_ms = self._clock.now_ms()
        counted = await asyncio.gather(*(self._window(shape, now_ms) for shape in WINDOWS))
        return {
            shape.name: window_of(shape, found, now_ms)
            for shape, found in zip(WINDOWS, counted, strict=True)
        }

    async def pages_per_second(self) -> float:
        """Return how fast pages are done at this moment."""
        now_ms = self._clock.now_ms()
        since_ms = now_ms - 2 * SPEED_S * 1000
        found = await self._read(Asked("pages", exact=True), Step.TEN_SECONDS, since_ms, now_ms)
        pages = sliding(found.get("pages", {}), Step.TEN_SECONDS, SPEED_S, now_ms)
        return round(pages / SPEED_S, 2)

    async def pages_by(self, dimension: str) -> dict[str, int]:
        """Return the pages of the last ten minutes by job, kind or node."""
        now_ms, shape = self._clock.now_ms(), TEN_MINUTES
        asked = Asked(f"pages|{dimension}=", exact=False)
        since_ms = now_ms - shape.seconds * 1000
        found = await self._read(asked, shape.step, since_ms, now_ms)
        return by_dimension(dimension, found, shape, now_ms)

    async def by_host(self, name: str) -> dict[str, int]:
        """Return what a counter has counted for each host in this hour and the one before."""
        now_ms, prefix = self._clock.now_ms(), f"{name}|host="
        since_ms = bucket_start(now_ms, Step.HOUR) - LENGTH_MS[Step.HOUR]
        found = await self._read(Asked(prefix, exact=False), Step.HOUR, since_ms, now_ms)
        return {name.removeprefix(prefix): sum(n.values()) for name, n in found.items()}

    async def totals(self) -> dict[str, int]:
        """Return what was counted all in all; never less than before, while this process runs."""
        now_ms = self._clock.now_ms()
        today_ms = bucket_start(now_ms, Step.DAY)
        if today_ms != self._day_ms:
            self._earlier = await self._sums(0, self._since_ms, today_ms - 1)
            self._day_ms = today_ms
        today = await self._sums(today_ms, today_ms, now_ms)
        return {
            name: self._earlier.get(name, 0) + today.get(name, 0)
            for name in self._earlier.keys() | today.keys()
        }

    async def _sums(self, since_ms: int, since_many_ms: int, until_ms: int) -> dict[str, int]:
        asked = [(Asked(name, exact=True), since_ms) for name in PLAIN]
        asked += [(Asked(f"{name}:", exact=False), since_many_ms) for name in ("status", "module")]
        asked.append((Asked("pages|kind=", exact=False), since_many_ms))
        read = (self._read(one, Step.DAY, since, until_ms) for one, since in asked)
        return {
            name: sum(buckets.values())
            for found in await asyncio.gather(*read)
            for name, buckets in found.items()
        }

    async def _window(self, shape: WindowShape, now_ms: int) -> Counted:
        since_ms = now_ms - shape.seconds * 1000
        read = (self._read(asked, shape.step, since_ms, now_ms) for asked in WINDOW_NAMES)
        return {name: n for found in await asyncio.gather(*read) for name, n in found.items()}

    async def _read(self, asked: Asked, step: Step, since_ms: int, until_ms: int) -> Counted:
        first = bucket_start(since_ms, step)
        found = await self._reader.series(
            asked.text, step.value, first, until_ms + 1, exact=asked.exact
        )
        if asked.exact or "|" in asked.text:
            return found
        # What is counted by a dimension as well is asked for by naming it.
        return {name: buckets for name, buckets in found.items() if "|" not in name}
