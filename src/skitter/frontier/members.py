"""What members know of each other, and the seam to the store that they share it in.

The table says who is there, who has control, and which slots control has given to whom. None of it
is the right to a slot: that is ``Frontier.own`` alone. So an answer that is out of date can make
work wait, and never make it happen twice. A back end is correct when it passes
``tests/contract/test_membership.py``.
"""

import sys
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

import msgspec

from skitter.errors import ConfigError

DEAD_MS = 4_000
"""A member that has been silent for this long is taken for dead."""
HEIR_MS = 2_000
"""A name whose session has been silent for this long may be taken by another one."""
FORGET_MS = 60_000
"""A member that has been silent for this long has left no trace in the table."""
_PLACE_BYTES = 2


class Beat(msgspec.Struct, frozen=True, kw_only=True):
    """What a member says of itself, about once a second."""

    name: str
    session: str
    """Drawn anew by every process, so that two of one name are told apart."""
    started_ms: int = 0
    node: str = ""
    """The machine it runs on."""
    pages: int = 0
    """Visits it has ended since it started."""
    leases: int = 0
    """URLs it works on."""
    busy_ms: int = 0
    """How long it has had as many URLs in hand as it can work on."""
    busy_visits: int = 0
    """Visits it has ended in that time."""
    spare_ms: int = 0
    """How long it has had fewer."""
    draining: bool = False
    """It is about to leave: nothing more is to be given to it."""


class Member(msgspec.Struct, frozen=True):
    """A member that is alive, as the store knows it."""

    beat: Beat
    silent_ms: int = 0
    """How long its last beat is past."""


class View(msgspec.Struct, frozen=True):
    """What is to be known at the moment of a beat."""

    members: tuple[Member, ...]
    """Those that are alive, by name; the one that beats is among them, or all there is."""
    plan_epoch: int
    """Of the plan in force; 0 when there is none."""
    control: str = ""
    """The session that has control; "" when nobody has."""
    inherited_ms: int | None = None
    """How long the earlier session was silent whose name this beat took; None for no such one."""
    whole: bool = True
    """Whether all are told of: to the one in control, and to everyone while nobody has it."""


class Plan(msgspec.Struct, frozen=True):
    """Which member is to own which slot."""

    epoch: int
    """Grows with every plan."""
    members: tuple[str, ...] = ()
    """Those among whom the slots were shared out, also if one got none."""
    places: bytes = b""
    """For each slot the place of its owner in ``members``, as a little-endian u16."""
    weights: tuple[float, ...] = ()
    """For each of ``members`` its weight in visits a minute, 0 for one that is not known; or none.

    Whoever has control next goes on from them.
    """

    @classmethod
    def of(
        cls,
        epoch: int,
        owners: Sequence[str],
        members: Collection[str],
        weights: Mapping[str, float] | None = None,
    ) -> "Plan":
        """Make a plan from the name of the owner of every slot."""
        names = tuple(sorted(set(members)))
        place = {name: number for number, name in enumerate(names)}
        places = _swapped(array("H", [place[name] for name in owners])).tobytes()
        sizes = tuple(round(weights.get(name, 0.0), 3) for name in names) if weights else ()
        return cls(epoch, names, places, sizes)

    def __len__(self) -> int:
        """Return the number of slots."""
        return len(self.places) // _PLACE_BYTES

    def slots_of(self, name: str) -> list[int]:
        """Return the slots that a member is to own, ascending; none if it is not in the plan."""
        if name not in self.members:
            return []
        wanted = self.members.index(name)
        return [slot for slot, place in enumerate(self._places()) if place == wanted]

    def owners(self) -> list[str]:
        """Return the name of the owner of every slot."""
        return [self.members[place] for place in self._places()]

    def known_weights(self) -> dict[str, float]:
        """Return the weights of those whose weight is known."""
        return {
            name: weight
            for name, weight in zip(self.members, self.weights, strict=False)
            if weight > 0
        }

    def _places(self) -> "array[int]":
        return _swapped(array("H", self.places))


class MemberTable(Protocol):
    """Where members meet. Every call may be repeated after a lost reply."""

    async def beat(self, beat: Beat) -> View:
        """Say that a member is alive, and learn who else is.

        Raises ``ConfigError`` when another session uses the name and was heard of lately.
        """

    async def leave(self, name: str, session: str) -> None:
        """Take a member out, and control from it; nothing happens if another has its name."""

    async def lead(self, session: str, ttl_ms: int) -> int:
        """Take or keep control; the answer is its epoch, or 0 when another session has it.

        The epoch grows whenever control was not held without a break.
        """

    async def publish(self, plan: Plan, epoch: int) -> bool:
        """Put a plan in force; False, and nothing changed, when it comes too late.

        That is when ``epoch`` is not that of the latest control, or when there is a plan as late.
        """

    async def plan(self) -> Plan:
        """Return the plan in force; one of epoch 0 for nobody when there is none."""


def name_taken(name: str, node: str) -> ConfigError:
    """Return what to say to a process that wants a name another one uses."""
    where = f" on {node}" if node else ""
    return ConfigError(
        f"member name {name!r}: another process{where} uses it; wanted a name of its own for each"
    )


def _swapped(places: "array[int]") -> "array[int]":
    """Bring places from or to the order of bytes they are kept in."""
    if sys.byteorder == "big":
        places.byteswap()
    return places
