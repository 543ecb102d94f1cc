"""Hosts, queues and jobs by name and number.

Hosts that have something to do are in memory, with their queues. The others sleep: of them there
are numbers, and rows on disk from which they are made when they are needed. Memory never follows
the URLs.
"""

from collections.abc import Callable, Iterable, Iterator

import msgspec

from skitter.errors import FrontierError
from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.asleep import Asleep
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

    def __init__(self, rocks: Rocks, now_ms: Callable[[], int]) -> None:
        self._rocks = rocks
        self._now_ms = now_ms
        self.opened_ms = now_ms()
        self.jobs: dict[JobNumber, JobEntry] = {}
        self.counts: dict[JobNumber, Counts] = {}
        self.domains: dict[tuple[JobNumber, str], Counts] = {}
        self.met: dict[JobNumber, int] = {}
        """How many hosts each job has met, also those that sleep."""
        self.hosts: dict[HostKey, Host] = {}
        self.queues: dict[tuple[JobNumber, HostKey], Queue] = {}
        self.by_number: dict[int, Queue] = {}
        """Of the three, those that are awake; all queues of a host are, or none."""
        self.asleep = Asleep()
        self.dropping: set[JobNumber] = set()
        """Jobs whose rows are being deleted: none may be written again."""
        self.full: set[JobNumber] = set()
        """Jobs that have leased as many URLs as they want pages."""
        self.budget = HeadBudget(HEAD_ENTRIES)
        self.rules: Rules = NoRules()
        """How hosts are asked, where an operator says so."""
        self._last_number = 0
        self._next_host = 1
        self._next_queue = 1

    def load(self) -> None:
        """Rebuild from the stored rows; only hosts with work are made."""
        rocks = self._rocks
        self._last_number = int.from_bytes(rocks.get(_LAST_NUMBER) or b"")
        for key, value in rocks.scan_meta(_JOB):
            self._add_job(JobNumber(int(key[len(_JOB) :])), _decode_job(value))
        busy = {row.host for _, row in self._queue_rows() if row.data or row.nav or row.scheduled}
        names: dict[int, HostKey] = {}
        for key, value in rocks.scan("host", b""):
            number, row = u32.unpack(key)[0], unpack_host(value)
            name = names[number] = HostKey(row.name)
            if number in busy:
                self.hosts[name] = self._make_host(number, row)
            else:
                self.asleep.lay(name, number)
            self._next_host = max(self._next_host, number + 1)
        for number, stored in self._queue_rows():
            self._load_queue(number, stored, names[stored.host])
            self._next_queue = max(self._next_queue, number + 1)

    def _queue_rows(self) -> Iterator[tuple[int, QueueRow]]:
        for key, value in self._rocks.scan("queue", b""):
            yield u32.unpack(key)[0], unpack_queue(value)

    def _make_host(self, number: int, row: HostRow) -> Host:
        """Make a host as it was stored; after a restart it rests its delay at least."""
        now_ms = self._now_ms()
        host = Host(number, HostKey(row.name), row.delay_ms, row.per_host)
        host.stored_at_ms = row.next_at_ms
        host.stored_delay_ms = row.delay_ms
        host.floor_ms, host.held_until_ms = row.floor_ms, row.held_until_ms
        # A time beyond the longest back-off was written under a wrong clock.
        rests_until = min(row.next_at_ms, now_ms + LONGEST_REST_MS)
        # It may have been asked a moment before the restart.
        host.asked_ms = max(self.opened_ms, min(row.next_at_ms - row.delay_ms, now_ms))
        host.next_at_ms = max(rests_until, self.opened_ms + row.delay_ms)
        return host

    def _load_queue(self, number: int, row: QueueRow, name: HostKey) -> None:
        self.met[row.job] += 1
        for counts in self._counted(row.job, name):
            counts.queued += row.data + row.nav
            counts.scheduled += row.scheduled
            counts.done += row.done
            counts.dead += row.dead
            counts.dropped += row.dropped
        host = self.hosts.get(name)
        if host is None:
            self.asleep.add_queue(name, row.job, number)
        else:
            self._restore_queue(number, host, row)

    def _restore_queue(self, number: int, host: Host, row: QueueRow) -> None:
        """Make a queue as it was stored; the job and the domain have counted it already."""
        queue = self._make_queue(number, host, row.job)
        if row.data:
            self.line(queue, PageClass.DATA).restore(row.data, row.data_urgency)
        if row.nav:
            self.line(queue, PageClass.NAV).restore(row.nav, row.nav_urgency)
        queue.scheduled, queue.done = row.scheduled, row.done
        queue.dead, queue.dropped = row.dead, row.dropped

    def put_to_sleep(self, hosts: Iterable[Host]) -> None:
        """Let hosts leave memory that have nothing to do and whose rows are as they are."""
        for host in hosts:
            pairs = [(queue.job, queue.id) for queue in host.queues]
            self.asleep.lay(host.name, host.id, pairs)
            del self.hosts[host.name]
            for job, number in pairs:
                del self.queues[job, host.name]
                del self.by_number[number]

    def shrink(self) -> None:
        """Give back the room of those who have gone: a dict alone keeps it."""
        self.hosts = dict(self.hosts)
        self.queues = dict(self.queues)
        self.by_number = dict(self.by_number)

    def awake(self, name: HostKey) -> Host | None:
        """Return a host with all its queues, woken if it sleeps; None when there is none."""
        found = self.hosts.get(name)
        if found is not None:
            return found
        numbers = self.asleep.numbers(name)
        if numbers is None:
            return None
        # Everything is read before anything changes: a disk may fail.
        row = self._rocks.get_one("host", u32.pack(numbers.host))
        if row is None:
            raise AssertionError(f"the row of {name}, which sleeps, is gone")
        rows = [(number, self._queue_row(job, number)) for job, number in numbers.queues]
        host = self.hosts[name] = self._make_host(numbers.host, unpack_host(row))
        self.asleep.wake(name)
        for number, stored in rows:
            self._restore_queue(number, host, stored)
        return host

    def _queue_row(self, job: JobNumber, number: int) -> QueueRow:
        """Return a stored queue; its row is gone while its job is being dropped."""
        row = self._rocks.get_one("queue", u32.pack(number))
        return QueueRow(FORMAT_VERSION, 0, job) if row is None else unpack_queue(row)

    def _add_job(self, number: JobNumber, entry: JobEntry) -> None:
        self.jobs[number] = entry
        self.counts.setdefault(number, Counts())
        self.met.setdefault(number, 0)

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
        differs = before is not None and before.per_host != entry.per_host
        if differs:
            for name in [name for name, _ in self.asleep.of_job(number)]:
                self.awake(name)
        changed = []
        for queue in self.of_job(number):
            queue.running = self._runs(number)
            # What an operator has set takes the place of what a job says.
            if differs and self.rules(queue.host.name).per_host is None:
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
        self.asleep.drop_job(job)
        for key in [key for key in self.domains if key[0] == job]:
            del self.domains[key]
        self.jobs.pop(job, None)
        self.counts.pop(job, None)
        self.met.pop(job, None)
        self.full.discard(job)
        self.dropping.discard(job)

    def of_job(self, number: JobNumber) -> Iterator[Queue]:
        """Yield the queues of a job that are awake; what waits is in those."""
        return (queue for queue in self.by_number.values() if queue.job == number)

    def numbers_of(self, job: JobNumber) -> list[int]:
        """Return the numbers of all queues of a job."""
        asleep = [number for _, number in self.asleep.of_job(job)]
        return [queue.id for queue in self.of_job(job)] + asleep

    def job_of(self, number: int) -> JobNumber | None:
        """Return whose queue has a number; None when its job is gone, or going."""
        queue = self.by_number.get(number)
        if queue is not None:
            return queue.job
        row = self._rocks.get_one("queue", u32.pack(number))
        return None if row is None else unpack_queue(row).job

    def numbered(self, number: int) -> Queue:
        """Return the queue of a number, woken if it sleeps."""
        queue = self.by_number.get(number)
        if queue is not None:
            return queue
        stored = self._rocks.get_one("queue", u32.pack(number))
        host = stored and self._rocks.get_one("host", u32.pack(unpack_queue(stored).host))
        if host:
            self.awake(HostKey(unpack_host(host).name))
        return self.by_number[number]

    def known_number(self, job: JobNumber, host: HostKey) -> int | None:
        """Return the number of a queue, if there is one; it is not woken."""
        queue = self.queues.get((job, host))
        return self.asleep.queue(job, host) if queue is None else queue.id

    def number(self, job: JobNumber, host: HostKey) -> int:
        """Return the number of a queue, which is made on first use but not woken."""
        queue = self.queues.get((job, host))
        if queue is not None:
            return queue.id
        return self.asleep.queue(job, host) or self.queue(job, host).id

    def queue(self, job: JobNumber, host: HostKey) -> Queue:
        """Return the queue of a host within a job, woken, or made on first use."""
        found = self.queues.get((job, host))
        if found is not None:
            return found
        if job not in self.jobs:
            raise FrontierError(f"there is no job number {job}")
        place = self.host(host, self.jobs[job])
        found = self.queues.get((job, host))
        if found is not None:
            return found
        self.met[job] += 1
        number, self._next_queue = self._next_queue, self._next_queue + 1
        return self._make_queue(number, place, job)

    def _make_queue(self, number: int, host: Host, job: JobNumber) -> Queue:
        queue = Queue(number, host, job, self._counted(job, host.name))
        queue.running = self._runs(job)
        host.queues.append(queue)
        self.queues[job, host.name] = self.by_number[number] = queue
        return queue

    def _counted(self, job: JobNumber, host: HostKey) -> tuple[Counts, Counts]:
        """Return the counters of a job, and of the domain of a host within it."""
        name = host_name(host)
        domain = registered_domain(name) or name
        kept = self.domains.get((job, domain))
        if kept is None:
            kept = self.domains[job, domain] = Counts()
        return self.counts[job], kept

    def host(self, name: HostKey, entry: JobEntry | None = None) -> Host:
        """Return a host, made on first use; what was not set for it comes from its first job."""
        found = self.awake(name)
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
