"""The events of the embedded store: files that are only added to, the oldest deleted as a whole.

A file is named after the id of its first event and has a place for so many ids. Each opening of the
store begins a new one behind all ids the last one could have given: an id means one event for ever,
though a power cut may have taken the end of a file.

| in a file | |
|---|---|
| head | 8 bytes: which format |
| each event | length u32, bytes |
"""

import logging
import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from skitter.errors import StoreUnavailable
from skitter.frontier.events import MOST_KEPT, NEW, NONE, OLDEST, Bell, checked_events, checked_id

FOLDER: Final = "events"
SEGMENT: Final = 10_000
"""Events in one file."""

_HEAD = b"events1\n"
_size = struct.Struct(">I")

log = logging.getLogger(__name__)


class _Segment:
    """One file and where its events end."""

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.first = first
        self.ends = array("Q", [len(_HEAD)])
        """Where the first event begins, then where each event ends."""

    @property
    def count(self) -> int:
        return len(self.ends) - 1

    @property
    def last(self) -> int:
        return self.first + self.count - 1

    def load(self) -> None:
        """Find the events of a file; what was cut off while it was written is no event."""
        data = self.path.read_bytes()
        if not data.startswith(_HEAD):
            return
        at, size = len(_HEAD), len(data)
        while at + _size.size <= size:
            at += _size.size + _size.unpack_from(data, at)[0]
            if at > size:
                break
            self.ends.append(at)

    def read(self, first: int, limit: int) -> list[tuple[str, bytes]]:
        """Return events from an id on."""
        place = max(0, first - self.first)
        ends = self.ends[place : place + limit + 1]
        if len(ends) < 2:
            return []
        with self.path.open("rb") as file:
            data = os.pread(file.fileno(), ends[-1] - ends[0], ends[0])
        found = []
        for number, (begin, end) in enumerate(pairwise(ends)):
            event = data[begin + _size.size - ends[0] : end - ends[0]]
            found.append((str(self.first + place + number), event))
        return found


class Journal:
    """Keeps about the last ``most`` events, in files of ``segment`` each."""

    def __init__(self, folder: Path, *, segment: int = SEGMENT, most: int = MOST_KEPT) -> None:
        self._folder = folder
        self._most_in_one = segment
        self._most = most
        self._segments: list[_Segment] = []
        self._file = -1
        self._next = 1
        self.bell = Bell()

    def open(self) -> None:
        """Find what is there."""
        try:
            self._folder.mkdir(exist_ok=True)
            for path in self._folder.iterdir():
                if path.stem.isdigit():
                    self._segments.append(_Segment(path, int(path.stem)))
            self._segments.sort(key=lambda segment: segment.first)
            for segment in self._segments:
                segment.load()
        except OSError as error:
            raise StoreUnavailable(f"{self._folder}: cannot be read ({error.strerror})") from error
        if self._segments:
            self._next = self._segments[-1].first + self._most_in_one

    def close(self) -> None:
        """Let go of the file; who waits goes on."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        self.bell.ring()

    @property
    def latest(self) -> str:
        """The id of the last event; one that comes before all others if there is none."""
        return str(self._next - 1) if self._segments else NONE

    def append(self, events: Sequence[bytes]) -> None:
        """Keep events: they are there for all who read, and survive a kill."""
        checked_events(events)
        try:
            while events:
                events = events[self._write(events) :]
        except OSError as error:
            raise StoreUnavailable(
                f"{self._folder}: events cannot be kept ({error.strerror})"
            ) from error
        self.bell.ring()

    def _write(self, events: Sequence[bytes]) -> int:
        """Write as many events as the current file has room for; answers how many."""
        if self._file < 0 or self._segments[-1].count == self._most_in_one:
            self._begin()
        segment = self._segments[-1]
        some = events[: self._most_in_one - segment.count]
        data = b"".join([part for event in some for part in (_size.pack(len(event)), event)])
        before = segment.ends[-1]
        if os.pwrite(self._file, data, before) < len(data):
            # The next write goes over what there is of it.
            os.ftruncate(self._file, before)
            raise OSError(28, "the disk is full")
        for event in some:
            before += _size.size + len(event)
            segment.ends.append(before)
        self._next = segment.last + 1
        return len(some)

    def _begin(self) -> None:
        """Begin a file, and delete the oldest if the others are enough."""
        path = self._folder / f"{self._next:020}.journal"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        if self._file >= 0:
            os.close(self._file)
        self._file = file
        os.pwrite(file, _HEAD, 0)
        self._segments.append(_Segment(path, self._next))
        kept = sum(segment.count for segment in self._segments)
        while kept - self._segments[0].count >= self._most:
            oldest = self._segments.pop(0)
            kept -= oldest.count
            oldest.path.unlink(missing_ok=True)

    def read(self, after: str, limit: int) -> list[tuple[str, bytes]]:
        """Return events with greater ids than ``after``, oldest first."""
        if after == NEW:
            return []
        # Ids of another kind of store have two parts, and are greater than all that are given here.
        number = 0 if after == OLDEST else int(checked_id(after).partition("-")[0])
        at = max(0, bisect_right([segment.first for segment in self._segments], number + 1) - 1)
        found: list[tuple[str, bytes]] = []
        for segment in self._segments[at:]:
            if len(found) >= limit:
                break
            found += segment.read(number + 1, limit - len(found))
        return found
