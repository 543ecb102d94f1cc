"""The table of records in PostgreSQL: its statements, and records as their parameters. Pure.

URLs may be longer than an index of PostgreSQL takes: the key has the MD5 of the URL instead.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final

import msgspec

from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind, values_of
from skitter.pipeline.record import PageRecord

TYPES: Final[Mapping[ColumnKind, str]] = {
    ColumnKind.TEXT: "text",
    ColumnKind.TIME: "timestamp with time zone",
    ColumnKind.INTEGER: "bigint",
    ColumnKind.BOOLEAN: "boolean",
    ColumnKind.LIST: "jsonb",
    ColumnKind.MAP: "jsonb",
    ColumnKind.TABLE: "jsonb",
}
_ALSO: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("character varying",),
    "bigint": ("integer", "numeric"),
}
"""Types of a table that somebody else has made which will do as well."""
_SENT: Final[Mapping[str, str]] = {"bigint": "bigint", "boolean": "boolean"}
"""As what values travel; all others as text."""
_IN_JSON = {ColumnKind.LIST, ColumnKind.MAP, ColumnKind.TABLE}
_KEY = 'md5("url"), "job", "visit"'
_LOCK = 7381250946013
FORGET_ROWS: Final = 5_000

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Statements:
    """What is said about one table."""

    table: str
    """Quoted."""
    index: str
    """Quoted, with its schema, if the table has one."""
    upsert: str
    forget: str

    def create(self, missing: Sequence[str], *, is_new: bool) -> str:
        """Return what makes the table, or adds the columns it lacks, and its key.

        One message is one transaction, and the lock lasts as long: two members do not make it at
        once.
        """
        said = [f"SELECT pg_advisory_xact_lock({_LOCK})"]
        if is_new:
            columns = (
                f'"{c.name}" {TYPES[c.kind]}{" NOT NULL" if c.always else ""}' for c in COLUMNS
            )
            said.append(f"CREATE TABLE IF NOT EXISTS {self.table} ({', '.join(columns)})")
        kinds = {c.name: c.kind for c in COLUMNS}
        for name in missing:
            added = f'ADD COLUMN IF NOT EXISTS "{name}" {TYPES[kinds[name]]}'
            said.append(f"ALTER TABLE {self.table} {added}")
        bare = self.index.rpartition(".")[2]
        said.append(f"CREATE UNIQUE INDEX IF NOT EXISTS {bare} ON {self.table} ({_KEY})")
        return "; ".join(said)


def quoted(names: Sequence[str]) -> str:
    """Return a name, or a schema's and one in it, as it stands in a statement."""
    return ".".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in names)


def statements(names: Sequence[str], *, durable: bool = True) -> Statements:
    """Return the statements for a table, named by itself or after its schema."""
    table = quoted(names)
    digest = blake2b(names[-1].encode(), digest_size=6).hexdigest()
    return Statements(
        table,
        quoted([*names[:-1], f"skitter_key_{digest}"]),
        _upsert(table, durable=durable),
        f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("  # noqa: S608  quoted
        f"SELECT ctid FROM {table} WHERE job = %s LIMIT {FORGET_ROWS}))",
    )


def _upsert(table: str, *, durable: bool) -> str:
    sent = [_SENT.get(TYPES[column.kind], "text") for column in COLUMNS]
    arrays = ", ".join(f"%s::{kind}[]" for kind in sent)
    given = ", ".join(
        f'r."{c.name}"' + ("" if kind == TYPES[c.kind] else f"::{TYPES[c.kind]}")
        for c, kind in zip(COLUMNS, sent, strict=True)
    )
    names = ", ".join(f'"{name}"' for name in NAMES)
    changed = ", ".join(f'"{name}" = excluded."{name}"' for name in NAMES)
    # The setting lasts until the end of the transaction, which is that of the statement.
    first = "WITH durable AS (SELECT set_config('synchronous_commit', 'on', true)) "
    return (
        f"{first if durable else ''}INSERT INTO {table} AS t ({names})"  # noqa: S608  quoted
        f" SELECT {given} FROM unnest({arrays}) AS r ({names}){', durable' if durable else ''}"
        f" ON CONFLICT ({_KEY}) DO UPDATE SET {changed}"
        " WHERE excluded.fetched_at >= t.fetched_at"
    )


def misfit(found: Mapping[str, str]) -> str:
    """Say which column of a table has a type that does not do; "" when all do."""
    for column in COLUMNS:
        wanted = TYPES[column.kind]
        kind = found.get(column.name, wanted)
        if kind != wanted and kind not in _ALSO.get(wanted, ()):
            return f"column {column.name} is {kind}, wanted {wanted}"
    return ""


def arrays_of(records: Sequence[PageRecord]) -> list[list[Any]]:
    """Return the values of records, column by column, as PostgreSQL takes them."""
    columns = zip(*map(values_of, records), strict=True)
    return [
        [_value(column.kind, value) for value in values]
        for column, values in zip(COLUMNS, columns, strict=True)
    ]


def _value(kind: ColumnKind, value: Any) -> Any:
    if kind in _IN_JSON:
        text = _encode(value).decode()
        # PostgreSQL has no NUL in texts.
        return _encode(_without_nul(value)).decode() if "\\u0000" in text else text
    return value.replace("\0", "") if isinstance(value, str) else value


def _without_nul(value: Any) -> Any:
    match value:
        case str():
            return value.replace("\0", "")
        case dict():
            return {_without_nul(name): _without_nul(one) for name, one in value.items()}
        case list() | tuple():
            return [_without_nul(one) for one in value]
        case _:
            return value
