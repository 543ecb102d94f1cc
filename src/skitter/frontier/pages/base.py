"""The seam of a page store: it keeps what the page index has of each URL of each job.

A note that is written carries its order: a number that grows with every visit of its URL, whoever
makes it. An older note never takes the place of a newer one, so a member that was slow, or dead for
a while, changes nothing by what it still says; and writing twice is writing once.

Verbs fail at once with ``StoreUnavailable`` when the store is in trouble. Each may be repeated.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from skitter.types import Fingerprint, JobNumber

Place = tuple[JobNumber, Fingerprint]
"""Whose note is meant."""


class Note(NamedTuple):
    """What is kept of one URL from now on."""

    job: JobNumber
    fp: Fingerprint
    order: int
    note: bytes
    """A pointer takes the place of pointers alone."""


class Content(NamedTuple):
    """A content hash, and a URL whose page has it."""

    job: JobNumber
    digest: bytes
    url: str


class PageStore(Protocol):
    """Keeps notes by job and fingerprint, and the first URL of each content hash."""

    @property
    def identity(self) -> str:
        """A random name of this store, made when it was first opened; it never changes."""

    @property
    def shown(self) -> str:
        """Where it is, in words for a person, without user and password."""

    async def open(self, *, to_read: bool = False) -> None:
        """Make the store ready; raises ``ConfigError`` when it cannot be used.

        Who comes ``to_read`` makes nothing.
        """

    async def close(self) -> None:
        """Let go of the store; what is under way fails."""

    async def put(self, notes: Sequence[Note], contents: Sequence[Content] = ()) -> None:
        """Keep notes, each URL once; they are durable and readable on return.

        Of ``contents`` those are kept that nobody had before.
        """

    async def get(self, places: Sequence[Place]) -> list[bytes]:
        """Return the notes of many URLs, in order; b"" for none."""

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return for each content hash the first URL of the job that had it."""

    async def walk(
        self, job: JobNumber, after: Fingerprint | None, limit: int
    ) -> list[tuple[Fingerprint, bytes]]:
        """Return notes of a job behind a fingerprint, in an order of the store's; no pointers."""

    async def forget(self, job: JobNumber, fp: Fingerprint) -> None:
        """Delete the note of one URL."""

    async def drop_job(self, job: JobNumber) -> None:
        """Delete everything of a job."""
