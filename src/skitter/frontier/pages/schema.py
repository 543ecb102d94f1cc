"""The tables of a page index, and the view of them that people read.

``skitter_pages`` has a row for each URL of each job. A space is named by its number there, so that
a row is as short as can be: there may be thousands of millions.
"""

from typing import Final

from skitter.database.spaces import Tables

FORMAT: Final = 1

# PostgreSQL has no text with U+0000, and reads nothing of a JSON with one: the view leaves it out.
# What looks like it may be a backslash and letters, which is why this is not done by replace().
_CREATE = r"""
    CREATE TABLE IF NOT EXISTS skitter_page_spaces (
        space text COLLATE "C" PRIMARY KEY,
        identity text NOT NULL,
        version int NOT NULL,
        number int GENERATED ALWAYS AS IDENTITY UNIQUE
    );
    CREATE TABLE IF NOT EXISTS skitter_pages (
        space int NOT NULL,
        job int NOT NULL,
        fp bigint NOT NULL,
        noted bigint NOT NULL,
        hop boolean NOT NULL,
        note bytea NOT NULL,
        PRIMARY KEY (space, job, fp)
    );
    CREATE TABLE IF NOT EXISTS skitter_page_contents (
        space int NOT NULL,
        job int NOT NULL,
        digest bytea NOT NULL,
        url text NOT NULL,
        PRIMARY KEY (space, job, digest)
    );
    CREATE OR REPLACE VIEW skitter_page_records AS
    SELECT spaces.space, pages.fp,
        record ->> 'job' AS job, record ->> 'url' AS url, record ->> 'final_url' AS final_url,
        (record ->> 'status')::int AS status, record ->> 'outcome' AS outcome,
        record ->> 'title' AS title, (record ->> 'fetched_at')::timestamptz AS fetched_at, record
    FROM skitter_pages AS pages
    JOIN skitter_page_spaces AS spaces ON spaces.number = pages.space,
    LATERAL (SELECT convert_from(pages.note, 'UTF8') AS line) AS written,
    LATERAL (SELECT CASE WHEN strpos(line, '\u0000') = 0 THEN line ELSE regexp_replace(
        line, '((?:^|[^\\])(?:\\\\)*)(?:\\u0000)+', '\1', 'g') END::json AS record) AS read
    WHERE NOT pages.hop;"""
TABLES: Final = Tables(
    names=("skitter_pages", "skitter_page_contents", "skitter_page_spaces"),
    create=_CREATE,
    version=FORMAT,
    holds="pages",
    loses="pages",
    columns="identity, version, number",
)
