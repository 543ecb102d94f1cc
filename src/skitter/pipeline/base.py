"""The sink seam.

A sink gets records in batches and says when they are safe; only then are their URLs acked. What
it answers (its *marks*) is written in the same atomic step as those acks, and handed back when
the sink opens again. So a sink can drop whatever it wrote after its last mark, and a crash leaves
neither a torn record nor a second one.
"""

from collections.abc import Sequence
from typing import Protocol


class Sink(Protocol):
    """Where records go. ``write`` is never called twice at once."""

    @property
    def mark_name(self) -> str:
        """The name under which this sink's mark is kept."""

    async def open(self, mark: bytes | None) -> bytes:
        """Make ready to write after ``mark``; None when nothing was written before.

        Answers the mark to keep from here on, so that a sink that dies before its first batch
        is known as this crawl's own.
        """

    async def write(self, lines: Sequence[bytes]) -> bytes:
        """Write encoded records; answer the new mark when they are safe."""

    async def close(self) -> None:
        """Close; idempotent."""
