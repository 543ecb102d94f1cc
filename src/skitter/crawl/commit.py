"""Makes visits safe, in batches: captures first, then the acks with their records and links.

Batches gather while an earlier one is on its way, so the store's pace sets their size. Two acks are
under way at most: the records of one are written while the other becomes durable.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable

from skitter.crawl.equipment import Equipment
from skitter.crawl.fitted import fitted_mark
from skitter.crawl.outputs import Outputs
from skitter.crawl.summary import tally_of
from skitter.crawl.trip import Visit
from skitter.frontier.model import Ack, Receipt
from skitter.types import JobNumber

log = logging.getLogger(__name__)

MOST_ACKS = 2
"""Acks that may be under way at the same time."""
BATCH = 64
"""Pages per commit when the disk keeps up; larger batches gain little."""
LINGER_S = 0.1
"""How long a batch waits for company."""
MAX_WAITING = 128
"""Ended visits that may wait to be made safe before workers wait too."""
MAX_WAITING_BYTES = 64 << 20
"""Bytes kept for the archive that may wait likewise."""


class Committer:
    """Takes ended visits from the workers and makes them safe."""

    def __init__(self, equipment: Equipment, outputs: Outputs) -> None:
        self._with = equipment
        self._outputs = outputs
        self._scope_mark = scope_mark(equipment.number)
        self._fitted_mark = fitted_mark(equipment.number)
        self._waiting: list[Visit] = []
        self._waiting_bytes = 0
        self._writing: list[Visit] = []
        self._acks: deque[tuple[asyncio.Task[Receipt], list[Visit]]] = deque()
        self._flushing: asyncio.Task[None] | None = None
        """A flush under way, or one that failed: then every later one fails with its error."""
        self._some = asyncio.Event()
        """Something has come in since the last commit began."""
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.on_commit: Callable[[list[Visit]], None] = lambda _: None
        """Called after each commit with the visits made safe."""
        self.on_lost: Callable[[list[Visit]], None] = lambda _: None
        """Called with visits whose lease had ended; someone else brings their record."""

    @property
    def trouble(self) -> str:
        """Why outputs cannot be written at this moment, in words; "" while they can."""
        return self._outputs.trouble

    @property
    def unsafe(self) -> int:
        """Visits that ended but are not safe yet."""
        acking = sum(len(batch) for _, batch in self._acks)
        return len(self._waiting) + len(self._writing) + acking

    async def add(self, visit: Visit) -> None:
        """Take a visit; waits while too many are not safe yet."""
        self._waiting.append(visit)
        self._waiting_bytes += visit.weight
        self._some.set()
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
            await self._some.wait()
            try:
                async with asyncio.timeout(LINGER_S):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._some.clear()
            self._wake.clear()
            await self.flush()

    async def settle(self) -> None:
        """Return when everything that has come in is safe."""
        while self.unsafe:
            self._wake.set()
            await asyncio.sleep(0.005)

    async def flush(self) -> None:
        """Make everything safe that waits; when cancelled, the writing goes on by itself.

        Acks follow each other in the order of their batches: a later mark covers the earlier ones.
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
            await self._commit(self._writing)
        while self._acks:
            await self._finish_ack()

    def break_off(self) -> None:
        """Give up what is under way: the store does not answer, and nobody wants to wait for it."""
        for task, _ in self._acks:
            task.cancel()
        if self._flushing is not None:
            self._flushing.cancel()

    async def wind_up(self) -> None:
        """Wait for a flush that was left alone, so that what it writes to can be closed."""
        left: list[asyncio.Task[None] | asyncio.Task[Receipt]] = [task for task, _ in self._acks]
        if self._flushing is not None:
            left.append(self._flushing)
        # Their errors are told by whoever failed first; asking for them marks them as told.
        await asyncio.gather(*left, return_exceptions=True)

    async def _commit(self, batch: list[Visit]) -> None:
        await self._name_duplicates(batch)
        news = await self._decided(batch)
        notes, written = await self._outputs.write(batch)
        marks = {**self._with.manners.take_marks(), **written, **self._observed()}
        for visit in batch:
            marks |= visit.marks
        news |= {f"{self._scope_mark}{url}": b"" for visit in batch for url in visit.wider_scope}
        while len(self._acks) >= MOST_ACKS:
            await self._finish_ack()
        for visit in batch:
            visit.links = self._with.reservations.pass_on(visit.links)
        acks = [_ack(visit, notes) for visit in batch]
        self._writing = []
        task = asyncio.create_task(self._with.frontier.ack(acks, marks=marks, news=news))
        self._acks.append((task, batch))
        # Lets the ack begin, so that what follows comes after it.
        await asyncio.sleep(0)

    async def _decided(self, batch: list[Visit]) -> dict[str, bytes]:
        """Return what was decided about hosts that are one site, for every member to know."""
        aliases = self._with.aliases
        if aliases is None:
            return {}
        aliases.named(batch)
        if aliases.is_due:
            await aliases.decide()
        return aliases.take_news()

    def _observed(self) -> dict[str, bytes]:
        """Return what the crawl has learned of its links, to be kept beside the acks."""
        equipment = self._with
        marks = equipment.finder.linked.take_mark(equipment.clock.boot())
        marks |= {f"{self._fitted_mark}{rule}": b"1" for rule in equipment.judge.fitted.take()}
        if equipment.guard is not None:
            prefix = traps_mark(equipment.number)
            changes = equipment.guard.take_changes()
            marks |= {f"{prefix}{name}": value for name, value in changes.items()}
        if equipment.drift is not None:
            marks |= equipment.drift.take_marks()
        if equipment.news is not None:
            marks |= equipment.news.templates.take_mark(equipment.clock.boot())
        if equipment.aliases is not None:
            marks |= equipment.aliases.take_marks(equipment.clock.boot())
        return marks

    async def _finish_ack(self) -> None:
        """Wait for the oldest ack and let memory follow it."""
        task, batch = self._acks[0]
        receipt = await task
        self._acks.popleft()
        self._with.reservations.arrived(len(batch))
        stale = set(receipt.stale)
        if stale:
            log.warning("%s pages came too late; others fetch them again", len(stale))
            await self._give_up([visit for visit in batch if visit.lease.id in stale])
        done = [visit for visit in batch if visit.lease.id not in stale]
        for visit in done:
            for hop in visit.hops:
                self._with.reservations.release(hop.fp)
        self.on_commit(done)

    async def _give_up(self, lost: list[Visit]) -> None:
        """Forget visits whose lease had ended; links held back for their redirects go on."""
        # Links of a lost visit count as met but were never queued.
        self._with.finder.forget()
        self._with.sitemaps.forget()
        reservations = self._with.reservations
        held = [
            link for visit in lost for hop in visit.hops for link in reservations.release(hop.fp)
        ]
        held += reservations.unreserved([link for visit in lost for link in visit.unheld])
        if held:
            await self._with.frontier.offer(held)
        self.on_lost(lost)

    async def _name_duplicates(self, batch: list[Visit]) -> None:
        """Name the first URL of every body that came before, in the store or on its way there."""
        digests = [digest for visit in batch for digest in (visit.digest, visit.alike) if digest]
        # Before the store is asked: an ack that ends meanwhile is in neither answer else.
        first: dict[bytes, str] = {}
        for _, before in self._acks:
            for visit in before:
                first.setdefault(visit.digest, visit.lease.url)
                first.setdefault(visit.alike, visit.lease.url)
        holders = await self._with.reader.contents(self._with.number, digests)
        first.update((of, url) for of, url in zip(digests, holders, strict=True) if url is not None)
        for visit in batch:
            if visit.digest and visit.record is not None:
                holder = first.setdefault(visit.digest, visit.lease.url)
                if holder != visit.lease.url:
                    visit.record.duplicate_of = holder
            if visit.alike:
                visit.first_alike = first.setdefault(visit.alike, visit.lease.url)


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
        visit.page is not None,
        tally_of(visit),
        visit.alike,
    )
