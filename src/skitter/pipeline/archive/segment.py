"""One WARC file that grows, with its index.

While the file grows its index is appended to ``<name>.cdxj.part`` in the order of writing. When
the file is done the lines are sorted into ``<name>.cdxj``, which appears whole or not at all. The
index is not synced: whatever a power cut leaves of it can be made again from the records.
"""

import fcntl
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from skitter.errors import ConfigError
from skitter.pipeline.archive.names import growing_index_path, index_path

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC


class Segment:
    """A WARC file and its growing index, open for writing. Blocks."""

    def __init__(self, path: Path, *, length: int = 0, index_length: int = 0) -> None:
        """Open the file; one of length 0 must not exist yet."""
        self.path = path
        self.length = length
        """Bytes of the WARC file that count; what lies behind them is overwritten."""
        self.index_length = index_length
        self._closing = threading.Lock()
        self._fd = os.open(path, _FLAGS if length else _FLAGS | os.O_EXCL, 0o644)
        try:
            _lock(self._fd, path)
            self._index_fd = os.open(growing_index_path(path), _FLAGS, 0o644)
        except BaseException:
            os.close(self._fd)
            raise

    def cut(self, index: bytes | None = None) -> None:
        """Drop what lies behind the lengths that count; ``index`` replaces all the lines."""
        os.ftruncate(self._fd, self.length)
        if index is not None:
            _write_at(self._index_fd, index, 0)
        os.ftruncate(self._index_fd, self.index_length)

    def append(self, pieces: Iterable[bytes]) -> None:
        """Write behind the lengths that count, without moving them.

        Every piece is one call to the system, so that a process that is killed leaves whole ones.
        """
        at = self.length
        for piece in pieces:
            _write_at(self._fd, piece, at)
            at += len(piece)

    def append_lines(self, lines: bytes) -> None:
        """Write behind the length of the index that counts, without moving it."""
        _write_at(self._index_fd, lines, self.index_length)

    def sync(self) -> None:
        """Make what was written outlive a power cut; nothing to do when closed."""
        with self._closing:
            if self._fd >= 0:
                os.fdatasync(self._fd)

    def finish(self, *, durable: bool) -> None:
        """Sort the index into its place and close; idempotent."""
        if self._fd < 0:
            return
        self.cut()
        if durable:
            os.fdatasync(self._fd)
        sort_index(self.path, durable=durable)
        self.close()

    def close(self) -> None:
        """Close the files as they are; idempotent."""
        with self._closing:
            if self._fd >= 0:
                fd, self._fd = self._fd, -1
                os.close(fd)
                os.close(self._index_fd)


def _lock(fd: int, path: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ConfigError(
            f"--warc {path.parent}: {path.name} is being written by another crawl;"
            " wanted a directory, or a job id, of its own"
        ) from error


def _write_at(fd: int, data: bytes, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written


def sort_index(warc: Path, *, durable: bool) -> None:
    """Replace the growing index of a WARC file by the sorted one, in one step."""
    growing, final = growing_index_path(warc), index_path(warc)
    lines = growing.read_bytes().splitlines(keepends=True)
    lines.sort()
    beside = final.with_name(f"{final.name}.tmp")
    with beside.open("wb") as file:
        file.writelines(lines)
        file.flush()
        if durable:
            os.fsync(file.fileno())
    beside.replace(final)
    growing.unlink()
    if durable:
        sync_directory(warc.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable, not only what the files hold."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
