"""Values that are shared for hours: in rows, so that a restart does not end them.

A row by name holds the value and when it ends; a row by that time leads to the name, so that what
is over is found without a walk over the rest.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Final

from rocksdict import WriteBatch

from skitter.clock import Clock
from skitter.frontier.embedded.rocks import Rocks

LASTING_MS: Final = 600_000
"""Values that are shared for longer than this survive a restart."""
BURIED_AT_ONCE: Final = 500

_VALUE: Final = b"share:v:"
_UNTIL: Final = b"share:t:"
_ms: Final = Struct(">Q")


class Lasting:
    """Keeps values in the store until their time is over, by the clock of the wall."""

    def __init__(self, rocks: Rocks, clock: Clock) -> None:
        self._rocks = rocks
        self._clock = clock

    def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Keep values; forgets some of those whose time is over."""
        until = _ms.pack(self._clock.now_ms() + ttl_ms)
        batch = WriteBatch(raw_mode=True)
        for name, value in values.items():
            batch.put(_VALUE + name.encode(), until + value)
            batch.put(_UNTIL + until + name.encode(), b"")
        self._bury(batch)
        self._rocks.write(batch)

    def bury(self) -> int:
        """Forget some of what is over; answers how many values that were."""
        batch = WriteBatch(raw_mode=True)
        gone = self._bury(batch)
        if gone:
            self._rocks.write(batch)
        return gone

    def _bury(self, batch: WriteBatch) -> int:
        now_ms, gone = self._clock.now_ms(), 0
        for key, _ in self._rocks.scan_meta(_UNTIL):
            until = key[len(_UNTIL) : len(_UNTIL) + _ms.size]
            if _ms.unpack(until)[0] > now_ms or gone == BURIED_AT_ONCE:
                break
            batch.delete(key)
            row = _VALUE + key[len(_UNTIL) + _ms.size :]
            stored = self._rocks.get(row)
            if stored is not None and stored.startswith(until):
                # Else it was shared anew, and ends later.
                batch.delete(row)
            gone += 1
        return gone

    def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values whose time is not over, in order."""
        now_ms = self._clock.now_ms()
        found = (self._rocks.get(_VALUE + name.encode()) for name in names)
        return [
            stored[_ms.size :]
            if stored is not None and _ms.unpack_from(stored)[0] > now_ms
            else None
            for stored in found
        ]
