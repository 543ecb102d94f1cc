"""The directory in which rows are safe until they are joined into a Parquet file.

Rows are numbered from 0. A part holds the rows from the one in its name on: sealed ones as
Parquet, the last one as JSON lines. A part is never changed but by cutting its end, and always
made under another name first, so a crash leaves whole parts, at worst some that are there twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skitter.pipeline.file_sink import sync_directory

SEALED, LINES = ".parquet", ".jsonl"
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one file of the directory."""

    path: Path
    first: int
    rows: int

    @property
    def end(self) -> int:
        """The row after the last."""
        return self.first + self.rows

    @property
    def sealed(self) -> bool:
        """Whether it is a Parquet file."""
        return self.path.suffix == SEALED


@dataclass(frozen=True, slots=True)
class Chain:
    """What of a directory carries on where the file ends."""

    parts: tuple[Part, ...]
    spare: tuple[Part, ...]
    """Held elsewhere, too, or behind rows that are lost."""
    end: int
    """Rows in all."""


def chain(base: int, parts: Sequence[Part]) -> Chain:
    """Find the parts that follow the ``base`` rows of the file without a gap.

    The file was made of all parts there were, and a sealed part of the lines of the same name: so
    a part that begins before the end of what stands before it is held there as a whole.
    """
    kept: list[Part] = []
    end = base
    for part in sorted(parts, key=lambda part: (part.first, not part.sealed)):
        if part.first == end:
            kept.append(part)
            end = part.end
    return Chain(tuple(kept), tuple(part for part in parts if part not in kept), end)


def part_path(directory: Path, first: int, kind: str) -> Path:
    """Return where the part that begins with row ``first`` is."""
    return directory / f"rows-{first:012}{kind}"


def part_paths(directory: Path) -> Iterator[tuple[Path, int]]:
    """Yield the files of the parts and the row each begins with."""
    for path in sorted(directory.glob("rows-*")):
        number = path.stem.removeprefix("rows-")
        if number.isdigit() and path.suffix in {SEALED, LINES}:
            yield path, int(number)


def ensure_directory(directory: Path) -> None:
    """Make the directory durably, unless it is there."""
    if not directory.is_dir():
        directory.mkdir()
        sync_directory(directory.parent)


def remove_parts(parts: Sequence[Part], directory: Path) -> None:
    """Remove parts durably."""
    for part in parts:
        part.path.unlink()
    if parts:
        sync_directory(directory)


def remove_directory(directory: Path) -> None:
    """Remove the directory and all of its files, durably."""
    if not directory.is_dir():
        return
    for path in directory.iterdir():
        path.unlink()
    directory.rmdir()
    sync_directory(directory.parent)


def count_lines(path: Path) -> int:
    """Return how many whole lines a file holds."""
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


def length_of_lines(path: Path, lines: int) -> int:
    """Return how many bytes the first ``lines`` lines of a file take."""
    with path.open("rb") as file:
        for _ in range(lines):
            file.readline()
        return file.tell()


def is_empty(directory: Path) -> bool:
    """Whether there is nothing to lose."""
    return not directory.is_dir() or not any(directory.iterdir())
