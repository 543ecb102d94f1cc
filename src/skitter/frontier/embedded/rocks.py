"""RocksDB behind a few verbs, its errors translated in one place.

A write reaches the operating system before it returns, so it survives kill -9; ``sync`` makes
everything written so far survive a power cut too.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rocksdict import (
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    WriteBatch,
)

from skitter.errors import DataDirError, FrontierError, StoreUnavailable
from skitter.frontier.embedded.layout import FAMILIES

CACHE_BYTES = 48 << 20
WRITE_BUFFER_BYTES = 16 << 20
WAL_BYTES = 64 << 20
DAMAGED = ("Corruption", "Invalid argument", "Not implemented")
"""How RocksDB begins when the directory itself is wrong, not the disk under it."""

log = logging.getLogger(__name__)


def _options(cache: Cache, *, compressed: bool) -> Options:
    table = BlockBasedOptions()
    table.set_block_cache(cache)
    table.set_bloom_filter(10, block_based=False)
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    table.set_format_version(5)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    kind = DBCompressionType.lz4() if compressed else DBCompressionType.none()
    options.set_compression_type(kind)
    return options


class Rocks:
    """One open database."""

    def __init__(self, path: Path) -> None:
        cache = Cache(CACHE_BYTES)
        root = _options(cache, compressed=False)
        root.set_max_total_wal_size(WAL_BYTES)
        root.set_db_write_buffer_size(4 * WRITE_BUFFER_BYTES)
        root.set_keep_log_file_num(2)
        root.set_max_open_files(256)
        families = {
            name: _options(cache, compressed=name not in ("seen", "host", "queue"))
            for name in FAMILIES
        }
        with _translated(f"{path}: the frontier cannot be opened"):
            self._db = Rdict(str(path), root, column_families=families)
        self.family = {name: self._db.get_column_family(name) for name in FAMILIES}
        self.handle = {name: self._db.get_column_family_handle(name) for name in FAMILIES}

    def get(self, key: bytes) -> bytes | None:
        """Return a value of the meta family."""
        with _translated("the frontier's disk cannot be read"):
            value: bytes | None = self._db.get(key)
        return value

    def get_many(self, family: str, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of many keys, in order."""
        with _translated("the frontier's disk cannot be read"):
            values = self.family[family].get(list(keys))
        return values or []

    def get_one(self, family: str, key: bytes) -> bytes | None:
        """Return one value."""
        with _translated("the frontier's disk cannot be read"):
            value: bytes | None = self.family[family].get(key)
        return value

    def scan(self, family: str, start: bytes, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield entries from ``start`` on, in key order, while they carry ``prefix``."""
        cursor = self.family[family].iter()
        cursor.seek(start)
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            yield key, cursor.value()
            cursor.next()

    def scan_meta(self, prefix: bytes, start: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Yield the entries of the meta family under ``prefix``, from ``start`` on."""
        cursor = self._db.iter()
        cursor.seek(start or prefix)
        while cursor.valid() and cursor.key().startswith(prefix):
            yield cursor.key(), cursor.value()
            cursor.next()

    def write(self, batch: WriteBatch) -> None:
        """Apply a batch, all of it or none."""
        with _translated("the frontier's disk cannot be written"):
            self._db.write(batch)

    def put_meta(self, entries: Mapping[bytes, bytes]) -> None:
        """Write values of the meta family."""
        batch = WriteBatch(raw_mode=True)
        for key, value in entries.items():
            batch.put(key, value)
        self.write(batch)

    async def sync(self) -> None:
        """Return when everything written so far is on the disk itself."""
        await asyncio.to_thread(self.sync_now)

    def sync_now(self) -> None:
        """Do the same and hold the calling thread meanwhile."""
        with _translated("the frontier's disk cannot be synced"):
            self._db.flush_wal(True)

    def close(self) -> None:
        """Flush and close."""
        self.family.clear()
        self.handle.clear()
        try:
            with _translated("the frontier could not be flushed on closing"):
                self._db.close()
        except FrontierError as error:
            # Everything acked is in the log already; the next opening reads it from there.
            log.info("%s", error)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    # rocksdict raises bare Exception for every RocksDB error; only its words tell them apart.
    try:
        yield
    except asyncio.CancelledError:
        raise
    except Exception as error:
        words = str(error)
        kind = DataDirError if words.startswith(DAMAGED) else StoreUnavailable
        raise kind(f"{what}: {words}") from error
