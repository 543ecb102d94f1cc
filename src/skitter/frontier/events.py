"""What the journals of all back ends share: the ids of events, and how who waits for them is woken.

An id is one number or two with a hyphen between; ids grow. To whoever reads on they mean nothing.
"""

import asyncio
import re
from collections.abc import Sequence
from typing import Final

from skitter.errors import FrontierError

MOST_KEPT: Final = 100_000
"""Events that are kept, about; the oldest go first."""
MAX_EVENT_BYTES: Final = 16_384
OLDEST: Final = ""
"""As the id to read on after: from the oldest event that is kept."""
NEW: Final = "$"
"""The same: only what comes from now on."""
NONE: Final = "0"
"""An id before all others."""
MAX_WAIT_MS: Final = 5_000
"""How long one question for events waits at most: a master that does not answer is found out."""

_ID = re.compile(r"[0-9]{1,19}(-[0-9]{1,19})?")


def checked_id(after: str) -> str:
    """Return an id to read on after, or say that it is none."""
    if not _ID.fullmatch(after):
        raise FrontierError(f"no id of an event: {after[:50]!r}")
    return after


def checked_events(events: Sequence[bytes]) -> Sequence[bytes]:
    """Return events that are small enough to be kept, or say that one is not."""
    longest = max(map(len, events), default=0)
    if longest > MAX_EVENT_BYTES:
        raise FrontierError(f"an event of {longest} bytes; at most {MAX_EVENT_BYTES} are kept")
    return events


class Bell:
    """Wakes everyone who waits for something to happen."""

    def __init__(self) -> None:
        self.rings = 0
        """How often it has rung; who asks before looking misses nothing."""
        self._waiting: set[asyncio.Future[None]] = set()

    @property
    def waited_for(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def ring(self) -> None:
        """Wake all who wait."""
        self.rings += 1
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, heard: int, seconds: float) -> None:
        """Return when it has rung more often than was ``heard``, or when the time is over."""
        if self.rings != heard or seconds <= 0:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait([future], timeout=seconds)
        finally:
            self._waiting.discard(future)
