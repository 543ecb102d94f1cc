"""The tables of a cold store, and the checks before they are used."""

import logging
import secrets

from skitter.database.address import DatabaseAddress
from skitter.database.connection import Database, Proof
from skitter.database.faults import READ_ONLY
from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.cold.packing import FORMAT

_LOOK = """
    SELECT current_setting('transaction_read_only') = 'on', current_setting('fsync') = 'on',
           to_regclass('skitter_cold') IS NOT NULL
           AND to_regclass('skitter_cold_spaces') IS NOT NULL"""
# One message is one transaction, and the lock lasts as long: two members do not make them at once.
# Compressed records would only cost the server time to find that out: hence the storage.
_CREATE = """
    SELECT pg_advisory_xact_lock(7381250946012);
    CREATE TABLE IF NOT EXISTS skitter_cold_spaces (
        space text COLLATE "C" PRIMARY KEY,
        identity text NOT NULL,
        version int NOT NULL
    );
    CREATE TABLE IF NOT EXISTS skitter_cold (
        space text COLLATE "C" NOT NULL,
        id bigint NOT NULL,
        job int NOT NULL,
        host text COLLATE "C" NOT NULL,
        line text NOT NULL,
        n int NOT NULL,
        made timestamptz NOT NULL DEFAULT now(),
        used timestamptz,
        records bytea NOT NULL,
        PRIMARY KEY (space, id)
    );
    ALTER TABLE skitter_cold ALTER COLUMN records SET STORAGE EXTERNAL;
    CREATE INDEX IF NOT EXISTS skitter_cold_job ON skitter_cold (space, job, host, id);
    CREATE INDEX IF NOT EXISTS skitter_cold_used ON skitter_cold (space, used)
        WHERE used IS NOT NULL;"""
_TABLES = ["skitter_cold", "skitter_cold_spaces"]
_KINDS = ["SELECT", "INSERT", "UPDATE", "DELETE"]
_RIGHTS = """
    SELECT bool_and(has_table_privilege(name, kind))
    FROM unnest(%s::text[]) AS name, unnest(%s::text[]) AS kind"""
_NO_RIGHTS = (
    f"has tables that this user may not use; GRANT {', '.join(_KINDS)} ON {', '.join(_TABLES)}"
    " there, or name their owner"
)
_ENTER = """
    INSERT INTO skitter_cold_spaces (space, identity, version) VALUES (%s, %s, %s)
    ON CONFLICT (space) DO NOTHING"""
_SPACE = "SELECT identity, version FROM skitter_cold_spaces WHERE space = %s"

log = logging.getLogger(__name__)


async def enter(address: DatabaseAddress, space: str) -> tuple[Database, str]:
    """Return a database that is ready for the chunks of a space, and the identity of that.

    Raises ``ConfigError`` when it cannot be used, for whatever reason.
    """
    database = Database(address)
    try:
        return database, await _enter(database, address, space)
    except StoreUnavailable as error:
        await database.close()
        raise ConfigError(str(error)) from error
    except BaseException:
        await database.close()
        raise


async def _enter(database: Database, address: DatabaseAddress, space: str) -> str:
    [(read_only, syncs, has_tables)] = (await database.run(_LOOK, ())).rows
    if read_only:
        raise database.failed(READ_ONLY)
    if not has_tables:
        await database.run(_CREATE)
    [(may_use,)] = (await database.run(_RIGHTS, (_TABLES, _KINDS))).rows
    if not may_use:
        raise database.failed(_NO_RIGHTS)
    await database.run(_ENTER, (space, secrets.token_hex(16), FORMAT))
    found = (await database.run(_SPACE, (space,))).rows
    [(identity, version)] = found
    if version != FORMAT:
        raise database.failed(
            f"has chunks of version {version} in space {space!r}, and this Skitter understands"
            f" {FORMAT}; use that version of Skitter, or another namespace"
        )
    if not syncs:
        log.warning(
            "cold store %s does not wait for its disk (fsync is off): a crash of its machine loses"
            " URLs; set fsync on there",
            address.shown,
        )
    database.proof = Proof(_SPACE, (space,), found)
    return str(identity)
