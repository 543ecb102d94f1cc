"""Files that only grow, exactly once.

The mark is the file's safe length. On opening, what lies behind it is cut off: those rows were
written but never acked, and their pages are fetched again.
"""

import contextlib
import os
from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from skitter.pipeline.base import Batch
from skitter.pipeline.file_sink import FileSink, sync_directory


class AppendedFile:
    """A file that is safe up to a length and only written behind it."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._path = path
        self._durable = durable
        self._fd = -1
        self.length = 0
        """Safe bytes."""

    def open(self) -> int:
        """Open or make the file; answers how many bytes it holds."""
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        return os.fstat(self._fd).st_size

    def read(self, size: int, at: int) -> bytes:
        """Return up to ``size`` bytes from ``at``."""
        return os.pread(self._fd, size, at)

    def cut(self, length: int) -> None:
        """Drop what lies behind ``length``, durably, and go on from there."""
        if os.fstat(self._fd).st_size > length:
            os.ftruncate(self._fd, length)
        os.fsync(self._fd)
        self.length = length

    def append(self, data: bytes) -> None:
        """Write behind the safe bytes; they are safe, too, when this returns."""
        try:
            self._write(data)
        except OSError:
            # Whoever reads the file is not to find half a row.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self.length)
            raise
        self.length += len(data)

    def _write(self, data: bytes) -> None:
        view, at = memoryview(data), self.length
        while view:
            written = os.pwrite(self._fd, view, at)
            view, at = view[written:], at + written
        if self._durable:
            os.fdatasync(self._fd)

    def close(self) -> None:
        """Close; idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


class AppendingSink(FileSink):
    """Rows in one file, behind a header if the kind has one."""

    HEADER: ClassVar[bytes] = b""

    def __init__(self, path: Path, *, durable: bool = True, overwrite: bool = False) -> None:
        super().__init__(path, durable=durable, overwrite=overwrite)
        self._file = AppendedFile(path, durable=durable)

    @abstractmethod
    def _rows(self, batch: Batch) -> bytes:
        """Return records as the bytes to append."""

    def drop_companions(self) -> None:
        """Nothing lies beside the file."""

    def _open(self, mark: bytes | None) -> bytes:
        if mark is None:
            self._start()
        else:
            self._go_on(int(mark))
        sync_directory(self._path.resolve().parent)
        return self._mark()

    def _start(self) -> None:
        self._file.open()
        # A crash may have come before the mark that follows the header.
        found = self._file.read(len(self.HEADER) + 1, 0)
        if not self.HEADER.startswith(found) and not self._overwrite:
            raise self._foreign()
        self._file.cut(0)
        self._file.append(self.HEADER)

    def _go_on(self, safe: int) -> None:
        if safe and not self._path.exists():
            raise self._missing(f"{safe} bytes")
        size = self._file.open()
        if size < safe or (safe and self._file.read(1, safe - 1) != b"\n"):
            raise self._short(f"{size} bytes", str(safe))
        if self._file.read(len(self.HEADER), 0) != self.HEADER:
            raise self._other_columns()
        self._file.cut(safe)

    def _write(self, batch: Batch) -> bytes:
        self._file.append(self._rows(batch))
        return self._mark()

    def _mark(self) -> bytes:
        return str(self._file.length).encode()

    def _finish(self) -> None:
        """Every write leaves a complete file."""

    def _release(self) -> None:
        self._file.close()
