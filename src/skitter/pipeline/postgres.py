"""Records in a table of PostgreSQL: one statement and one transaction for a batch."""

from collections.abc import Sequence
from typing import Final

import psycopg

from skitter.database.address import DatabaseAddress
from skitter.database.connection import Database
from skitter.database.faults import READ_ONLY, said
from skitter.errors import ConfigError, StoreUnavailable
from skitter.pipeline.columns import NAMES
from skitter.pipeline.postgres_sql import FORGET_ROWS, arrays_of, misfit, statements
from skitter.pipeline.record import PageRecord
from skitter.pipeline.upsert import Refused

_FAULTS_OF_RECORDS: Final = ("22", "23", "54", "P0")
"""How the states begin that say: these values cannot be stored, here, or at all."""

_LOOK = """
    SELECT current_setting('transaction_read_only') = 'on', md5('') <> '',
           to_regclass(%s) IS NOT NULL, to_regclass(%s) IS NOT NULL"""
_COLUMNS = """
    SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_KINDS = ["SELECT", "INSERT", "UPDATE"]
_RIGHTS = "SELECT bool_and(has_table_privilege(%s, kind)) FROM unnest(%s::text[]) AS kind"


class PostgresTable:
    """A table of records; ``names`` is its own, or its schema's and its own."""

    def __init__(self, url: str, names: Sequence[str], *, what: str, durable: bool = True) -> None:
        self._address = DatabaseAddress.parse(url, what)
        self._said = statements(names, durable=durable)
        self._name = ".".join(names)
        self._held: Database | None = None

    @property
    def _database(self) -> Database:
        assert self._held is not None
        return self._held

    async def open(self, *, make: bool) -> None:
        """Connect, check the table, and make it or what it lacks."""
        await self.close()
        self._held = database = Database(self._address)
        place = (self._said.table, self._said.index)
        [(read_only, _, is_there, has_key)] = (await database.run(_LOOK, place)).rows
        if read_only:
            raise database.failed(READ_ONLY)
        missing = await self._missing() if is_there else []
        if make and (not is_there or missing or not has_key):
            await database.run(self._said.create(missing, is_new=not is_there))
        if is_there or make:
            await self._check_rights()

    async def _missing(self) -> list[str]:
        """Return the columns that the table lacks; raises when one has a type that does not do."""
        found = dict((await self._database.run(_COLUMNS, (self._said.table,))).rows)
        why = misfit(found)
        if why:
            raise ConfigError(
                f"{self._address.what} {self._address.shown}: table {self._name}: {why};"
                " change it there, or name another table"
            )
        return [name for name in NAMES if name not in found]

    async def _check_rights(self) -> None:
        [(may_write,)] = (await self._database.run(_RIGHTS, (self._said.table, _KINDS))).rows
        if not may_write:
            rights = ", ".join(_KINDS)
            raise self._database.failed(
                f"does not let this user write the table {self._name};"
                f" GRANT {rights} ON {self._name} there, or name its owner"
            )

    async def forget(self, job: str) -> None:
        """Delete the rows of a job, some at a time."""
        while (await self._database.run(self._said.forget, (job,))).touched == FORGET_ROWS:
            pass

    async def upsert(self, records: Sequence[PageRecord]) -> list[Refused]:
        """Write records; where some are refused, the others by halves."""
        try:
            await self._database.run(self._said.upsert, arrays_of(records))
        except StoreUnavailable as error:
            why = _refusal(error.__cause__)
            if not why:
                raise
            if len(records) == 1:
                return [Refused(records[0], why)]
            half = len(records) // 2
            return [*await self.upsert(records[:half]), *await self.upsert(records[half:])]
        return []

    async def close(self) -> None:
        """End the connection."""
        if self._held is not None:
            held, self._held = self._held, None
            await held.close()


def _refusal(error: BaseException | None) -> str:
    """Return why a record cannot be stored; "" when it is the server that is in trouble."""
    if not isinstance(error, psycopg.Error):
        return ""
    state = error.sqlstate
    refused = isinstance(error, psycopg.DataError) or (state or "").startswith(_FAULTS_OF_RECORDS)
    return said(error) if refused else ""
