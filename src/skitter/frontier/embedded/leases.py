"""The leases of this process, and when they end. In memory only: a restart ends them all."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush

from skitter.frontier.embedded.agenda import Host, Queue
from skitter.frontier.embedded.layout import Record, rank_of
from skitter.frontier.model import Lease
from skitter.types import Fingerprint

SPARE_ENTRIES = 1000


class Held:
    """One lease as the frontier sees it."""

    __slots__ = (
        "enters_at",
        "expires_at",
        "gates",
        "key",
        "lease",
        "queue",
        "record",
        "rests_until_ms",
        "targets",
    )

    def __init__(self, lease: Lease, queue: Queue, key: bytes, record: Record) -> None:
        self.lease = lease
        self.queue = queue
        self.key = key
        self.record = record
        self.expires_at = lease.expires_at
        self.gates: list[Host] = [queue.host] if lease.gated else []
        """Hosts held in flight under this lease: its own, and those of redirect hops."""
        self.rests_until_ms = 0
        """Until when its own host rests for the request that this lease is for."""
        self.enters_at: dict[Host, int] = {}
        """When a hop's host may be asked."""
        self.targets: set[Fingerprint] = set()
        """The URLs that redirects led to, which nobody else is given before the lease ends."""


class LeaseBook:
    """Every live lease by id and by queue key."""

    def __init__(self, fence: int) -> None:
        self.fence = fence
        self._next_id = fence << 40
        self.by_id: dict[int, Held] = {}
        self.by_key: dict[bytes, Held] = {}
        self._expiry: list[tuple[float, int]] = []
        self._pinned: set[int] = set()

    def grant(
        self, queue: Queue, key: bytes, record: Record, expires_at: float, *, gated: bool = True
    ) -> Lease:
        """Lease one entry, with the gate of its host or without."""
        self._next_id += 1
        lease = Lease(
            self._next_id,
            record.url(queue.host.name),
            record.fp,
            queue.host.name,
            queue.job,
            record.slot,
            self.fence,
            record.page_class,
            record.priority,
            record.depth,
            record.attempts,
            record.lost,
            record.visit,
            record.referrer,
            record.found_s,
            expires_at,
            record.role,
            rank_of(key),
            gated,
            record.data,
        )
        held = Held(lease, queue, key, record)
        self.by_id[lease.id] = self.by_key[key] = held
        if len(self._expiry) > 2 * len(self.by_id) + SPARE_ENTRIES:
            # Ended leases leave their entry behind; long leases would gather them without end.
            self._expiry = [(h.expires_at, h.lease.id) for h in self.by_id.values()]
            heapify(self._expiry)
        else:
            heappush(self._expiry, (expires_at, lease.id))
        return lease

    def end(self, held: Held) -> None:
        """Remove a lease."""
        del self.by_id[held.lease.id]
        del self.by_key[held.key]

    def renew(self, lease_id: int, expires_at: float) -> bool:
        """Prolong a lease; False when it has ended."""
        held = self.by_id.get(lease_id)
        if held is None:
            return False
        if expires_at < held.expires_at:
            heappush(self._expiry, (expires_at, lease_id))
        held.expires_at = expires_at
        return True

    @contextmanager
    def pinned(self, lease_ids: Iterable[int]) -> Iterator[None]:
        """Let leases outlive their time while the block runs: what it writes names them."""
        pins = set(lease_ids)
        self._pinned |= pins
        try:
            yield
        finally:
            self._pinned -= pins

    def expired(self, boot: float) -> list[Held]:
        """Return the leases whose time is over."""
        over: dict[int, Held] = {}
        kept: list[tuple[float, int]] = []
        while self._expiry and self._expiry[0][0] <= boot:
            _, lease_id = heappop(self._expiry)
            held = self.by_id.get(lease_id)
            if held is not None and lease_id in self._pinned:
                kept.append((held.expires_at, lease_id))
            elif held is not None and held.expires_at <= boot:
                over[lease_id] = held
            elif held is not None:
                heappush(self._expiry, (held.expires_at, lease_id))
        for entry in kept:
            heappush(self._expiry, entry)
        return list(over.values())

    def next_expiry(self) -> float | None:
        """Return when the next lease may end, on the boot clock."""
        while self._expiry and self._expiry[0][1] not in self.by_id:
            heappop(self._expiry)
        return self._expiry[0][0] if self._expiry else None


def same_lease(held: Held | None, lease: Lease) -> bool:
    """Tell whether an ack's lease is the live one of that id."""
    return held is not None and held.lease.fp == lease.fp and held.lease.fence == lease.fence
