"""JSON lines in one file, exactly once.

The mark is the file's safe length. On opening, what lies behind it is cut off: those lines were
written but never acked, and their pages are fetched again.
"""

import asyncio
import errno
import os
from pathlib import Path

from skitter.errors import FULL, ConfigError, SinkError, SkitterError
from skitter.pipeline.base import Batch


class JsonlSink:
    """Appends lines to one file."""

    MARK_PREFIX = "sink:jsonl:"

    def __init__(self, path: Path, *, durable: bool = True, overwrite: bool = False) -> None:
        self._path = path
        self._durable = durable
        """Sync the file before saying its lines are safe."""
        self._overwrite = overwrite
        self._fd = -1
        self._length = 0
        self._writing: asyncio.Future[None] | None = None

    @property
    def mark_name(self) -> str:
        """The name under which the safe length is kept."""
        return f"{self.MARK_PREFIX}{self._path.resolve()}"

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def check(self) -> None:
        """Raise ``ConfigError`` when the file cannot be written; changes nothing it holds."""
        wanted = self._path if self._path.exists() else self._path.parent
        if not wanted.exists():
            raise self._unwritable(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        if not os.access(wanted, os.W_OK) or self._path.is_dir():
            raise self._unwritable(PermissionError(errno.EACCES, os.strerror(errno.EACCES)))

    def _unwritable(self, error: OSError) -> SkitterError:
        if error.errno in FULL:
            return SinkError(f"--out {self._path}: cannot be written ({error.strerror})")
        return ConfigError(
            f"--out {self._path}: cannot be written ({error.strerror});"
            " wanted a file in a writable directory"
        )

    async def open(self, mark: bytes | None) -> bytes:
        """Open the file, check that it is ours, and cut what was never acked."""
        safe = int(mark) if mark is not None else 0
        if safe and not self._path.exists():
            raise ConfigError(
                f"--out {self._path}: does not exist, but this crawl has written {safe} bytes to"
                " it; put the file back, or --fresh to start over"
            )
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            self._fd = os.open(self._path, flags, 0o644)
            size = os.fstat(self._fd).st_size
            self._check(size, safe, known=mark is not None)
            if size > safe:
                os.ftruncate(self._fd, safe)
            os.fsync(self._fd)
            _sync_directory(self._path.parent)
        except OSError as error:
            raise self._unwritable(error) from error
        self._length = safe
        return str(safe).encode()

    def _check(self, size: int, safe: int, *, known: bool) -> None:
        if not known:
            if size and not self._overwrite:
                raise ConfigError(
                    f"--out {self._path}: exists and was not written by this crawl;"
                    " choose another file, or --fresh to start over and replace it"
                )
            return
        whole = safe == 0 or (size >= safe and os.pread(self._fd, 1, safe - 1) == b"\n")
        if not whole:
            raise ConfigError(
                f"--out {self._path}: has {size} bytes, but this crawl has written {safe};"
                " put the file back, or --fresh to start over"
            )

    async def write(self, batch: Batch) -> bytes:
        """Append lines and answer the new safe length."""
        await self._idle()
        data = b"".join(batch.lines)
        self._writing = asyncio.ensure_future(asyncio.to_thread(self._append, data))
        try:
            # A cancelled caller leaves the thread at work; nobody else may write beside it.
            await asyncio.shield(self._writing)
        except OSError as error:
            raise SinkError(f"{self._path}: cannot be written ({error.strerror})") from error
        self._length += len(data)
        return str(self._length).encode()

    def _append(self, data: bytes) -> None:
        view, at = memoryview(data), self._length
        while view:
            written = os.pwrite(self._fd, view, at)
            view, at = view[written:], at + written
        if self._durable:
            os.fdatasync(self._fd)

    async def _idle(self) -> None:
        """Wait for a write whose caller was cancelled."""
        if self._writing is not None:
            await asyncio.wait([self._writing])
            self._writing = None

    async def close(self) -> None:
        """Close the file."""
        await self._idle()
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)


def _sync_directory(path: Path) -> None:
    """Make a file's name durable, not only its contents."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
