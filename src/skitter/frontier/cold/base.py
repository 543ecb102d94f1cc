"""The seam of a cold store: it keeps chunks of queues that are not needed for a while.

A chunk never changes. Whoever makes one draws its id, stores it, and only then refers to it; the
reference is what counts, so a chunk that nobody refers to is garbage and never a loss.

Verbs fail at once with ``StoreUnavailable`` when the store is in trouble. Each may be repeated.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple, NewType, Protocol

import msgspec

from skitter.types import HostKey, JobNumber

ChunkId = NewType("ChunkId", int)
"""63 random bits."""

KEEP_S: Final = 86_400.0
"""How long a chunk is kept after it was needed for the last time.

A Redis that fails over may have forgotten that the records came back, and ask for them again.
"""


class Chunk(msgspec.Struct, frozen=True, gc=False):
    """Records of one queue that follow each other."""

    id: ChunkId
    job: JobNumber
    host: HostKey
    line: str
    """Which queue of the host they are from; the store only keeps it."""
    records: tuple[bytes, ...]


class Held(NamedTuple):
    """What a cold store holds of the caller's, but for what is done."""

    chunks: int
    records: int
    bytes: int
    """As stored, compressed."""


class ColdStore(Protocol):
    """Keeps chunks under their ids."""

    @property
    def identity(self) -> str:
        """A random name of this store, made when it was first opened; it never changes."""

    @property
    def trouble(self) -> str:
        """Why the last verb failed, in words for a person; "" when it did not."""

    async def open(self) -> None:
        """Make the store ready; raises ``ConfigError`` when it cannot be used."""

    async def close(self) -> None:
        """Let go of the store; what is under way fails."""

    async def put(self, chunk: Chunk) -> None:
        """Keep a chunk; it is durable on return."""

    async def get(self, ids: Sequence[ChunkId]) -> dict[ChunkId, tuple[bytes, ...]]:
        """Return the records of chunks; those that are not there are missing from the answer."""

    async def done(self, ids: Sequence[ChunkId]) -> None:
        """Note that chunks are not needed any more; they are kept for ``KEEP_S``.

        One that is asked for again within that time is kept until it is done again.
        """

    async def drop(self, ids: Sequence[ChunkId]) -> None:
        """Delete chunks that were never referred to."""

    async def drop_job(self, job: JobNumber) -> None:
        """Delete every chunk of a job."""

    def chunks(self, job: JobNumber, host: HostKey | None = None) -> AsyncIterator[Chunk]:
        """Yield the chunks of a job, or of one host in it, those included that are done."""

    async def sizes(self) -> Held:
        """Count what is not done; this reads through everything."""
