"""The directory a crawl keeps its state in: whose it is, and that only one process uses it."""

import asyncio
import fcntl
import json
import os
import shutil
from pathlib import Path

from skitter.errors import (
    FULL,
    ConfigError,
    DataDirError,
    DataDirInUse,
    SkitterError,
    StoreUnavailable,
)
from skitter.frontier.embedded.layout import FORMAT_VERSION

MARKER = "skitter.json"
FRONTIER = "frontier"
ENDING_S = 5.0
"""How long a process that answers nothing any more may take to let go of its directory."""
LOOK_S = 0.05


class DataDir:
    """One state directory, held from ``acquire`` to ``release``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    @property
    def frontier(self) -> Path:
        """Where the frontier's store lies."""
        return self.path / FRONTIER

    def require(self) -> None:
        """Raise when no crawl has begun here; makes nothing."""
        if not (self.path / MARKER).is_file():
            strange = any(self.path.iterdir())
            why = "not a Skitter directory" if strange else "no crawl has begun there"
            raise DataDirError(f"--data {self.path}: {why}; wanted the directory of a crawl")

    def acquire(self, *, fresh: bool = False) -> None:
        """Make or check the directory and take it for this process."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"--data {self.path}: cannot be made ({error.strerror});"
                " wanted a directory that can be written"
            ) from error
        self._check_ours()
        self._lock()
        try:
            self._check_version(fresh=fresh)
            if fresh:
                self._empty()
            self._mark()
        except SkitterError:
            self.release()
            raise

    async def acquire_when_free(self, patience_s: float = ENDING_S) -> None:
        """Take the directory from a process that does not answer, since it is about to end."""
        try:
            async with asyncio.timeout(patience_s):
                while not self._acquired():  # noqa: ASYNC110  a lock rings no bell
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            self.acquire()

    def _acquired(self) -> bool:
        try:
            self.acquire()
        except DataDirInUse:
            return False
        return True

    def _check_ours(self) -> None:
        marker = self.path / MARKER
        strange = [p for p in self.path.iterdir() if p.name != MARKER] if self.path.is_dir() else []
        if strange and not marker.exists():
            raise DataDirError(
                f"--data {self.path}: not empty and not a Skitter directory;"
                " wanted a new directory or one of an earlier crawl"
            )

    def _lock(self) -> None:
        try:
            self._fd = os.open(self.path / MARKER, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise DataDirInUse(
                f"--data {self.path}: in use by another Skitter process;"
                " wait for it to end, or choose another directory"
            ) from error
        except OSError as error:
            raise ConfigError(
                f"--data {self.path}: cannot be written ({error.strerror});"
                " wanted a directory that can be written"
            ) from error

    def _check_version(self, *, fresh: bool) -> None:
        text = os.pread(self._fd, 4096, 0)
        if not text:
            return
        try:
            version = int(json.loads(text)["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataDirError(
                f"{self.path / MARKER}: cannot be read; wanted the marker of a Skitter directory"
            ) from error
        if version < FORMAT_VERSION and not fresh:
            raise DataDirError(
                f"--data {self.path}: written by an earlier Skitter (format {version}, this one"
                f" reads {FORMAT_VERSION}); end that crawl with it, or --fresh to start over"
            )
        if version > FORMAT_VERSION:
            raise DataDirError(
                f"--data {self.path}: written by a newer Skitter (format {version}, this one reads"
                f" up to {FORMAT_VERSION}); use that version or another directory"
            )

    def _empty(self) -> None:
        for path in self.path.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != MARKER:
                path.unlink()

    def _mark(self) -> None:
        text = json.dumps({"format": FORMAT_VERSION, "pid": os.getpid()}) + "\n"
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text.encode(), 0)
        except OSError as error:
            kind = StoreUnavailable if error.errno in FULL else ConfigError
            raise kind(f"--data {self.path}: cannot be written ({error.strerror})") from error

    def release(self) -> None:
        """Let the directory go."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)
