"""Tables of Skitter's own in a database, and the checks before they are used.

Several Skitters may share a database: each has a space of its own in every kind of table. The
tables are made when they are missing.
"""

import logging
import secrets
from typing import Any, NamedTuple

from skitter.database.address import DatabaseAddress
from skitter.database.connection import Database, Proof
from skitter.database.faults import READ_ONLY, is_passing
from skitter.errors import ConfigError, StoreUnavailable

_LOOK = """
    SELECT current_setting('transaction_read_only') = 'on', current_setting('fsync') = 'on',
           (SELECT bool_and(to_regclass(name) IS NOT NULL) FROM unnest(%s::text[]) AS name)"""
# One message is one transaction, and the lock lasts as long: two members do not make them at once.
_ALONE = "SELECT pg_advisory_xact_lock(7381250946012);"
_KINDS = ["SELECT", "INSERT", "UPDATE", "DELETE"]
_RIGHTS = """
    SELECT bool_and(has_table_privilege(name, kind))
    FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS kind"""
_NOTHING = "has nothing of this store; check the URL"

log = logging.getLogger(__name__)


class Tables(NamedTuple):
    """Tables of one kind."""

    names: tuple[str, ...]
    """All of them; the last one lists the spaces, by ``space``, with ``identity`` and ``version``.
    """
    create: str
    """Statements that make what is missing of them."""
    version: int
    """Of what is in them; another one is not touched."""
    holds: str
    """What is in them, in a word."""
    loses: str
    """What a crash may take from a database that does not wait for its disk."""
    columns: str = "identity, version"
    """What is asked of a space; these two come first."""


async def enter(
    address: DatabaseAddress, space: str, tables: Tables, *, to_read: bool = False
) -> tuple[Database, tuple[Any, ...]]:
    """Return a database that is ready for a space, and what its tables say of that space.

    Who comes ``to_read`` makes nothing and needs no other right. Raises ``ConfigError`` when the
    database cannot be used, ``StoreUnavailable`` when it cannot be used now: who asks later may.
    """
    database = Database(address)
    try:
        if to_read:
            await _check_readable(database, list(tables.names))
        else:
            await _make_ready(database, address, tables)
        return database, await _space(database, space, tables, makes=not to_read)
    except StoreUnavailable as error:
        await database.close()
        if is_passing(str(error)):
            raise
        raise ConfigError(str(error)) from error
    except BaseException:
        await database.close()
        raise


async def _check_readable(database: Database, names: list[str]) -> None:
    [(_, _, has_tables)] = (await database.run(_LOOK, (names,))).rows
    if not has_tables:
        raise database.failed(_NOTHING)
    await _check_rights(database, names, ["SELECT"])


async def _check_rights(database: Database, names: list[str], kinds: list[str]) -> None:
    [(may_use,)] = (await database.run(_RIGHTS, (names, kinds))).rows
    if not may_use:
        raise database.failed(
            f"has tables that this user may not use; GRANT {', '.join(kinds)} ON"
            f" {', '.join(names)} there, or name their owner"
        )


async def _make_ready(database: Database, address: DatabaseAddress, tables: Tables) -> None:
    names = list(tables.names)
    [(read_only, syncs, has_tables)] = (await database.run(_LOOK, (names,))).rows
    if read_only:
        raise database.failed(READ_ONLY)
    if not has_tables:
        await database.run(_ALONE + tables.create)
    await _check_rights(database, names, _KINDS)
    if not syncs:
        log.warning(
            "%s %s does not wait for its disk (fsync is off): a crash of its machine loses %s;"
            " set fsync on there",
            address.what,
            address.shown,
            tables.loses,
        )


async def _space(database: Database, space: str, tables: Tables, *, makes: bool) -> tuple[Any, ...]:
    """Return the row of a space, and have it checked on every connection from then on."""
    listed = tables.names[-1]
    ask = f"SELECT {tables.columns} FROM {listed} WHERE space = %s"  # noqa: S608  our own names
    rows = (await database.run(ask, (space,))).rows
    if not rows and not makes:
        raise database.failed(_NOTHING)
    if not rows:
        make = (
            f"INSERT INTO {listed} (space, identity, version) VALUES (%s, %s, %s)"  # noqa: S608
            " ON CONFLICT (space) DO NOTHING"
        )
        await database.run(make, (space, secrets.token_hex(16), tables.version))
        rows = (await database.run(ask, (space,))).rows
    found = rows[0]
    if found[1] != tables.version:
        raise database.failed(
            f"has {tables.holds} of version {found[1]} in space {space!r}, and this Skitter"
            f" understands {tables.version}; use that version of Skitter, or another namespace"
        )
    database.proof = Proof(ask, (space,), rows)
    return found
