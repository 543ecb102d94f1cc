"""A cold store in PostgreSQL: one row for each chunk, its records compressed.

Several Skitters may share a database: each has a space of its own, named like the namespace of the
store whose queues it takes. The tables are made when they are missing.
"""

import time
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from skitter.database.address import DatabaseAddress
from skitter.errors import ConfigError
from skitter.frontier.cold.base import KEEP_S, Chunk, ChunkId, Held
from skitter.frontier.cold.packing import pack, unpack
from skitter.types import HostKey, JobNumber

if TYPE_CHECKING:
    from skitter.database.connection import Answer, Database

SWEEP_S: Final = 60.0
"""How often chunks that were kept long enough are deleted."""
PAGE: Final = 16
"""Chunks that are read at a time: about a quarter of a megabyte."""
_ROWS_AT_ONCE = 1000
"""Rows that are deleted by one statement, well within its time."""

# The setting lasts until the end of the transaction, which is that of the statement.
_PUT = """
    WITH durable AS (SELECT set_config('synchronous_commit', 'on', true))
    INSERT INTO skitter_cold (space, id, job, host, line, n, records)
    SELECT %s, %s::bigint, %s::int, %s, %s, %s::int, %b::bytea FROM durable
    ON CONFLICT (space, id) DO NOTHING"""
_GET = """
    SELECT id, records, used IS NOT NULL FROM skitter_cold
    WHERE space = %s AND id = ANY(%s::bigint[])"""
_WANTED = "UPDATE skitter_cold SET used = NULL WHERE space = %s AND id = ANY(%s::bigint[])"
_DONE = """
    UPDATE skitter_cold SET used = now()
    WHERE space = %s AND id = ANY(%s::bigint[]) AND used IS NULL"""
_SWEEP = """
    DELETE FROM skitter_cold WHERE space = %s AND id = ANY(ARRAY(
        SELECT id FROM skitter_cold
        WHERE space = %s AND used <= now() - make_interval(secs => %s)
        LIMIT %s FOR UPDATE SKIP LOCKED))"""
_DROP = "DELETE FROM skitter_cold WHERE space = %s AND id = ANY(%s::bigint[])"
_DROP_JOB = """
    DELETE FROM skitter_cold WHERE space = %s AND id = ANY(ARRAY(
        SELECT id FROM skitter_cold WHERE space = %s AND job = %s LIMIT %s))"""
_CHUNKS_OF_JOB = """
    SELECT id, host, line, records FROM skitter_cold
    WHERE space = %s AND job = %s AND (host, id) > (%s, %s::bigint) ORDER BY host, id LIMIT %s"""
_CHUNKS_OF_HOST = """
    SELECT id, host, line, records FROM skitter_cold
    WHERE space = %s AND job = %s AND host = %s AND id > %s::bigint ORDER BY host, id LIMIT %s"""
_SIZES = """
    SELECT count(*), coalesce(sum(n), 0)::bigint, coalesce(sum(octet_length(records)), 0)::bigint
    FROM skitter_cold WHERE space = %s AND used IS NULL"""


class PostgresStore:
    """A ``ColdStore`` in the database at ``url``; ``space`` is the caller's part of it."""

    def __init__(
        self, url: str, space: str, *, keep_s: float = KEEP_S, sweep_s: float = SWEEP_S
    ) -> None:
        self._address = DatabaseAddress.parse(url, "cold store")
        self._space = space
        self._keep_s = keep_s
        self._sweep_s = sweep_s
        self._next_sweep = float("-inf")
        self._identity = ""
        self._database: Database | None = None

    def __repr__(self) -> str:
        return f"PostgresStore({self._address.shown!r}, {self._space!r})"

    @property
    def identity(self) -> str:
        """A random name of the space, made when it was first opened."""
        return self._identity

    @property
    def trouble(self) -> str:
        """Why the last verb failed, in words; "" when it did not."""
        return self._database.trouble if self._database is not None else ""

    async def open(self) -> None:
        """Connect; tables and space are made where they are missing."""
        try:
            from skitter.database.spaces import enter  # noqa: PLC0415  brings the client
            from skitter.frontier.cold.schema import TABLES  # noqa: PLC0415
        except ImportError:
            raise ConfigError(
                f"cold store {self._address.shown}: the client for PostgreSQL is missing;"
                " pip install 'skitter[postgres]'"
            ) from None
        self._database, (identity, _) = await enter(self._address, self._space, TABLES)
        self._identity = str(identity)

    async def close(self) -> None:
        """End the connection."""
        if self._database is not None:
            await self._database.close()

    async def put(self, chunk: Chunk) -> None:
        """Keep a chunk; it is on the server's disk on return."""
        about = (chunk.id, chunk.job, chunk.host, chunk.line, len(chunk.records))
        await self._run(_PUT, (self._space, *about, pack(chunk.records)))

    async def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, tuple[bytes, ...]]:
        """Return the records of chunks; those that are not there are missing from the answer."""
        if not ids:
            return {}
        rows = (await self._run(_GET, (self._space, list(ids)))).rows
        if wanted := [chunk_id for chunk_id, _, is_done in rows if is_done]:
            await self._run(_WANTED, (self._space, wanted))
        return {chunk_id: self._unpack(chunk_id, packed) for chunk_id, packed, _ in rows}

    async def done(self, ids: Sequence[ChunkId]) -> None:
        """Let chunks go in a while; delete those whose while is over."""
        if ids:
            await self._run(_DONE, (self._space, list(ids)))
        if time.monotonic() >= self._next_sweep:
            until = (self._space, self._space, self._keep_s, _ROWS_AT_ONCE)
            swept = (await self._run(_SWEEP, until)).touched
            if swept < _ROWS_AT_ONCE:
                self._next_sweep = time.monotonic() + self._sweep_s

    async def drop(self, ids: Sequence[ChunkId]) -> None:
        """Delete chunks that were never referred to."""
        if ids:
            await self._run(_DROP, (self._space, list(ids)))

    async def drop_job(self, job: JobNumber) -> None:
        """Delete every chunk of a job."""
        some = (self._space, self._space, job, _ROWS_AT_ONCE)
        while (await self._run(_DROP_JOB, some)).touched == _ROWS_AT_ONCE:
            pass

    async def chunks(self, job: JobNumber, host: HostKey | None = None) -> AsyncIterator[Chunk]:
        """Yield the chunks of a job, or of one host in it; a few are in memory at a time."""
        query = _CHUNKS_OF_JOB if host is None else _CHUNKS_OF_HOST
        after: tuple[str, int] = (host or "", -1)
        while True:
            rows = (await self._run(query, (self._space, job, *after, PAGE))).rows
            for chunk_id, of_host, line, packed in rows:
                records = self._unpack(chunk_id, packed)
                yield Chunk(ChunkId(chunk_id), job, HostKey(of_host), line, records)
            if len(rows) < PAGE:
                return
            after = (rows[-1][1], rows[-1][0])

    async def sizes(self) -> Held:
        """Count what is not done."""
        [row] = (await self._run(_SIZES, (self._space,))).rows
        return Held(*row)

    async def _run(self, query: str, params: Sequence[Any] | None) -> "Answer":
        assert self._database is not None, "a store is opened before it is used"
        return await self._database.run(query, params)

    def _unpack(self, chunk_id: int, packed: bytes) -> tuple[bytes, ...]:
        try:
            return unpack(packed)
        except ValueError as error:
            assert self._database is not None
            raise self._database.failed(
                f"has a damaged chunk, {chunk_id} ({error}); restore it from a backup"
            ) from None
