"""SQLite in one file, exactly once.

The mark is the id of the last safe row; rows behind it are deleted on opening. The file is in
write-ahead mode while the crawl runs, so that others can read it meanwhile, and a plain single
file afterwards.
"""

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from skitter import __version__
from skitter.errors import SinkError
from skitter.pipeline.base import SINK_MARKS, Batch
from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind, values_of
from skitter.pipeline.file_sink import FileSink
from skitter.pipeline.record import PageRecord

SCHEMA_VERSION = 1
_APPLICATION = 0x534B4954
"""``SKIT``, in the place where SQLite keeps whose file it is."""
_BESIDE = ("-wal", "-shm", "-journal")
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_NOT_OURS = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}
_UNWRITABLE = {sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}

_NUMBERS = {ColumnKind.INTEGER, ColumnKind.BOOLEAN}
_IN_JSON = {ColumnKind.LIST, ColumnKind.MAP, ColumnKind.TABLE}
_JSON = [n for n, c in enumerate(COLUMNS) if c.kind in _IN_JSON]
_KEY = '"url", "job", "visit"'
"""The URL first, so that the index also answers who asks for a page without naming a job."""

_COLUMNS = ", ".join(
    f'"{column.name}" {"INTEGER" if column.kind in _NUMBERS else "TEXT"}'
    f"{' NOT NULL' if column.always else ''}"
    for column in COLUMNS
)
_CREATE = (
    f"CREATE TABLE pages (id INTEGER PRIMARY KEY, {_COLUMNS})",
    f"CREATE UNIQUE INDEX pages_key ON pages ({_KEY})",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)
_SETTINGS = ("PRAGMA cache_size = -32000", "PRAGMA wal_autocheckpoint = 4000")
"""32 MB and 4,000 pages: keys come in no order, so their index wants to stay in memory."""
_META = "INSERT INTO meta VALUES (?, ?)"
_QUOTED = ", ".join(f'"{name}"' for name in NAMES)
_UPDATED = ", ".join(f'"{name}" = excluded."{name}"' for name in NAMES)
_INSERT = (
    f"INSERT INTO pages ({_QUOTED}) VALUES ({', '.join('?' * len(NAMES))})"  # noqa: S608  our names
    f" ON CONFLICT ({_KEY}) DO UPDATE SET {_UPDATED}"
    " WHERE excluded.fetched_at >= pages.fetched_at"
)

_encode = msgspec.json.Encoder().encode


class SqliteSink(FileSink):
    """Inserts rows into the table ``pages``."""

    MARK_PREFIX = f"{SINK_MARKS}sqlite:"
    NEEDS_DIRECTORY = True
    LOCK_WAIT_S = 20.0
    """How long another writer is waited for."""
    READERS_WAIT_MS = 1_000
    """How long closing waits for readers; the last of them tidies up when it goes."""

    def __init__(self, path: Path, *, durable: bool = True, overwrite: bool = False) -> None:
        super().__init__(path, durable=durable, overwrite=overwrite)
        self._file = path.resolve()
        self._held: sqlite3.Connection | None = None

    @property
    def _database(self) -> sqlite3.Connection:
        assert self._held is not None
        return self._held

    def _open(self, mark: bytes | None) -> bytes:
        safe = int(mark) if mark is not None else 0
        if safe and not self._file.exists():
            raise self._missing(f"{safe} rows")
        if mark is None and self._overwrite:
            self._file.unlink(missing_ok=True)
            self.drop_companions()
        with self._words(), self._opening(safe, known=mark is not None):
            self._connect()
            if mark is None and not self._is_fresh():
                raise self._foreign()
            self._check(safe)
            self._set_up(safe)
        return str(safe).encode()

    def drop_companions(self) -> None:
        """Remove the journals, which would be taken for those of another file put here."""
        for ending in _BESIDE:
            self._file.with_name(self._file.name + ending).unlink(missing_ok=True)

    def _connect(self) -> None:
        # Calls come from changing threads, but one at a time.
        self._held = sqlite3.connect(
            self._file, timeout=self.LOCK_WAIT_S, isolation_level=None, check_same_thread=False
        )

    def _is_fresh(self) -> bool:
        """Whether there is nothing to lose: no tables, or ours without rows."""
        if not self._ask("SELECT count(*) FROM sqlite_master"):
            return True
        ours = self._ask("PRAGMA application_id") == _APPLICATION
        return ours and self._has_pages() and not self._last()

    def _has_pages(self) -> bool:
        return bool(self._ask("SELECT count(*) FROM sqlite_master WHERE name = 'pages'"))

    def _last(self) -> int:
        return int(self._ask("SELECT max(id) FROM pages") or 0)

    def _ask(self, question: str) -> Any:
        return self._database.execute(question).fetchone()[0]

    def _check(self, safe: int) -> None:
        """Raise unless the safe rows are there, in the columns to be written."""
        has_pages = self._has_pages()
        last = self._last() if has_pages else 0
        if last < safe:
            raise self._short(f"{last} rows", str(safe))
        if has_pages:
            found = [row[1] for row in self._database.execute("PRAGMA table_info(pages)")]
            if found != ["id", *NAMES]:
                raise self._other_columns()

    def _set_up(self, safe: int) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute(f"PRAGMA synchronous = {'FULL' if self._durable else 'NORMAL'}")
        for setting in _SETTINGS:
            self._database.execute(setting)
        with self._transaction():
            if not self._has_pages():
                self._create()
            self._database.execute("DELETE FROM pages WHERE id > ?", (safe,))

    def _create(self) -> None:
        for statement in _CREATE:
            self._database.execute(statement)
        meta = {"schema_version": str(SCHEMA_VERSION), "written_by": f"skitter {__version__}"}
        self._database.executemany(_META, meta.items())

    def _write(self, batch: Batch) -> bytes:
        with self._words(), self._transaction():
            self._database.executemany(_INSERT, map(_row, batch.records))
            last = self._last()
        return str(last).encode()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._database.execute("COMMIT")
        finally:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")

    def _finish(self) -> None:
        with self._words():
            self._database.execute(f"PRAGMA busy_timeout = {self.READERS_WAIT_MS}")
            try:
                self._database.execute("PRAGMA journal_mode = DELETE")
            except sqlite3.OperationalError as error:
                if _code(error) not in _BUSY:
                    raise

    def _release(self) -> None:
        if self._held is not None:
            held, self._held = self._held, None
            held.close()

    @contextlib.contextmanager
    def _opening(self, safe: int, *, known: bool) -> Iterator[None]:
        """Tell a file that cannot be ours from one that cannot be written."""
        try:
            yield
        except sqlite3.Error as error:
            code = _code(error)
            if code in _UNWRITABLE:
                raise self._unwritable(OSError(str(error))) from error
            if code not in _NOT_OURS:
                raise
            if not known:
                raise self._foreign() from error
            raise self._short(f"no readable rows ({error})", str(safe)) from error

    @contextlib.contextmanager
    def _words(self) -> Iterator[None]:
        """Turn errors of SQLite into ours."""
        try:
            yield
        except sqlite3.Error as error:
            why = "another program is writing to it" if _code(error) in _BUSY else str(error)
            raise SinkError(f"--out {self._path}: cannot be written ({why})") from error


def _code(error: sqlite3.Error) -> int:
    """Return what kind of error it is, without the details of the extended code."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _row(record: PageRecord) -> list[Any]:
    row: list[Any] = list(values_of(record))
    for n in _JSON:
        row[n] = _encode(row[n]).decode()
    return row
