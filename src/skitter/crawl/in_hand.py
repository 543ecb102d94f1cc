"""The leases a process has in hand: waiting for a worker, being visited, or on their way back."""

import asyncio
from collections import deque
from collections.abc import Collection, Container, Iterable, Iterator
from contextlib import contextmanager

from skitter.crawl.rights import Rights
from skitter.errors import LeaseLost
from skitter.frontier.model import Lease
from skitter.types import Fingerprint, JobNumber


class InHand:
    """What is leased to this process, until it is acked or lost."""

    def __init__(self, rights: Rights | None) -> None:
        self._rights = rights
        self._visits: dict[int, asyncio.Task[None]] = {}
        self._aborted: set[int] = set()
        self._returned: list[Lease] = []
        self._urls: set[tuple[JobNumber, Fingerprint]] = set()
        self.live: dict[int, Lease] = {}
        """Every lease that has not ended."""
        self.waiting: deque[Lease] = deque()
        """Those that no worker has begun with."""

    def begin(self, lease: Lease) -> bool:
        """Take a lease in hand, for a worker to begin with; False when its URL is in hand already.

        A store that lost its last second, in a failover, may lease what it had leased before.
        """
        url = (lease.job, lease.fp)
        if url in self._urls:
            return False
        self._urls.add(url)
        self.live[lease.id] = lease
        self.waiting.append(lease)
        return True

    def secure(self, leases: Iterable[Lease], asked_at: float) -> None:
        """Count the time of leases that a call begun at ``asked_at`` gave or prolonged."""
        if self._rights is not None:
            self._rights.begin(leases, asked_at)

    def end(self, lease: Lease) -> None:
        """Let go of a lease that was acked or lost."""
        if self.live.pop(lease.id, None) is not None:
            self._urls.discard((lease.job, lease.fp))
        if self._rights is not None:
            self._rights.end(lease)

    @contextmanager
    def visiting(self, lease: Lease) -> Iterator[None]:
        """Let a visit be broken off while the block runs; ``LeaseLost`` is raised when it was."""
        task = asyncio.current_task()
        assert task is not None
        self._visits[lease.id] = task
        try:
            yield
        except asyncio.CancelledError:
            # The run may have been stopped in the same moment.
            if lease.id not in self._aborted or task.uncancel():
                raise
            raise LeaseLost(f"the lease on {lease.url} has ended") from None
        finally:
            del self._visits[lease.id]
            self._aborted.discard(lease.id)

    def lose(self, lease: Lease) -> None:
        """Let go of a lease whose visit was not allowed to go on.

        The right to it may come back with an answer that is under way: unless the store hears of
        it, the URL and its host wait until the lease runs out.
        """
        if lease not in self._returned:
            self._returned.append(lease)
        self.end(lease)

    def drop(self, lease: Lease) -> None:
        """Give up a lease that has ended in the store; its visit is broken off."""
        if self._rights is not None:
            self._rights.end(lease)
        if self._break_off(lease):
            return
        if lease in self.waiting:
            self.waiting.remove(lease)
            self.end(lease)

    def abort(self, slots: Collection[int]) -> None:
        """Give up what lies in slots that may be another's by now.

        What was visited already stays: its ack tells whether it still counts.
        """
        for lease in [one for one in self.live.values() if one.slot in slots]:
            # A visit that is broken off gives its lease back when its request has ended.
            if not self._break_off(lease):
                if lease in self.waiting:
                    self._returned.append(lease)
                self.drop(lease)

    def _break_off(self, lease: Lease) -> bool:
        task = self._visits.get(lease.id)
        if task is None:
            return False
        if lease.id not in self._aborted:
            self._aborted.add(lease.id)
            task.cancel()
        return True

    def take_returned(self) -> list[Lease]:
        """Return leases given up that the store may still count as ours."""
        returned, self._returned = self._returned, []
        return returned

    def take_waiting(self, jobs: Container[JobNumber] | None = None) -> list[Lease]:
        """Return the leases no worker has begun with, and let them go: all, or those of jobs."""
        unbegun = [lease for lease in self.waiting if jobs is None or lease.job in jobs]
        if unbegun:
            kept = [lease for lease in self.waiting if jobs is not None and lease.job not in jobs]
            self.waiting.clear()
            self.waiting.extend(kept)
        for lease in unbegun:
            self.end(lease)
        return unbegun

    @property
    def jobs(self) -> Collection[JobNumber]:
        """The jobs of which something is worked on."""
        return {lease.job for lease in self.live.values()}

    @property
    def slots(self) -> Collection[int]:
        """The slots in which something is worked on."""
        return {lease.slot for lease in self.live.values()}
