"""The mapped file of a Bloom filter: one page that says what it is, then the counters.

The file is made whole, with its room reserved on the disk: writing to a mapped page that has no
room ends the process. Whatever it says of itself that is not what was asked for is refused, and
nothing is changed.
"""

import mmap
import os
import struct
import zlib
from hashlib import blake2b
from pathlib import Path

import numpy as np

from skitter.errors import DataDirError, StoreUnavailable
from skitter.frontier.embedded.seen.counting import U8
from skitter.frontier.embedded.seen.sizing import Shape, shape_for
from skitter.frontier.model import SeenOptions

HEADER_BYTES = 4096
VERSION = 1
_MAGIC = b"skitter bloom\r\n\0"
_HEADER = struct.Struct("<16sIIIQ8sQdI")
_REMEDY = "start over with --fresh"


def seed_id(secret: bytes) -> bytes:
    """Return what tells the secret of one store from another's without giving it away."""
    return blake2b(secret, digest_size=8, person=b"skitter seed id").digest()


def header(options: SeenOptions, shape: Shape, secret: bytes) -> bytes:
    """Return the first page of a filter's file, checksummed over its whole length."""
    said = _HEADER.pack(
        _MAGIC,
        VERSION,
        shape.groups,
        shape.hashes,
        shape.counters,
        seed_id(secret),
        options.expected,
        options.rate,
        0,
    ).ljust(HEADER_BYTES, b"\0")
    crc = struct.pack("<I", zlib.crc32(said))
    return said[: _HEADER.size - 4] + crc + said[_HEADER.size :]


def create(path: Path, options: SeenOptions, secret: bytes) -> None:
    """Make an empty filter, replacing whatever has the name, whole or not at all."""
    shape = shape_for(options)
    draft = path.with_name(path.name + ".new")
    try:
        with draft.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, HEADER_BYTES + shape.size)
            file.write(header(options, shape, secret))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise StoreUnavailable(
            f"{path}: a Bloom filter of {shape.size / 1e6:.0f} MB cannot be made ({error.strerror})"
        ) from error


class BloomFile:
    """A filter's file, checked and mapped."""

    def __init__(self, path: Path, options: SeenOptions, secret: bytes) -> None:
        self.path = path
        self.shape = shape_for(options)
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise DataDirError(
                f"{path}: the Bloom filter of known URLs cannot be opened ({error.strerror});"
                f" wanted {_wanted(options, self.shape)}: {_REMEDY}"
            ) from error
        try:
            self._check(options, secret)
            self._map = mmap.mmap(self._fd, HEADER_BYTES + self.shape.size)
        except (DataDirError, OSError):
            os.close(self._fd)
            raise
        self._array: U8 | None = np.frombuffer(self._map, np.uint8, offset=HEADER_BYTES)

    @property
    def array(self) -> U8:
        """The counters."""
        assert self._array is not None, "the file is closed"
        return self._array

    def _check(self, options: SeenOptions, secret: bytes) -> None:
        found = os.pread(self._fd, HEADER_BYTES, 0)
        size = os.fstat(self._fd).st_size
        wanted = _wanted(options, self.shape)
        holds = _holds(found)
        if holds is None:
            raise DataDirError(
                f"{self.path}: not a Bloom filter, or its first page is damaged;"
                f" wanted {wanted}: {_REMEDY}"
            )
        if found == header(options, self.shape, secret):
            if size != HEADER_BYTES + self.shape.size:
                raise DataDirError(
                    f"{self.path}: {size:,} bytes long, wanted {HEADER_BYTES + self.shape.size:,}"
                    f" for {wanted}: {_REMEDY}"
                )
            return
        if holds == wanted:
            raise DataDirError(
                f"{self.path}: the Bloom filter of another store, whose fingerprints have another"
                f" key; wanted the one of this store: {_REMEDY}"
            )
        raise DataDirError(f"{self.path}: holds {holds}; wanted {wanted}: {_REMEDY}")

    def sync(self) -> None:
        """Return when everything written to the array is on the disk."""
        try:
            # Not mmap.flush: that holds the interpreter for as long as the disk takes.
            os.fsync(self._fd)
        except OSError as error:
            raise StoreUnavailable(f"{self.path}: cannot be synced ({error.strerror})") from error

    def close(self) -> None:
        """Unmap; every array taken from here must be gone."""
        self._array = None
        self._map.close()
        os.close(self._fd)


def _wanted(options: SeenOptions, shape: Shape) -> str:
    return _words(VERSION, shape, options.expected, options.rate)


def _holds(page: bytes) -> str | None:
    """Say what a first page speaks of; None when it is not whole."""
    if len(page) != HEADER_BYTES or not page.startswith(_MAGIC):
        return None
    _, version, groups, hashes, counters, _, expected, rate, crc = _HEADER.unpack_from(page)
    blank = page[: _HEADER.size - 4] + bytes(4) + page[_HEADER.size :]
    if zlib.crc32(blank) != crc:
        return None
    return _words(version, Shape(groups, hashes, counters), expected, rate)


def _words(version: int, shape: Shape, expected: int, rate: float) -> str:
    return (
        f"a Bloom filter (version {version}) for {expected:,} URLs at the rate {rate:g}, of"
        f" {shape.groups} × {shape.hashes} hashes on {shape.counters:,} counters each"
    )


def _sync_folder(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
