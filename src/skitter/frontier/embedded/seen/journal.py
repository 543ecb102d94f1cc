"""What a Bloom filter has still to take in: layers in memory, rows of the meta family on disk.

A row holds the keys that one step of the frontier made known or unknown, and is written with that
step. Rows are numbered upwards.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

from skitter.frontier.embedded.layout import u64
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.embedded.seen.counting import KEY_BYTES

STEP = b"bloom:step:"
PROGRESS = b"bloom:progress"
_PROGRESS = struct.Struct(">QQQ")


class Progress(NamedTuple):
    """How far a filter has come, as stored."""

    urls: int = 0
    """How many URLs are in it, without those of the rows."""
    patched: int = 0
    """Number of the last patch that counts."""
    synced: int = 0
    """Number of the last patch that the filter's file has on the disk for certain."""

    def pack(self) -> bytes:
        """Return the stored form."""
        return _PROGRESS.pack(*self)


def stored_progress(rocks: Rocks) -> Progress:
    """Return how far the filter of a store has come."""
    row = rocks.get(PROGRESS)
    return Progress(*_PROGRESS.unpack(row)) if row is not None else Progress()


class Layer:
    """Net changes on top of what lies below: a key is in at most one of the two sets."""

    __slots__ = ("added", "removed", "rows")

    def __init__(self) -> None:
        self.added: set[bytes] = set()
        self.removed: set[bytes] = set()
        self.rows: list[bytes] = []
        """The rows that hold the same on disk."""

    def __len__(self) -> int:
        return len(self.added) + len(self.removed)

    @property
    def growth(self) -> int:
        """How many more URLs are known with it than without."""
        return len(self.added) - len(self.removed)

    def take(self, added: Iterable[bytes], removed: Iterable[bytes], row: bytes) -> None:
        """Put a step on top."""
        for key in removed:
            if key in self.added:
                self.added.remove(key)
            else:
                self.removed.add(key)
        if self.removed:
            for key in added:
                if key in self.removed:
                    self.removed.remove(key)
                else:
                    self.added.add(key)
        else:
            self.added.update(added)
        self.rows.append(row)


def pack_step(added: list[bytes], removed: list[bytes]) -> bytes:
    """Return the value of a step row."""
    return u64.pack(len(added)) + b"".join(added) + b"".join(removed)


def unpack_step(value: bytes) -> tuple[list[bytes], list[bytes]]:
    """Read a step row."""
    (count,) = u64.unpack_from(value)
    keys = [value[at : at + KEY_BYTES] for at in range(u64.size, len(value), KEY_BYTES)]
    return keys[:count], keys[count:]


def stored_steps(rocks: Rocks) -> Layer:
    """Return what the rows say, as one layer."""
    layer = Layer()
    for key, value in rocks.scan_meta(STEP):
        layer.take(*unpack_step(value), key)
    return layer


def number_of(row: bytes) -> int:
    """Return the number in a row's key."""
    number: int = u64.unpack(row[len(STEP) :])[0]
    return number
