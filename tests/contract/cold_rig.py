"""Cold stores on a real PostgreSQL, as the tests of this folder use them."""

import secrets
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from skitter.frontier.cold.base import Chunk, ChunkId
from skitter.frontier.cold.postgres import PostgresStore
from skitter.types import HostKey, JobNumber

JOB = JobNumber(7)
ODD = (b"", b"/path", bytes(range(256)) * 8, b"\x00\xff", b"")


def new_space() -> str:
    return f"t{secrets.token_hex(8)}"


def chunk(*records: bytes, job: int = JOB, host: str = "a.test") -> Chunk:
    chunk_id = ChunkId(secrets.randbits(63))
    line = f"{job}:1:5:{host}"
    return Chunk(chunk_id, JobNumber(job), HostKey(host), line, records)


@asynccontextmanager
async def opened(
    url: str, space: str = "skitter", *, keep_s: float = 3600, sweep_s: float = 0
) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, space, keep_s=keep_s, sweep_s=sweep_s)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def whole(error: BaseException) -> str:
    """Return everything that could be shown of an error."""
    return "".join(traceback.format_exception(error)) + repr(error)
