"""Counters over time in a shared store: a hash for each bucket, which ends by itself.

All are in the common group, so that a call changes its buckets together. A call that is repeated
because its answer was lost may count twice.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final

import msgspec

from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.line import Word
from skitter.frontier.redis.marks import scan_hashes
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.series import (
    MAX_URL,
    MOST_HOSTS,
    MOST_URLS,
    SPARE_URLS,
    Shelf,
    checked_counts,
    shelved,
    shelves_of,
)

READ_STEP: Final = 500
"""Buckets of which one name is asked for at a time."""
_GLOB = re.compile(r"[*?\[\]\\]")
_encode = msgspec.msgpack.Encoder().encode


class SeriesBook:
    """Adds to the counters and reads them."""

    def __init__(self, nodes: Nodes, keys: Keys, now_ms: Callable[[], int]) -> None:
        self._nodes = nodes
        self._begin = keys.series
        self._urls = keys.submitted
        self._now_ms = now_ms

    async def add(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Count at a moment."""
        packed = [
            _encode([f"{shelf.code}:{at}", shelf.kept_ms + shelf.ms, *chain(*some.items())])
            for (shelf, at), some in shelved(checked_counts(counts), at_ms).items()
        ]
        if packed:
            await self._nodes.call(self._begin, function("count"), MOST_HOSTS, *packed)

    async def read(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool
    ) -> dict[str, dict[int, int]]:
        """Return counters by name and bucket."""
        found: dict[str, dict[int, int]] = {}
        for shelf in shelves_of(step, prefix, exact=exact):
            buckets = shelf.buckets(since_ms, until_ms, self._now_ms())
            if exact:
                await self._read_one(shelf, buckets, prefix, found)
            else:
                await self._read_all(shelf, buckets, prefix, found)
        return found

    def _key(self, shelf: Shelf, bucket: int) -> str:
        return f"{self._begin}{shelf.code}:{bucket}"

    async def _read_one(
        self, shelf: Shelf, buckets: range, name: str, found: dict[str, dict[int, int]]
    ) -> None:
        for first in range(0, len(buckets), READ_STEP):
            some = buckets[first : first + READ_STEP]
            keys = [self._key(shelf, bucket) for bucket in some]
            values = await self._nodes.run_many([(key, ("HGET", key, name)) for key in keys])
            for bucket, value in zip(some, values, strict=True):
                if value is not None:
                    found.setdefault(name, {})[bucket] = int(value)

    async def _read_all(
        self, shelf: Shelf, buckets: range, prefix: str, found: dict[str, dict[int, int]]
    ) -> None:
        keys = {self._key(shelf, bucket): bucket for bucket in buckets}
        match = _GLOB.sub(r"\\\g<0>", prefix) + "*"
        async for key, fields in scan_hashes(self._nodes, list(keys), match):
            for name, value in fields.items():
                if not name.startswith(b"#"):
                    found.setdefault(name.decode(), {})[keys[key]] = int(value)

    async def add_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted."""
        words: list[Word] = []
        for url, n in urls.items():
            if len(url) <= MAX_URL:
                words += (url, n)
        verb = function("count_urls")
        for first in range(0, len(words), 2 * READ_STEP):
            some = words[first : first + 2 * READ_STEP]
            await self._nodes.call(self._urls, verb, MOST_URLS, SPARE_URLS, *some)

    async def urls(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted."""
        if not urls:
            return []
        found = await self._nodes.run(self._urls, "ZMSCORE", self._urls, *urls)
        return [int(float(score or 0)) for score in found]

    async def top_urls(self, limit: int) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often."""
        words = ("ZREVRANGE", self._urls, 0, max(0, limit - 1), "WITHSCORES")
        found = await self._nodes.run(self._urls, *words) if limit > 0 else []
        pairs = zip(found[::2], found[1::2], strict=True)
        counted = [(bytes(url).decode(), int(float(score))) for url, score in pairs]
        return sorted(counted, key=lambda pair: (-pair[1], pair[0]))
