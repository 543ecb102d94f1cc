"""One atomic step: everything is decided and written first, then memory follows.

If the write fails nothing has happened, neither on disk nor in memory, so a full disk leaves the
frontier as it was.
"""

from collections.abc import Iterable, Mapping

from rocksdict import WriteBatch

from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.layout import FORMAT_VERSION, QueueRow, pack_row, u32
from skitter.frontier.embedded.lines import LEAST_URGENT, URGENCY_BYTE, Line
from skitter.frontier.embedded.registry import host_row
from skitter.frontier.embedded.rocks import Rocks
from skitter.types import JobNumber, PageClass


class Delta:
    """What one step adds to a queue's counters, by state."""

    __slots__ = ("data", "dead", "done", "dropped", "leased_data", "leased_nav", "nav", "scheduled")

    def __init__(self) -> None:
        self.data = self.nav = 0
        self.leased_data = self.leased_nav = 0
        self.scheduled = self.done = self.dead = self.dropped = 0

    def wait(self, page_class: PageClass, n: int) -> None:
        """Count URLs that begin (or, negative, cease) to wait."""
        if page_class is PageClass.NAV:
            self.nav += n
        else:
            self.data += n

    def lease(self, page_class: PageClass, n: int) -> None:
        """Count URLs that begin or cease to be leased."""
        if page_class is PageClass.NAV:
            self.leased_nav += n
        else:
            self.leased_data += n


class Change:
    """A step in the making."""

    def __init__(self, rocks: Rocks) -> None:
        self._rocks = rocks
        self._batch = WriteBatch(raw_mode=True)
        self._deltas: dict[Queue, Delta] = {}
        self._inserts: list[tuple[Line, bytes, bytes]] = []
        self._removals: list[tuple[Line, bytes]] = []
        self._hosts: set[Host] = set()
        self.fresh: set[bytes] = set()
        """Seen keys this step adds that a look at the disk would miss."""
        self.added: list[bytes] = []
        self.removed: list[bytes] = []
        """Keys that become known and unknown, where the seen-set is no rows."""
        self.tallies: dict[JobNumber, dict[str, int]] = {}
        """The totals of jobs as they are after this step."""
        self.uses_sequence = False
        self.earliest_due_ms: int | None = None

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write a value."""
        self._batch.put(key, value, self._rocks.handle[family])

    def put_meta(self, key: bytes, value: bytes) -> None:
        """Write a value of the meta family."""
        self._batch.put(key, value)

    def delete_meta(self, key: bytes) -> None:
        """Delete a value of the meta family."""
        self._batch.delete(key)

    def delete(self, family: str, key: bytes) -> None:
        """Delete a value."""
        self._batch.delete(key, self._rocks.handle[family])

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every key from ``start`` up to but not including ``end``."""
        self._batch.delete_range(start, end, self._rocks.handle[family])

    @property
    def queues(self) -> Iterable[Queue]:
        """The queues this step counts in."""
        return self._deltas

    def delta(self, queue: Queue) -> Delta:
        """Return the counters of a queue to be changed."""
        found = self._deltas.get(queue)
        if found is None:
            found = self._deltas[queue] = Delta()
        return found

    def insert(self, line: Line, key: bytes, record: bytes) -> None:
        """Queue an entry."""
        self.put("q", key, record)
        self._inserts.append((line, key, record))

    def remove(self, line: Line, key: bytes) -> None:
        """Take a waiting entry out of its line; its counters stay."""
        self.delete("q", key)
        self._removals.append((line, key))

    @property
    def moves(self) -> bool:
        """Whether a waiting entry changes its place."""
        return bool(self._removals)

    def save_host(self, host: Host) -> None:
        """Store a host's gate with this step."""
        self._hosts.add(host)

    def _most_urgent_inserts(self) -> dict[Line, int]:
        found: dict[Line, int] = {}
        for line, key, _ in self._inserts:
            found[line] = min(found.get(line, LEAST_URGENT), key[URGENCY_BYTE])
        return found

    @property
    def saves_hosts(self) -> bool:
        """Whether a gate is to be stored."""
        return bool(self._hosts)

    def commit(self) -> set[Host]:
        """Write the step, then let memory follow; answers the hosts whose work changed."""
        new = self._most_urgent_inserts()
        for queue, delta in self._deltas.items():
            self.put("queue", u32.pack(queue.id), _row(queue, delta, new))
            if queue.host.stored_delay_ms < 0:
                self._hosts.add(queue.host)
        for host in self._hosts:
            self.put("host", *host_row(host))
        self._rocks.write(self._batch)
        for host in self._hosts:
            host.stored_at_ms = host.next_at_ms
            host.stored_delay_ms = host.delay_ms
        for line, key in self._removals:
            line.remove(key)
        for line, key, record in self._inserts:
            line.insert(key, record)
        for queue, delta in self._deltas.items():
            _apply(queue, delta)
        return {queue.host for queue in self._deltas}


def _row(queue: Queue, delta: Delta, new: Mapping[Line, int]) -> bytes:
    data = queue.data.waiting if queue.data else 0
    nav = queue.nav.waiting if queue.nav else 0
    return pack_row(
        QueueRow(
            FORMAT_VERSION,
            queue.host.id,
            queue.job,
            data + queue.leased_data + delta.data + delta.leased_data,
            nav + queue.leased_nav + delta.nav + delta.leased_nav,
            queue.scheduled + delta.scheduled,
            queue.done + delta.done,
            queue.dead + delta.dead,
            queue.dropped + delta.dropped,
            _urgency(queue.data, new),
            _urgency(queue.nav, new),
        )
    )


def _urgency(line: Line | None, new: Mapping[Line, int]) -> int:
    if line is None:
        return LEAST_URGENT
    # Leased URLs wait again after a restart, so what was ever urgent here may be so again.
    return min(line.most_urgent, new.get(line, LEAST_URGENT))


def _apply(queue: Queue, delta: Delta) -> None:
    queue.leased_data += delta.leased_data
    queue.leased_nav += delta.leased_nav
    queue.scheduled += delta.scheduled
    queue.done += delta.done
    queue.dead += delta.dead
    queue.dropped += delta.dropped
    for counts in queue.counts:
        counts.queued += delta.data + delta.nav
        counts.leased += delta.leased_data + delta.leased_nav
        counts.scheduled += delta.scheduled
        counts.done += delta.done
        counts.dead += delta.dead
        counts.dropped += delta.dropped
