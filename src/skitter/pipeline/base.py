"""The sink seam.

A sink gets records in batches and says when they are safe; only then are their URLs acked. What
it answers (its *marks*) is written in the same atomic step as those acks, and handed back when
the sink opens again. So a sink can drop whatever it wrote after its last mark, and a crash leaves
neither a torn record nor a second one. A database holds each record once by itself, so there a mark
only says what was set aside.
"""

from collections.abc import Sequence
from typing import Protocol

from skitter.pipeline.archive.model import Capture, Location
from skitter.pipeline.record import PageRecord, decode_line

SINK_MARKS = "sink:"
"""How the names of all sinks' marks begin; the kind and the place follow."""


class Batch:
    """Records that are written together, each as its line of JSON.

    The records themselves are read from the lines where a sink asks for them.
    """

    __slots__ = ("_records", "lines")

    def __init__(self, records: Sequence[PageRecord] | None, lines: Sequence[bytes]) -> None:
        self._records = records
        self.lines = lines

    @property
    def records(self) -> Sequence[PageRecord]:
        """The records, in the order of the lines."""
        if self._records is None:
            self._records = [decode_line(line) for line in self.lines]
        return self._records


class Archive(Protocol):
    """Where the exchanges themselves go. Its marks work as a sink's do."""

    @property
    def mark_name(self) -> str:
        """The name under which the archive's mark is kept."""

    def check(self) -> None:
        """Raise ``ConfigError`` when the directory cannot be used; changes nothing."""

    async def open(self, mark: bytes | None) -> bytes:
        """Make ready to write after ``mark``; answers the mark to keep from here on."""

    async def write(self, captures: Sequence[Capture]) -> tuple[list[Location], bytes]:
        """Write captures; answers where each is, and the mark that covers them once synced."""

    async def sync(self) -> None:
        """Return when everything written is safe."""

    def holds(self, file: str, offset: int) -> bool:
        """Tell whether a place is still there: the end of a file may have been lost."""

    async def close(self) -> None:
        """Close; idempotent."""


class Sink(Protocol):
    """Where records go. ``write`` is never called twice at once."""

    @property
    def mark_name(self) -> str:
        """The name under which this sink's mark is kept."""

    @property
    def place(self) -> str:
        """Where a person finds the records: a file, or a table in a database."""

    @property
    def trouble(self) -> str:
        """Why writing waits, in words; "" while it does not."""

    def check(self) -> None:
        """Raise ``ConfigError`` when a file cannot be written; changes nothing it holds."""

    async def open(self, mark: bytes | None) -> bytes:
        """Make ready to write after ``mark``; None when nothing was written before.

        Answers the mark to keep from here on, so that a sink that dies before its first batch
        is known as this crawl's own.
        """

    async def write(self, batch: Batch) -> bytes:
        """Write records; answer the new mark when they are safe."""

    async def close(self) -> None:
        """Close; idempotent. Leaves the file complete for whoever opens it."""
