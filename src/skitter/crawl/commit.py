"""Makes visits safe, in batches: records first, then the ack that names their safe length.

Batches gather while an earlier one is written, so the disk's pace sets their size. The records of
one batch are written while the ack of the batch before is synced; acks follow each other in order.
"""

import asyncio
import logging
from collections.abc import Callable

from skitter.crawl.equipment import Equipment
from skitter.crawl.outputs import Outputs
from skitter.crawl.summary import Totals
from skitter.crawl.trip import Visit
from skitter.frontier.model import Ack, Link, Receipt
from skitter.types import JobNumber

log = logging.getLogger(__name__)

BATCH = 32
"""Pages per commit when the disk keeps up; larger batches gain nothing."""
LINGER_S = 0.05
"""How long a batch waits for company."""
MAX_WAITING = 128
"""Ended visits that may wait to be made safe before workers wait too."""
MAX_WAITING_BYTES = 64 << 20
"""Bytes kept for the archive that may wait likewise."""


class Committer:
    """Takes ended visits from the workers and makes them safe."""

    def __init__(self, equipment: Equipment, outputs: Outputs, totals: Totals) -> None:
        self._with = equipment
        self._outputs = outputs
        self._totals = totals
        self._totals_mark = totals_mark(equipment.number)
        self._scope_mark = scope_mark(equipment.number)
        self._waiting: list[Visit] = []
        self._waiting_bytes = 0
        self._writing: list[Visit] = []
        self._acking: list[Visit] = []
        self._ack: asyncio.Task[Receipt] | None = None
        self._flushing: asyncio.Task[None] | None = None
        """A flush under way, or one that failed: then every later one fails with its error."""
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.on_commit: Callable[[list[Visit]], None] = lambda _: None
        """Called after each commit with the visits made safe."""
        self.on_lost: Callable[[list[Visit]], None] = lambda _: None
        """Called with visits whose lease had ended; someone else brings their record."""

    @property
    def unsafe(self) -> int:
        """Visits that ended but are not safe yet."""
        return len(self._waiting) + len(self._writing) + len(self._acking)

    async def add(self, visit: Visit) -> None:
        """Take a visit; waits while too many are not safe yet."""
        self._waiting.append(visit)
        self._waiting_bytes += visit.weight
        if len(self._waiting) >= BATCH:
            self._wake.set()
        if len(self._waiting) >= MAX_WAITING or self._waiting_bytes >= MAX_WAITING_BYTES:
            self._wake.set()
            self._room.clear()
            await self._room.wait()

    def hurry(self) -> None:
        """Commit what waits without waiting for company."""
        if self._waiting:
            self._wake.set()

    async def run(self) -> None:
        """Commit batches until cancelled; raises when a sink or the frontier cannot be written."""
        while True:
            try:
                async with asyncio.timeout(LINGER_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()
            await self.flush()

    async def settle(self) -> None:
        """Return when everything that has come in is safe."""
        while self.unsafe:
            self._wake.set()
            await asyncio.sleep(0.005)

    async def flush(self) -> None:
        """Make everything safe that waits; when cancelled, the writing goes on by itself.

        A batch whose records are written must be acked before the next is written: the next
        mark covers both.
        """
        while self._waiting or self._flushing is not None:
            if self._flushing is None:
                self._flushing = asyncio.create_task(self._flush())
            await asyncio.shield(self._flushing)
            self._flushing = None

    async def _flush(self) -> None:
        while self._waiting:
            self._writing, self._waiting = self._waiting, []
            self._waiting_bytes = 0
            self._room.set()
            self._writing = await self._still_ours(self._writing)
            await self._commit(self._writing)
        await self._finish_ack()

    async def wind_up(self) -> None:
        """Wait for a flush that was left alone, so that what it writes to can be closed."""
        left: list[asyncio.Task[None] | asyncio.Task[Receipt]] = []
        if self._flushing is not None:
            left.append(self._flushing)
        if self._ack is not None:
            left.append(self._ack)
        # Their errors are told by whoever failed first; asking for them marks them as told.
        await asyncio.gather(*left, return_exceptions=True)

    async def _commit(self, batch: list[Visit]) -> None:
        await self._name_duplicates(batch)
        notes, written = await self._outputs.write(batch)
        marks = {**self._with.manners.take_marks(), **written, **self._observed()}
        for visit in batch:
            self._totals.take(visit)
        if any(visit.record is not None for visit in batch):
            marks[self._totals_mark] = self._totals.encode()
        for visit in batch:
            for url in visit.wider_scope:
                marks[f"{self._scope_mark}{url}"] = b""
        await self._finish_ack()
        for visit in batch:
            visit.links = self._with.reservations.pass_on(visit.links)
        acks = [_ack(visit, notes) for visit in batch]
        self._acking, self._writing = self._writing, []
        self._ack = asyncio.create_task(self._with.frontier.ack(acks, marks=marks))
        # Lets the ack take effect, so that what follows sees it; its sync goes on behind.
        await asyncio.sleep(0)

    def _observed(self) -> dict[str, bytes]:
        """Return what the crawl has learned of its links, to be kept beside the acks."""
        equipment = self._with
        marks = equipment.finder.linked.take_mark(equipment.number, equipment.clock.boot())
        if equipment.guard is not None:
            prefix = traps_mark(equipment.number)
            changes = equipment.guard.take_changes()
            marks |= {f"{prefix}{name}": value for name, value in changes.items()}
        return marks

    async def _finish_ack(self) -> None:
        if self._ack is None:
            return
        receipt = await self._ack
        self._ack = None
        if receipt.stale:
            log.warning("%s acks came too late; their pages are fetched again", len(receipt.stale))
            self._forget_links()
        self._with.reservations.arrived()
        done, self._acking = self._acking, []
        for visit in done:
            for hop in visit.hops:
                self._with.reservations.release(hop.fp)
        self.on_commit(done)

    def _forget_links(self) -> None:
        """Find links anew: those of a lost visit count as met but were never queued."""
        self._with.finder.forget()
        self._with.sitemaps.forget()

    async def _name_duplicates(self, batch: list[Visit]) -> None:
        """Name the first URL of every body that came before, in this batch or in the store."""
        bodies = [visit for visit in batch if visit.digest]
        holders = await self._with.reader.contents(
            self._with.number, [visit.digest for visit in bodies]
        )
        first: dict[bytes, str] = {}
        for visit, holder in zip(bodies, holders, strict=True):
            holder = holder or first.setdefault(visit.digest, visit.lease.url)
            if holder != visit.lease.url and visit.record is not None:
                visit.record.duplicate_of = holder

    async def _still_ours(self, batch: list[Visit]) -> list[Visit]:
        """Leave out visits whose lease has ended: someone else brings their record.

        Renewing right before the write makes sure that no lease ends between record and ack.
        """
        leases = [visit.lease for visit in batch]
        gone = set(await self._with.frontier.renew(leases, self._with.lease_ms))
        if not gone:
            return batch
        self._forget_links()
        held: list[Link] = []
        lost = [visit for visit in batch if visit.lease.id in gone]
        for visit in lost:
            for hop in visit.hops:
                held += self._with.reservations.release(hop.fp)
        if held:
            await self._with.frontier.offer(held)
        self.on_lost(lost)
        return [visit for visit in batch if visit.lease.id not in gone]


def totals_mark(job: JobNumber) -> str:
    """Return the name under which a job's totals are kept."""
    return f"totals:{job}"


def scope_mark(job: JobNumber) -> str:
    """Return the beginning of the names under which URLs that widened the scope are kept."""
    return f"scope:{job}:"


def traps_mark(job: JobNumber) -> str:
    """Return the beginning of the names under which the trap guard's knowledge is kept."""
    return f"traps:{job}:"


def _ack(visit: Visit, notes: dict[int, bytes]) -> Ack:
    return Ack(
        visit.lease,
        visit.result,
        visit.at_ms,
        visit.reason,
        visit.links,
        visit.hops,
        notes.get(visit.lease.id, b""),
        visit.digest,
    )
