"""What operators do to jobs and hosts: states, clearing, forgetting. Rare, so they may scan."""

from collections.abc import Iterator

import msgspec

from skitter.errors import FrontierError
from skitter.frontier.embedded.agenda import Queue
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.core import TALLY, Core
from skitter.frontier.embedded.intake import MARK
from skitter.frontier.embedded.layout import (
    DEAD,
    DONE,
    ENDED,
    Record,
    due_parts,
    line_prefix,
    queue_prefix,
    seen_key,
    u32,
    unpack_record,
)
from skitter.frontier.embedded.registry import job_row, last_number_row
from skitter.frontier.model import JOB_MARKS, JobEntry, JobState
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

CLEAR_BATCH = 10_000
DROP_BATCH = 1_000


class Control:
    """Changes that are asked for by a person or a job, not by the crawl."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def put_job(self, entry: JobEntry) -> JobNumber:
        """Create or update a job."""
        registry = self._core.registry
        known = registry.job_number(entry.id)
        number = known or registry.next_job_number()
        change = self._core.change()
        if known is None:
            change.put_meta(*last_number_row(number))
        self._store_job(change, number, entry)
        return number

    def _store_job(self, change: Change, number: JobNumber, entry: JobEntry) -> None:
        change.put_meta(*job_row(number, entry))
        core = self._core
        core.commit(change)
        gates = core.change()
        for host in core.registry.set_job(number, entry):
            gates.save_host(host)
        core.commit(gates)
        core.enlist({queue.host for queue in core.registry.of_job(number)})

    def set_state(self, job: JobNumber, state: JobState) -> None:
        """Run, pause or cancel a job."""
        entry = self.entry(job)
        if entry.state is JobState.CANCEL and state is not JobState.CANCEL:
            raise FrontierError(f"job {entry.id} is cancelled: it cannot be set to {state}")
        change = self._core.change()
        if state is JobState.CANCEL:
            self._plan_cancel(change, job)
        self._store_job(change, job, msgspec.structs.replace(entry, state=state))
        if state is JobState.CANCEL:
            self._end_cancelled(job)

    def entry(self, job: JobNumber) -> JobEntry:
        """Return a job's entry or say that there is none."""
        entry = self._core.registry.jobs.get(job)
        if entry is None:
            raise FrontierError(f"there is no job number {job}")
        return entry

    def _plan_cancel(self, change: Change, job: JobNumber) -> None:
        for queue in self._core.registry.of_job(job):
            data = queue.data.waiting if queue.data else 0
            nav = queue.nav.waiting if queue.nav else 0
            delta = change.delta(queue)
            delta.data, delta.nav = -data, -nav
            delta.leased_data, delta.leased_nav = -queue.leased_data, -queue.leased_nav
            delta.scheduled = -queue.scheduled
            delta.dropped = data + nav + queue.leased_data + queue.leased_nav + queue.scheduled
            if self._core.seen.marks_waiting:
                change.delete_range("q", queue_prefix(queue.id), queue_prefix(queue.id + 1))

    def _end_cancelled(self, job: JobNumber) -> None:
        core = self._core
        now_ms = core.now_ms()
        for held in [h for h in core.leases.by_id.values() if h.queue.job == job]:
            core.end_lease(held)
            for host in held.gates:
                core.let_go(host, now_ms)
        core.brought = {one for one in core.brought if one[0] != job}
        for queue in core.registry.of_job(job):
            for line in (queue.data, queue.nav):
                if line is not None:
                    line.clear()
            core.agenda.enlist(queue.host, now_ms)

    def drop_job(self, job: JobNumber) -> Iterator[int]:
        """Forget a job in steps; yields how many hosts each forgot.

        Keys of its URLs name queues that will never be again, so a Bloom filter can keep them.
        """
        if self.entry(job).state is not JobState.CANCEL:
            self.set_state(job, JobState.CANCEL)
        core = self._core
        core.registry.dropping.add(job)
        # Once a queue's row is gone, nothing tells whose its scheduled URLs were.
        self._drop_scheduled(job)
        queues = core.registry.numbers_of(job)
        for at in range(0, len(queues), DROP_BATCH):
            change = core.change()
            for number in queues[at : at + DROP_BATCH]:
                self._plan_drop(change, number)
            core.commit(change)
            yield len(queues[at : at + DROP_BATCH])
        change = core.change()
        change.delete_range("content", u32.pack(job), u32.pack(job + 1))
        for kind in JOB_MARKS:
            for key, _ in core.rocks.scan_meta(MARK + f"{kind}:{job}:".encode()):
                change.delete_meta(key)
        change.delete_meta(job_row(job, self.entry(job))[0])
        change.delete_meta(TALLY + str(job).encode())
        core.commit(change)
        core.registry.drop_job(job)
        core.agenda.forget(job)
        core.tallies.pop(job, None)

    def _drop_scheduled(self, job: JobNumber) -> None:
        change = self._core.change()
        for key, _, _, _ in self._scheduled(job):
            change.delete("due", key)
        self._core.commit(change)

    def _plan_drop(self, change: Change, number: int) -> None:
        begin, end = queue_prefix(number), queue_prefix(number + 1)
        for family in ("seen", "q", "page"):
            change.delete_range(family, begin, end)
        change.delete("queue", begin)

    def clear(self, job: JobNumber, page_class: PageClass) -> Iterator[int]:
        """Forget the waiting URLs of one class in steps; yields how many each forgot."""
        if self.entry(job).state is JobState.CANCEL:
            return
        registry = self._core.registry
        for number in [queue.id for queue in registry.of_job(job)]:
            # Between two steps it may have fallen asleep.
            if number in registry.by_number:
                yield from self._clear_waiting(registry.by_number[number], page_class)
        yield self._clear_scheduled(job, page_class)

    def _clear_waiting(self, queue: Queue, page_class: PageClass) -> Iterator[int]:
        core = self._core
        line = queue.line(page_class)
        while line is not None and line.waiting:
            change, keys = core.change(), []
            for key, value in core.rocks.scan("q", line_prefix(queue.id, page_class), line.prefix):
                if key in core.leases.by_key:
                    continue
                keys.append(key)
                change.delete("q", key)
                self._plan_unknown(change, queue, unpack_record(value).fp)
                if len(keys) == CLEAR_BATCH:
                    break
            change.delta(queue).wait(page_class, -len(keys))
            core.commit_removal(change, [(line, key) for key in keys])
            yield len(keys)

    def _clear_scheduled(self, job: JobNumber, page_class: PageClass) -> int:
        core = self._core
        change, removed = core.change(), 0
        for key, number, fp, value in self._scheduled(job):
            if unpack_record(value[4:]).page_class is page_class:
                self._plan_unschedule(change, key, core.registry.numbered(number), fp)
                removed += 1
        core.commit(change)
        return removed

    def _scheduled(self, job: JobNumber) -> Iterator[tuple[bytes, int, Fingerprint, bytes]]:
        for key, value in self._core.rocks.scan("due", b""):
            _, number, fp = due_parts(key)
            if self._core.registry.job_of(number) == job:
                yield key, number, Fingerprint(fp), value

    def _plan_unschedule(self, change: Change, key: bytes, queue: Queue, fp: Fingerprint) -> None:
        change.delete("due", key)
        self._plan_unknown(change, queue, fp)
        change.delta(queue).scheduled -= 1

    def _plan_unknown(self, change: Change, queue: Queue, fp: Fingerprint) -> None:
        self._core.seen.drop(change, seen_key(queue.id, fp))
        # Whoever offers it anew wants it fetched.
        self._core.brought.discard((queue.job, fp))

    def forget(self, job: JobNumber, host: HostKey, fp: Fingerprint, *, again: bool) -> bool:
        """Make one URL unknown."""
        core = self._core
        number = core.registry.known_number(job, host)
        if number is None:
            return False
        key = seen_key(number, fp)
        state = core.seen.state(key)
        if state is None:
            return False
        queue = core.registry.queue(job, host)
        cancelled = self.entry(job).state is JobState.CANCEL
        if state not in ENDED and not (cancelled and core.seen.marks_waiting):
            return not again and self._forget_pending(queue, fp, cancelled=cancelled)
        change = core.change()
        core.seen.drop(change, key)
        if not again:
            change.delete("page", key)
        delta = change.delta(queue)
        if state == DONE:
            delta.done -= 1
        elif state == DEAD:
            delta.dead -= 1
        else:
            # Cancelling drops what waits without a walk over the marks of its URLs.
            delta.dropped -= 1
        core.commit(change)
        return True

    def _forget_pending(self, queue: Queue, fp: Fingerprint, *, cancelled: bool) -> bool:
        """Forget a URL that waits, or waited when its job was cancelled."""
        core = self._core
        change = core.change()
        key = seen_key(queue.id, fp)
        change.delete("page", key)
        entry = self._find_queued(queue, fp)
        if entry is not None:
            at, record = entry
            if at in core.leases.by_key:
                return False
            change.delete("q", at)
            self._plan_unknown(change, queue, fp)
            if cancelled:
                change.delta(queue).dropped -= 1
                core.commit(change)
            else:
                change.delta(queue).wait(record.page_class, -1)
                line = core.registry.line(queue, record.page_class)
                core.commit_removal(change, [(line, at)])
            return True
        return self._forget_scheduled(change, queue, fp, cancelled=cancelled)

    def _find_queued(self, queue: Queue, fp: Fingerprint) -> tuple[bytes, Record] | None:
        prefix = queue_prefix(queue.id)
        for key, value in self._core.rocks.scan("q", prefix, prefix):
            record = unpack_record(value)
            if record.fp == fp:
                return key, record
        return None

    def _forget_scheduled(
        self, change: Change, queue: Queue, fp: Fingerprint, *, cancelled: bool
    ) -> bool:
        core = self._core
        for key, owner, scheduled_fp, _ in self._scheduled(queue.job):
            if owner == queue.id and scheduled_fp == fp:
                self._plan_unschedule(change, key, queue, fp)
                if cancelled:
                    change.delta(queue).scheduled += 1
                    change.delta(queue).dropped -= 1
                core.commit(change)
                return True
        if core.seen.marks_waiting:
            raise AssertionError(f"{fp:x} waits in neither queue nor schedule of {queue.host.name}")
        # A false positive of the filter: it is not known, and taking it out would harm others.
        return False

    def set_host(
        self,
        name: HostKey,
        delay_ms: int | None,
        per_host: int | None,
        not_before_ms: int | None,
    ) -> None:
        """Change how a host is asked, also before its first URL."""
        core = self._core
        host = core.registry.host(name)
        if delay_ms is not None:
            host.delay_ms = delay_ms
        if per_host is not None:
            host.per_host = per_host
        if not_before_ms is not None:
            host.next_at_ms = max(host.next_at_ms, not_before_ms)
            host.held_until_ms = max(host.held_until_ms, not_before_ms)
        change = core.change()
        change.save_host(host)
        core.commit(change)
        core.enlist([host])
