"""The patches of a filter since its file was last synced, in a file of their own.

They go through no database: a patch is some seventy bytes per URL that are needed for minutes. Each
has its number and a checksum. Which of them count, the store says: one that is behind the last
number there was written by a step that did not come to its end.
"""

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from skitter.errors import DataDirError, StoreUnavailable
from skitter.frontier.embedded.seen.counting import Patch, unpack_patch

_HEAD = struct.Struct("<QII")
"""Number, length and checksum of what follows."""


class PatchLog:
    """An append-only file of numbered patches."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise DataDirError(f"{path}: cannot be opened ({error.strerror})") from error
        self._end = 0

    def read(self, first: int, last: int) -> Iterator[Patch]:
        """Yield the patches of these numbers in order; what comes after them is cut off."""
        due = first
        while due <= last:
            found = self._record()
            if found is None or found[0] > due:
                raise DataDirError(
                    f"{self._path}: cut short or damaged: patch {due} of the Bloom filter is"
                    f" missing, wanted {first} to {last}; start over with --fresh"
                )
            number, body = found
            self._end += _HEAD.size + len(body)
            if number == due:
                yield unpack_patch(body)
                due += 1
        os.ftruncate(self._fd, self._end)

    def _record(self) -> tuple[int, bytes] | None:
        """Return number and body of the record at the end of what was read, if it is whole."""
        head = os.pread(self._fd, _HEAD.size, self._end)
        if len(head) < _HEAD.size:
            return None
        number, length, crc = _HEAD.unpack(head)
        body = os.pread(self._fd, length, self._end + _HEAD.size)
        if len(body) < length or zlib.crc32(body) != crc:
            return None
        return number, body

    def append(self, number: int, patch: Patch) -> None:
        """Write a patch; returns when it is on the disk."""
        body = patch.pack()
        record = _HEAD.pack(number, len(body), zlib.crc32(body)) + body
        try:
            # A write that was cut short by a full disk is overwritten by the next.
            done = os.pwrite(self._fd, record, self._end)
            while done < len(record):
                done += os.pwrite(self._fd, record[done:], self._end + done)
            os.fdatasync(self._fd)
        except OSError as error:
            raise StoreUnavailable(f"{self._path}: cannot be written ({error.strerror})") from error
        self._end += len(record)

    def clear(self) -> None:
        """Forget every patch."""
        os.ftruncate(self._fd, 0)
        self._end = 0

    def close(self) -> None:
        """Let the file go."""
        os.close(self._fd)
