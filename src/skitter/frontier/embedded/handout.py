"""What goes out: leases on URLs of hosts that may be asked, and the gates of those hosts."""

from collections.abc import Sequence
from functools import partial

from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.gates import GATE_POLL_MS, Gates
from skitter.frontier.embedded.layout import (
    DONE,
    DROPPED,
    QUEUED,
    SCHEDULED,
    Record,
    due_parts,
    rank_of,
    seen_key,
    u32,
    unpack_record,
)
from skitter.frontier.embedded.leases import Held
from skitter.frontier.embedded.lines import RANK_MASK, Entry
from skitter.frontier.model import SCORED_RANKS, Claim, Freed, JobState, Lease, pages_used
from skitter.types import JobNumber

DUE_BATCH = 256
TARGET_WAIT_MS = 1000
MAX_HELD_BACK = 8
HOLD_RANKS = 200
HOLD_MS = 2000
"""How long a host may be held back for one whose first URL scores so many steps better."""


class Handout:
    """Claims, freed hosts, lease expiry and due times."""

    def __init__(self, core: Core, gates: Gates) -> None:
        self._core = core
        self._gates = gates
        self._read = partial(core.rocks.scan, "q")

    def claim(self, k: int, lease_ms: int, freed: Sequence[Freed]) -> Claim:
        """Lease up to ``k`` URLs."""
        core = self._core
        now_ms = core.now_ms()
        if freed:
            self._gates.let_go(freed, now_ms)
        self.reap()
        self._wake_due(now_ms)
        self._mind_limits()
        expires_at = core.clock.boot() + lease_ms / 1000
        leases: list[Lease] = []
        held_back: list[Host] = []
        while len(leases) < k and len(held_back) < MAX_HELD_BACK:
            queue = core.agenda.next_turn(now_ms)
            if queue is None:
                break
            if self._holds_back(queue, now_ms):
                held_back.append(queue.host)
                continue
            lease = self._take(queue, now_ms, expires_at)
            if lease is not None:
                leases.append(lease)
        for host in held_back:
            core.agenda.enlist(host, now_ms)
        if leases:
            return Claim(tuple(leases), None, core.version)
        next_ready_ms = now_ms + GATE_POLL_MS if held_back else self._next_ready_ms(now_ms)
        return Claim((), next_ready_ms, core.version)

    def _mind_limits(self) -> None:
        """Hand out nothing of a job whose pages, with those in flight, are all it wants."""
        registry = self._core.registry
        for job, entry in registry.jobs.items():
            if entry.pages is not None and entry.state is JobState.RUN:
                full = self._room(job, entry.pages) <= 0
                if full is not (job in registry.full):
                    self._core.enlist(registry.set_full(job, full=full))

    def _room(self, job: JobNumber, pages: int) -> int:
        core = self._core
        used = pages_used(core.tallies.get(job, {}))
        return pages - used - core.registry.counts[job].leased

    def _holds_back(self, queue: Queue, now_ms: int) -> bool:
        """Tell whether a host lets a busy one go first whose next URL scores much better."""
        host, front = queue.host, queue.front()
        if not HOLD_RANKS <= front & RANK_MASK < SCORED_RANKS:
            return False
        bar = front - HOLD_RANKS
        busy = {held.queue.host for held in self._core.leases.by_id.values()}
        if not any((best := other.front()) is not None and best < bar for other in busy):
            host.held_since_ms = 0
            return False
        host.held_since_ms = host.held_since_ms or now_ms
        if now_ms - host.held_since_ms < HOLD_MS:
            return True
        host.held_since_ms = 0
        return False

    def _take(self, queue: Queue, now_ms: int, expires_at: float) -> Lease | None:
        core, host = self._core, queue.host
        entry = self._pop(queue)
        if entry is None:
            core.agenda.enlist(host, now_ms)
            return None
        record = unpack_record(entry[1])
        if (queue.job, record.fp) in core.targets:
            self._put_off(queue, entry[0], record, now_ms)
            return None
        if core.brought and (queue.job, record.fp) in core.brought:
            self._end_brought(queue, entry[0], record)
            return None
        gated = host.drained_until_ms <= now_ms
        lease = core.leases.grant(queue, entry[0], record, expires_at, gated=gated)
        if gated:
            host.in_flight += 1
            host.asked_ms, host.next_at_ms = now_ms, now_ms + host.delay_ms
        core.leases.by_id[lease.id].rests_until_ms = host.next_at_ms
        if lease.page_class:
            queue.leased_data += 1
        else:
            queue.leased_nav += 1
        for counts in queue.counts:
            counts.queued -= 1
            counts.leased += 1
        core.agenda.enlist(host, now_ms)
        if core.registry.jobs[queue.job].pages is not None:
            self._mind_limits()
        return lease

    def _put_off(self, queue: Queue, key: bytes, record: Record, now_ms: int) -> None:
        """Let a URL wait a little that a redirect is leading to right now."""
        core = self._core
        change = core.change()
        change.delete("q", key)
        core.schedule(change, queue, record, rank_of(key), now_ms + TARGET_WAIT_MS)
        core.seen.move(change, seen_key(queue.id, record.fp), SCHEDULED)
        for counts in queue.counts:
            counts.queued -= 1
        core.commit(change)

    def _end_brought(self, queue: Queue, key: bytes, record: Record) -> None:
        """End a URL that was queued while a redirect led to it, and that this has brought."""
        core = self._core
        change = core.change()
        change.delete("q", key)
        core.seen.move(change, seen_key(queue.id, record.fp), DONE)
        change.delta(queue).done += 1
        for counts in queue.counts:
            counts.queued -= 1
        core.commit(change)
        core.brought.discard((queue.job, record.fp))

    def _pop(self, queue: Queue) -> Entry | None:
        line = queue.next_line()
        return line.pop(self._read, self._core.leases.by_key) if line else None

    def _next_ready_ms(self, now_ms: int) -> int | None:
        core = self._core
        times = [core.agenda.next_time_ms(now_ms), core.next_due_ms]
        expiry = core.leases.next_expiry()
        if expiry is not None:
            times.append(now_ms + max(0, round((expiry - core.clock.boot()) * 1000)))
        return min((time for time in times if time is not None), default=None)

    def reap(self) -> None:
        """Return URLs whose lease is over to their place, counting the loss."""
        core = self._core
        over = core.leases.expired(core.clock.boot())
        if not over:
            return
        change = core.change()
        for held in over:
            page_class = held.record.page_class
            held.record = held.record._replace(lost=held.record.lost + 1)
            change.put("q", held.key, held.record.pack())
            delta = change.delta(held.queue)
            delta.lease(page_class, -1)
            delta.wait(page_class, 1)
        core.commit(change)
        for held in over:
            self._take_back(held)

    def _take_back(self, held: Held) -> None:
        core = self._core
        core.end_lease(held)
        line = core.registry.line(held.queue, held.record.page_class)
        line.insert(held.key, held.record.pack())
        now_ms = core.now_ms()
        for host in held.gates:
            core.let_go(host, now_ms)
        core.agenda.enlist(held.queue.host, now_ms)

    def _wake_due(self, now_ms: int) -> None:
        core = self._core
        if core.next_due_ms is None or core.next_due_ms > now_ms:
            return
        change = core.change()
        next_due_ms: int | None = None
        taken: list[bytes] = []
        for key, value in core.rocks.scan("due", core.due_floor):
            at_ms = due_parts(key)[0]
            if at_ms > now_ms or len(taken) == DUE_BATCH:
                next_due_ms = at_ms
                break
            taken.append(key)
            self._plan_wake(change, key, value)
        core.commit(change)
        core.next_due_ms = next_due_ms
        if taken:
            core.due_floor = taken[-1]

    def _plan_wake(self, change: Change, key: bytes, value: bytes) -> None:
        core = self._core
        _, number, fp = due_parts(key)
        change.delete("due", key)
        job = core.registry.job_of(number)
        if job is None or core.registry.jobs[job].state is JobState.CANCEL:
            if job is not None and not core.seen.marks_waiting:
                # Its entry is what told it from a false positive; a row does so from here on.
                core.seen.move(change, seen_key(number, fp), DROPPED)
            return
        queue = core.registry.numbered(number)
        core.enqueue(change, queue, unpack_record(value[4:]), u32.unpack(value[:4])[0])
        core.seen.move(change, seen_key(number, fp), QUEUED)
        change.delta(queue).scheduled -= 1

    def load_due(self) -> None:
        """Find the first due time when the store opens."""
        for key, _ in self._core.rocks.scan("due", b""):
            self._core.next_due_ms = due_parts(key)[0]
            return
