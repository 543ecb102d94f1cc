"""The archive: WARC files of one job in one directory, exactly once.

``write`` puts captures into the current file and answers where they are, together with the mark;
``sync`` makes them outlive a power cut. What was written after the last mark that was kept is
dropped on opening, as with every sink.
"""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from skitter.errors import FULL, ConfigError, SinkError, SkitterError
from skitter.pipeline.archive.batch import Batch, Encoder, packer
from skitter.pipeline.archive.duplicates import Recent
from skitter.pipeline.archive.format import RecordIds, warcinfo
from skitter.pipeline.archive.model import Capture, Location
from skitter.pipeline.archive.names import SUFFIXES, Compression, growing_index_path, warc_name
from skitter.pipeline.archive.recovery import Mark, clear, decoded, resume
from skitter.pipeline.archive.segment import Segment, sync_directory

log = logging.getLogger(__name__)

QUICK_BYTES: Final = 3 * 1024 * 1024
"""Captures up to this size in all are encoded at once, in a few milliseconds."""
_MOST_KNOWN: Final = 100_000
_MOST_INDEX_BYTES: Final = 64 * 1024 * 1024
"""A file is done when its index is this long, since it is sorted in memory."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Archive:
    """Writes captures to WARC files; ``write`` is never called twice at once."""

    MARK_PREFIX = "archive:"

    def __init__(
        self,
        directory: Path,
        *,
        job: str,
        compression: Compression = "gzip",
        max_file_bytes: int = 1_000_000_000,
        durable: bool = True,
        overwrite: bool = False,
    ) -> None:
        self._directory = directory
        self._job = job
        self._compression: Compression = compression
        self._max_file_bytes = max_file_bytes
        self._durable = durable
        """Whether ``sync`` syncs, and whether names are made durable."""
        self._overwrite = overwrite
        self._ids = RecordIds(os.urandom(10))
        self._pack = packer(compression)
        self._recent = Recent(_MOST_KNOWN)
        self._encoder = Encoder(self._pack, self._ids, self._recent)
        self._serial = 0
        self._segment: Segment | None = None
        self._dirty = False
        """Something may lie behind the lengths that count."""
        self._working: asyncio.Future[Any] | None = None

    @property
    def mark_name(self) -> str:
        """The name under which the mark is kept."""
        return f"{self.MARK_PREFIX}{self._directory.resolve()}"

    @property
    def directory(self) -> Path:
        """Where the files are."""
        return self._directory

    def check(self) -> None:
        """Raise ``ConfigError`` when nothing can be written there; changes nothing."""
        place = self._directory
        while not place.exists() and place != place.parent:
            place = place.parent
        if not place.is_dir():
            raise self._refused(f"{place} is not a directory")
        if not os.access(place, os.W_OK | os.X_OK):
            raise self._refused(f"{place} cannot be written")

    def _refused(self, why: str) -> ConfigError:
        return ConfigError(f"--warc {self._directory}: {why}; wanted a writable directory")

    async def open(self, mark: bytes | None) -> bytes:
        """Make ready to write after ``mark``, cut what was never acked, and answer the mark."""
        try:
            await self._in_thread(self._open, mark)
        except OSError as error:
            raise self._unwritable(error) from error
        return self._mark()

    def _unwritable(self, error: OSError) -> SkitterError:
        if error.errno in FULL:
            return SinkError(f"--warc {self._directory}: cannot be written ({error.strerror})")
        return self._refused(f"cannot be written ({error.strerror})")

    def _open(self, mark: bytes | None) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        if mark is None:
            clear(self._directory, self._job, overwrite=self._overwrite)
        else:
            self._resume(decoded(mark, self._directory, self._job))
        if self._durable:
            sync_directory(self._directory)

    def _resume(self, mark: Mark) -> None:
        self._serial = mark.serial
        self._segment, ended = resume(self._directory, self._job, mark)
        if self._segment is not None:
            self._segment.sync()
            if ended or not mark.file.endswith(SUFFIXES[self._compression]):
                self._end_file(self._segment)
        elif ended:
            self._serial += 1

    async def write(self, captures: Sequence[Capture]) -> tuple[list[Location], bytes]:
        """Write captures; answer where their responses are, and the mark."""
        if not captures:
            await self._idle()
            return [], self._mark()
        try:
            if self._is_quick(captures):
                await self._idle()
                segment, batch = self._append(captures)
            else:
                segment, batch = await self._in_thread(self._append, captures)
        except OSError as error:
            raise SinkError(f"{self._directory}: cannot be written ({error.strerror})") from error
        # Only here, where the caller has not gone, does the batch count: one whose caller was
        # cancelled is overwritten by the next.
        segment.length = batch.length
        segment.index_length += sum(map(len, batch.lines))
        self._recent.add(batch.originals)
        self._dirty = False
        return batch.locations, self._mark()

    def _is_quick(self, captures: Sequence[Capture]) -> bool:
        """Tell whether captures are encoded faster than a thread could be asked to.

        Hashing and compressing small bodies gives the interpreter away and back for each of
        them, which costs more than it brings.
        """
        if sum(len(capture.response) for capture in captures) > QUICK_BYTES:
            return False
        segment = self._segment
        # Ending a file sorts its index, which takes its time.
        return segment is not None and not self._is_full(segment)

    def _append(self, captures: Sequence[Capture]) -> tuple[Segment, Batch]:
        segment = self._file_with_room()
        if self._dirty:
            segment.cut()
        self._dirty = True
        batch = Batch(segment.path.name, segment.length)
        segment.append(self._encoder.encode(batch, captures))
        segment.append_lines(b"".join(batch.lines))
        return segment, batch

    def _file_with_room(self) -> Segment:
        segment = self._segment
        if segment is not None and self._is_full(segment):
            self._end_file(segment)
        if self._segment is None:
            self._segment = self._begin_file()
        return self._segment

    def _is_full(self, segment: Segment) -> bool:
        too_long = segment.index_length >= _MOST_INDEX_BYTES
        return too_long or segment.length >= self._max_file_bytes

    def _end_file(self, segment: Segment) -> None:
        segment.finish(durable=self._durable)
        self._segment = None
        self._serial += 1

    def _begin_file(self) -> Segment:
        path = self._directory / warc_name(self._job, self._serial, self._compression)
        segment = Segment(path)
        try:
            at_ms = time.time_ns() // 1_000_000
            head = self._pack(warcinfo(path.name, job=self._job, at_ms=at_ms, ids=self._ids))
            segment.append([head])
            segment.length = len(head)
            if self._durable:
                sync_directory(self._directory)
        except OSError:
            segment.close()
            path.unlink()
            growing_index_path(path).unlink()
            raise
        return segment

    def _mark(self) -> bytes:
        segment = self._segment
        if segment is None:
            name = warc_name(self._job, self._serial, self._compression)
            return Mark(self._serial, name, 0, 0).encoded()
        name = segment.path.name
        return Mark(self._serial, name, segment.length, segment.index_length).encoded()

    async def sync(self) -> None:
        """Return when everything written so far outlives a power cut; may run beside ``write``."""
        segment = self._segment
        if segment is None or not self._durable:
            return
        try:
            await asyncio.to_thread(segment.sync)
        except OSError as error:
            raise SinkError(f"{segment.path}: cannot be synced ({error.strerror})") from error

    def holds(self, file: str, offset: int) -> bool:
        """Tell whether there is anything at that place."""
        try:
            return (self._directory / Path(file).name).stat().st_size > offset
        except OSError:
            return False

    async def close(self) -> None:
        """Finish the current file and its index; idempotent."""
        await self._idle()
        segment, self._segment = self._segment, None
        if segment is None:
            return
        try:
            await self._in_thread(segment.finish, durable=self._durable)
        except OSError as error:
            log.warning("%s: the index stays unsorted (%s)", segment.path, error.strerror)
            segment.close()

    async def _in_thread(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run ``work`` when the thread is free; a cancelled caller leaves it at work."""
        await self._idle()
        working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
        self._working = working
        return await asyncio.shield(working)

    async def _idle(self) -> None:
        """Wait for work whose caller was cancelled."""
        if self._working is not None:
            await asyncio.wait([self._working])
            self._working = None
