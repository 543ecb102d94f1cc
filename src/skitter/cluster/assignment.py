"""Which member is to own which slot, as a pure function of who is there.

Every member has a place in every slot's order of preference, drawn by hashing, so that a member who
comes or goes moves its own share and hardly anything else. A bound keeps the dice from giving one
member much more than its share: a full member passes on the slots that lie farthest from it. That
is a matching of slots and members; it has one best solution, whatever order it is looked for in.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xxhash import xxh3_64_intdigest

BOUND = 1.05
"""How many times its fair share a member owns at most."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_MOST = 2.0**64

_Places = NDArray[np.int64]
_Distances = NDArray[np.float64]


class Move(NamedTuple):
    """A slot that changes hands; ``""`` stands for nobody."""

    slot: int
    source: str
    target: str


def share_out(
    slots: int,
    members: Sequence[str],
    weights: Mapping[str, float] | None = None,
    bound: float = BOUND,
) -> list[str]:
    """Return the owner of every slot; nothing for nobody.

    The order of ``members`` has no influence. A weight says how many times the share of a member
    of weight 1 one gets; a member without one has weight 1, one of weight 0 gets nothing.
    """
    names = sorted(set(members))
    if bound < 1:
        raise ValueError(f"bound {bound}; wanted 1 or more")
    if not names:
        return []
    sizes = np.array([1.0 if weights is None else weights.get(name, 1.0) for name in names])
    if not np.isfinite(sizes).all() or (sizes < 0).any() or not sizes.any():
        raise ValueError(f"weights {sizes.tolist()}; wanted numbers from 0, not all of them 0")
    owner = _match(_distances(slots, names, sizes), _room(slots, sizes, bound))
    return [names[place] for place in owner.tolist()]


def moves(old: Sequence[str], new: Sequence[str]) -> list[Move]:
    """Return the slots that change hands from one sharing out to another; ``old`` may be empty."""
    before = old or [""] * len(new)
    after = new or [""] * len(before)
    return [
        Move(slot, source, target)
        for slot, (source, target) in enumerate(zip(before, after, strict=True))
        if source != target
    ]


def _room(slots: int, sizes: NDArray[np.float64], bound: float) -> list[int]:
    """Return how many slots each member may own; enough for all together."""
    shares = (slots * sizes / sizes.sum()).tolist()
    return [max(math.floor(share * bound), math.ceil(share)) for share in shares]


def _distances(slots: int, names: Sequence[str], sizes: NDArray[np.float64]) -> _Distances:
    """Return how far each slot (row) is from each member (column); infinite for no weight.

    The distance is an exponential variable with the member's weight for its rate: the chance to be
    the nearest is then the member's share of all weights.
    """
    table = np.empty((slots, len(names)))
    counted = np.arange(1, slots + 1, dtype=np.uint64) * _STEP
    for place, name in enumerate(names):
        # One hash per member, stirred per slot: to hash every pair takes a hundred times longer.
        drawn = counted + np.uint64(xxh3_64_intdigest(name.encode()))
        drawn = (drawn ^ (drawn >> np.uint64(30))) * _MIX_1
        drawn = (drawn ^ (drawn >> np.uint64(27))) * _MIX_2
        drawn ^= drawn >> np.uint64(31)
        table[:, place] = -np.log1p(-np.minimum(drawn / _MOST, 1 - 2**-53))
    with np.errstate(divide="ignore"):
        table /= sizes
    return table


def _match(distances: _Distances, room: Sequence[int]) -> _Places:
    """Give every slot to the nearest member that keeps it; a full one keeps its nearest slots."""
    owner: _Places = distances.argmin(axis=1)
    full = np.flatnonzero(np.bincount(owner, minlength=len(room)) > np.array(room))
    while full.size:
        for place in full.tolist():
            held = np.flatnonzero(owner == place)
            order = np.argsort(distances[held, place], kind="stable")
            refused = held[order[room[place] :]]
            distances[refused, place] = np.inf
            owner[refused] = distances[refused].argmin(axis=1)
        full = np.flatnonzero(np.bincount(owner, minlength=len(room)) > np.array(room))
    return owner
