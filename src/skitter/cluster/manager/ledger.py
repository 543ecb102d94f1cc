"""The list of a machine's workers on disk: replaced as a whole, so that a crash leaves one of two.

Orders that were carried out are kept beside the list they changed, with what was answered: an
order that comes again after a crash is answered again and not carried out twice.
"""

import fcntl
import os
from itertools import count
from pathlib import Path
from typing import Final

import msgspec

from skitter.cluster.manager.roster import Stored
from skitter.errors import DataDirError

VERSION: Final = 1
FILE: Final = "workers.json"
LOCK: Final = "lock"
LOGS: Final = "logs"
FOLDER: Final = "manager"
KEPT_ANSWERS: Final = 64


class Kept(msgspec.Struct, kw_only=True):
    """Everything a manager goes on with after a restart."""

    version: int = VERSION
    name: str = ""
    """What the node was called."""
    session: str = ""
    """Drawn anew by every manager."""
    machine: str = ""
    pid: int = 0
    born: int = 0
    """When that process was started."""
    limit: int = 0
    since_ms: int = 0
    roster: Stored = msgspec.field(default_factory=Stored)
    answers: dict[str, bytes] = {}
    """What was answered to the last orders, by their ids, the oldest first."""


class _Head(msgspec.Struct):
    version: int = 0


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Kept).decode
_head = msgspec.json.Decoder(_Head).decode


def read_kept(folder: Path) -> Kept | None:
    """Return what a manager kept in its folder; None when there is nothing."""
    path = folder / FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataDirError(f"{path}: {error.strerror}; wanted a list of workers") from error
    try:
        version = _head(text).version
        if version > VERSION:
            raise DataDirError(
                f"{path}: of version {version}, which is newer than this Skitter"
                f" (it knows {VERSION}); wanted the release that wrote it"
            )
        return _decode(text)
    except msgspec.MsgspecError as error:
        raise DataDirError(f"{path}: cannot be read ({error}); wanted a list of workers") from error


def folders_in(data: Path) -> list[Path]:
    """Return the folders of all managers that ever ran in a data directory, or just below it."""
    places = (f"{FOLDER}*/{FILE}", f"*/{FOLDER}*/{FILE}")
    return sorted(path.parent for place in places for path in data.glob(place))


def log_in(folder: Path, number: int) -> Path:
    """Return where the words of a worker of that folder's manager are; 0 for the manager's own."""
    return folder / LOGS / (f"{number}.log" if number else "manager.log")


class Ledger:
    """The folder of one manager, which no other process has."""

    def __init__(self, folder: Path, number: int, lock: int) -> None:
        self.folder = folder
        self.number = number
        """1 for the first manager in a data directory, 2 for another beside it."""
        self._lock = lock

    @classmethod
    def take(cls, data: Path) -> "Ledger":
        """Take the first folder in a data directory that no running manager has."""
        for number in count(1):
            folder = data.absolute() / (FOLDER if number == 1 else f"{FOLDER}-{number}")
            try:
                (folder / LOGS).mkdir(parents=True, exist_ok=True)
                fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise DataDirError(f"{folder}: {error.strerror}; wanted a place to keep") from error
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(fd)
                continue
            return cls(folder, number, fd)
        raise AssertionError

    def log_of(self, number: int) -> Path:
        """Return where a worker's words go; 0 for those of the manager."""
        return log_in(self.folder, number)

    def read(self) -> Kept:
        """Return what the manager before kept here."""
        return read_kept(self.folder) or Kept()

    def write(self, kept: Kept) -> None:
        """Replace what is kept; safe when this returns."""
        new = self.folder / f"{FILE}.new"
        with new.open("wb") as file:
            file.write(_encode(kept))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.folder / FILE)

    def close(self) -> None:
        """Let another manager have the folder."""
        os.close(self._lock)
