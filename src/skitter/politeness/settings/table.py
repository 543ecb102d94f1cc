"""The table of settings: a row for each pattern, as it is stored and as hosts see it.

Every row is a mark of its own, so that two operators who change different rows both have their
way. A row counts its own changes, and the version of the table is the sum of them: it grows with
every change, whoever made it. What is taken back leaves a row without values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import msgspec

from skitter.errors import ConfigError, NotFound
from skitter.job.rate import Rate
from skitter.politeness.settings.patterns import EVERY, patterns_of, wider_patterns
from skitter.politeness.settings.values import (
    KEYS,
    ONLY_FOR_ALL,
    Value,
    parse_value,
    write_value,
)
from skitter.types import HostKey

FORMAT: Final = 1
MARKS: Final = "settings:"
"""How the names of the marks begin; the pattern follows."""
STAMP: Final = "settings"
"""A mark that is another one after every change: whoever knows it need not read the rows."""


class NewerSettings(ConfigError):
    """A row was written by a later version: nobody may act by half of it."""


class _Stored(msgspec.Struct, kw_only=True):
    """A row in the store."""

    format: int
    revision: int = 0
    by: str = ""
    at_ms: int = 0
    values: dict[str, str] = {}


class _Head(msgspec.Struct):
    """What rows of every format have."""

    format: int


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Stored).decode
_decode_head = msgspec.json.Decoder(_Head).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What is set for one pattern, and who said so."""

    pattern: str
    values: Mapping[str, Value] = field(default_factory=dict)
    revision: int = 0
    """How often it was changed."""
    by: str = ""
    at_ms: int = 0

    @property
    def mark(self) -> str:
        """The name it is stored under."""
        return MARKS + self.pattern

    def encode(self) -> bytes:
        """Return the stored form."""
        values = {key: write_value(value) for key, value in self.values.items()}
        return _encode(
            _Stored(
                format=FORMAT, revision=self.revision, by=self.by, at_ms=self.at_ms, values=values
            )
        )

    @staticmethod
    def decode(mark: str, data: bytes) -> "Row":
        """Read a stored row; raises ``NewerSettings`` for one of a later version."""
        pattern = mark.removeprefix(MARKS)
        try:
            known = _decode_head(data).format
            if known > FORMAT:
                raise _newer(pattern, f"format {known}, this one reads up to {FORMAT}")
            stored = _decode(data)
        except msgspec.MsgspecError as error:
            raise ConfigError(f"settings of {pattern}: cannot be read: {error}") from error
        unknown = stored.values.keys() - KEYS.keys()
        if unknown:
            raise _newer(pattern, f"{min(unknown)} is not known to this one")
        try:
            values = {key: parse_value(key, text) for key, text in stored.values.items()}
        except ConfigError as error:
            raise ConfigError(f"settings of {pattern}: {error}") from error
        return Row(
            pattern=pattern,
            values=values,
            revision=stored.revision,
            by=stored.by,
            at_ms=stored.at_ms,
        )


def _newer(pattern: str, why: str) -> NewerSettings:
    return NewerSettings(f"settings of {pattern}: written by a newer Skitter ({why})")


class Found(NamedTuple):
    """A value and the pattern it was set for."""

    value: Value
    pattern: str


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """What is set for one host; None leaves a thing as the job has it."""

    delay: float | None = None
    per_host: int | None = None
    rate: Rate | None = None
    rate_ip: Rate | None = None
    blacklist: bool = False
    agent: str | None = None
    depth: int | None = None
    types: tuple[str, ...] | None = None
    blacklisted_by: str = ""
    """The pattern that says so."""


NOTHING_SET: Final = SiteSettings()
_FIELDS: Final = tuple(key for key in KEYS if key not in ONLY_FOR_ALL)


class Table:
    """All rows at one moment."""

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows: dict[str, Row] = {row.pattern: row for row in rows}
        self._in_force = {pattern: row for pattern, row in self.rows.items() if row.values}
        self._keys = {key for row in self._in_force.values() for key in row.values}

    @staticmethod
    def read(marks: Mapping[str, bytes]) -> "Table":
        """Read the table from its marks; raises when a single row cannot be read."""
        return Table(Row.decode(name, data) for name, data in marks.items())

    @property
    def version(self) -> int:
        """Grows with every change."""
        return sum(row.revision for row in self.rows.values())

    @property
    def in_force(self) -> list[Row]:
        """The rows that say something, in the order of their patterns."""
        return [self._in_force[pattern] for pattern in sorted(self._in_force)]

    def __bool__(self) -> bool:
        return bool(self._in_force)

    def has(self, key: str) -> bool:
        """Tell whether something is set for any host at all."""
        return key in self._keys

    @property
    def concurrency(self) -> int | None:
        """How many requests a member may have under way; None leaves it to the member."""
        row = self._in_force.get(EVERY)
        found = row.values.get("concurrency") if row is not None else None
        return found if isinstance(found, int) else None

    def of(self, host: HostKey) -> SiteSettings:
        """Return what is set for a host: of each value, the one with the narrowest pattern."""
        if not self._in_force:
            return NOTHING_SET
        found = self._first(patterns_of(host))
        values: dict[str, Any] = {key: found[key].value for key in _FIELDS if key in found}
        if values.get("blacklist"):
            values["blacklisted_by"] = found["blacklist"].pattern
        return SiteSettings(**values)

    def effective(self, pattern: str) -> dict[str, Found]:
        """Return what counts for all hosts of a pattern or for one host, and where it is said."""
        return self._first(wider_patterns(pattern))

    def _first(self, patterns: Iterable[str]) -> dict[str, Found]:
        found: dict[str, Found] = {}
        for pattern in patterns:
            row = self._in_force.get(pattern)
            if row is not None:
                for key, value in row.values.items():
                    found.setdefault(key, Found(value, pattern))
        return found

    def changed(self, pattern: str, changes: Mapping[str, Value], by: str, at_ms: int) -> Row:
        """Return the row of a pattern with some values set."""
        if pattern != EVERY:
            for key in ONLY_FOR_ALL & changes.keys():
                raise ConfigError(f'{key}: counts for a whole member; wanted with the pattern "*"')
        row = self._row(pattern)
        return _next(row, {**row.values, **changes}, by, at_ms)

    def without(self, pattern: str, keys: Iterable[str], by: str, at_ms: int) -> Row:
        """Return the row of a pattern with some values taken back; with no keys, all of them."""
        row = self._row(pattern)
        gone = set(keys) or set(row.values)
        for key in sorted(gone - row.values.keys()):
            raise NotFound(f"{key}: is not set for {pattern}")
        if not gone:
            raise NotFound(f"{pattern}: nothing is set for it")
        kept = {key: value for key, value in row.values.items() if key not in gone}
        return _next(row, kept, by, at_ms)

    def _row(self, pattern: str) -> Row:
        return self.rows.get(pattern) or Row(pattern=pattern)

    def with_row(self, row: Row) -> "Table":
        """Return the table after a change."""
        return Table({**self.rows, row.pattern: row}.values())


def _next(row: Row, values: Mapping[str, Value], by: str, at_ms: int) -> Row:
    ordered = {key: values[key] for key in KEYS if key in values}
    return replace(row, values=ordered, revision=row.revision + 1, by=by, at_ms=at_ms)
