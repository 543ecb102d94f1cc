"""Which slots change hands so that everyone's share follows its weight; a pure function.

As few move as can: those of members that are gone, the share of one that is new, and what brings
those back to their shares who are off by more than a hundredth. Slots only ever go from one who has
too many to one who has too few, so nothing moves there and back.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skitter.cluster.packing import Passed, Table, hand_over, tidy
from skitter.url.partition import TAGS

TOLERANCE = 0.01
"""How far from its share a member may be, as a part of it; one slot is always tolerated."""

_Shares = NDArray[np.float64]


class Move(NamedTuple):
    """A slot that changes hands; ``""`` stands for nobody."""

    slot: int
    source: str
    target: str


def moves(
    old: Sequence[str], weights: Mapping[str, float], at_most: int | None = None
) -> list[Move]:
    """Return what has to move, by slot; ``old`` names the owner of every slot, or ``""``.

    Everyone with a weight is to own slots in proportion to it, nobody else. ``at_most`` bounds what
    moves between members that have slots already. The answer is the same for the same shares,
    whatever the order of ``weights``.
    """
    board = _Board(old, weights)
    counts = board.table[:-1].sum(axis=1)
    pool = int(board.table[-1].sum())
    give, take = _amounts(counts, board.shares, pool, len(old) if at_most is None else at_most)
    return board.carry_out(hand_over(board.table, [*give, pool], take))


def tidying(old: Sequence[str], weights: Mapping[str, float], at_most: int) -> list[Move]:
    """Return what may move so that members own slots in fewer tags, and each as many as before."""
    board = _Board(old, weights)
    return board.carry_out(tidy(board.table[:-1], at_most))


class _Board:
    """Slots by owner and tag; the last row has those of nobody who is there."""

    def __init__(self, old: Sequence[str], weights: Mapping[str, float]) -> None:
        names = sorted(weights)
        sizes = np.array([weights[name] for name in names])
        if not names or not np.isfinite(sizes).all() or not (sizes > 0).all():
            raise ValueError(f"weights {sizes.tolist()}; wanted numbers above 0, and any")
        self.shares: _Shares = len(old) * sizes / sizes.sum()
        self._names = names
        self._old = old
        row = {name: number for number, name in enumerate(names)}
        nobody = len(names)
        self._rows: Table = np.array([row.get(name, nobody) for name in old], dtype=np.int64)
        places = self._rows * TAGS + np.arange(len(old)) % TAGS
        cells = np.bincount(places, minlength=(nobody + 1) * TAGS)
        self.table: Table = cells.reshape(nobody + 1, TAGS).astype(np.int64)

    def carry_out(self, passed: Iterable[Passed]) -> list[Move]:
        """Choose slots for what is passed on; answer those that are another's then."""
        before = self._rows.copy()
        for source, target, tag, slots in passed:
            siblings = self._rows[tag::TAGS]
            siblings[np.flatnonzero(siblings == source)[-slots:]] = target
        return [
            Move(slot, self._old[slot], self._names[self._rows[slot]])
            for slot in np.flatnonzero(self._rows != before).tolist()
        ]


def _amounts(
    counts: Table, shares: _Shares, pool: int, at_most: int
) -> tuple[list[int], list[int]]:
    """Return how many slots each member gives and takes; those of nobody are given in any case."""
    surplus = counts - _whole(shares, counts)
    gap = counts - shares
    outside = np.abs(gap) > np.maximum(1.0, TOLERANCE * shares)
    new = counts == 0
    has_to_give = int(surplus[outside & (surplus > 0)].sum())
    has_to_take = -int(surplus[(outside | new) & (surplus < 0)].sum())
    at_once = max(0, -int(surplus[new].sum()) - pool)
    given = min(max(has_to_give, has_to_take - pool), at_once + at_most)
    off = gap / shares
    first_to_give = sorted(range(len(counts)), key=lambda row: (-off[row], row))
    first_to_take = sorted(range(len(counts)), key=lambda row: (not new[row], off[row], row))
    give = _dealt(np.maximum(surplus, 0).tolist(), first_to_give, given)
    return give, _dealt(np.maximum(-surplus, 0).tolist(), first_to_take, given + pool)


def _dealt(room: Sequence[int], order: Iterable[int], total: int) -> list[int]:
    """Share a total out among those who have room, the first in order first."""
    dealt = [0] * len(room)
    for row in order:
        dealt[row] = min(room[row], total)
        total -= dealt[row]
    return dealt


def _whole(shares: _Shares, counts: Table) -> Table:
    """Round shares so that their sum stays, and up where a slot need not move then."""
    floors = np.floor(shares).astype(np.int64)
    order = sorted(
        range(len(shares)),
        key=lambda row: (counts[row] <= floors[row], floors[row] - shares[row], row),
    )
    left = math.floor(shares.sum() + 0.5) - int(floors.sum())
    floors[order[:left]] += 1
    return floors
