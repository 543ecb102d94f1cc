"""Reading past damage: what is whole in a WARC file, and the bytes that are not."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from skitter.pipeline.archive import cdx
from skitter.pipeline.archive.members import Damaged, Record, records
from skitter.pipeline.archive.names import growing_index_path, index_path

_PIECE: Final = 1024 * 1024
_MAGIC: Final = re.compile(rb"\x1f\x8b\x08|\x28\xb5\x2f\xfd|WARC/1\.")
_MOST_MAGIC: Final = 7


class Gap(NamedTuple):
    """Bytes in which no whole record was found."""

    offset: int
    length: int
    why: str
    """Names the file and the place."""


def salvaged(path: Path) -> Iterator[Record | Gap]:
    """Yield the whole records of a file in their order, and a gap where there is none."""
    at, known, done = 0, None, False
    while not done:
        try:
            for record in records(path, at):
                at = record.offset + record.length
                yield record
            done = True
        except Damaged as error:
            known = indexed_offsets(path) if known is None else known
            after = _next_whole(path, at + 1, known)
            yield Gap(at, after - at, str(error))
            at = after


def _next_whole(path: Path, start: int, known: Sequence[int]) -> int:
    """Return where whole records begin again, or the end of the file.

    A body can hold records of its own, as an archive that was downloaded does. They are told from
    those of the file by where they lead: not to the next place that the index names. Without an
    index the first whole record is taken.
    """
    size = path.stat().st_size
    place = bisect_right(known, start - 1)
    limit = known[place] if place < len(known) and known[place] < size else size
    while (start := _find_magic(path, start, limit)) < limit:
        try:
            for _ in records(path, start, limit):
                if not known:
                    return start
        except Damaged as error:
            # What began at one of the records read meanwhile would end here, too.
            start = error.offset + 1
        else:
            return start
    return limit


def _find_magic(path: Path, start: int, limit: int) -> int:
    """Return where a record may begin, at or after ``start``, or ``limit``."""
    with path.open("rb") as file:
        while start < limit:
            file.seek(start)
            piece = file.read(min(_PIECE, limit - start))
            found = _MAGIC.search(piece)
            if found is not None:
                return start + found.start()
            if len(piece) < _PIECE:
                break
            start += len(piece) - _MOST_MAGIC + 1
    return limit


def indexed_offsets(path: Path) -> list[int]:
    """Return where the index of a file says that responses begin, in their order."""
    offsets: set[int | None] = set()
    for index in (growing_index_path(path), index_path(path)):
        if index.is_file():
            with index.open("rb") as lines:
                offsets.update(map(cdx.offset_of, lines))
    return sorted(offset for offset in offsets if offset is not None)
