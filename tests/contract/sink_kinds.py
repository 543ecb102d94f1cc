"""Every kind of sink, seen from outside: how to make it, read it, tear it, break it, stall it."""

import errno
import os
import resource
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import msgspec
import pyarrow.parquet as pq
import pytest
from outputs import page, read_csv, read_jsonl, read_parquet, read_sqlite

from skitter.pipeline.base import Sink
from skitter.pipeline.columns import NAMES
from skitter.pipeline.csv_file import CsvSink, csv_row
from skitter.pipeline.jsonl import JsonlSink
from skitter.pipeline.parquet import ParquetSink
from skitter.pipeline.parquet_table import GroupSize
from skitter.pipeline.record import PageRecord, encode_line
from skitter.pipeline.sqlite import SqliteSink


class Stall(Protocol):
    """A write that hangs until it is told to go on."""

    begun: threading.Event
    ended: threading.Event

    def go_on(self) -> None:
        """Let it."""


class Kind(Protocol):
    """One kind of sink."""

    name: str

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        """Return a sink that is not open yet."""

    def held(self, place: Path) -> list[PageRecord]:
        """Return what is there, rows that wait to be joined included; fails on torn ones."""

    def tear(self, place: Path) -> None:
        """Leave a record too many and half a record, as a crash in mid-write does."""

    def breaking(self, place: Path, code: int) -> AbstractContextManager[str]:
        """Let writes fail half-way; yields what the error must say."""

    def stalling(self, place: Path, patch: pytest.MonkeyPatch) -> Stall:
        """Let the next write hang."""


class SlowStart:
    """A write to a file of which the first one hangs until it is told to go on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._real = os.pwrite
        self._may_go_on = threading.Event()
        self.begun, self.ended = threading.Event(), threading.Event()
        patch.setattr(os, "pwrite", self)

    def go_on(self) -> None:
        self._may_go_on.set()

    def __call__(self, fd: int, data: bytes | memoryview, at: int) -> int:
        if self.begun.is_set():
            return self._real(fd, data, at)
        self.begun.set()
        self._may_go_on.wait(20)
        try:
            return self._real(fd, data, at)
        finally:
            self.ended.set()


def fails_from(call: int, code: int) -> Callable[..., int]:
    """Return a write that writes half of what it should, then fails with ``code``."""
    real, calls = os.pwrite, 0

    def pwrite(fd: int, data: bytes | memoryview, at: int) -> int:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise OSError(code, os.strerror(code))
        return real(fd, bytes(data)[: max(1, len(data) // 2)], at)

    return pwrite


class FileKind:
    """What kinds that write their files by themselves share."""

    @contextmanager
    def breaking(self, place: Path, code: int) -> Iterator[str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "pwrite", fails_from(2, code))
            yield os.strerror(code)

    def stalling(self, place: Path, patch: pytest.MonkeyPatch) -> Stall:
        return SlowStart(patch)


class JsonlKind(FileKind):
    """Lines in a file."""

    name = "pages.jsonl"

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return JsonlSink(place / self.name, overwrite=overwrite)

    def held(self, place: Path) -> list[PageRecord]:
        return read_jsonl(place / self.name)

    def tear(self, place: Path) -> None:
        with (place / self.name).open("ab") as file:
            file.write(encode_line(page(9)) + encode_line(page(8))[:-4])


class CsvKind(FileKind):
    """Rows in a file."""

    name = "pages.csv"

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return CsvSink(place / self.name, overwrite=overwrite)

    def held(self, place: Path) -> list[PageRecord]:
        return read_csv(place / self.name)

    def tear(self, place: Path) -> None:
        with (place / self.name).open("ab") as file:
            file.write(csv_row(page(9)).encode() + csv_row(page(8)).encode()[:100])


class ParquetKind(FileKind):
    """A file and the parts beside it."""

    name = "pages.parquet"

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return ParquetSink(place / self.name, overwrite=overwrite)

    def held(self, place: Path) -> list[PageRecord]:
        file, parts = place / self.name, place / f"{self.name}.parts"
        found = read_parquet(file) if file.exists() and file.stat().st_size else []
        # By their names alone: rows, the first one, sealed before lines.
        for part in sorted(
            parts.glob("rows-*"), key=lambda part: (part.stem, part.suffix != ".parquet")
        ):
            if int(part.stem.removeprefix("rows-")) == len(found):
                found += read_parquet(part) if part.suffix == ".parquet" else read_jsonl(part)
        return found

    def tear(self, place: Path) -> None:
        rows = pq.read_metadata(place / self.name).num_rows
        parts = place / f"{self.name}.parts"
        parts.mkdir()
        torn = encode_line(page(9)) + encode_line(page(8))[:-4]
        (parts / f"rows-{rows:012}.jsonl").write_bytes(torn)
        (parts / "scratch").write_bytes(b"PAR1 and no more")


class SealingParquetSink(ParquetSink):
    """Seals after a few rows, where others need thousands."""

    GROUP = GroupSize(rows=3, bytes=1 << 20)


class SealingParquetKind(ParquetKind):
    """The same with many parts."""

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return SealingParquetSink(place / self.name, overwrite=overwrite)


class LockedDatabase:
    """Another writer that keeps a database to itself until it is told to go on."""

    def __init__(self, path: Path) -> None:
        self._other = sqlite3.connect(path, isolation_level=None)
        self._other.execute("BEGIN IMMEDIATE")
        self.begun, self.ended = threading.Event(), threading.Event()
        self.begun.set()

    def go_on(self) -> None:
        self._other.close()
        self.ended.set()


class SqliteKind:
    """Rows in a table."""

    name = "pages.sqlite"

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return SqliteSink(place / self.name, overwrite=overwrite)

    def held(self, place: Path) -> list[PageRecord]:
        return read_sqlite(place / self.name)

    def tear(self, place: Path) -> None:
        """Leave a log with one whole transaction and half of another."""
        file, log = place / self.name, place / f"{self.name}-wal"
        database = sqlite3.connect(file, isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        marks = ", ".join("?" * len(NAMES))
        sql = f"INSERT INTO pages ({{}}) VALUES ({marks})"
        for n in (9, 8):
            fields = msgspec.to_builtins(page(n, job="torn"))
            row = [str(v) if isinstance(v, list | dict) else v for v in fields.values()]
            database.execute(sql.format(", ".join(fields)), row)
        kept = file.read_bytes(), log.read_bytes()[:-1000]
        database.close()
        file.write_bytes(kept[0])
        log.write_bytes(kept[1])

    @contextmanager
    def breaking(self, place: Path, code: int) -> Iterator[str]:
        """Let no file grow any more; SQLite writes by itself, so the fault must be a real one."""
        largest = max(path.stat().st_size for path in place.iterdir())
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, hard))
        try:
            yield "disk"
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def stalling(self, place: Path, patch: pytest.MonkeyPatch) -> Stall:
        return LockedDatabase(place / self.name)


KINDS: dict[str, Callable[[], Kind]] = {
    "jsonl": JsonlKind,
    "csv": CsvKind,
    "parquet": ParquetKind,
    "parquet-sealing": SealingParquetKind,
    "sqlite": SqliteKind,
}
BY_ITSELF = [name for name in KINDS if name != "sqlite"]
"""Kinds that write through the system's calls, which a test can let fail one by one."""
FAULTS = [errno.ENOSPC, errno.EFBIG, errno.EIO]
