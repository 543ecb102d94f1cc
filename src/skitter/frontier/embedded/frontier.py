"""The embedded frontier: one process owns the directory, every verb is one RocksDB write.

Ownership is trivial here: any member is granted every slot with the fence of this opening, and
a grant of an earlier opening is refused.
"""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from skitter.clock import Clock, SystemClock
from skitter.errors import DataDirError, Fenced, FrontierError, SkitterError
from skitter.frontier.base import OWNER_TTL_MS, RecordWriter
from skitter.frontier.embedded.control import Control
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.gates import Gates
from skitter.frontier.embedded.handout import Handout
from skitter.frontier.embedded.intake import Intake
from skitter.frontier.embedded.journal import FOLDER, Journal
from skitter.frontier.embedded.lasting import Lasting
from skitter.frontier.embedded.layout import FORMAT_VERSION, u32
from skitter.frontier.embedded.leases import same_lease
from skitter.frontier.embedded.locks import Locks
from skitter.frontier.embedded.questions import Questions
from skitter.frontier.embedded.reading import Reading
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.embedded.seen.base import SeenSet
from skitter.frontier.embedded.seen.choice import ROW, open_seen, seen_row
from skitter.frontier.embedded.series import SeriesBook
from skitter.frontier.embedded.tokens import Shared, Tokens
from skitter.frontier.embedded.tuning import Tuner
from skitter.frontier.embedded.vultures import Vultures
from skitter.frontier.embedded.windows import Windows
from skitter.frontier.limits import Permit, TokenWish, Wish
from skitter.frontier.model import (
    LEASE_MS,
    Ack,
    Claim,
    Freed,
    Grant,
    JobEntry,
    JobState,
    Lease,
    Link,
    Receipt,
    SeenFacts,
    SeenOptions,
)
from skitter.frontier.tuning import Rules, Tuning
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

_VERSION = b"version"
_SECRET = b"secret"
_EPOCH = b"epoch"


class EmbeddedFrontier(Questions):
    """Implements ``Frontier``, ``FrontierControl`` and ``FrontierReader`` on a directory."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock | None = None,
        durable: bool = True,
        seen: SeenOptions | None = None,
    ) -> None:
        self._path = path
        self._wanted = seen
        """How known URLs are remembered; None goes on as the store does, exactly if it is new."""
        self._clock = clock or SystemClock()
        self._durable = durable
        """Sync to disk before an ack returns. Without it only a power cut can lose acks."""
        self.records: RecordWriter | None = None
        """Where listed records go before their acks; None where nobody wants them."""
        self._recording: defaultdict[JobNumber, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._torn: dict[JobNumber, Exception] = {}
        """Jobs whose outputs may hold records that were not acked, and why."""

    async def open(self) -> None:
        """Open or create the store."""
        rocks = Rocks(self._path)
        try:
            epoch, seen = _prepare(rocks, self._path, self._wanted)
        except SkitterError:
            rocks.close()
            raise
        self._rocks = rocks
        self._core = core = Core(rocks, seen, self._clock, epoch)
        self._intake = Intake(core)
        self._gates = Gates(core)
        self._locks = Locks(self._clock)
        self._windows = Windows(core)
        self._tokens = Tokens(self._clock)
        self._shared = Shared(self._clock, Lasting(rocks, self._clock))
        self._handout = Handout(core, self._gates)
        self._control = Control(core)
        self._reading = Reading(core)
        self._tuner = Tuner(core)
        self._journal = Journal(self._path / FOLDER)
        self._journal.open()
        self._series = SeriesBook(rocks, self._clock)
        core.registry.load()
        self._handout.load_due()
        self._windows.load()
        core.enlist(core.registry.hosts.values())
        self.secret: bytes = rocks.get(_SECRET) or b""
        """Key of this store's fingerprints."""

    async def close(self) -> None:
        """Sync and close; idempotent."""
        rocks = self.__dict__.pop("_rocks", None)
        if rocks is not None:
            self._journal.close()
            self._core.stirs.ring()
            await self._core.seen.close()
            rocks.close()

    @property
    def trouble(self) -> str:
        """Why acks wait for where their records go: a disk that cannot be written is an error."""
        return self.records.trouble if self.records is not None else ""

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        """Grant every slot asked for."""
        del member
        fence = self._core.leases.fence
        expires_at = self._clock.boot() + ttl_ms / 1000
        return [Grant(slot, fence, expires_at) for slot in slots]

    async def disown(self, grants: Iterable[Grant]) -> None:
        """Change nothing: there is no other owner who could take the slots."""

    async def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new to their job."""
        receipt = self._intake.offer(links)
        if receipt.new:
            await self._sync()
            self._core.stirs.ring()
        return receipt

    async def claim(
        self,
        grants: Sequence[Grant],
        k: int,
        *,
        lease_ms: int = LEASE_MS,
        freed: Sequence[Freed] = (),
    ) -> Claim:
        """Lease up to ``k`` URLs; writes nothing."""
        fence = self._core.leases.fence
        if any(grant.fence != fence for grant in grants):
            raise Fenced("the store was opened again since this grant was given")
        return self._handout.claim(k, lease_ms, freed)

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        """End leases and queue what their pages linked to, in one step with marks and news."""
        kept = {**(marks or {}), **(news or {})}
        if self.records is None or (news and not acks and not marks):
            # What an operator says waits for no output: one may be away for hours.
            receipt = self._end(acks, kept)
        else:
            async with self._in_turn(acks):
                receipt = await self._record(self.records, acks, kept)
        if news:
            self._core.version += 1
        await self._sync()
        return receipt

    @asynccontextmanager
    async def _in_turn(self, acks: Sequence[Ack]) -> AsyncIterator[None]:
        """Let acks of a job take effect in the order in which they came, and marks after them all.

        Jobs do not wait for each other: the database of one may be away.
        """
        async with AsyncExitStack() as stack:
            for job in sorted({ack.lease.job for ack in acks} or self._recording):
                await stack.enter_async_context(self._recording[job])
            yield

    def _end(self, acks: Sequence[Ack], marks: Mapping[str, bytes]) -> Receipt:
        self._handout.reap()
        return self._intake.ack(acks, marks)

    async def _record(
        self, records: RecordWriter, acks: Sequence[Ack], marks: Mapping[str, bytes]
    ) -> Receipt:
        """Write the records of live leases first; none of them ends while that goes on."""
        self._handout.reap()
        book = self._core.leases
        first: dict[int, Ack] = {}
        for ack in acks:
            first.setdefault(ack.lease.id, ack)
        listed = [
            ack
            for ack in first.values()
            if ack.listed and same_lease(book.by_id.get(ack.lease.id), ack.lease)
        ]
        if not listed:
            return self._end(acks, marks)
        jobs = {ack.lease.job for ack in listed}
        for job in jobs & self._torn.keys():
            # The next mark would cover records of pages that are fetched again.
            raise self._torn[job]
        try:
            with book.pinned(ack.lease.id for ack in listed):
                written = await records.write(listed)
                return self._end(acks, {**marks, **written})
        except BaseException as error:
            broken_off = FrontierError("an ack was broken off while its records were written")
            torn = error if isinstance(error, Exception) else broken_off
            self._torn |= dict.fromkeys(jobs, torn)
            raise

    async def renew(self, leases: Sequence[Lease], lease_ms: int = LEASE_MS) -> list[int]:
        """Prolong leases."""
        self._handout.reap()
        expires_at = self._clock.boot() + lease_ms / 1000
        book = self._core.leases
        return [lease.id for lease in leases if not book.renew(lease.id, expires_at)]

    async def enter(
        self,
        lease: Lease,
        host: HostKey,
        at_most_ms: int | None = None,
        target: Fingerprint | None = None,
    ) -> int:
        """Take another host's gate under a lease."""
        return self._gates.enter(lease, host, at_most_ms, target)

    async def reserve(self, lease: Lease, host: HostKey, target: Fingerprint) -> int:
        """Keep the target of a redirect from being handed out."""
        return self._gates.reserve(lease, host, target)

    async def turn(
        self, lease: Lease, host: HostKey, delay_ms: int, at_most_ms: int | None = None
    ) -> int:
        """Ask a host once more under the gate that a lease holds."""
        return self._gates.turn(lease, host, delay_ms, at_most_ms)

    async def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take, keep or give back a lock."""
        return self._locks.lock(name, holder, ttl_ms)

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant what rate windows allow."""
        return self._windows.permit(wanted)

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Take, keep or give back tokens."""
        return self._tokens.take(holder, wanted, ttl_ms)

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let everyone have values for a while."""
        self._shared.share(values, ttl_ms)

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values that are there."""
        return self._shared.shared(names)

    async def publish(self, events: Sequence[bytes]) -> None:
        """Keep events for who listens."""
        self._journal.append(events)

    async def count(self, counts: Mapping[str, int], at_ms: int) -> None:
        """Add to counters over time."""
        self._series.add(counts, at_ms)

    async def count_urls(self, urls: Mapping[str, int]) -> None:
        """Count how often URLs were submitted."""
        self._series.add_urls(urls)

    async def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update a job."""
        number = self._control.put_job(entry)
        self._core.version += 1
        await self._sync()
        self._core.stirs.ring()
        return number

    async def set_job_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel a job."""
        self._control.set_state(job, state)
        self._core.version += 1
        await self._sync()
        self._core.stirs.ring()

    async def drop_job(self, job: JobNumber) -> None:
        """Forget a job and everything of it."""
        for _ in self._control.drop_job(job):
            await self._core.seen.tend()
        self._core.version += 1
        await self._sync()

    async def clear(self, job: JobNumber, page_class: PageClass) -> int:
        """Forget the waiting URLs of one class."""
        removed = 0
        for count in self._control.clear(job, page_class):
            removed += count
            await self._core.seen.tend()
        await self._sync()
        return removed

    async def forget(
        self, job: JobNumber, host: HostKey, fp: Fingerprint, again: bool = False
    ) -> bool:
        """Make one URL unknown."""
        return self._control.forget(job, host, fp, again=again)

    async def set_host(
        self,
        host: HostKey,
        *,
        delay_ms: int | None = None,
        per_host: int | None = None,
        not_before_ms: int | None = None,
    ) -> None:
        """Change how a host is asked."""
        self._control.set_host(host, delay_ms, per_host, not_before_ms)

    @property
    def rules(self) -> Rules:
        """How hosts are asked, where an operator says so."""
        return self._core.registry.rules

    @rules.setter
    def rules(self, rules: Rules) -> None:
        self._core.registry.rules = rules

    def vultures(self, is_stale: Callable[[bytes], bool], **sizes: int) -> Vultures:
        """Return what removes hosts and values that nobody needs any more from the store."""
        return Vultures(self._core, self._shared, is_stale, **sizes)

    async def tune(self, tuning: Tuning) -> int:
        """Change the gates of known hosts."""
        known = await self._tuner.tune(tuning)
        await self._sync()
        return known

    @property
    def seen_facts(self) -> SeenFacts:
        """What the seen-set is like: its kind, how full it is, how often it is wrong."""
        core = self._core
        return core.seen.facts(sum(counts.offered for counts in core.registry.counts.values()))

    async def _sync(self) -> None:
        if self._durable:
            await self._rocks.sync()
        await self._core.seen.tend()


def _prepare(rocks: Rocks, path: Path, wanted: SeenOptions | None) -> tuple[int, SeenSet]:
    """Check or write what the store says of itself; answer this opening's epoch and seen-set."""
    stored = rocks.get(_VERSION)
    if stored is not None and u32.unpack(stored)[0] > FORMAT_VERSION:
        raise DataDirError(
            f"{path}: written by a newer Skitter (format {u32.unpack(stored)[0]}, this one reads"
            f" up to {FORMAT_VERSION}); use that version or another --data directory"
        )
    secret = rocks.get(_SECRET) or secrets.token_bytes(16)
    seen = open_seen(rocks, path, wanted, secret, made=stored is not None)
    epoch = int.from_bytes(rocks.get(_EPOCH) or b"") + 1
    rocks.put_meta(
        {
            _VERSION: u32.pack(FORMAT_VERSION),
            _EPOCH: u32.pack(epoch),
            _SECRET: secret,
            ROW: seen_row(seen),
        }
    )
    return epoch, seen
