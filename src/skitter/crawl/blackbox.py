"""Which page was being read when the process died.

A page that crashes the parser would crash it again on every restart. Its fingerprint is written
to a small mapped file before it is read, which survives the process; the next run counts the loss
and gives the page up after a few. Only reading is marked, not fetching, so that an innocent kill
almost never hits the same page twice.
"""

import mmap
import os
import struct
from pathlib import Path

from skitter.frontier.model import Lease

_SLOT = struct.Struct("<IQ")
_LOSS = struct.Struct("<IQB")


class BlackBox:
    """One mapped record (job number and fingerprint, or zeros), then the losses so far."""

    def __init__(self, path: Path) -> None:
        self._losses: dict[tuple[int, int], int] = {}
        old = path.read_bytes() if path.exists() else b""
        self._read(old)
        kept = b"".join(_LOSS.pack(*key, count) for key, count in self._losses.items())
        fresh = path.with_suffix(".new")
        fresh.write_bytes(bytes(_SLOT.size) + kept)
        fresh.replace(path)
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            self._map = mmap.mmap(fd, _SLOT.size)
        finally:
            os.close(fd)

    def _read(self, old: bytes) -> None:
        """Take over the losses of earlier runs and add the one that ended the last."""
        if len(old) < _SLOT.size:
            return
        whole = (len(old) - _SLOT.size) // _LOSS.size
        for job, fp, count in _LOSS.iter_unpack(old[_SLOT.size :][: whole * _LOSS.size]):
            self._losses[job, fp] = count
        job, fp = _SLOT.unpack_from(old)
        if job:
            self._losses[job, fp] = min(255, self._losses.get((job, fp), 0) + 1)

    def losses(self, lease: Lease) -> int:
        """Return how often the process died while reading this page."""
        return self._losses.get((lease.job, lease.fp), 0) if self._losses else 0

    def note(self, lease: Lease) -> None:
        """Mark a page as being read."""
        self._map[:] = _SLOT.pack(lease.job, lease.fp)

    def clear(self) -> None:
        """Mark that no page is being read."""
        self._map[:] = _NOTHING

    def close(self) -> None:
        """Unmap."""
        self._map.close()


_NOTHING = bytes(_SLOT.size)
