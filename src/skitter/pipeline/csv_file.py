"""CSV by RFC 4180 in one file, exactly once.

Lines end in a line feed, which every reader knows and the tools of the command line expect. Every
text is quoted and nothing else is, so that an empty text and an unknown one differ.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from skitter.pipeline.appending import AppendingSink
from skitter.pipeline.base import SINK_MARKS, Batch
from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind, values_of
from skitter.pipeline.record import PageRecord

_encode = msgspec.json.Encoder().encode


class CsvSink(AppendingSink):
    """Appends rows behind a header."""

    MARK_PREFIX = f"{SINK_MARKS}csv:"
    HEADER = f"{','.join(NAMES)}\n".encode()

    def _rows(self, batch: Batch) -> bytes:
        return "".join([csv_row(record) for record in batch.records]).encode()


def csv_row(record: PageRecord) -> str:
    """Return a record as one row, its line end included."""
    cells = [write(value) for write, value in zip(_WRITERS, values_of(record), strict=True)]
    return f"{','.join(cells)}\n"


def _text(value: str | None) -> str:
    return "" if value is None else '"' + value.replace('"', '""') + '"'


def _integer(value: int | None) -> str:
    return "" if value is None else str(value)


def _boolean(value: bool | None) -> str:
    return "" if value is None else "true" if value else "false"


def _json(value: object) -> str:
    return _text(_encode(value).decode())


_BY_KIND: dict[ColumnKind, Callable[[Any], str]] = {
    ColumnKind.TEXT: _text,
    ColumnKind.TIME: _text,
    ColumnKind.INTEGER: _integer,
    ColumnKind.BOOLEAN: _boolean,
    ColumnKind.LIST: _json,
    ColumnKind.MAP: _json,
    ColumnKind.TABLE: _json,
}
_WRITERS = tuple(_BY_KIND[column.kind] for column in COLUMNS)
