"""Page records as Arrow tables, and tables as Parquet files.

Everything streams: no more than one row group is in memory, however long the file is.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from skitter import __version__
from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind, values_of
from skitter.pipeline.file_sink import sync_directory, sync_file
from skitter.pipeline.record import PageRecord

_TEXT = pa.string()
_TYPES = {
    ColumnKind.TEXT: _TEXT,
    ColumnKind.TIME: pa.timestamp("ms", "UTC"),
    ColumnKind.INTEGER: pa.int64(),
    ColumnKind.BOOLEAN: pa.bool_(),
    ColumnKind.LIST: pa.list_(_TEXT),
    ColumnKind.MAP: pa.map_(_TEXT, _TEXT),
    ColumnKind.TABLE: _TEXT,
}
SCHEMA = pa.schema(
    [pa.field(column.name, _TYPES[column.kind], not column.always) for column in COLUMNS],
    {"written_by": f"skitter {__version__}"},
)
_DICTIONARY = [
    *(column.name for column in COLUMNS if column.repeats),
    *(f"{c.name}.key_value.key" for c in COLUMNS if c.kind is ColumnKind.MAP),
    "labels.key_value.value",
]
"""By their paths in the file; for other columns a dictionary would grow with the rows."""

_CHUNK_ROWS = 1_000
_CHUNK_BYTES = 4 << 20
"""What of a file of lines is held as records at once."""

_decode = msgspec.json.Decoder(PageRecord).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class GroupSize:
    """When a row group is full."""

    rows: int
    bytes: int

    def full(self, rows: int, size: int) -> bool:
        """Whether it is."""
        return rows >= self.rows or size >= self.bytes


def table_of(records: Sequence[PageRecord]) -> Any:
    """Return records as a table."""
    columns = zip(*map(values_of, records), strict=True) if records else [()] * len(NAMES)
    arrays = [
        pa.array(_ADAPT[field.kind](values) if field.kind in _ADAPT else values, type=kind)
        for field, values, kind in zip(COLUMNS, columns, SCHEMA.types, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=SCHEMA)


def _times(values: Sequence[str]) -> list[datetime]:
    return [datetime.fromisoformat(value) for value in values]


def _maps(values: Sequence[dict[str, str]]) -> list[list[tuple[str, str]]]:
    return [list(value.items()) for value in values]


_ADAPT: dict[ColumnKind, Callable[[Any], Any]] = {
    ColumnKind.TIME: _times,
    ColumnKind.MAP: _maps,
    ColumnKind.TABLE: lambda values: [_encode(value).decode() for value in values],
}


def count_rows(path: Path) -> int | None:
    """Return how many rows a Parquet file holds; None when it is not one or lacks columns."""
    try:
        with pq.ParquetFile(path) as file:
            names, rows = file.schema_arrow.names, file.metadata.num_rows
    except pa.ArrowException:
        return None
    except OSError as error:
        # What the system did not say, the library did: the file is not what it should be.
        if error.errno is not None:
            raise
        return None
    return int(rows) if tuple(names) == NAMES else None


def tables_in(path: Path, rows: int) -> Iterator[Any]:
    """Yield the first ``rows`` rows of a Parquet file."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            if rows <= 0:
                return
            table = file.read_row_group(group)[:rows]
            rows -= table.num_rows
            yield table


def tables_from_lines(path: Path, length: int) -> Iterator[Any]:
    """Yield the records in the first ``length`` bytes of a file of JSON lines."""
    records: list[PageRecord] = []
    size = 0
    with path.open("rb") as file:
        while length > 0 and (line := file.readline()):
            length -= len(line)
            size += len(line)
            records.append(_decode(line))
            if len(records) == _CHUNK_ROWS or size >= _CHUNK_BYTES:
                yield table_of(records)
                records, size = [], 0
    if records:
        yield table_of(records)


def replace_file(path: Path, tables: Iterable[Any], size: GroupSize, *, by_way_of: Path) -> None:
    """Make ``path`` a Parquet file of these tables, durably, or leave it as it is."""
    with pq.ParquetWriter(
        by_way_of, SCHEMA, compression="zstd", use_dictionary=_DICTIONARY
    ) as writer:
        for group in _groups(tables, size):
            writer.write_table(group)
    if path.exists():
        shutil.copymode(path, by_way_of)
    sync_file(by_way_of)
    by_way_of.replace(path)
    sync_directory(path.parent)


def _groups(tables: Iterable[Any], size: GroupSize) -> Iterator[Any]:
    """Join small tables into row groups that are worth their overhead."""
    waiting: list[Any] = []
    rows = held = 0
    for table in tables:
        waiting.append(table)
        rows += table.num_rows
        held += table.nbytes
        if size.full(rows, held):
            yield pa.concat_tables(waiting)
            waiting, rows, held = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting)
