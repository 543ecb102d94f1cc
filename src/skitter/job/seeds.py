"""Seed lists: one URL a line, read as a stream however long they are.

Blank lines and lines that begin with ``#`` are skipped. A file is checked whole before its first
URL is given out, so that a bad line starts nothing; a pipe can be read only once, so its bad
lines are reported and skipped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from skitter.errors import ConfigError, UrlError
from skitter.job.entry import entry_url

MAX_LINE_BYTES = 64 * 1024
_BUFFER_BYTES = 256 * 1024
_SHOWN_FAULTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSeed:
    """A line that is not a URL to start from."""

    source: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.source}:{self.line}: {self.why}"


def open_seeds(path: Path, on_bad: Callable[[BadSeed], None]) -> Iterator[str]:
    """Return the URLs of a seed list; the file is closed when they run out.

    A regular file with a bad line raises ``ConfigError`` at once. From a pipe bad lines go to
    ``on_bad``.
    """
    try:
        if path.is_file():
            _check(path)
        stream = path.open("rb", buffering=_BUFFER_BYTES)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    return _owned(stream, str(path), on_bad)


def stream_seeds(stream: BinaryIO, source: str, on_bad: Callable[[BadSeed], None]) -> Iterator[str]:
    """Yield the URLs of ``stream`` as they come; bad lines go to ``on_bad``."""
    for seed in _seeds(stream, source):
        if isinstance(seed, str):
            yield seed
        else:
            on_bad(seed)


def _owned(stream: BinaryIO, source: str, on_bad: Callable[[BadSeed], None]) -> Iterator[str]:
    with stream:
        yield from stream_seeds(stream, source, on_bad)


def _check(path: Path) -> None:
    """Raise ``ConfigError`` naming the first bad lines of a file, if any."""
    shown: list[str] = []
    more = 0
    with path.open("rb", buffering=_BUFFER_BYTES) as stream:
        for seed in _seeds(stream, str(path)):
            if isinstance(seed, str):
                continue
            if len(shown) < _SHOWN_FAULTS:
                shown.append(str(seed))
            else:
                more += 1
    if shown:
        rest = [f"{path}: and {more} more bad lines"] if more else []
        raise ConfigError("\n".join(shown + rest))


def _seeds(stream: BinaryIO, source: str) -> Iterator[str | BadSeed]:
    for number, raw in enumerate(_lines(stream), start=1):
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if len(raw) > MAX_LINE_BYTES:
            why = f"longer than {MAX_LINE_BYTES} bytes"
            yield BadSeed(source=source, line=number, why=why)
            continue
        text = raw.strip()
        if text and not text.startswith(b"#"):
            yield _seed(text, source, number)


def _seed(text: bytes, source: str, number: int) -> str | BadSeed:
    try:
        return entry_url(text.decode())
    except UnicodeDecodeError:
        return BadSeed(source=source, line=number, why="not UTF-8 text")
    except UrlError as error:
        return BadSeed(source=source, line=number, why=str(error))


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines, never holding more than one; an overlong one is cut just past the cap."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 1)
