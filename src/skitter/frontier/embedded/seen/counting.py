"""A counting Bloom filter over a flat array of bytes, a batch of keys at a time.

Counters have two bits. One that has reached 3 stays there: how many URLs it stands for is not
known any more, so taking one out must not make another unknown. Below 3 a counter is exact. So
no URL that is held is ever denied, and forgetting leaves at most counters behind that were
crowded.

Nothing is changed in place: ``patch`` says which bytes get which values, and ``apply`` writes
them. Writing a patch twice is writing it once, which is what makes replaying it after a crash
exact.
"""

import struct
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skitter.frontier.embedded.seen.sizing import PER_BYTE, Shape

U8 = NDArray[np.uint8]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
I64 = NDArray[np.int64]

KEY_BYTES = 12
_KEY = np.dtype([("queue", ">u4"), ("fp", ">u8")])
_FULL = 3
_BITS = np.array([3, 12, 48, 192], np.uint8)
"""The bits of each counter in its byte."""
STEP = 0x9E3779B97F4A7C15
"""From one 64-bit hash of a key to its next."""
QUEUE_STEP = 0xD6E8FEB86659FD93
"""From a queue to the next. No small multiple of one step is a small multiple of the other, so
that a URL in two queues never shares hashes."""
_MASK = (1 << 64) - 1
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_TWO, _THREE = np.uint64(2), np.uint64(3)
_CHUNK = 2048
"""Keys looked up at a time, so that what is worked out on the way stays in the cache."""
_COUNT = struct.Struct("<Q")


class Patch(NamedTuple):
    """Bytes to be set: where, and to what."""

    offsets: U32
    values: U8

    def pack(self) -> bytes:
        """Return the stored form."""
        places = self.offsets.astype("<u4").tobytes()
        return _COUNT.pack(len(self.values)) + places + self.values.tobytes()


def unpack_patch(data: bytes) -> Patch:
    """Read a stored patch."""
    (count,) = _COUNT.unpack_from(data)
    offsets = np.frombuffer(data, "<u4", count, _COUNT.size)
    values = np.frombuffer(data, np.uint8, count, _COUNT.size + 4 * count)
    return Patch(offsets.astype(np.uint32, copy=False), values)


class CountingBloom:
    """A filter of some shape in the bytes it is given."""

    def __init__(self, shape: Shape, array: U8) -> None:
        if array.size != shape.size:
            raise ValueError(f"{array.size} bytes for a filter of {shape.size}")
        self.shape = shape
        self.array = array
        self._words = -(-shape.hashes // 2)
        """64-bit hashes a group needs: each gives two positions."""
        numbers = range(1, shape.groups * self._words + 1)
        self._steps = np.array([[n * STEP & _MASK] for n in numbers], np.uint64)
        stride = shape.group_bytes * PER_BYTE
        self._first = np.array([[[n * stride]] for n in range(shape.groups)], np.uint64)
        """Number of the first counter of each group in the whole array."""
        self._narrow = np.uint32 if shape.groups * stride < 1 << 32 else np.uint64
        """The smallest type for a counter's number: half the bytes sort in a third of the time."""

    def contains(self, keys: bytes) -> NDArray[np.bool_]:
        """Tell for each of the keys, joined, whether every group has it."""
        starts = _starts(keys)
        if len(starts) <= _CHUNK:
            return self._has(starts)
        parts = range(0, len(starts), _CHUNK)
        return np.concatenate([self._has(starts[at : at + _CHUNK]) for at in parts])

    def _has(self, starts: U64) -> NDArray[np.bool_]:
        places = self._places(starts)
        bits = self.array.take((places >> _TWO).view(np.int64))
        bits &= _BITS.take((places & _THREE).view(np.int64))
        found: NDArray[np.bool_] = np.all(bits, axis=(0, 1))
        return found

    def patch(self, added: bytes, removed: bytes = b"") -> Patch:
        """Return what putting keys in and taking others out changes.

        A key that is taken out must be in the filter, and no key may come twice.
        """
        if not added and not removed:
            return Patch(np.empty(0, np.uint32), np.empty(0, np.uint8))
        up, down = self._places(_starts(added)), self._places(_starts(removed))
        parts = [self._patch_of(up[n].ravel(), down[n].ravel()) for n in range(self.shape.groups)]
        return Patch(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _patch_of(self, up: U64, down: U64) -> Patch:
        """Return what counting counters of one group up and others down changes."""
        if down.size:
            both = np.concatenate((up, down))
            order = np.argsort(both)
            places = both[order]
            heads = _heads(places)
            plus = np.add.reduceat((order < up.size).astype(np.int64), heads)
            minus = np.add.reduceat((order >= up.size).astype(np.int64), heads)
        else:
            places = np.sort(up.astype(self._narrow))
            heads = _heads(places)
            plus = np.diff(heads, append=places.size)
            minus = np.zeros(1, np.int64)
        return self._changed(places[heads].astype(np.uint64), plus, minus)

    def _changed(self, places: U64, plus: I64, minus: I64) -> Patch:
        """Return the bytes of counters, in order and each once, after counting up and down."""
        home = (places >> _TWO).view(np.int64)
        shift = ((places & _THREE) << 1).astype(np.uint8)
        old = (self.array.take(home) >> shift) & np.uint8(_FULL)
        value = np.minimum(np.maximum(old - minus, 0) + plus, _FULL)
        value[old == _FULL] = _FULL
        # Two counters of one byte add to it without a carry, since each stays below four.
        change = (value - old).astype(np.uint8) << shift
        heads = _heads(home)
        offsets = home[heads]
        values = self.array.take(offsets) + np.add.reduceat(change, heads, dtype=np.uint8)
        return Patch(offsets.astype(np.uint32), values)

    def apply(self, patch: Patch) -> None:
        """Write a patch."""
        self.array[patch.offsets] = patch.values

    def _places(self, starts: U64) -> U64:
        """Return the counters of keys, numbered through the whole array: group, hash, key."""
        shape, words = self.shape, self._words
        mixed = _mixed(starts + self._steps).reshape(shape.groups, words, len(starts))
        halves = np.empty((shape.groups, 2 * words, len(starts)), np.uint64)
        np.bitwise_and(mixed, _LOW, out=halves[:, :words])
        np.right_shift(mixed, _HALF, out=halves[:, words:])
        # The upper half of a product maps 32 random bits onto any range without a division.
        places: U64 = halves[:, : shape.hashes] * np.uint64(shape.counters)
        places >>= _HALF
        places += self._first
        return places


def _heads(ordered: NDArray[np.integer[Any]]) -> I64:
    """Return where each run of equal numbers begins."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))


def _starts(keys: bytes) -> U64:
    """Return where the hashes of each key start; one URL starts elsewhere in every queue."""
    parts = np.frombuffer(keys, _KEY)
    starts = parts["queue"].astype(np.uint64)
    starts *= np.uint64(QUEUE_STEP)
    starts += parts["fp"]
    return starts


def _mixed(words: U64) -> U64:
    """Mix every bit into every other (the finaliser of SplitMix64), in place."""
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
