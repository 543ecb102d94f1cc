"""The seam between the frontier's verbs and whatever remembers which URLs are known.

A key is a queue's number and a fingerprint (``layout.seen_key``). What a step does to the set is
planned in its ``Change`` and becomes true with it: ``seal`` runs before the step is written,
``follow`` after.
"""

from collections.abc import Sequence
from typing import Protocol

from skitter.frontier.embedded.change import Change
from skitter.frontier.model import SeenFacts, SeenOptions


class SeenSet(Protocol):
    """Remembers every URL that was accepted and not forgotten since."""

    options: SeenOptions
    marks_waiting: bool
    """Whether a URL that waits has a row; if not, its queue entry is the only proof of it."""

    def known(self, keys: Sequence[bytes]) -> list[bool]:
        """Tell which keys are known, in order."""

    def state(self, key: bytes) -> bytes | None:
        """Return the state byte of a key; ``MAYBE`` when only the queues can tell."""

    def add(self, change: Change, key: bytes, state: bytes) -> None:
        """Plan that an unknown URL becomes known."""

    def move(self, change: Change, key: bytes, state: bytes) -> None:
        """Plan another state for a known URL."""

    def drop(self, change: Change, key: bytes) -> None:
        """Plan that a URL becomes unknown; it must be certain that it is known."""

    def seal(self, change: Change) -> None:
        """Add to a step what makes its additions and removals survive."""

    def follow(self, change: Change) -> None:
        """Let memory follow a written step."""

    async def tend(self) -> None:
        """Do what is due now and then; called when a step has been made durable."""

    async def close(self) -> None:
        """Make everything safe and let go of files and threads."""

    def facts(self, known: int) -> SeenFacts:
        """Describe the set; ``known`` is how many URLs the frontier's counters say are known."""
