"""Parquet in one file, exactly once.

A Parquet file cannot grow: its index is at its end. So rows are made safe as JSON lines in a
directory beside the file, lines are sealed into Parquet parts there before they grow large, and
closing joins file and parts into a file that takes the old one's place. The mark is the number of
safe rows.
"""

import contextlib
from collections.abc import Iterator
from itertools import chain as concat
from pathlib import Path
from typing import Any

import pyarrow as pa

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.appending import AppendedFile
from skitter.pipeline.base import SINK_MARKS, Batch
from skitter.pipeline.file_sink import FileSink, sync_directory
from skitter.pipeline.parquet_parts import (
    LINES,
    SEALED,
    Part,
    chain,
    count_lines,
    ensure_directory,
    is_empty,
    length_of_lines,
    part_path,
    part_paths,
    remove_directory,
    remove_parts,
)
from skitter.pipeline.parquet_table import (
    GroupSize,
    count_rows,
    replace_file,
    tables_from_lines,
    tables_in,
)


class ParquetSink(FileSink):
    """Keeps rows in parts until closing joins them."""

    MARK_PREFIX = f"{SINK_MARKS}parquet:"
    NEEDS_DIRECTORY = True
    GROUP = GroupSize(rows=50_000, bytes=16 << 20)
    """When lines are sealed, and how large the row groups of the file are."""

    def __init__(self, path: Path, *, durable: bool = True, overwrite: bool = False) -> None:
        super().__init__(path, durable=durable, overwrite=overwrite)
        self._file = path.resolve()
        self._parts = self._file.with_name(f"{self._file.name}.parts")
        self._scratch = self._parts / "scratch"
        self._base = 0
        """Rows in the file."""
        self._sealed: list[Part] = []
        self._tail: AppendedFile | None = None
        self._tail_first = 0
        self._rows = 0
        """Safe rows in all."""

    def _open(self, mark: bytes | None) -> bytes:
        if mark is None:
            self._start()
        else:
            self._go_on(int(mark))
        return self._mark()

    def _mark(self) -> bytes:
        return str(self._rows).encode()

    def _start(self) -> None:
        if not self._overwrite:
            if self._has_file():
                raise self._foreign()
            if not is_empty(self._parts):
                raise ConfigError(
                    f"--out {self._path}: {self._parts} holds records that were not written by"
                    " this crawl; choose another file, or --fresh to start over and replace them"
                )
        self._file.unlink(missing_ok=True)
        sync_directory(self._file.parent)
        self.drop_companions()

    def drop_companions(self) -> None:
        """Remove the parts, which would be taken for the end of another file put here."""
        remove_directory(self._parts)

    def _has_file(self) -> bool:
        return self._file.exists() and self._file.stat().st_size > 0

    def _go_on(self, safe: int) -> None:
        self._base = self._count(self._file, safe) if self._has_file() else 0
        found = chain(self._base, [self._part(path, first, safe) for path, first in self._paths()])
        if found.end < safe:
            raise self._short(f"{found.end} rows", str(safe))
        # Before anything is cut: what is held twice would seem to follow a shorter file.
        remove_parts(found.spare, self._parts)
        self._scratch.unlink(missing_ok=True)
        self._cut(found.parts, safe)
        self._rows = safe

    def _paths(self) -> Iterator[tuple[Path, int]]:
        return part_paths(self._parts)

    def _part(self, path: Path, first: int, safe: int) -> Part:
        rows = count_lines(path) if path.suffix == LINES else self._count(path, safe)
        return Part(path, first, rows)

    def _count(self, path: Path, safe: int) -> int:
        rows = count_rows(path)
        if rows is None:
            raise ConfigError(
                f"--out {self._path}: {path.name} is damaged or has other columns than this"
                f" version of Skitter writes, but this crawl has written {safe} rows;"
                " put the file back, or --fresh to start over"
            )
        return rows

    def _cut(self, parts: tuple[Part, ...], safe: int) -> None:
        """Drop the rows from ``safe`` on, and take up the rest."""
        remove_parts([part for part in parts if part.first >= safe], self._parts)
        for part in (part for part in parts if part.first < safe):
            rows = min(part.rows, safe - part.first)
            if not part.sealed:
                self._take_up(part, rows)
                continue
            if rows < part.rows:
                self._replace(part.path, tables_in(part.path, rows))
            self._sealed.append(Part(part.path, part.first, rows))
        if self._base > safe:
            ensure_directory(self._parts)
            self._replace(self._file, tables_in(self._file, safe))
            self._base = safe

    def _take_up(self, part: Part, rows: int) -> None:
        self._open_tail(part.first).cut(length_of_lines(part.path, rows))

    def _open_tail(self, first: int) -> AppendedFile:
        self._tail_first = first
        self._tail = AppendedFile(part_path(self._parts, first, LINES), durable=self._durable)
        self._tail.open()
        return self._tail

    def _write(self, batch: Batch) -> bytes:
        if not batch.lines:
            return self._mark()
        if self._tail is not None and self._is_full(self._tail):
            self._seal(self._tail)
        if self._tail is None:
            ensure_directory(self._parts)
            self._open_tail(self._rows).cut(0)
            sync_directory(self._parts)
        assert self._tail is not None
        self._tail.append(b"".join(batch.lines))
        self._rows += len(batch.lines)
        return self._mark()

    def _is_full(self, tail: AppendedFile) -> bool:
        return self.GROUP.full(self._rows - self._tail_first, tail.length)

    def _seal(self, tail: AppendedFile) -> None:
        first = self._tail_first
        lines = part_path(self._parts, first, LINES)
        sealed = part_path(self._parts, first, SEALED)
        self._replace(sealed, tables_from_lines(lines, tail.length))
        self._sealed.append(Part(sealed, first, self._rows - first))
        self._release()
        lines.unlink()

    def _replace(self, path: Path, tables: Iterator[Any]) -> None:
        try:
            replace_file(path, tables, self.GROUP, by_way_of=self._scratch)
        except pa.ArrowException as error:
            raise SinkError(f"--out {self._path}: cannot be written ({error})") from error
        finally:
            # A full disk needs the room, and the next attempt starts anew.
            with contextlib.suppress(OSError):
                self._scratch.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._rows > self._base or not self._has_file():
            ensure_directory(self._parts)
            self._replace(self._file, self._all_rows())
            self._base = self._rows
        self._release()
        remove_directory(self._parts)

    def _all_rows(self) -> Iterator[Any]:
        base = tables_in(self._file, self._base) if self._has_file() else iter(())
        sealed = (tables_in(part.path, part.rows) for part in self._sealed)
        yield from concat(base, concat.from_iterable(sealed))
        if self._tail is not None:
            path = part_path(self._parts, self._tail_first, LINES)
            yield from tables_from_lines(path, self._tail.length)

    def _release(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None
