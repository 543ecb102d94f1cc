"""The seen-set as rows of the ``seen`` family: one per known URL, never wrong."""

from collections.abc import Sequence

from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.model import SeenFacts, SeenOptions


class ExactSeen:
    """Implements ``SeenSet``; everything is in the step's own write batch."""

    marks_waiting = True

    def __init__(self, rocks: Rocks) -> None:
        self.options = SeenOptions()
        self._rocks = rocks

    def known(self, keys: Sequence[bytes]) -> list[bool]:
        """Tell which keys have a row."""
        if not keys:
            return []
        return [state is not None for state in self._rocks.get_many("seen", keys)]

    def state(self, key: bytes) -> bytes | None:
        """Return a key's row."""
        return self._rocks.get_one("seen", key)

    def add(self, change: Change, key: bytes, state: bytes) -> None:
        """Plan a row."""
        change.put("seen", key, state)

    move = add

    def drop(self, change: Change, key: bytes) -> None:
        """Plan the end of a row."""
        change.delete("seen", key)

    def seal(self, change: Change) -> None:
        """Add nothing: the rows are in the step."""

    def follow(self, change: Change) -> None:
        """Do nothing: memory holds nothing."""

    async def tend(self) -> None:
        """Do nothing: RocksDB compacts by itself."""

    async def close(self) -> None:
        """Do nothing."""

    def facts(self, known: int) -> SeenFacts:
        """Describe the set."""
        return SeenFacts("exact", known)
