"""What workers say, in files of bounded size that can be read on while they grow and turn over.

The process that writes turns its own file over, so no line is lost: the file is renamed, a new one
takes its place, and what is written in between goes to the renamed one. Files that were turned over
have growing numbers behind their name, and the current one will have the next. A reader keeps its
place as such a number and an offset, which holds when the file is renamed.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from skitter.errors import ConfigError

MAX_BYTES: Final = 1 << 20
"""A file that has grown beyond this is turned over."""
GENERATIONS: Final = 3
"""Files that are kept beside the current one."""
MAX_PIECE: Final = 64 << 10
"""What is read at a time, at most."""
STDERR: Final = 2
SHOWN_CHARS: Final = 40
"""Of a place that is none, in words."""


class Piece(msgspec.Struct, frozen=True):
    """Some lines of a log, and where to go on."""

    text: str
    cursor: str
    """Empty when there is no file yet."""
    more: bool = False
    """Whether there is something behind it already."""


def open_log(path: Path, max_bytes: int = MAX_BYTES) -> int:
    """Open a log to be written at its end, turned over first if it is large."""
    if path.exists() and path.stat().st_size > max_bytes:
        _shift(path)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def turn_over(path: Path, fd: int = STDERR, max_bytes: int = MAX_BYTES) -> bool:
    """Let ``fd``, which writes to a log, go on in a new file if this one is large."""
    if os.fstat(fd).st_size <= max_bytes:
        return False
    _shift(path)
    new = open_log(path)
    # Whoever holds the number writes to the new file from here on, also below Python.
    os.dup2(new, fd)
    os.close(new)
    return True


def remove_log(path: Path) -> None:
    """Delete a log with everything that is kept of it."""
    for one in [path, *_turned(path).values()]:
        one.unlink(missing_ok=True)


def last_lines(path: Path, lines: int, max_bytes: int = MAX_PIECE) -> Piece:
    """Return the last lines of a log, as many as fit."""
    found = b""
    cursor = ""
    files = _open_all(path)
    try:
        for number, file in reversed(files.items()):
            begin = max(0, _size(file) - max_bytes + len(found))
            file.seek(begin)
            text = file.read(max_bytes - len(found))
            if not cursor:
                text = _whole(text)
                cursor = f"{number}:{begin + len(text)}"
            # The first line is cut where the piece is full.
            found = text[text.find(b"\n") + 1 if begin else 0 :] + found
            if begin or found.count(b"\n") >= lines:
                break
    finally:
        _close(files)
    kept = found.splitlines(keepends=True)[-lines:] if lines else []
    return Piece(b"".join(kept).decode(errors="replace"), cursor)


def lines_after(path: Path, cursor: str, max_bytes: int = MAX_PIECE) -> Piece:
    """Return what was written behind ``cursor``; from the oldest line if that place is gone.

    Raises ``ConfigError`` for a cursor that is none.
    """
    place = _place(cursor)
    files = _open_all(path)
    try:
        return _after(files, cursor, place, max_bytes)
    finally:
        _close(files)


def pieces(
    path_of: Callable[[int], Path], numbers: Sequence[int], lines: int, after: Mapping[int, str]
) -> dict[int, Piece]:
    """Return a piece of each of several logs, which fit into one together."""
    room = MAX_PIECE // max(1, len(numbers))
    found = {}
    for number in numbers:
        path, cursor = path_of(number), after.get(number)
        known = cursor is not None
        found[number] = (
            lines_after(path, cursor or "", room) if known else last_lines(path, lines, room)
        )
    return found


def _place(cursor: str) -> tuple[int, int]:
    """Return the number of a file and an offset in it."""
    if not cursor:
        return 0, 0
    # It comes from afar; what no file system can have is no place, either.
    found = re.fullmatch(r"([0-9]{1,12}):([0-9]{1,12})", cursor)
    if found is None:
        raise ConfigError(
            f"place {cursor[:SHOWN_CHARS]!r} in a log; wanted one that came with earlier lines"
        )
    return int(found[1]), int(found[2])


def _after(
    files: dict[int, BinaryIO], cursor: str, place: tuple[int, int], max_bytes: int
) -> Piece:
    number, offset = place
    first = number if number in files else 0
    if first:
        files[first].seek(offset)
    found = b""
    for number_now, file in files.items():
        if number_now < first:
            continue
        begin = file.tell()
        text = file.read(max_bytes - len(found))
        is_all = file.tell() >= _size(file)
        if not is_all or number_now == max(files):
            # A line that is longer than a piece comes in several.
            text = _whole(text) or (text if len(text) == max_bytes else b"")
        found += text
        cursor = f"{number_now}:{begin + len(text)}"
        if not is_all:
            return Piece(found.decode(errors="replace"), cursor, more=True)
    return Piece(found.decode(errors="replace"), cursor)


def _whole(text: bytes) -> bytes:
    """Return whole lines; what is being written is read when it is there."""
    return text[: text.rfind(b"\n") + 1]


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def _open_all(path: Path) -> dict[int, BinaryIO]:
    """Open the files of a log by their numbers, the oldest first.

    The current one is opened before the others are looked for: if it is turned over meanwhile it
    is met twice, and not missed.
    """
    current: BinaryIO | None = None
    with suppress(FileNotFoundError):
        current = path.open("rb")
    found: dict[int, BinaryIO] = {}
    for number, one in sorted(_turned(path).items()):
        with suppress(FileNotFoundError):
            found[number] = one.open("rb")
    if current is not None:
        if any(os.path.sameopenfile(current.fileno(), one.fileno()) for one in found.values()):
            current.close()
        else:
            found[max(found, default=0) + 1] = current
    return found


def _close(files: dict[int, BinaryIO]) -> None:
    for file in files.values():
        file.close()


def _turned(path: Path) -> dict[int, Path]:
    """Return the files of a log that were turned over, by their numbers."""
    found = {}
    for one in path.parent.glob(f"{path.name}.*"):
        number = one.name.removeprefix(f"{path.name}.")
        if number.isdecimal():
            found[int(number)] = one
    return found


def _shift(path: Path) -> None:
    """Give the current file the next number; the oldest go."""
    turned = _turned(path)
    last = max(turned, default=0) + 1
    path.replace(path.with_name(f"{path.name}.{last}"))
    for number, one in turned.items():
        if number <= last - GENERATIONS:
            one.unlink(missing_ok=True)
