"""Which host is asked next: hosts are scheduled, not URLs. Pure; times are passed in.

A host is in at most one place: *resting* (a heap by next-allowed time), *ready* (a heap by the
urgency of its first URL, then by turn), or nowhere (no work, or as many requests in flight as it
allows). Moving a host leaves its old heap entry behind; a ticket tells the live one.
"""

from heapq import heappop, heappush

from skitter.frontier.embedded.lines import LAST_FRONT, RANK_BITS, RANK_MASK, Line
from skitter.frontier.model import SCORED_RANKS, Counts
from skitter.types import HostKey, JobNumber, PageClass

NAV_TURN = 4
"""An overdue nav page gets one claim in this many."""

TURNS_PER_RANK = 4
"""How many turns later a host is asked for every step that its first URL scores worse."""

_NOWHERE, _RESTING, _READY = 0, 1, 2


class Queue:
    """One host within one job."""

    __slots__ = (
        "counts",
        "data",
        "dead",
        "done",
        "dropped",
        "host",
        "id",
        "job",
        "leased_data",
        "leased_nav",
        "nav",
        "running",
        "scheduled",
        "turn",
    )

    def __init__(
        self, number: int, host: "Host", job: JobNumber, counts: tuple[Counts, Counts]
    ) -> None:
        self.id = number
        self.host = host
        self.job = job
        self.counts = counts
        """The kept counters of the job and of the domain within it."""
        self.running = True
        self.data: Line | None = None
        self.nav: Line | None = None
        self.leased_data = 0
        self.leased_nav = 0
        self.scheduled = 0
        self.done = 0
        self.dead = 0
        self.dropped = 0
        self.turn = 0

    def line(self, page_class: PageClass) -> Line | None:
        """Return the line of one class, if it was ever used."""
        return self.nav if page_class is PageClass.NAV else self.data

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits, is leased or comes later."""
        return not (self.waiting or self.leased_data or self.leased_nav or self.scheduled)

    @property
    def waiting(self) -> int:
        """URLs that could be handed out."""
        return (self.data.waiting if self.data else 0) + (self.nav.waiting if self.nav else 0)

    def next_line(self) -> Line | None:
        """Choose the line to serve: data first, but nav gets its turn."""
        data = self.data if self.data and self.data.waiting else None
        nav = self.nav if self.nav and self.nav.waiting else None
        if data is None or nav is None:
            return data or nav
        self.turn = (self.turn + 1) % NAV_TURN
        return nav if self.turn == 0 else data

    def front(self) -> int:
        """Return the urgency and rank of the best waiting URL, as one number."""
        data = self.data.front() if self.data and self.data.waiting else LAST_FRONT
        nav = self.nav.front() if self.nav and self.nav.waiting else LAST_FRONT
        return min(data, nav)


class Host:
    """One host's gate and the queues behind it."""

    __slots__ = (
        "asked_ms",
        "delay_ms",
        "drained_until_ms",
        "floor_ms",
        "held_since_ms",
        "held_until_ms",
        "id",
        "in_flight",
        "name",
        "next_at_ms",
        "per_host",
        "place",
        "queues",
        "ready_front",
        "rests_until_ms",
        "stored_at_ms",
        "stored_delay_ms",
        "ticket",
        "waiters",
    )

    def __init__(self, number: int, name: HostKey, delay_ms: int, per_host: int) -> None:
        self.id = number
        self.name = name
        self.delay_ms = delay_ms
        self.per_host = per_host
        self.next_at_ms = 0
        self.asked_ms = 0
        """When it was asked last, or answered, or is to be asked in a turn that was promised: what
        its delay counts from."""
        self.floor_ms = 0
        """Of the delay, what no setting goes below."""
        self.held_until_ms = 0
        """A back-off, which no change of the delay cuts short."""
        self.drained_until_ms = 0
        """Up to when its URLs are handed out without its gate: nothing is asked of it."""
        self.stored_at_ms = 0
        self.stored_delay_ms = -1
        """What the disk holds; -1 before the host was ever stored."""
        self.in_flight = 0
        self.queues: list[Queue] = []
        self.waiters: list[int] = []
        """Leases whose redirect waits for this gate, first come first served."""
        self.place = _NOWHERE
        self.ticket = 0
        self.ready_front = 0
        self.held_since_ms = 0
        """Since when it has been passed over for better hosts; 0 when it has not."""
        self.rests_until_ms = 0

    def best_queue(self) -> Queue | None:
        """Choose the queue to serve: most urgent first, in turns among equals."""
        queues = self.queues
        if len(queues) == 1:
            return queues[0] if queues[0].running and queues[0].waiting else None
        live = [queue for queue in queues if queue.running and queue.waiting]
        if not live:
            return None
        chosen = min(live, key=_urgency)
        queues.remove(chosen)
        queues.append(chosen)
        return chosen

    def front(self) -> int | None:
        """Return urgency and rank of the best URL that may be handed out; None without one."""
        best: int | None = None
        for queue in self.queues:
            if queue.running and queue.waiting:
                front = queue.front()
                best = front if best is None else min(best, front)
        return best


def _urgency(queue: Queue) -> int:
    return queue.front() >> RANK_BITS


class Agenda:
    """The hosts in order."""

    def __init__(self) -> None:
        self._resting: list[tuple[int, int, Host]] = []
        self._ready: list[tuple[int, int, int, Host]] = []
        self._turn = 0
        self.with_work = 0
        """Hosts that rest or are ready."""

    def lists(self, host: Host) -> bool:
        """Tell whether a host rests or is ready."""
        return host.place != _NOWHERE

    def enlist(self, host: Host, now_ms: int) -> None:
        """Put a host where it belongs; call after its work, gate or jobs changed."""
        drains = host.drained_until_ms > now_ms
        front = host.front() if drains or host.in_flight < host.per_host else None
        if front is None:
            self._withdraw(host)
        elif drains or host.next_at_ms <= now_ms:
            if host.place != _READY or front < host.ready_front:
                self._make_ready(host, front)
        elif host.place != _RESTING or host.rests_until_ms != host.next_at_ms:
            self._place(host, _RESTING)
            host.rests_until_ms = host.next_at_ms
            heappush(self._resting, (host.next_at_ms, host.ticket, host))

    def _make_ready(self, host: Host, front: int) -> None:
        self._place(host, _READY)
        host.ready_front = front
        # A worse score costs turns, so that such a host waits long but not for ever.
        rank = front & RANK_MASK
        late = rank * TURNS_PER_RANK if rank < SCORED_RANKS else 0
        heappush(self._ready, (front >> RANK_BITS, host.ticket + late, host.ticket, host))

    def _place(self, host: Host, place: int) -> None:
        if host.place == _NOWHERE:
            self.with_work += 1
        self._turn += 1
        host.ticket = self._turn
        host.place = place

    def _withdraw(self, host: Host) -> None:
        if host.place != _NOWHERE:
            self.with_work -= 1
            host.place = _NOWHERE
            host.ticket = 0

    def next_host(self, now_ms: int) -> Host | None:
        """Take the host to ask now out of the agenda; ``enlist`` it again afterwards."""
        self._wake(now_ms)
        while self._ready:
            _, _, ticket, host = heappop(self._ready)
            if host.ticket != ticket:
                continue
            self._withdraw(host)
            if not self._is_open(host, now_ms):
                self.enlist(host, now_ms)
                continue
            return host
        return None

    def _is_open(self, host: Host, now_ms: int) -> bool:
        """Tell whether a host that was made ready still is: it may have ceased to be drained."""
        if host.drained_until_ms > now_ms:
            return True
        return host.next_at_ms <= now_ms and host.in_flight < host.per_host

    def _wake(self, now_ms: int) -> None:
        resting = self._resting
        while resting and resting[0][0] <= now_ms:
            _, ticket, host = heappop(resting)
            if host.ticket == ticket:
                self._withdraw(host)
                self.enlist(host, now_ms)

    def next_time_ms(self, now_ms: int) -> int | None:
        """Return when the next host may be asked; None when no host has work it could give."""
        while self._ready and self._ready[0][3].ticket != self._ready[0][2]:
            heappop(self._ready)
        if self._ready:
            return now_ms
        while self._resting and self._resting[0][2].ticket != self._resting[0][1]:
            heappop(self._resting)
        return self._resting[0][0] if self._resting else None
