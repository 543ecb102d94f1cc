"""Finding one's place in an archive again.

A mark names the last file, its safe length and that of its index. What lies behind was written
but never acked: it is cut off, later files are removed, and nothing before it is touched. A file
that is shorter than its mark is made whole, and the archive goes on in the next.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.archive import cdx
from skitter.pipeline.archive.entries import entry_line
from skitter.pipeline.archive.members import records
from skitter.pipeline.archive.mend import mended
from skitter.pipeline.archive.names import growing_index_path, index_path, own_files, serial_of
from skitter.pipeline.archive.segment import Segment

log = logging.getLogger(__name__)

_VERSION: Final = "1"
_START_OVER: Final = "put the file back, or --fresh to start over"


class Mark(NamedTuple):
    """How far an archive is safe."""

    serial: int
    file: str
    length: int
    """Bytes of the WARC file; 0 when it is not begun."""
    index_length: int
    """Bytes of its growing index."""

    def encoded(self) -> bytes:
        """Return the mark as it is kept."""
        return f"{_VERSION} {self.length} {self.index_length} {self.file}".encode()


def decoded(mark: bytes, directory: Path, job: str) -> Mark:
    """Return a mark that was kept for ``job``."""
    parts = mark.decode("utf-8", "replace").split(" ")
    if len(parts) == 4 and parts[0] == _VERSION and parts[1].isdecimal() and parts[2].isdecimal():
        serial = serial_of(parts[3], job)
        if serial is not None:
            return Mark(serial, parts[3], int(parts[1]), int(parts[2]))
    raise ConfigError(
        f"--warc {directory}: the state of this crawl names the archive in a way this version"
        f" does not know ({mark!r}); --fresh to start over"
    )


def clear(directory: Path, job: str, *, overwrite: bool) -> None:
    """Make way for the first file of a job, or raise ``ConfigError`` when another crawl was here.

    Files of other jobs and other people are left alone.
    """
    own = [path for _, path in own_files(directory, job)]
    taken = min((path.name for path in own if path.stat().st_size), default=None)
    if taken is not None and not overwrite:
        raise ConfigError(
            f"--warc {directory}: {taken} exists and was not written by this crawl;"
            " choose another directory, or --fresh to start over and replace it"
        )
    for path in own:
        path.unlink()


class Resumed(NamedTuple):
    """Where an archive goes on."""

    segment: Segment | None
    """The file a mark names, or None when it is to be begun."""
    ended: bool = False
    """Whether that file takes no more: its end was lost, and pages are known by their place."""


def resume(directory: Path, job: str, mark: Mark) -> Resumed:
    """Return the file a mark names, cut to it or, when it is shorter, to its whole records."""
    found = _reopened(directory / mark.file, mark) if mark.length else Resumed(None)
    for serial, later in own_files(directory, job):
        if serial > mark.serial or (serial == mark.serial and found.segment is None):
            later.unlink()
    return found


def _reopened(path: Path, mark: Mark) -> Resumed:
    if not path.is_file():
        raise ConfigError(
            f"--warc {path.parent}: {path.name} does not exist, but this crawl has written"
            f" {mark.length} bytes to it; {_START_OVER}"
        )
    if path.stat().st_size < mark.length:
        kept = _growing(path, mark) or _finished(path, mark)
        lines = None if kept is None else sorted(kept.lines.splitlines(keepends=True), key=_offset)
        return Resumed(mended(path, lines, mark.length), ended=True)
    return Resumed(_cut_to_mark(path, mark))


def _cut_to_mark(path: Path, mark: Mark) -> Segment:
    index = _checked(path, mark)
    segment = Segment(path, length=mark.length, index_length=len(index))
    try:
        _warn_of_torn_tail(path, mark)
        segment.cut(index)
        index_path(path).unlink(missing_ok=True)
    except BaseException:
        segment.close()
        raise
    return segment


def _checked(path: Path, mark: Mark) -> bytes:
    """Return the index of what is safe, or raise ``ConfigError`` when that is not all there."""
    try:
        return _index(path, mark)
    except SinkError as error:
        raise ConfigError(f"--warc {path.parent}: {error}; {_START_OVER}") from error


def _index(path: Path, mark: Mark) -> bytes:
    """Return the lines about what is safe, in any order; made again when none are left.

    Raises ``SinkError`` when the records they speak of are not whole up to the mark. With an
    index that is the last capture alone; without one every record is read.
    """
    kept = _growing(path, mark) or _finished(path, mark)
    if kept is None:
        return b"".join(index_of(path, mark.length))
    for _ in records(path, kept.last, mark.length):
        pass
    return kept.lines


class _Kept(NamedTuple):
    lines: bytes
    last: int
    """Offset of the last record they name."""


def _growing(path: Path, mark: Mark) -> _Kept | None:
    growing = growing_index_path(path)
    if not growing.exists():
        return None
    lines = growing.read_bytes()[: mark.index_length]
    return _trusted([lines], mark)


def _finished(path: Path, mark: Mark) -> _Kept | None:
    """Return the lines of a sorted index, of a file that was done when the mark was not."""
    final = index_path(path)
    if not final.exists():
        return None
    lines = final.read_bytes().splitlines(keepends=True)
    return _trusted([line for line in lines if _offset(line) < mark.length], mark)


def _trusted(pieces: list[bytes], mark: Mark) -> _Kept | None:
    """Return lines that are as long as the mark says and lead to a place before it."""
    lines = b"".join(pieces)
    if len(lines) != mark.index_length or (lines and not lines.endswith(b"\n")) or b"\0" in lines:
        return None
    last = max(map(_offset, pieces if len(pieces) > 1 else lines.splitlines()[-1:]), default=0)
    return _Kept(lines, last) if last < mark.length else None


def _offset(line: bytes) -> int:
    """Return the offset a line names; one that names none is beyond every file."""
    offset = cdx.offset_of(line)
    return 1 << 62 if offset is None else offset


def _warn_of_torn_tail(path: Path, mark: Mark) -> None:
    try:
        for _ in records(path, mark.length):
            pass
    except SinkError as error:
        log.warning("%s; what was never acked is cut off there", error)


def index_of(path: Path, end: int | None = None) -> Iterator[bytes]:
    """Yield the index lines of the records in a WARC file, in their order."""
    for record in records(path, 0, end):
        line = entry_line(record, path.name)
        if line is not None:
            yield line
