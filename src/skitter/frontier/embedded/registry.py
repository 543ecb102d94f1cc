"""Hosts, queues and jobs by name and number, loaded once when the store opens.

Memory is linear in hosts, never in URLs.
"""

from collections.abc import Iterator

import msgspec

from skitter.errors import FrontierError
from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.layout import (
    FORMAT_VERSION,
    HostRow,
    QueueRow,
    pack_row,
    u32,
    unpack_host,
    unpack_queue,
)
from skitter.frontier.embedded.lines import HeadBudget, Line
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.model import Counts, JobEntry, JobState
from skitter.frontier.tuning import NoRules, Rules
from skitter.types import HostKey, JobNumber, PageClass
from skitter.url.domain import registered_domain
from skitter.url.host import host_name

HEAD_ENTRIES = 100_000
"""How many waiting URLs are held in memory over all hosts."""

LONGEST_REST_MS = 26 * 3600 * 1000
UNSET = -1
"""A delay or concurrency of a host that no job has met yet."""

_JOB = b"job:"
_LAST_NUMBER = b"last-job"
_encode_job = msgspec.json.Encoder().encode
_decode_job = msgspec.json.Decoder(JobEntry).decode


class Registry:
    """Everything the frontier holds in memory by name."""

    def __init__(self) -> None:
        self.jobs: dict[JobNumber, JobEntry] = {}
        self.counts: dict[JobNumber, Counts] = {}
        self.domains: dict[tuple[JobNumber, str], Counts] = {}
        self.hosts: dict[HostKey, Host] = {}
        self.queues: dict[tuple[JobNumber, HostKey], Queue] = {}
        self.by_number: dict[int, Queue] = {}
        self.full: set[JobNumber] = set()
        """Jobs that have leased as many URLs as they want pages."""
        self.budget = HeadBudget(HEAD_ENTRIES)
        self.rules: Rules = NoRules()
        """How hosts are asked that are met for the first time."""
        self._last_number = 0
        self._next_host = 1
        self._next_queue = 1

    def load(self, rocks: Rocks, now_ms: int) -> None:
        """Rebuild from the stored rows; every gate rests at least its delay after a restart."""
        self._last_number = int.from_bytes(rocks.get(_LAST_NUMBER) or b"")
        for key, value in rocks.scan_meta(_JOB):
            self._add_job(JobNumber(int(key[len(_JOB) :])), _decode_job(value))
        numbered: dict[int, Host] = {}
        for key, value in rocks.scan("host", b""):
            row = unpack_host(value)
            host = Host(u32.unpack(key)[0], HostKey(row.name), row.delay_ms, row.per_host)
            host.stored_at_ms = row.next_at_ms
            host.stored_delay_ms = row.delay_ms
            host.floor_ms, host.held_until_ms = row.floor_ms, row.held_until_ms
            # A time beyond the longest back-off was written under a wrong clock.
            rests_until = min(row.next_at_ms, now_ms + LONGEST_REST_MS)
            # It may have been asked a moment before.
            host.asked_ms = now_ms
            host.next_at_ms = max(rests_until, now_ms + row.delay_ms)
            numbered[host.id] = self.hosts[host.name] = host
            self._next_host = max(self._next_host, host.id + 1)
        for key, value in rocks.scan("queue", b""):
            stored = unpack_queue(value)
            self._load_queue(u32.unpack(key)[0], stored, numbered[stored.host])

    def _load_queue(self, number: int, row: QueueRow, host: Host) -> None:
        queue = self._add_queue(number, host, row.job)
        if row.data:
            self.line(queue, PageClass.DATA).restore(row.data, row.data_urgency)
        if row.nav:
            self.line(queue, PageClass.NAV).restore(row.nav, row.nav_urgency)
        queue.scheduled, queue.done = row.scheduled, row.done
        queue.dead, queue.dropped = row.dead, row.dropped
        for counts in queue.counts:
            counts.queued += row.data + row.nav
            counts.scheduled += row.scheduled
            counts.done += row.done
            counts.dead += row.dead
            counts.dropped += row.dropped

    def _add_job(self, number: JobNumber, entry: JobEntry) -> None:
        self.jobs[number] = entry
        self.counts.setdefault(number, Counts())

    def job_number(self, job_id: str) -> JobNumber | None:
        """Return the number of a job id, if it is known."""
        return next((n for n, entry in self.jobs.items() if entry.id == job_id), None)

    def next_job_number(self) -> JobNumber:
        """Return a number for a job that is not known yet."""
        self._last_number = max(self._last_number, *self.jobs, 0) + 1
        return JobNumber(self._last_number)

    def set_job(self, number: JobNumber, entry: JobEntry) -> list[Host]:
        """Take over a job's entry and state; answers the hosts whose concurrency it changed."""
        before = self.jobs.get(number)
        self._add_job(number, entry)
        changed = []
        for queue in self.of_job(number):
            queue.running = self._runs(number)
            if before is not None and before.per_host != entry.per_host:
                queue.host.per_host = entry.per_host
                changed.append(queue.host)
        return changed

    def _runs(self, job: JobNumber) -> bool:
        return self.jobs[job].state is JobState.RUN and job not in self.full

    def set_full(self, job: JobNumber, *, full: bool) -> list[Host]:
        """Say whether a job wants no more URLs for now; answers the hosts this concerns."""
        (self.full.add if full else self.full.discard)(job)
        mine = list(self.of_job(job))
        for queue in mine:
            queue.running = self._runs(job)
        return [queue.host for queue in mine]

    def drop_job(self, job: JobNumber) -> None:
        """Forget a job whose URLs are gone; its hosts stay, for they keep their rest."""
        for queue in list(self.of_job(job)):
            queue.host.queues.remove(queue)
            del self.queues[job, queue.host.name]
            del self.by_number[queue.id]
        for key in [key for key in self.domains if key[0] == job]:
            del self.domains[key]
        self.jobs.pop(job, None)
        self.counts.pop(job, None)
        self.full.discard(job)

    def of_job(self, number: JobNumber) -> Iterator[Queue]:
        """Yield the queues of a job."""
        return (queue for queue in self.by_number.values() if queue.job == number)

    def queue(self, job: JobNumber, host: HostKey) -> Queue:
        """Return the queue of a host within a job, made on first use."""
        found = self.queues.get((job, host))
        if found is not None:
            return found
        if job not in self.jobs:
            raise FrontierError(f"there is no job number {job}")
        return self._add_queue(self._next_queue, self.host(host, self.jobs[job]), job)

    def _add_queue(self, number: int, host: Host, job: JobNumber) -> Queue:
        name = host_name(host.name)
        domain = registered_domain(name) or name
        kept = self.domains.setdefault((job, domain), Counts())
        queue = Queue(number, host, job, domain, (self.counts[job], kept))
        queue.running = self._runs(job)
        host.queues.append(queue)
        self.queues[job, host.name] = self.by_number[number] = queue
        self._next_queue = max(self._next_queue, number + 1)
        return queue

    def host(self, name: HostKey, entry: JobEntry | None = None) -> Host:
        """Return a host, made on first use; what was not set for it comes from its first job."""
        found = self.hosts.get(name)
        if found is None:
            found = self.hosts[name] = Host(self._next_host, name, UNSET, UNSET)
            self._next_host += 1
        if entry is not None and UNSET in (found.delay_ms, found.per_host):
            delay_ms, per_host, _ = self.rules(name)
            if found.delay_ms == UNSET:
                found.delay_ms = entry.delay_ms if delay_ms is None else delay_ms
            if found.per_host == UNSET:
                found.per_host = entry.per_host if per_host is None else per_host
        return found

    def line(self, queue: Queue, page_class: PageClass) -> Line:
        """Return a line of a queue, made on first use."""
        line = queue.line(page_class)
        if line is None:
            line = Line(queue.id, page_class, self.budget)
            if page_class is PageClass.NAV:
                queue.nav = line
            else:
                queue.data = line
        return line


def job_row(number: JobNumber, entry: JobEntry) -> tuple[bytes, bytes]:
    """Return key and value of a job's stored row."""
    return _JOB + str(number).encode(), _encode_job(entry)


def last_number_row(number: JobNumber) -> tuple[bytes, bytes]:
    """Return key and value that keep the number of a job from being used again."""
    return _LAST_NUMBER, u32.pack(number)


def host_row(host: Host) -> tuple[bytes, bytes]:
    """Return key and value of a host's stored row."""
    row = HostRow(
        FORMAT_VERSION,
        host.name,
        host.delay_ms,
        host.per_host,
        host.next_at_ms,
        host.floor_ms,
        host.held_until_ms,
    )
    return u32.pack(host.id), pack_row(row)
