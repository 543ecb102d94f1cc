"""Where the records of a job go: files, by their ending, and databases, by their URL."""

import os
import re
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Final, Self
from urllib.parse import parse_qsl

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from skitter.database.address import without_secrets
from skitter.errors import ConfigError
from skitter.job.part import Part
from skitter.job.secrets import ENV_PREFIX, anchored, filled_in, is_reference

MOST_NAME_BYTES: Final = 63
"""PostgreSQL cuts longer names off."""
MOST_COLLECTION_CHARS: Final = 200

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[^\W\d][\w$]*")
_SECRET_OPTION = re.compile(r"pass(word|wd)?$|secret|token|authmechanismproperties", re.IGNORECASE)


class OutputKind(StrEnum):
    """Where records go: to a file, by its ending, or to a database."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"
    POSTGRESQL = "postgresql"
    MONGODB = "mongodb"


SCHEMES: Final[Mapping[OutputKind, tuple[str, ...]]] = {
    OutputKind.POSTGRESQL: ("postgresql", "postgres"),
    OutputKind.MONGODB: ("mongodb", "mongodb+srv"),
}
"""How the URLs of each kind of database begin."""
FILE_KINDS: Final = tuple(kind for kind in OutputKind if kind not in SCHEMES)

_OWNERS: Final[Mapping[str, tuple[OutputKind, ...]]] = {
    "path": FILE_KINDS,
    "url": tuple(SCHEMES),
    "table": (OutputKind.POSTGRESQL,),
    "collection": (OutputKind.MONGODB,),
}
"""Which kinds have each of the fields that not all have."""
_WANTED = {"path", "url"}


class Output(Part):
    """One file or one database for the records."""

    type: Annotated[OutputKind, Field(strict=False)] = Field(
        description="What kind of file, or of database."
    )
    path: str | None = Field(
        default=None,
        validate_default=True,
        min_length=1,
        description="Of a file: where; its ending is that of the type.",
    )
    url: str | None = Field(
        default=None,
        validate_default=True,
        description='Of a database: its URL, or "env:NAME" or "file:PATH" (from the job file\'s'
        " directory) that hold it and are read when the crawl starts.",
    )
    table: str | None = Field(
        default=None,
        validate_default=True,
        description="Of a PostgreSQL database: the table, `table` or `schema.table`; none = named"
        " like the job.",
    )
    collection: str | None = Field(
        default=None,
        validate_default=True,
        description="Of a MongoDB database: the collection; none = the job's id.",
    )

    @field_validator("path", "url", "table", "collection")
    @classmethod
    def _belongs(cls, value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("type")
        if kind is None:
            return value
        owners = _OWNERS[str(info.field_name)]
        if value is None:
            if kind in owners and info.field_name in _WANTED:
                raise PydanticCustomError("missing", "Field required")
        elif kind not in owners:
            raise ValueError(f"type {kind.value} has none; wanted with {' or '.join(owners)}")
        return value

    @field_validator("path")
    @classmethod
    def _ending(cls, value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("type")
        if value is not None and kind is not None and not value.lower().endswith(f".{kind.value}"):
            raise ValueError(f"wanted one that ends in .{kind.value}")
        return value

    @field_validator("url")
    @classmethod
    def _address(cls, value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("type")
        if value is None or kind is None or kind not in SCHEMES:
            return value
        return _reference(value) if is_reference(value) else _database_url(value, kind)

    @field_validator("table")
    @classmethod
    def _table(cls, value: str | None) -> str | None:
        for name in () if value is None else table_names(value):
            if not _NAME.fullmatch(name) or len(name.encode()) > MOST_NAME_BYTES:
                raise ValueError(
                    "wanted a name of letters, digits and underscores, up to 63 bytes,"
                    ' or "schema.table"'
                )
        return value

    @field_validator("collection")
    @classmethod
    def _collection(cls, value: str | None) -> str | None:
        if value is None:
            return None
        bad = set("$\0") & set(value) or value.startswith(("system.", ".")) or value.endswith(".")
        if bad or not 0 < len(value) <= MOST_COLLECTION_CHARS:
            raise ValueError("wanted the name of a collection, without $ and not of the system")
        return value

    @property
    def is_file(self) -> bool:
        """Whether it is a file, which one process writes."""
        return self.path is not None

    @property
    def said(self) -> str:
        """Where the records go as the job file says it, but for passwords."""
        if self.path is not None:
            return self.path
        url = self.url or ""
        return url if is_reference(url) else without_secrets(url)

    @property
    def keeps_secret(self) -> bool:
        """Whether a password stands in the job file itself."""
        return not self.is_file and not is_reference(self.url or "") and has_secret(self.url or "")

    def without_secret(self) -> Self:
        """Return it as it may be stored and shown."""
        return self.model_copy(update={"url": self.said}) if self.keeps_secret else self

    def anchored(self, folder: Path) -> Self:
        """Return it with the file that holds its URL looked for from a folder."""
        url = None if self.url is None else anchored(self.url, folder)
        return self if url == self.url else self.model_copy(update={"url": url})

    def place(self, job_id: str) -> str:
        """Return the table or the collection."""
        if self.type is OutputKind.POSTGRESQL:
            return self.table or table_for(job_id)
        return self.collection or job_id

    def resolved_url(self, where: str, environ: Mapping[str, str] | None = None) -> str:
        """Return the URL with ``env:NAME`` or ``file:PATH`` filled in; never print the result.

        ``where`` names the field in messages.
        """
        assert self.url is not None
        if not is_reference(self.url):
            return self.url
        found = filled_in(where, self.url, os.environ if environ is None else environ).strip()
        try:
            return _database_url(found, self.type)
        except ValueError as error:
            raise ConfigError(f"{where}: {self.url}: {error}") from None


def has_secret(url: str) -> bool:
    """Tell whether a URL holds a password or the like, or may hold one."""
    shown, query = without_secrets(url), url.partition("?")[2]
    login = url.partition("://")[2].partition("/")[0].rpartition("@")[0]
    named = (name for name, _ in parse_qsl(query, keep_blank_values=True))
    return "***" in shown or not shown or ":" in login or any(map(_SECRET_OPTION.search, named))


def table_names(table: str) -> tuple[str, ...]:
    """Return the names a table's name is made of: its schema, if it has one, and its own."""
    return tuple(table.split(".", 1))


def table_for(job_id: str) -> str:
    """Return the table of a job that names none: its id in small letters, digits and underscores.

    Ids that look alike then may share a table, which tells their rows apart by the column ``job``.
    """
    name = re.sub(r"[^a-z0-9_]", "_", job_id.lower())
    name = f"job_{name}" if name[0].isdigit() else name
    if len(name) <= MOST_NAME_BYTES:
        return name
    return f"{name[:54]}_{blake2b(job_id.encode(), digest_size=4).hexdigest()}"


def _reference(value: str) -> str:
    prefix, _, rest = value.partition(":")
    if not rest or (f"{prefix}:" == ENV_PREFIX and not _VARIABLE.fullmatch(rest)):
        raise ValueError('wanted "env:NAME" with an environment variable, or "file:PATH"')
    return value


def _database_url(value: str, kind: OutputKind) -> str:
    scheme = value.partition("://")[0].lower()
    if "://" not in value or scheme not in SCHEMES[kind]:
        raise ValueError(f"this is no URL of {kind.value}; wanted {kind.value}://host/database")
    return value
