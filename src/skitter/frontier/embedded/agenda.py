"""Which host is asked next: hosts are scheduled, not URLs. Pure; times are passed in.

A host is in at most one place: *resting* (a heap by next-allowed time), *ready*, or nowhere (no
work, or as many requests in flight as it allows). Moving a host leaves its old heap entry behind; a
ticket tells the live one.

The queues of a ready host are listed in lanes: one for each job and urgency, in which hosts come in
turns. Of the most urgent lanes the one is served that was served least, so jobs of one priority get
equal shares however many hosts each of them has. A lane that was empty for a while is not owed for
that time: it begins where the others are.
"""

from heapq import heappop, heappush, heapreplace

from skitter.frontier.embedded.lines import (
    LAST_FRONT,
    LEAST_URGENT,
    RANK_BITS,
    RANK_MASK,
    Line,
)
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
        "lane",
        "leased_data",
        "leased_nav",
        "listed",
        "nav",
        "ready_front",
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
        self.lane: Lane | None = None
        """Where it waits for its turn while its host is ready."""
        self.listed = 0
        """The turn it was given there."""
        self.ready_front = 0

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


class Lane:
    """The ready queues of one job whose first URLs are equally urgent, in the order of turns."""

    __slots__ = ("heap", "job", "listed", "ordered", "served", "urgency")

    def __init__(self, urgency: int, job: JobNumber) -> None:
        self.urgency = urgency
        self.job = job
        self.heap: list[tuple[int, int, Queue]] = []
        self.listed = 0
        """How many queues wait in it."""
        self.served = 0
        """How often it was served, and what it was let off while it was empty."""
        self.ordered = False
        """Whether it has an entry among the lanes."""


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
        self.held_since_ms = 0
        """Since when it has been passed over for better hosts; 0 when it has not."""
        self.rests_until_ms = 0

    @property
    def has_work(self) -> bool:
        """Whether there is a URL that may be handed out."""
        return any(queue.running and queue.waiting for queue in self.queues)

    def front(self) -> int | None:
        """Return urgency and rank of the best URL that may be handed out; None without one."""
        best: int | None = None
        for queue in self.queues:
            if queue.running and queue.waiting:
                front = queue.front()
                best = front if best is None else min(best, front)
        return best


class Agenda:
    """The hosts in order."""

    def __init__(self) -> None:
        self._resting: list[tuple[int, int, Host]] = []
        self._lanes: dict[tuple[int, JobNumber], Lane] = {}
        self._order: list[tuple[int, int, JobNumber, Lane]] = []
        """Lanes by urgency, then by how often they were served; an entry may say too little."""
        self._begun = [0] * (LEAST_URGENT + 1)
        """By urgency: how often the lane was served that was served last."""
        self._turn = 0
        self.with_work = 0
        """Hosts that rest or are ready."""

    def lists(self, host: Host) -> bool:
        """Tell whether a host rests or is ready."""
        return host.place != _NOWHERE

    def enlist(self, host: Host, now_ms: int) -> None:
        """Put a host where it belongs; call after its work, gate or jobs changed."""
        drains = host.drained_until_ms > now_ms
        if not (drains or host.in_flight < host.per_host) or not host.has_work:
            self._withdraw(host)
        elif drains or host.next_at_ms <= now_ms:
            self._make_ready(host)
        elif host.place != _RESTING or host.rests_until_ms != host.next_at_ms:
            self._place(host, _RESTING)
            host.rests_until_ms = host.next_at_ms
            heappush(self._resting, (host.next_at_ms, host.ticket, host))

    def _make_ready(self, host: Host) -> None:
        if host.place != _READY:
            self._place(host, _READY)
        for queue in host.queues:
            if not (queue.running and queue.waiting):
                self._unlist(queue)
            elif queue.lane is None or queue.front() < queue.ready_front:
                self._list(queue)

    def _list(self, queue: Queue) -> None:
        """Let a queue wait for its turn, in the lane of its first URL."""
        self._unlist(queue)
        front = queue.ready_front = queue.front()
        lane = queue.lane = self._lane(front >> RANK_BITS, queue.job)
        lane.listed += 1
        self._turn += 1
        queue.listed = self._turn
        # A worse score costs turns, so that such a host waits long but not for ever.
        rank = front & RANK_MASK
        late = rank * TURNS_PER_RANK if rank < SCORED_RANKS else 0
        heappush(lane.heap, (self._turn + late, self._turn, queue))

    def _lane(self, urgency: int, job: JobNumber) -> Lane:
        """Return a lane that something is to be listed in."""
        lane = self._lanes.get((urgency, job))
        if lane is None:
            lane = self._lanes[urgency, job] = Lane(urgency, job)
        if not lane.listed:
            lane.served = max(lane.served, self._begun[urgency])
            if not lane.ordered:
                lane.ordered = True
                heappush(self._order, (urgency, lane.served, job, lane))
        return lane

    def _unlist(self, queue: Queue) -> None:
        lane = queue.lane
        if lane is not None:
            lane.listed -= 1
            if not lane.listed:
                lane.heap.clear()
            queue.lane = None
            queue.listed = 0

    def _place(self, host: Host, place: int) -> None:
        if host.place == _NOWHERE:
            self.with_work += 1
        elif host.place == _READY:
            self._unlist_all(host)
        self._turn += 1
        host.ticket = self._turn
        host.place = place

    def _withdraw(self, host: Host) -> None:
        if host.place != _NOWHERE:
            self._unlist_all(host)
            self.with_work -= 1
            host.place = _NOWHERE
            host.ticket = 0

    def _unlist_all(self, host: Host) -> None:
        for queue in host.queues:
            self._unlist(queue)

    def next_turn(self, now_ms: int) -> Queue | None:
        """Take the host to ask now out of the agenda; ``enlist`` it again afterwards.

        Answers the queue of that host whose turn it is.
        """
        self._wake(now_ms)
        while lane := self._best_lane():
            _, turn, queue = heappop(lane.heap)
            if queue.listed != turn:
                continue
            host = queue.host
            self._withdraw(host)
            if not self._is_open(host, now_ms) or not (queue.running and queue.waiting):
                self.enlist(host, now_ms)
                continue
            self._begun[lane.urgency] = lane.served
            lane.served += 1
            return queue
        return None

    def _best_lane(self) -> Lane | None:
        """Return the lane to serve: most urgent first, then the one that was served least."""
        order = self._order
        while order:
            urgency, served, job, lane = order[0]
            if not lane.listed:
                heappop(order)
                lane.ordered = False
            elif served != lane.served:
                heapreplace(order, (urgency, lane.served, job, lane))
            else:
                return lane
        return None

    def forget(self, job: JobNumber) -> None:
        """Forget the lanes of a job that has nothing left."""
        for key in [key for key, lane in self._lanes.items() if lane.job == job]:
            if not self._lanes[key].listed:
                del self._lanes[key]

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
        if self._best_lane() is not None:
            return now_ms
        while self._resting and self._resting[0][2].ticket != self._resting[0][1]:
            heappop(self._resting)
        return self._resting[0][0] if self._resting else None
