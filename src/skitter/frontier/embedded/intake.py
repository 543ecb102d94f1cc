"""What comes in: offered links, and the acks that end leases."""

from collections.abc import Iterable, Mapping, Sequence

from skitter.frontier.embedded.agenda import Host
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.layout import (
    DEAD,
    DONE,
    DROPPED,
    ENDED,
    MAX_PATH_BYTES,
    QUEUED,
    SCHEDULED,
    Record,
    rank_of,
    seen_key,
    u32,
)
from skitter.frontier.embedded.leases import Held, same_lease
from skitter.frontier.embedded.registry import Registry
from skitter.frontier.model import (
    SCORED_RANKS,
    Ack,
    JobState,
    Link,
    Overflow,
    Receipt,
    Result,
    Tally,
    is_pointer,
    pointer_to,
)
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

MARK = b"mark:"


class Intake:
    """Plans offers and acks as one ``Change`` each."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new."""
        change = self._core.change()
        new, overflow = self._plan_links(change, links)
        if new or change.moves:
            self._core.commit(change)
        return Receipt(new=new, known=len(links) - new, overflow=overflow)

    def ack(self, acks: Sequence[Ack], marks: Mapping[str, bytes]) -> Receipt:
        """End the leases that are live, with everything their pages brought."""
        core = self._core
        live: list[tuple[Ack, Held]] = []
        stale: list[int] = []
        for ack in acks:
            held = core.leases.by_id.get(ack.lease.id)
            if held is not None and same_lease(held, ack.lease):
                live.append((ack, held))
            else:
                stale.append(ack.lease.id)
        change = core.change()
        live = _each_once(live, stale)
        for ack, held in live:
            self._plan_end(change, ack, held)
        brought = self._plan_hops(change, live)
        self._plan_digests(change, live)
        links = [link for ack, _ in live for link in ack.links]
        new, overflow = self._plan_links(change, links)
        self._plan_tallies(change, live)
        for name, value in marks.items():
            change.put_meta(MARK + name.encode(), value)
        for host in self._hosts_let_go(live):
            core.save_gate(change, host)
        core.commit(change)
        self._follow(live)
        core.brought |= brought
        return Receipt(len(live), tuple(stale), new, len(links) - new, overflow)

    def _plan_end(self, change: Change, ack: Ack, held: Held) -> None:
        queue, record = held.queue, held.record
        page_class = record.page_class
        if ack.result is Result.DEFER and ack.at_ms is None:
            delta = change.delta(queue)
            delta.lease(page_class, -1)
            delta.wait(page_class, 1)
            return
        change.delete("q", held.key)
        change.delta(queue).lease(page_class, -1)
        self._plan_state(change, ack, held)
        key = seen_key(queue.id, record.fp)
        if ack.note:
            change.put("page", key, ack.note)

    def _plan_state(self, change: Change, ack: Ack, held: Held) -> None:
        queue, record = held.queue, held.record
        delta = change.delta(queue)
        key = seen_key(queue.id, record.fp)
        if ack.result is Result.DEAD:
            delta.dead += 1
            self._core.seen.move(change, key, DEAD)
        elif ack.result is Result.DONE and (
            record.page_class is PageClass.DATA or ack.at_ms is None
        ):
            delta.done += 1
            self._core.seen.move(change, key, DONE)
        else:
            self._plan_wait(change, held, _again(record, ack.result), ack.at_ms or 0)

    def _plan_wait(self, change: Change, held: Held, record: Record, at_ms: int) -> None:
        queue, rank = held.queue, rank_of(held.key)
        key = seen_key(queue.id, record.fp)
        if at_ms > self._core.now_ms():
            self._core.schedule(change, queue, record, rank, at_ms)
            self._core.seen.move(change, key, SCHEDULED)
        else:
            self._core.enqueue(change, queue, record, rank)
            self._core.seen.move(change, key, QUEUED)

    def _plan_digests(self, change: Change, live: Iterable[tuple[Ack, Held]]) -> None:
        first: dict[bytes, str] = {}
        for ack, held in live:
            if ack.result is Result.DONE:
                for digest in filter(None, (ack.digest, ack.alike)):
                    first.setdefault(u32.pack(held.queue.job) + digest, ack.lease.url)
        known = self._core.rocks.get_many("content", list(first)) if first else []
        for (key, url), holder in zip(first.items(), known, strict=True):
            if holder is None:
                change.put("content", key, url.encode())

    def _plan_tallies(self, change: Change, live: Iterable[tuple[Ack, Held]]) -> None:
        by_job: dict[JobNumber, list[Tally]] = {}
        for ack, held in live:
            if ack.tally:
                by_job.setdefault(held.queue.job, []).append(ack.tally)
        for job, tallies in by_job.items():
            self._core.plan_tally(change, job, tallies)

    def _plan_hops(
        self, change: Change, live: Iterable[tuple[Ack, Held]]
    ) -> set[tuple[JobNumber, Fingerprint]]:
        """Plan that hops are known; answers those that wait, queued while they were reserved."""
        registry = self._core.registry
        hops: dict[bytes, tuple[JobNumber, HostKey]] = {}
        reserved: dict[bytes, tuple[JobNumber, Fingerprint]] = {}
        for ack, held in live:
            if ack.result in (Result.DONE, Result.DEAD):
                job = held.queue.job
                for hop in ack.hops:
                    key = seen_key(registry.number(job, hop.host), hop.fp)
                    hops[key] = job, hop.host
                    if hop.fp in held.targets:
                        reserved[key] = job, hop.fp
        seen = self._core.seen
        brought: set[tuple[JobNumber, Fingerprint]] = set()
        self._plan_pointers(change, live)
        for (key, where), known in zip(hops.items(), seen.known(list(hops)), strict=True):
            if not known:
                seen.add(change, key, DONE)
                change.fresh.add(key)
                change.delta(registry.queue(*where)).done += 1
            elif key in reserved and seen.state(key) not in ENDED:
                brought.add(reserved[key])
        return brought

    def _plan_pointers(self, change: Change, live: Iterable[tuple[Ack, Held]]) -> None:
        """Plan that hops point to the records they led to, unless they have records themselves."""
        number = self._core.registry.number
        own: set[bytes] = set()
        pointers: dict[bytes, bytes] = {}
        for ack, held in live:
            if not ack.note:
                continue
            own.add(seen_key(held.queue.id, held.record.fp))
            if ack.hops and ack.result in (Result.DONE, Result.DEAD):
                pointer = pointer_to(ack.lease.url)
                for hop in ack.hops:
                    pointers[seen_key(number(held.queue.job, hop.host), hop.fp)] = pointer
        keys = [key for key in pointers if key not in own]
        kept = self._core.rocks.get_many("page", keys) if keys else ()
        for key, note in zip(keys, kept, strict=True):
            if note is None or is_pointer(note):
                change.put("page", key, pointers[key])

    def _plan_links(self, change: Change, links: Sequence[Link]) -> tuple[int, int]:
        """Plan what is new of ``links``; answer how many are new and how many overflow."""
        if not links:
            return 0, 0
        core = self._core
        found: dict[bytes, Link] = {}
        number = core.registry.number
        for link in links:
            # Most links are known, so their hosts are not woken for them.
            key = seen_key(number(link.job, link.host), link.fp)
            if key in change.fresh:
                continue
            other = found.get(key)
            if other is None or link.rank < min(other.rank, SCORED_RANKS):
                found[key] = link
        known_ones = core.seen.known(list(found))
        new = overflow = 0
        room = _Room(core.registry)
        for (key, link), known in zip(found.items(), known_ones, strict=True):
            if known:
                core.move_up(change, link, key)
                continue
            if len(link.url) > MAX_PATH_BYTES or not room.takes(link.job):
                continue
            new += 1
            overflow += self._plan_new(change, key, link, room)
        return new, overflow

    def _plan_new(self, change: Change, key: bytes, link: Link, room: "_Room") -> bool:
        """Plan one new link; answers whether it is beyond the job's bound."""
        core = self._core
        queue = core.registry.queue(link.job, link.host)
        now_ms = core.now_ms()
        record = Record.of(link, now_ms // 1000)
        if link.not_before_ms > now_ms:
            core.schedule(change, queue, record, link.rank, link.not_before_ms)
            core.seen.add(change, key, SCHEDULED)
            return False
        over = room.is_full(link.job)
        if over and core.registry.jobs[link.job].overflow is Overflow.DROP:
            core.seen.add(change, key, DROPPED)
            change.delta(queue).dropped += 1
        else:
            core.enqueue(change, queue, record, link.rank)
            core.seen.add(change, key, QUEUED)
            room.fill(link.job)
        return over

    def _hosts_let_go(self, live: Iterable[tuple[Ack, Held]]) -> set[Host]:
        return {host for _, held in live for host in (held.queue.host, *held.gates)}

    def _follow(self, live: Iterable[tuple[Ack, Held]]) -> None:
        """Let memory follow a committed ack: leases end, deferred URLs take their place again."""
        core = self._core
        now_ms = core.now_ms()
        for ack, held in live:
            core.end_lease(held)
            if ack.result is Result.DEFER and ack.at_ms is None:
                line = core.registry.line(held.queue, held.record.page_class)
                line.insert(held.key, held.record.pack())
            for host in held.gates:
                core.let_go(host, now_ms)
            core.agenda.enlist(held.queue.host, now_ms)


class _Room:
    """How many more URLs each job's queue takes before its bound, during one step."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._left: dict[JobNumber, int] = {}

    def takes(self, job: JobNumber) -> bool:
        """Tell whether a job takes links at all; a cancelled one does not."""
        return self._registry.jobs[job].state is not JobState.CANCEL

    def is_full(self, job: JobNumber) -> bool:
        """Tell whether the next URL would be beyond the bound."""
        if job not in self._left:
            bound = self._registry.jobs[job].queue_bound
            self._left[job] = bound - self._registry.counts[job].queued
        return self._left[job] <= 0

    def fill(self, job: JobNumber) -> None:
        """Count one URL queued."""
        self._left[job] -= 1


def _each_once(live: list[tuple[Ack, Held]], stale: list[int]) -> list[tuple[Ack, Held]]:
    """Keep the first ack of each lease; a second one in the same call is stale."""
    once: dict[int, tuple[Ack, Held]] = {}
    for ack, held in live:
        if ack.lease.id in once:
            stale.append(ack.lease.id)
        else:
            once[ack.lease.id] = (ack, held)
    return list(once.values())


def _again(record: Record, result: Result) -> Record:
    """Return the record for its next try, or for its next visit."""
    if result is Result.RETRY:
        return record._replace(attempts=record.attempts + 1)
    if result is Result.DONE:
        return record._replace(attempts=0, lost=0, visit=record.visit + 1)
    return record
