"""Relief for crowded slots: which hosts go to which members that have time to spare.

With ``picker = hash`` a host stays with the owner of its slot, come what may. With ``advanced``,
where an owner cannot keep up and large hosts share a slot, all but the largest of them go to
members that wait for work. They come back by themselves when they have nothing left. Nothing here
reads a clock or a store.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from skitter.frontier.members import Beat
from skitter.types import HostKey

MANY = 200
"""Waiting URLs that make a host large."""
MOST_MOVES = 8
"""Hosts that one member gives away at a time, so that it can be seen what comes of it."""
BUSY_SHARE, SPARE_SHARE = 0.8, 0.5


class Picker(StrEnum):
    """Who serves a host whose slot overflows."""

    HASH = "hash"
    ADVANCED = "advanced"


class Large(Protocol):
    """A host with many URLs that shares its slot with another one."""

    @property
    def slot(self) -> int:
        """The slot of them all."""

    @property
    def host(self) -> HostKey:
        """Its key."""

    @property
    def waiting(self) -> int:
        """URLs in its queues."""


class Move(NamedTuple):
    """A host that goes to whoever has a bucket."""

    host: HostKey
    bucket: int


class Efforts:
    """How busy members were between two looks at their beats."""

    def __init__(self) -> None:
        self._last: dict[str, Beat] = {}
        self._shares: dict[str, float] = {}

    def look(self, beats: Iterable[Beat]) -> None:
        """Take the present beats."""
        shares: dict[str, float] = {}
        last: dict[str, Beat] = {}
        for beat in beats:
            before = self._last.get(beat.session)
            if before is not None:
                busy = beat.busy_ms - before.busy_ms
                spare = beat.spare_ms - before.spare_ms
                if busy + spare > 0 and not beat.draining:
                    shares[beat.name] = busy / (busy + spare)
            last[beat.session] = beat
        self._last, self._shares = last, shares

    def busy(self) -> list[str]:
        """Return the members that had all they can do."""
        return sorted(name for name, share in self._shares.items() if share >= BUSY_SHARE)

    def idle(self) -> list[str]:
        """Return the members that had time to spare, those with most first."""
        found = sorted((share, name) for name, share in self._shares.items())
        return [name for share, name in found if share <= SPARE_SHARE]


def choose_moves(
    crowd: Sequence[Large], idle: Sequence[str], buckets: Mapping[str, Sequence[int]]
) -> list[Move]:
    """Give all but the largest host of each crowded slot to idle members, in turns.

    ``buckets`` are those of each member; one without any cannot be given a host.
    """
    takers = [name for name in idle if buckets.get(name)]
    if not takers:
        return []
    by_slot: dict[int, list[Large]] = {}
    for one in crowd:
        by_slot.setdefault(one.slot, []).append(one)
    surplus: list[Large] = []
    for hosts in by_slot.values():
        surplus += sorted(hosts, key=lambda one: (-one.waiting, one.host))[1:]
    surplus.sort(key=lambda one: (-one.waiting, one.host))
    moves: list[Move] = []
    for at, one in enumerate(surplus[:MOST_MOVES]):
        own = buckets[takers[at % len(takers)]]
        moves.append(Move(one.host, own[at // len(takers) % len(own)]))
    return moves
