"""Making a WARC file whole again that is shorter than its mark says."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from skitter.pipeline.archive import cdx
from skitter.pipeline.archive.entries import entry_line
from skitter.pipeline.archive.members import Damaged, records
from skitter.pipeline.archive.names import growing_index_path, index_path
from skitter.pipeline.archive.salvage import Gap, salvaged
from skitter.pipeline.archive.segment import Segment

log = logging.getLogger(__name__)


class _Rest(NamedTuple):
    """What is left of a file."""

    length: int
    """Where the last whole record ends."""
    lines: list[bytes]
    """Of its index."""


def mended(path: Path, lines: Sequence[bytes] | None, wanted: int) -> Segment | None:
    """Return the file cut behind its last whole record, with its index; None when none is left.

    ``lines`` are those of the index up to the mark, in the order of writing, or None when they
    are lost; ``wanted`` is the length that the mark says.
    """
    size = path.stat().st_size
    rest = _rest_by_reading(path) if lines is None else _rest_by_index(path, lines)
    gone = "an unknown number" if lines is None else str(len(lines) - len(rest.lines))
    log.warning(
        "%s: has %d bytes, but this crawl has written %d; cut after its last whole record, to %d."
        " Captures gone from its end: %s; their page records are safe in the outputs",
        *(path, size, wanted, rest.length, gone),
    )
    if not rest.length:
        for each in (path, growing_index_path(path), index_path(path)):
            each.unlink(missing_ok=True)
        return None
    return _cut(path, rest)


def _cut(path: Path, rest: _Rest) -> Segment:
    index = b"".join(rest.lines)
    segment = Segment(path, length=rest.length, index_length=len(index))
    try:
        segment.cut(index)
        index_path(path).unlink(missing_ok=True)
    except BaseException:
        segment.close()
        raise
    return segment


def _rest_by_index(path: Path, lines: Sequence[bytes]) -> _Rest:
    """Return what is left, looking from the end for a capture of which something is whole."""
    for count in range(len(lines), -1, -1):
        start = (cdx.offset_of(lines[count - 1]) or 0) if count else 0
        end = _whole_from(path, start)
        if end > start:
            return _Rest(end, list(lines[:count]))
    return _Rest(0, [])


def _whole_from(path: Path, start: int) -> int:
    """Return where the whole records that begin at ``start`` end."""
    end = start
    try:
        for record in records(path, start):
            end = record.offset + record.length
    except Damaged:
        return end
    return end


def _rest_by_reading(path: Path) -> _Rest:
    end, lines = 0, []
    for found in salvaged(path):
        if not isinstance(found, Gap):
            end = found.offset + found.length
            line = entry_line(found, path.name)
            if line is not None:
                lines.append(line)
    return _Rest(end, lines)
