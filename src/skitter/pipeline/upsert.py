"""What all sinks in databases share: each record once, waiting for a server, records it refuses.

The key of a record is its URL, job and visit. Writing it again changes nothing, and an older record
never takes the place of a newer one; so a batch may be repeated after any fault, by any member.

A server that is away is waited for, however long that takes. A record that the server does not take
is set aside: the mark of the sink counts such records and names the latest of them.
"""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from skitter.errors import ConfigError, StoreUnavailable
from skitter.pipeline.base import SINK_MARKS, Batch
from skitter.pipeline.record import PageRecord

FIRST_PAUSE_S: Final = 0.25
LONGEST_PAUSE_S: Final = 10.0
PART_RECORDS: Final = 250
PART_BYTES: Final = 8 << 20
"""A server gets no more at once, so that it answers in time."""
MOST_NAMED: Final = 100
"""Records set aside that a mark names."""
MOST_TOLD: Final = 10
"""Records set aside that the log names, in each run."""

log = logging.getLogger(__name__)


class Refused(NamedTuple):
    """A record that a server does not take, and why."""

    record: PageRecord
    why: str


class Table(Protocol):
    """Where the records of a sink are: a table or a collection.

    Every verb raises ``StoreUnavailable`` with words for a person while the server is in trouble.
    """

    async def open(self, *, make: bool) -> None:
        """Connect and check; with ``make``, make what is missing.

        Raises ``ConfigError`` when it cannot be used.
        """

    async def forget(self, job: str) -> None:
        """Delete the records of a job."""

    async def upsert(self, records: Sequence[PageRecord]) -> list[Refused]:
        """Write records of different keys, but for those that are older than what is there."""

    async def close(self) -> None:
        """Let go of the server; idempotent."""


class SetAside(msgspec.Struct, frozen=True, array_like=True):
    """A record that was not taken."""

    url: str
    visit: int
    fetched_at: str
    why: str


class Aside(msgspec.Struct):
    """How many records were set aside, and the latest of them."""

    count: int = 0
    latest: list[SetAside] = []

    def add(self, refused: Sequence[Refused]) -> None:
        """Take note of more; one that comes again counts once."""
        for record, why in refused:
            new = SetAside(record.url, record.visit, record.fetched_at, why)
            rest = [one for one in self.latest if (one.url, one.visit) != (new.url, new.visit)]
            self.count += len(rest) == len(self.latest)
            self.latest = [*rest, new][-MOST_NAMED:]


_decode = msgspec.json.Decoder(Aside).decode


def read_aside(mark: bytes) -> Aside:
    """Return what the mark of a database says; that of a file says nothing of the kind."""
    return _decode(mark) if mark.startswith(b"{") else Aside()


def newest(records: Sequence[PageRecord]) -> list[PageRecord]:
    """Return one record of each key: the one that was fetched last, of equals the last one."""
    found: dict[tuple[str, str, int], PageRecord] = {}
    for record in records:
        key = (record.url, record.job, record.visit)
        if key not in found or record.fetched_at >= found[key].fetched_at:
            found[key] = record
    return list(found.values())


def parts(records: Sequence[PageRecord]) -> Iterator[list[PageRecord]]:
    """Cut records into parts that a server can be given at once."""
    part: list[PageRecord] = []
    size = 0
    for record in records:
        weight = len(record.text or "")
        if part and (len(part) == PART_RECORDS or size + weight > PART_BYTES):
            yield part
            part, size = [], 0
        part.append(record)
        size += weight
    if part:
        yield part


class DatabaseSink:
    """Writes the records of one job to a table."""

    def __init__(self, table: Table, *, kind: str, place: str, job: str) -> None:
        self._table = table
        self._job = job
        self._mark_name = f"{SINK_MARKS}{kind}:{place}"
        self.place = place
        """Where it is, for a person: what the job says, without a password."""
        self.overwrite = False
        """Whether a crawl that begins deletes what an earlier one of its job has left."""
        self._aside = Aside()
        self._told = 0
        self._trouble = ""

    @property
    def mark_name(self) -> str:
        """The name under which the mark is kept."""
        return self._mark_name

    @property
    def trouble(self) -> str:
        """Why writing waits, in words; "" while it does not."""
        return self._trouble

    def check(self) -> None:
        """Check nothing: whatever may be wrong, the server tells it; see ``probe``."""

    async def probe(self) -> None:
        """Raise ``ConfigError`` when the database cannot be used; changes nothing there."""
        await self._open(make=False)
        await self._table.close()

    async def open(self, mark: bytes | None) -> bytes:
        """Connect, and make what is missing; raises ``ConfigError`` when that fails."""
        self._aside = read_aside(mark or b"")
        await self._open(make=True, forget=mark is None and self.overwrite)
        return self._mark()

    async def _open(self, *, make: bool, forget: bool = False) -> None:
        try:
            await self._table.open(make=make)
            if forget:
                await self._table.forget(self._job)
        except StoreUnavailable as error:
            await self._table.close()
            raise ConfigError(str(error)) from error
        except BaseException:
            await self._table.close()
            raise

    async def write(self, batch: Batch) -> bytes:
        """Write records, however long it takes; answers the mark when they are safe."""
        for part in parts(newest(batch.records)):
            refused = await self._upsert(part)
            self._aside.add(refused)
            self._tell(refused)
        return self._mark()

    async def close(self) -> None:
        """Let go of the server."""
        await self._table.close()

    async def _upsert(self, records: Sequence[PageRecord]) -> list[Refused]:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                refused = await self._table.upsert(records)
            except StoreUnavailable as error:
                self._wait(str(error))
            else:
                self._go_on()
                return refused
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    def _wait(self, why: str) -> None:
        if not self._trouble:
            log.warning("%s; records wait for it", why)
        self._trouble = why

    def _go_on(self) -> None:
        if self._trouble:
            log.warning("%s: records are written again", self.place)
        self._trouble = ""

    def _mark(self) -> bytes:
        return msgspec.json.encode(self._aside) if self._aside.count else b""

    def _tell(self, refused: Sequence[Refused]) -> None:
        for record, why in refused:
            self._told += 1
            if self._told <= MOST_TOLD:
                what = f"the record of {record.url} was refused ({why}) and set aside"
                log.warning("%s: %s", self.place, what)
            if self._told == MOST_TOLD:
                log.warning("%s: further ones are in: skitter job rejects", self.place)
