"""What the verbs of the embedded frontier share: the store, the memory beside it, the clock."""

from collections.abc import Iterable

import msgspec

from skitter.clock import Clock
from skitter.frontier.embedded.agenda import Agenda, Host, Queue
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.layout import (
    Record,
    due_key,
    entry_key,
    seen_key,
    u32,
    u64,
    unpack_record,
)
from skitter.frontier.embedded.leases import Held, LeaseBook
from skitter.frontier.embedded.lines import Line
from skitter.frontier.embedded.places import Places
from skitter.frontier.embedded.registry import Registry
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.embedded.seen.base import SeenSet
from skitter.frontier.events import Bell
from skitter.frontier.model import Link, Tally
from skitter.types import Fingerprint, JobNumber

SEQUENCE = b"sequence"
TALLY = b"tally:"

_encode_tally = msgspec.msgpack.Encoder().encode
_decode_tally = msgspec.msgpack.Decoder(dict[str, int]).decode


class Core:
    """State and small steps used by more than one verb."""

    def __init__(self, rocks: Rocks, seen: SeenSet, clock: Clock, fence: int) -> None:
        self.rocks = rocks
        self.seen = seen
        self.clock = clock
        self.now_ms = clock.now_ms
        self.registry = Registry(rocks, clock.now_ms)
        self.agenda = Agenda()
        self.leases = LeaseBook(fence)
        self.places = Places()
        self.next_due_ms: int | None = None
        """No scheduled URL is due before this time; None when none is scheduled."""
        self.due_floor = b""
        """No scheduled URL has a key below this one; spares the walk over what was taken."""
        self.sequence = int.from_bytes(rocks.get(SEQUENCE) or b"")
        self.version = 1
        """Grows when jobs or news change."""
        self.stirs = Bell()
        """Rings when something is queued from outside, or a job is let run."""
        self.targets: dict[tuple[JobNumber, Fingerprint], int] = {}
        """URLs that a redirect leads to right now, with the lease it is followed under."""
        self.brought: set[tuple[JobNumber, Fingerprint]] = set()
        """URLs that wait though a redirect has brought them: they end when their turn comes."""
        self.tallies: dict[JobNumber, dict[str, int]] = {
            JobNumber(int(key[len(TALLY) :])): _decode_tally(value)
            for key, value in rocks.scan_meta(TALLY)
        }

    def change(self) -> Change:
        """Begin a step."""
        return Change(self.rocks)

    def commit(self, change: Change) -> None:
        """Finish a step and put the hosts it touched where they belong."""
        if change.uses_sequence:
            change.put_meta(SEQUENCE, u64.pack(self.sequence))
        self.seen.seal(change)
        touched = change.commit()
        self.seen.follow(change)
        self.tallies.update(change.tallies)
        if change.earliest_due_ms is not None:
            due_ms = change.earliest_due_ms
            self.next_due_ms = due_ms if self.next_due_ms is None else min(self.next_due_ms, due_ms)
        self.enlist(touched)

    def enlist(self, hosts: Iterable[Host]) -> None:
        """Put hosts where they belong on the agenda."""
        now_ms = self.now_ms()
        for host in hosts:
            self.agenda.enlist(host, now_ms)

    def enqueue(self, change: Change, queue: Queue, record: Record, rank: int) -> None:
        """Plan a URL at the end of its rank."""
        key = self._place(change, queue, record, rank)
        change.insert(self.registry.line(queue, record.page_class), key, record.pack())
        change.delta(queue).wait(record.page_class, 1)

    def _place(self, change: Change, queue: Queue, record: Record, rank: int) -> bytes:
        self.sequence += 1
        change.uses_sequence = True
        urgency = 9 - record.priority
        key = entry_key(queue.id, record.page_class, urgency, rank, self.sequence)
        self.places.note(seen_key(queue.id, record.fp), key)
        return key

    def move_up(self, change: Change, link: Link, seen: bytes) -> None:
        """Plan the better place of a link for its URL that waits under a worse rank, if it does."""
        rank = link.rank
        key = self.places.worse_than(rank, seen)
        if key is None or key in self.leases.by_key:
            return
        packed = self.rocks.get_one("q", key)
        if packed is None:
            return
        record = unpack_record(packed)
        queue = self.registry.queue(link.job, link.host)
        change.remove(self.registry.line(queue, record.page_class), key)
        better = self._place(change, queue, record, rank)
        change.insert(self.registry.line(queue, record.page_class), better, packed)
        change.delta(queue)

    def schedule(self, change: Change, queue: Queue, record: Record, rank: int, at_ms: int) -> None:
        """Plan a URL to be queued at a time."""
        key = due_key(at_ms, queue.id, record.fp)
        self.due_floor = min(self.due_floor, key)
        change.put("due", key, u32.pack(rank) + record.pack())
        change.delta(queue).scheduled += 1
        change.earliest_due_ms = min(change.earliest_due_ms or at_ms, at_ms)

    def plan_tally(self, change: Change, job: JobNumber, tallies: Iterable[Tally]) -> None:
        """Plan what visits add to the totals of their job."""
        kept = dict(self.tallies.get(job, {}))
        for tally in tallies:
            for name, n in tally:
                kept[name] = kept.get(name, 0) + n
        change.put_meta(TALLY + str(job).encode(), _encode_tally(kept))
        change.tallies[job] = kept

    def let_go(self, host: Host, now_ms: int, unasked: int = 0) -> None:
        """Count one request of a host as answered; its next one waits for its delay.

        ``unasked`` is until when it would rest for a request that was not made after all.
        """
        if unasked:
            if host.next_at_ms == unasked:
                host.next_at_ms = now_ms
        else:
            host.asked_ms = max(host.asked_ms, now_ms)
            if host.per_host == 1:
                host.next_at_ms = max(host.next_at_ms, now_ms + host.delay_ms)
        host.in_flight -= 1
        while host.waiters and host.in_flight < host.per_host:
            held = self.leases.by_id.get(host.waiters.pop(0))
            if held is not None:
                self.take_gate(held, host, now_ms)
        self.agenda.enlist(host, now_ms)

    def end_lease(self, held: Held) -> None:
        """Remove a lease and what it kept from others; its gates are let go by the caller."""
        self.leases.end(held)
        for target in held.targets:
            del self.targets[held.queue.job, target]

    def take_gate(self, held: Held, host: Host, now_ms: int) -> None:
        """Hold a host in flight for a redirect, from its next-allowed time on."""
        host.in_flight += 1
        held.gates.append(host)
        held.enters_at[host] = max(now_ms, host.next_at_ms)
        host.asked_ms = held.enters_at[host]
        host.next_at_ms = host.asked_ms + host.delay_ms

    def save_gate(self, change: Change, host: Host) -> None:
        """Store a gate that a restart could not rebuild: a new delay, or a rest beyond it."""
        rests_longer = host.next_at_ms > max(host.stored_at_ms, self.now_ms() + host.delay_ms)
        if rests_longer or host.delay_ms != host.stored_delay_ms:
            change.save_host(host)

    def commit_removal(self, change: Change, removed: Iterable[tuple[Line, bytes]]) -> None:
        """Finish a step that deletes waiting entries."""
        self.commit(change)
        for line, key in removed:
            line.remove(key)
        self.enlist({queue.host for queue in change.queues})
