"""What all sinks that write one file share: its name, its errors, and the thread it is written in.

Files block, so a sink works in a thread, on one thing at a time. A caller that is cancelled leaves
the thread at work; whoever comes next waits for it.
"""

import asyncio
import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from skitter.errors import FULL, ConfigError, SinkError, SkitterError
from skitter.pipeline.base import Batch

T = TypeVar("T")


class FileSink(ABC):
    """A sink behind one file; what differs between kinds is what blocks."""

    MARK_PREFIX: ClassVar[str]
    """``sink:`` and the kind; the file's path follows in the name of the mark."""
    NEEDS_DIRECTORY: ClassVar[bool] = False
    """Whether it makes other files beside its own."""

    def __init__(self, path: Path, *, durable: bool = True, overwrite: bool = False) -> None:
        self._path = path
        self._durable = durable
        """Sync what was written before saying that it is safe."""
        self._overwrite = overwrite
        self._opened = False
        self._work: asyncio.Task[Any] | None = None

    @property
    def mark_name(self) -> str:
        """The name under which the mark is kept."""
        return f"{self.MARK_PREFIX}{self._path.resolve()}"

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    @property
    def place(self) -> str:
        """The file, in words."""
        return str(self._path)

    @property
    def trouble(self) -> str:
        """Nothing: a file that cannot be written is an error, not a reason to wait."""
        return ""

    def check(self) -> None:
        """Raise ``ConfigError`` when the file cannot be written; changes nothing it holds."""
        path, parent = self._path, self._path.parent
        wanted = [path] if path.exists() else [parent]
        if self.NEEDS_DIRECTORY:
            wanted.append(path.resolve().parent)
        if not wanted[0].exists():
            raise self._unwritable(_os_error(errno.ENOENT))
        if path.is_dir() or not all(os.access(place, os.W_OK) for place in wanted):
            raise self._unwritable(_os_error(errno.EACCES))

    async def open(self, mark: bytes | None) -> bytes:
        """Check that the file is ours and drop what was never acked."""
        return await self._run(lambda: self._begin(mark))

    async def write(self, batch: Batch) -> bytes:
        """Write records; answer the mark when they are safe."""
        return await self._run(lambda: self._put(batch))

    async def close(self) -> None:
        """Complete the file and let go of it."""
        await self._idle()
        if self._opened:
            await self._run(self._end)

    @abstractmethod
    def drop_companions(self) -> None:
        """Remove what lies beside the file and only belongs to what it holds at present."""

    @abstractmethod
    def _open(self, mark: bytes | None) -> bytes:
        """Do what ``open`` promises."""

    @abstractmethod
    def _write(self, batch: Batch) -> bytes:
        """Do what ``write`` promises; what fails leaves everything as it was."""

    @abstractmethod
    def _finish(self) -> None:
        """Leave a complete file."""

    @abstractmethod
    def _release(self) -> None:
        """Let go of whatever is open, if anything is."""

    def _begin(self, mark: bytes | None) -> bytes:
        self.check()
        try:
            answer = self._open(mark)
            self._opened = True
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            if not self._opened:
                self._release()
        return answer

    def _put(self, batch: Batch) -> bytes:
        try:
            return self._write(batch)
        except OSError as error:
            raise self._failed(error) from error

    def _end(self) -> None:
        self._opened = False
        try:
            self._finish()
        except OSError as error:
            raise self._failed(error) from error
        finally:
            self._release()

    async def _run(self, call: Callable[[], T]) -> T:
        await self._idle()
        work = asyncio.create_task(asyncio.to_thread(call))
        self._work = work
        return await asyncio.shield(work)

    async def _idle(self) -> None:
        """Wait for work whose caller was cancelled."""
        if self._work is not None:
            await asyncio.wait([self._work])
            self._work = None

    def _failed(self, error: OSError) -> SkitterError:
        return SinkError(f"--out {self._path}: cannot be written ({_words(error)})")

    def _unwritable(self, error: OSError) -> SkitterError:
        if error.errno in FULL:
            return self._failed(error)
        return ConfigError(
            f"--out {self._path}: cannot be written ({_words(error)});"
            " wanted a file in a writable directory"
        )

    def _foreign(self) -> ConfigError:
        return ConfigError(
            f"--out {self._path}: exists and was not written by this crawl;"
            " choose another file, or --fresh to start over and replace it"
        )

    def _missing(self, safe: str) -> ConfigError:
        return ConfigError(
            f"--out {self._path}: does not exist, but this crawl has written {safe} to it;"
            " put the file back, or --fresh to start over"
        )

    def _short(self, found: str, safe: str) -> ConfigError:
        return ConfigError(
            f"--out {self._path}: has {found}, but this crawl has written {safe};"
            " put the file back, or --fresh to start over"
        )

    def _other_columns(self) -> ConfigError:
        return ConfigError(
            f"--out {self._path}: has other columns than this version of Skitter writes;"
            " go on with the version that wrote it, or --fresh to start over"
        )


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable, not only what the files hold."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sync_file(path: Path) -> None:
    """Make durable what a closed file holds."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _words(error: OSError) -> str:
    """Return the system's own words; libraries put theirs around them."""
    return os.strerror(error.errno) if error.errno else str(error)


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
