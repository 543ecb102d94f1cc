"""Where scored URLs wait, so that one can move up when a better link to it is found.

In memory only and bounded: what is forgotten keeps the place it has.
"""

from skitter.frontier.embedded.layout import rank_of
from skitter.frontier.model import SCORED_RANKS

MAX_PLACES = 200_000


class Places:
    """The queue key of each scored URL, by its key in the seen-set."""

    def __init__(self) -> None:
        self._keys: dict[bytes, bytes] = {}

    def note(self, seen: bytes, key: bytes) -> None:
        """Take note that a URL waits under ``key``, if its rank is a score."""
        if rank_of(key) < SCORED_RANKS:
            if len(self._keys) >= MAX_PLACES:
                self._keys.clear()
            self._keys[seen] = key

    def worse_than(self, rank: int, seen: bytes) -> bytes | None:
        """Return where a URL waits, if that is behind ``rank``; it may wait there no longer."""
        key = self._keys.get(seen)
        return key if key is not None and rank < rank_of(key) else None
