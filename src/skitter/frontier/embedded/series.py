"""Counters over time on the embedded store: a row for each name in each bucket.

| row | key | value |
|---|---|---|
| count | code of its shelf, bucket u64, name | i64 |
| how often a URL was submitted | "u", URL | i64 |
"""

import heapq
import struct
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from rocksdict import WriteBatch

from skitter.clock import Clock
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.series import (
    BY_HOST,
    MAX_URL,
    MOST_HOSTS,
    MOST_URLS,
    SHELVES,
    SPARE_URLS,
    Place,
    as_other,
    checked_counts,
    shelved,
    shelves_of,
)

FAMILY: Final = "series"
MOST_OPEN: Final = 16
"""Buckets in memory: the current ones, and a few of before for whoever comes late."""
URL: Final = b"u"

_number = struct.Struct(">q")
_bucket = struct.Struct(">cQ")


def _key(code: str, bucket: int) -> bytes:
    return _bucket.pack(code.encode(), bucket)


class _Bucket:
    """The counts of one bucket, as they are stored."""

    def __init__(self, key: bytes, counts: dict[str, int]) -> None:
        self.key = key
        self.counts = counts
        self._hosts = Counter(name.partition(BY_HOST)[0] for name in counts if BY_HOST in name)

    def add(self, name: str, n: int) -> tuple[bytes, int]:
        """Count; answers the row that has changed."""
        if name not in self.counts and BY_HOST in name:
            kind = name.partition(BY_HOST)[0]
            if self._hosts[kind] >= MOST_HOSTS:
                name = as_other(name)
            else:
                self._hosts[kind] += 1
        total = self.counts[name] = self.counts.get(name, 0) + n
        return self.key + name.encode(), total


class SeriesBook:
    """Adds to the counters and reads them."""

    def __init__(self, rocks: Rocks, clock: Clock) -> None:
        self._rocks = rocks
        self._clock = clock
        self._open: OrderedDict[Place, _Bucket] = OrderedDict()
        self._urls = {
            key[1:].decode(): _number.unpack(value)[0]
            for key, value in rocks.scan(FAMILY, URL, URL)
        }
        self._tidied = -1

    def add(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Count at a moment."""
        batch = WriteBatch(raw_mode=True)
        handle = self._rocks.handle[FAMILY]
        for place, some in shelved(checked_counts(counts), at_ms).items():
            bucket = self._bucket(place)
            for name, n in some.items():
                row, total = bucket.add(name, n)
                batch.put(row, _number.pack(total), handle)
        self._tidy(batch)
        self._rocks.write(batch)

    def _bucket(self, place: Place) -> _Bucket:
        bucket = self._open.get(place)
        if bucket is None:
            key = _key(place[0].code, place[1])
            rows = self._rocks.scan(FAMILY, key, key)
            counts = {row[len(key) :].decode(): _number.unpack(value)[0] for row, value in rows}
            bucket = self._open[place] = _Bucket(key, counts)
            if len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        self._open.move_to_end(place)
        return bucket

    def _tidy(self, batch: WriteBatch) -> None:
        """Delete what is too old, once an hour."""
        now_ms = self._clock.now_ms()
        hour = now_ms // 3_600_000
        if hour == self._tidied:
            return
        self._tidied = hour
        for shelf in SHELVES:
            oldest = _key(shelf.code, max(0, shelf.bucket(now_ms - shelf.kept_ms)))
            batch.delete_range(_key(shelf.code, 0), oldest, self._rocks.handle[FAMILY])

    def read(
        self, prefix: str, step: str, since_ms: int, until_ms: int, *, exact: bool
    ) -> dict[str, dict[int, int]]:
        """Return counters by name and bucket."""
        found: dict[str, dict[int, int]] = {}
        for shelf in shelves_of(step, prefix, exact=exact):
            buckets = shelf.buckets(since_ms, until_ms, self._clock.now_ms())
            if buckets:
                first, end = _key(shelf.code, buckets[0]), _key(shelf.code, buckets[-1] + 1)
                self._walk(first, end, prefix.encode(), exact, found)
        return found

    def _walk(
        self, first: bytes, end: bytes, prefix: bytes, exact: bool, found: dict[str, dict[int, int]]
    ) -> None:
        """Take the rows of names that begin so, over all buckets from ``first`` to ``end``."""
        cursor = self._rocks.family[FAMILY].iter()
        size = _bucket.size
        cursor.seek(first + prefix)
        while cursor.valid():
            key = cursor.key()
            if key >= end:
                return
            place, name = key[:size], key[size:]
            if name.startswith(prefix) and (not exact or name == prefix):
                at = _bucket.unpack(place)[1]
                found.setdefault(name.decode(), {})[at] = _number.unpack(cursor.value())[0]
                cursor.next()
            elif name < prefix:
                cursor.seek(place + prefix)
            else:
                # The next bucket; its name is not known, and greater by one at least.
                code, at = _bucket.unpack(place)
                cursor.seek(_bucket.pack(code, at + 1))

    def add_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted."""
        batch = WriteBatch(raw_mode=True)
        handle = self._rocks.handle[FAMILY]
        for url, n in urls.items():
            if len(url) <= MAX_URL:
                total = self._urls[url] = self._urls.get(url, 0) + n
                batch.put(URL + url.encode(), _number.pack(total), handle)
        if len(self._urls) > MOST_URLS + SPARE_URLS:
            much = heapq.nlargest(MOST_URLS, self._urls.items(), key=lambda pair: pair[1])
            kept = dict(much)
            for url in self._urls.keys() - kept.keys():
                batch.delete(URL + url.encode(), handle)
            self._urls = kept
        self._rocks.write(batch)

    def urls(self, urls: Sequence[str]) -> list[int]:
        """Return how often URLs were submitted."""
        return [self._urls.get(url, 0) for url in urls]

    def top_urls(self, limit: int) -> list[tuple[str, int]]:
        """Return the URLs that were submitted most often."""
        return heapq.nsmallest(limit, self._urls.items(), key=lambda pair: (-pair[1], pair[0]))
