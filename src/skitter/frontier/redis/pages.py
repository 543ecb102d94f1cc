"""The page index of a store that keeps it elsewhere, in PostgreSQL.

Notes are there before the acks of their pages, so a page that is done can be read. Whoever writes
has made certain of its leases just before and has an order for what they bring (lua/44_renew.lua):
if it is held up on the way, and another has visited the page meanwhile, the other's note stays.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.model import Ack, Result, pointer_to
from skitter.frontier.pages.base import Content, Note, PageStore, Place
from skitter.frontier.redis.outage import BackOff
from skitter.types import Fingerprint, JobNumber

READING_S: Final = 2.0
"""How long the question of a person waits for a page index in trouble: until it was restarted."""

T = TypeVar("T")


class Pages:
    """Waits for a page index elsewhere; without one it is not asked."""

    def __init__(self) -> None:
        self._store: PageStore | None = None
        self._missing_at = ""
        self._patience_s = math.inf
        self._trouble = ""
        self._since = 0.0
        self._back_off = BackOff()

    def use(self, store: PageStore, patience_s: float = math.inf) -> None:
        """Keep the page index in a store that is open; questions wait for it that long."""
        self._store = store
        self._patience_s = patience_s

    def miss(self, shown: str) -> None:
        """Take note that the page index is elsewhere, and that nobody said how to get at it."""
        self._missing_at = shown

    @property
    def elsewhere(self) -> bool:
        """Whether the page index is not in Redis itself."""
        return self._store is not None or bool(self._missing_at)

    @property
    def trouble(self) -> str:
        """Why verbs wait, in words; "" while all is well."""
        return self._trouble

    def require(self) -> None:
        """Raise if this process was not told how to get at the page index."""
        if self._store is None and self._missing_at:
            raise ConfigError(
                "--store: the page index of this store is in PostgreSQL; name it with --index"
                f" {self._missing_at} (or SKITTER_INDEX), with user and password"
            )

    async def put(self, acks: Iterable[Ack], orders: Mapping[int, int]) -> bool:
        """Keep what acks leave; False after a while when that failed: look at the leases again.

        ``orders`` are those of their leases, by id.
        """
        acks = list(acks)
        notes, contents = _notes(acks, orders), _contents(acks)
        try:
            if notes or contents:
                await self._opened().put(notes, contents)
        except StoreUnavailable as error:
            self._take_note(error)
            await asyncio.sleep(self._back_off.step())
            return False
        self._calm()
        return True

    async def get(self, places: Sequence[Place]) -> list[bytes]:
        """Return the notes of many URLs."""
        return await self._wait(lambda: self._opened().get(places))

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return the first URLs with those contents."""
        return await self._wait(lambda: self._opened().contents(job, digests))

    async def walk(
        self, job: JobNumber, after: Fingerprint | None, limit: int
    ) -> list[tuple[Fingerprint, bytes]]:
        """Return some notes of a job."""
        return await self._wait(lambda: self._opened().walk(job, after, limit))

    async def forget(self, job: JobNumber, fp: Fingerprint) -> None:
        """Delete the note of one URL."""
        await self._wait(lambda: self._opened().forget(job, fp))

    async def drop_job(self, job: JobNumber) -> None:
        """Delete the notes of a job."""
        await self._wait(lambda: self._opened().drop_job(job))

    def _opened(self) -> PageStore:
        self.require()
        assert self._store is not None
        return self._store

    async def _wait(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Ask until there is an answer, or trouble has lasted for too long."""
        back_off = BackOff()
        while True:
            try:
                answer = await ask()
            except StoreUnavailable as error:
                self._take_note(error)
                if asyncio.get_running_loop().time() - self._since >= self._patience_s:
                    raise
                await asyncio.sleep(back_off.step())
            else:
                self._calm()
                return answer

    def _take_note(self, error: StoreUnavailable) -> None:
        if not self._trouble:
            self._since = asyncio.get_running_loop().time()
        self._trouble = str(error)

    def _calm(self) -> None:
        if self._trouble:
            self._trouble = ""
            self._back_off = BackOff()


def leaves(ack: Ack) -> bool:
    """Tell whether an ack leaves something in the page index."""
    return bool(ack.note or ack.digest or ack.alike)


def _contents(acks: Iterable[Ack]) -> list[Content]:
    return [
        Content(ack.lease.job, digest, ack.lease.url)
        for ack in acks
        if ack.result is Result.DONE
        for digest in filter(None, (ack.digest, ack.alike))
    ]


def _notes(acks: Iterable[Ack], orders: Mapping[int, int]) -> list[Note]:
    """Return what acks leave in the page index, each URL once: a note goes before a pointer."""
    found: dict[Place, Note] = {}
    own: dict[Place, Note] = {}
    for ack in acks:
        if not ack.note:
            continue
        job, order = ack.lease.job, orders[ack.lease.id]
        own[job, ack.lease.fp] = Note(job, ack.lease.fp, order, ack.note)
        if ack.result in (Result.DONE, Result.DEAD):
            pointer = pointer_to(ack.lease.url)
            found |= {(job, hop.fp): Note(job, hop.fp, order, pointer) for hop in ack.hops}
    return list((found | own).values())
