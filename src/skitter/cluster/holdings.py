"""The slots that one member holds: until when, with which fences, and which it is to give back.

No clock and no store: what happens is told to it, so that every order of events can be tried out.
A slot is claimed from when it is held and wanted. One that is held and not wanted is *leaving*: it
is kept until nothing is worked on in it, so that the next owner does not fetch the same again.
"""

import math
from collections.abc import Collection, Iterable

from skitter.frontier.model import Grant
from skitter.url.partition import is_wide

LINGER_S = 0.3
"""How long a leaving slot is kept at least: a claim under way may still bring leases in it."""


class Holdings:
    """What one member owns, as far as it knows by itself."""

    def __init__(self) -> None:
        self._held: dict[int, Grant] = {}
        self._wanted: frozenset[int] = frozenset()
        self._leaving: dict[int, float] = {}
        """Slot to the time since which it is not wanted."""
        self._until = 0.0
        self._since = 0.0
        """When the time began over which something was held without a break."""
        self._fences: dict[int, int] = {}
        """Of the slots in ``grants``."""
        self.grants: tuple[Grant, ...] = ()
        """What may be claimed from. The same object as long as slots and fences stay the same."""
        self.version = 0
        """Grows whenever ``grants`` changes."""

    def __len__(self) -> int:
        return len(self._held)

    @property
    def held(self) -> list[Grant]:
        """All that is held, by slot."""
        return [self._held[slot] for slot in sorted(self._held)]

    @property
    def until(self) -> float:
        """When all that is held lapses unless it is renewed before."""
        return self._until

    @property
    def missing(self) -> bool:
        """Whether something that is wanted is not held."""
        return not self._wanted <= self._held.keys()

    @property
    def leaving(self) -> bool:
        """Whether something is held that is not wanted."""
        return bool(self._leaving)

    def holds(
        self, now: float, slot: int, fence: int | None = None, asked_at: float = math.inf
    ) -> bool:
        """Tell whether a slot is held at a moment, under that fence if one is given.

        A wide one has no fence and is everybody's who holds anything. There a lease decides, and it
        may be another's if there was a break since ``asked_at``, when it was asked for.
        """
        if now >= self._until:
            return False
        if is_wide(slot):
            return asked_at >= self._since
        grant = self._held.get(slot)
        return grant is not None and fence in (None, grant.fence)

    def want(self, slots: Iterable[int], now: float) -> None:
        """Say which slots are to be owned from here on."""
        self._wanted = frozenset(slots)
        self._settle(now)

    def asked(self) -> list[int]:
        """Return the slots to take or to keep, ascending."""
        return sorted(self._wanted | self._leaving.keys())

    def renew(
        self, grants: Iterable[Grant], until: float, now: float, busy: Collection[int] = ()
    ) -> set[int]:
        """Take in the answer to ``asked``; answer the slots whose earlier right has ended.

        An answer that took longer than it is good for gives nothing.
        """
        if now >= self._until:
            self._since = now
        lost = self.lapse(now, busy)
        answer = {grant.slot: grant for grant in grants} if now < until else {}
        for slot, grant in self._held.items():
            if slot not in answer or answer[slot].fence != grant.fence:
                lost.add(slot)
        self._held = answer
        self._until = until
        self._settle(now)
        return lost

    def lapse(self, now: float, busy: Collection[int] = ()) -> set[int]:
        """Let everything go if its time is over; answer what was held, and busy wide slots."""
        return self.drop(busy) if now >= self._until else set()

    def drop(self, busy: Collection[int] = ()) -> set[int]:
        """Let everything go without giving it back; answer what was held, and busy wide slots."""
        lost = {*self._held, *filter(is_wide, busy)}
        self._held = {}
        self._until = 0.0
        self._settle(0.0)
        return lost

    def give_back(
        self, now: float, busy: Collection[int], drain_s: float
    ) -> tuple[list[Grant], set[int]]:
        """Let leaving slots go; answer their grants, and those in which work is cut off.

        A busy one is kept until its ``drain_s`` are over. So is the last one of all while a wide
        one is busy: who holds nothing is gone, and others get what it has in wide slots.
        """
        wide = set(filter(is_wide, busy))
        last: int | None = None
        if wide and self._leaving and len(self._leaving) == len(self._held):
            last = max(self._leaving, key=self._leaving.__getitem__)
        over: set[int] = set()
        cut: set[int] = set()
        for slot, since in self._leaving.items():
            if slot not in busy and slot != last:
                if now >= since + LINGER_S:
                    over.add(slot)
            elif now >= since + drain_s:
                cut.add(slot)
        returned = [self._held.pop(slot) for slot in sorted(over | cut)]
        for grant in returned:
            del self._leaving[grant.slot]
        return returned, cut | wide if last in cut else cut

    def _settle(self, now: float) -> None:
        """Bring ``leaving`` and ``grants`` in line with what is held and wanted."""
        self._leaving = {
            slot: self._leaving.get(slot, now) for slot in self._held if slot not in self._wanted
        }
        fences = {slot: grant.fence for slot, grant in self._held.items() if slot in self._wanted}
        if fences != self._fences:
            self._fences = fences
            self.grants = tuple(self._held[slot] for slot in sorted(fences))
            self.version += 1
