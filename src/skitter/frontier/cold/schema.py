"""The tables of a cold store."""

from typing import Final

from skitter.database.spaces import Tables
from skitter.frontier.cold.packing import FORMAT

# Compressed records would only cost the server time to find that out: hence the storage.
_CREATE = """
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
TABLES: Final = Tables(
    names=("skitter_cold", "skitter_cold_spaces"),
    create=_CREATE,
    version=FORMAT,
    holds="chunks",
    loses="URLs",
)
