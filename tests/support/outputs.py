"""Records to write, and what other people's readers find in each kind of output."""

import csv
import json
import sqlite3
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from skitter.pipeline.base import Batch
from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind
from skitter.pipeline.record import PageRecord, encode_line

# Pages are longer than what Python's reader takes for a cell by default.
csv.field_size_limit(sys.maxsize)


def page(n: int, **fields: Any) -> PageRecord:
    """Return the record of the ``n``-th page, with something of every kind in it."""
    made: dict[str, Any] = {
        "job": "job",
        "url": f"http://site.test/{n}?q=a,b",
        "final_url": f"http://site.test/{n}",
        "redirects": [f"http://site.test/{n}/{hop}" for hop in range(n % 3)],
        "status": 200 + n % 3,
        "outcome": "ok",
        "depth": n % 4,
        "page_class": "data",
        "fetched_at": f"2026-01-01T00:{n // 60 % 60:02}:{n % 60:02}.{n % 1000:03}Z",
        "title": f'Page "{n}",\nsecond line; 第{n}页',
        "text": "x" * (n % 50) or None,
        "bytes": n * 1_000_003,
        "changed": (None, True, False)[n % 3],
        "fields": {"code": f"{n}", "sizes": [n, {"of": n / 2}]} if n % 2 else {},
        "visit": 1,
        "truncated": n % 5 == 0,
        "labels": {"desk": "north"},
    }
    return PageRecord(**{**made, **fields})


def batch_of(records: Sequence[PageRecord]) -> Batch:
    """Return records as a crawl hands them to its sinks."""
    return Batch(records, [encode_line(record) for record in records])


def read_jsonl(path: Path) -> list[PageRecord]:
    """Return the records of a file of JSON lines."""
    lines = path.read_text(encoding="utf-8").split("\n")
    assert lines.pop() == "", "torn"
    return [msgspec.convert(json.loads(line), PageRecord) for line in lines]


def read_csv(path: Path) -> list[PageRecord]:
    """Return the records of a CSV file; Python's reader cannot tell an empty text from none."""
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, strict=True)
    assert tuple(head) == NAMES
    cells = [dict(zip(NAMES, row, strict=True)) for row in rows]
    return [
        PageRecord(**{c.name: _from_cell(c.kind, row[c.name]) for c in COLUMNS}) for row in cells
    ]


def _from_cell(kind: ColumnKind, cell: str) -> Any:
    match kind:
        case _ if cell == "":
            return None
        case ColumnKind.INTEGER:
            return int(cell)
        case ColumnKind.BOOLEAN:
            return {"true": True, "false": False}[cell]
        case ColumnKind.LIST | ColumnKind.MAP | ColumnKind.TABLE:
            return json.loads(cell)
        case _:
            return cell


def read_parquet(path: Path) -> list[PageRecord]:
    """Return the records of a Parquet file."""
    rows = pq.read_table(path).to_pylist()
    for row in rows:
        row["fields"], row["labels"] = json.loads(row["fields"]), dict(row["labels"])
        row["media"] = json.loads(row["media"])
        at = row["fetched_at"].isoformat(timespec="milliseconds")
        row["fetched_at"] = at.replace("+00:00", "Z")
    return [PageRecord(**row) for row in rows]


def read_sqlite(path: Path) -> list[PageRecord]:
    """Return the records of a SQLite file, in the order in which they were written."""
    database = sqlite3.connect(path)
    try:
        rows = database.execute(f"SELECT {', '.join(NAMES)} FROM pages ORDER BY id").fetchall()
    finally:
        database.close()
    return [
        PageRecord(**{c.name: _from_sqlite(c.kind, v) for c, v in zip(COLUMNS, row, strict=True)})
        for row in rows
    ]


def _from_sqlite(kind: ColumnKind, value: Any) -> Any:
    match kind:
        case _ if value is None:
            return None
        case ColumnKind.BOOLEAN:
            return {0: False, 1: True}[value]
        case ColumnKind.LIST | ColumnKind.MAP | ColumnKind.TABLE:
            return json.loads(value)
        case _:
            return value


READERS: dict[str, Callable[[Path], list[PageRecord]]] = {
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".parquet": read_parquet,
    ".sqlite": read_sqlite,
}


def read_output(path: Path) -> list[PageRecord]:
    """Return the records of a complete output."""
    return READERS[path.suffix](path)
