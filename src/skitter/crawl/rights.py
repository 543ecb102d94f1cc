"""Whether this process may still act on a lease, asked right before every request.

A process that was paused, or cut off from the store, must not begin a request with rights that
have passed to another. Deadlines are counted on the boot clock from before the call that gave them,
and end a little early: no message has to arrive for them to hold.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from skitter.clock import Clock
from skitter.errors import LeaseLost
from skitter.frontier.base import Frontier
from skitter.frontier.model import Grant, Lease

SAFE_SHARE = 0.9
"""The part of a lease's time that is used."""


class Holdings(Protocol):
    """The slots this process owns."""

    @property
    def grants(self) -> Sequence[Grant]:
        """What may be claimed from at this moment."""

    @property
    def complete(self) -> bool:
        """Whether every slot is owned and claimed from here: nobody else can be at work, or will.

        Who still holds what another is to have does not see what waits there.
        """

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        """Tell whether a slot is owned under ``fence`` at this moment, by the local clock alone.

        A slot without fences is, when there was no break since its lease was asked for.
        """

    async def refresh(self) -> None:
        """Own anew what was refused as another's."""


class Rights:
    """The leases of one process and how long they last."""

    def __init__(self, holdings: Holdings, clock: Clock, lease_ms: int) -> None:
        self._holdings = holdings
        self._clock = clock
        self._lasts_s = lease_ms * SAFE_SHARE / 1000
        self._asked_at: dict[int, float] = {}

    def begin(self, leases: Iterable[Lease], asked_at: float) -> None:
        """Take note of leases that a call begun at ``asked_at`` gave or prolonged."""
        for lease in leases:
            self._asked_at[lease.id] = asked_at

    def end(self, lease: Lease) -> None:
        """Forget a lease."""
        self._asked_at.pop(lease.id, None)

    def check(self, lease: Lease) -> None:
        """Raise ``LeaseLost`` when the lease, or the slot it lies in, may be another's by now."""
        asked_at = self._asked_at.get(lease.id)
        if asked_at is None or self._clock.boot() >= asked_at + self._lasts_s:
            raise LeaseLost(f"the lease on {lease.url} has ended")
        if not self._holdings.holds(lease.slot, lease.fence, asked_at):
            raise LeaseLost(f"slot {lease.slot} of {lease.url} is not held any more")


class EverySlot:
    """Holdings where one store grants everything to everybody who asks: nobody has to share."""

    def __init__(self, frontier: Frontier, member: str) -> None:
        self._frontier = frontier
        self._member = member
        self._grants: list[Grant] = []

    async def refresh(self) -> None:
        """Own everything, at first and when the store was opened anew."""
        self._grants = (await self._frontier.own(self._member, range(1)))[:1]

    @property
    def grants(self) -> Sequence[Grant]:
        """The one grant that stands for all."""
        return self._grants

    @property
    def complete(self) -> bool:
        """Whether every slot is owned here."""
        return True

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        """Tell that a slot is owned: a lease alone decides here."""
        del slot, fence, asked_at
        return True
