"""A page index in PostgreSQL: one row for each URL of each job."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from skitter.database.address import DatabaseAddress
from skitter.errors import ConfigError
from skitter.frontier.model import is_pointer
from skitter.frontier.pages.base import Content, Note, Place
from skitter.types import Fingerprint, JobNumber

if TYPE_CHECKING:
    from skitter.database.connection import Answer, Database

NOTES_AT_ONCE: Final = 500
BYTES_AT_ONCE: Final = 4_000_000
"""What one statement writes, at most: well within its time."""
_ROWS_AT_ONCE = 5_000
"""Rows that are deleted by one statement."""
_WRAP, _SIGN = 1 << 64, 1 << 63

# The setting lasts until the end of the transaction, which is that of the statement.
_PUT = """
    WITH durable AS (SELECT set_config('synchronous_commit', 'on', true)), held AS (
        INSERT INTO skitter_page_contents (space, job, digest, url)
        SELECT %s::int, given.*
        FROM unnest(%s::int[], %b::bytea[], %s::text[]) AS given (job, digest, url)
        ON CONFLICT DO NOTHING
    )
    INSERT INTO skitter_pages AS kept (space, job, fp, noted, hop, note)
    SELECT %s::int, given.* FROM durable, unnest(
        %s::int[], %s::bigint[], %s::bigint[], %s::bool[], %b::bytea[]
    ) AS given (job, fp, noted, hop, note)
    ON CONFLICT (space, job, fp) DO UPDATE
    SET noted = excluded.noted, hop = excluded.hop, note = excluded.note
    WHERE CASE WHEN kept.hop <> excluded.hop THEN kept.hop
               ELSE kept.noted <= excluded.noted END"""
_GET = """
    SELECT given.n, kept.note
    FROM unnest(%s::int[], %s::bigint[]) WITH ORDINALITY AS given (job, fp, n)
    JOIN skitter_pages AS kept
    ON kept.space = %s::int AND kept.job = given.job AND kept.fp = given.fp"""
_CONTENTS = """
    SELECT given.n, kept.url FROM unnest(%b::bytea[]) WITH ORDINALITY AS given (digest, n)
    JOIN skitter_page_contents AS kept
    ON kept.space = %s::int AND kept.job = %s::int AND kept.digest = given.digest"""
_WALK = """
    SELECT fp, note FROM skitter_pages
    WHERE space = %s::int AND job = %s::int AND fp >= %s::bigint AND NOT hop
    ORDER BY fp LIMIT %s::int"""
_FORGET = "DELETE FROM skitter_pages WHERE space = %s::int AND job = %s::int AND fp = %s::bigint"
# Each goes on behind the last: what is deleted already stays in the way until it is swept.
_DROP_NOTES = """
    WITH gone AS (
        DELETE FROM skitter_pages WHERE space = %s::int AND job = %s::int AND fp = ANY(ARRAY(
            SELECT fp FROM skitter_pages
            WHERE space = %s::int AND job = %s::int AND fp >= %s::bigint
            ORDER BY fp LIMIT %s::int)) RETURNING fp
    ) SELECT max(fp) FROM gone"""
_DROP_CONTENTS = """
    WITH gone AS (
        DELETE FROM skitter_page_contents
        WHERE space = %s::int AND job = %s::int AND digest = ANY(ARRAY(
            SELECT digest FROM skitter_page_contents
            WHERE space = %s::int AND job = %s::int AND digest >= %b::bytea
            ORDER BY digest LIMIT %s::int)) RETURNING digest
    ) SELECT digest FROM gone ORDER BY digest DESC LIMIT 1"""


class PostgresPages:
    """A ``PageStore`` in the database at ``url``; ``space`` is the caller's part of it."""

    def __init__(self, url: str, space: str) -> None:
        self._address = DatabaseAddress.parse(url, "page index")
        self._space = space
        self._number = 0
        self._identity = ""
        self._database: Database | None = None

    def __repr__(self) -> str:
        return f"PostgresPages({self._address.shown!r}, {self._space!r})"

    @property
    def identity(self) -> str:
        """A random name of the space, made when it was first opened."""
        return self._identity

    @property
    def shown(self) -> str:
        """The URL without user, password and options."""
        scheme, _, rest = self._address.shown.partition("://")
        return f"{scheme}://{rest.rpartition('@')[2]}"

    async def open(self, *, to_read: bool = False) -> None:
        """Connect; tables and space are made where they are missing, unless it is ``to_read``."""
        try:
            from skitter.database.spaces import enter  # noqa: PLC0415  brings the client
            from skitter.frontier.pages.schema import TABLES  # noqa: PLC0415
        except ImportError:
            raise ConfigError(
                f"page index {self._address.shown}: the client for PostgreSQL is missing;"
                " pip install 'skitter[postgres]'"
            ) from None
        self._database, found = await enter(self._address, self._space, TABLES, to_read=to_read)
        self._identity, _, self._number = found

    async def close(self) -> None:
        """End the connection."""
        if self._database is not None:
            await self._database.close()

    async def put(self, notes: Sequence[Note], contents: Sequence[Content] = ()) -> None:
        """Keep notes: one statement for as many as one takes, and on the server's disk on return.

        Everyone writes in the order of the keys, so that nobody waits for each other in a circle.
        """
        # Of several pages with one content the first one has it.
        held = sorted(contents, key=lambda one: (one.job, one.digest))
        parts = _parts(sorted(notes, key=lambda one: (one.job, _signed(one.fp))))
        for part in parts or ([[]] if held else []):
            first = (
                [one.job for one in held],
                [one.digest for one in held],
                [one.url for one in held],
            )
            held = []
            columns = (
                [one.job for one in part],
                [_signed(one.fp) for one in part],
                [one.order for one in part],
                [is_pointer(one.note) for one in part],
                [one.note for one in part],
            )
            await self._run(_PUT, (self._number, *first, self._number, *columns))

    async def get(self, places: Sequence[Place]) -> list[bytes]:
        """Return the notes of many URLs by one query."""
        notes = [b""] * len(places)
        if places:
            jobs, fps = [job for job, _ in places], [_signed(fp) for _, fp in places]
            for number, note in (await self._run(_GET, (jobs, fps, self._number))).rows:
                notes[number - 1] = note
        return notes

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return for each content hash the first URL of the job that had it."""
        urls: list[str | None] = [None] * len(digests)
        if digests:
            rows = (await self._run(_CONTENTS, (list(digests), self._number, job))).rows
            for number, url in rows:
                urls[number - 1] = url
        return urls

    async def walk(
        self, job: JobNumber, after: Fingerprint | None, limit: int
    ) -> list[tuple[Fingerprint, bytes]]:
        """Return notes of a job in the order of the key."""
        place = -_SIGN if after is None else _signed(after) + 1
        if place == _SIGN:
            return []
        rows = (await self._run(_WALK, (self._number, job, place, limit))).rows
        return [(Fingerprint(fp % _WRAP), note) for fp, note in rows]

    async def forget(self, job: JobNumber, fp: Fingerprint) -> None:
        """Delete the note of one URL."""
        await self._run(_FORGET, (self._number, job, _signed(fp)))

    async def drop_job(self, job: JobNumber) -> None:
        """Delete everything of a job."""
        await self._drop(_DROP_NOTES, job, -_SIGN)
        await self._drop(_DROP_CONTENTS, job, b"")

    async def _drop(self, statement: str, job: JobNumber, first: int | bytes) -> None:
        """Delete rows of a job, some at a time in the order of their key."""
        place: int | bytes | None = first
        while place is not None:
            of_job = (self._number, job)
            rows = (await self._run(statement, (*of_job, *of_job, place, _ROWS_AT_ONCE))).rows
            place = rows[0][0] if rows else None

    async def _run(self, query: str, params: Sequence[Any]) -> "Answer":
        assert self._database is not None, "a store is opened before it is used"
        return await self._database.run(query, params)


def _signed(fp: Fingerprint) -> int:
    return fp - _WRAP if fp >= _SIGN else fp


def _parts(notes: Sequence[Note]) -> list[list[Note]]:
    """Cut notes into parts that one statement takes."""
    parts: list[list[Note]] = []
    size = 0
    for one in notes:
        size += len(one.note)
        if not parts or len(parts[-1]) == NOTES_AT_ONCE or size > BYTES_AT_ONCE:
            parts.append([])
            size = len(one.note)
        parts[-1].append(one)
    return parts
