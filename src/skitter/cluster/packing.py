"""Which slots change hands when it is settled how many: those that keep every member in few tags.

A member asks the store once per tag it owns slots in, again and again. A *piece* is what one member
owns in one tag; here the number of pieces is kept small. Rows are members, columns are tags, and
numbers are slots: which slots of a tag they are makes no difference.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.int64]

MOST_PIECES = 4
"""For each member, beside one for each tag: with more it is worth while to move slots for fewer."""
DEAREST = 32
"""Slots that may move so that there is one piece less."""
FARTHEST = 3
"""Other members that may take part in it."""


class Passed(NamedTuple):
    """Slots of one tag that go from one member to another."""

    source: int
    target: int
    tag: int
    slots: int


def hand_over(table: Table, give: Sequence[int], take: Sequence[int]) -> Iterator[Passed]:
    """Pass on as many slots as members give and take; ``table`` is brought up to date.

    Whole pieces go before parts of pieces, and to where the tag is known before elsewhere.
    """
    gives = np.array(give, dtype=np.int64)
    left = list(take)
    for target in sorted(range(len(left)), key=lambda row: (-left[row], row)):
        pieces = _pieces(table, gives) if left[target] else None
        while pieces and left[target]:
            passed = _best(table, gives, pieces, Passed(0, target, 0, left[target]))
            yield _pass_on(table, passed)
            gives[passed.source] -= passed.slots
            left[target] -= passed.slots


def _pieces(table: Table, gives: Table) -> tuple[Table, Table]:
    """Return rows and tags of what can be given."""
    givers = np.flatnonzero(gives)
    rows, tags = np.nonzero(table[givers])
    return givers[rows], tags


def _best(table: Table, gives: Table, pieces: tuple[Table, Table], wanted: Passed) -> Passed:
    """Choose what to pass on to the target of ``wanted``, and not more than that."""
    rows, tags = pieces
    held = table[pieces]
    slots = np.minimum(np.minimum(held, gives[rows]), wanted.slots)
    fewer = (slots == held).astype(np.int64) + (table[wanted.target, tags] > 0)
    # A part is cut off the smallest piece that has it: large ones are worth keeping whole.
    height = int(held.max()) + 1
    merit = np.where(slots > 0, (fewer * height + slots) * height - held, -height)
    best = int(merit.argmax())
    return Passed(int(rows[best]), wanted.target, int(tags[best]), int(slots[best]))


def _pass_on(table: Table, passed: Passed) -> Passed:
    table[passed.source, passed.tag] -= passed.slots
    table[passed.target, passed.tag] += passed.slots
    return passed


def tidy(table: Table, most: int) -> Iterator[Passed]:
    """Pass slots round so that there are fewer pieces and everyone has as many slots as before.

    At most ``most`` slots are moved, the smallest pieces first. Each round of it leaves fewer
    pieces, so that it comes to an end.
    """
    left = most
    members, tags = table.shape
    enough = tags + MOST_PIECES * members
    while np.count_nonzero(table) > enough and (route := _cheapest(table, left)):
        for passed in route:
            yield _pass_on(table, passed)
            left -= passed.slots


def _cheapest(table: Table, most: int) -> list[Passed]:
    rows, tags = np.nonzero(table)
    sizes = table[rows, tags]
    for place in np.argsort(sizes, kind="stable").tolist():
        slots = int(sizes[place])
        members = min(FARTHEST, min(most, DEAREST) // slots - 1)
        if members < 1:
            return []
        if route := _route(table, int(rows[place]), int(tags[place]), slots, members):
            return route
    return []


def _route(table: Table, row: int, tag: int, slots: int, members: int) -> list[Passed]:
    """Return how a piece can be given away and its slots be had again in tags known already.

    The piece goes to another owner in its tag, who gives as many slots of another tag to one who
    owns some there, and so on, until they come back to the first; over so many at most.
    """
    holds, has_room = table > 0, table >= slots
    ends = holds[:, tag].copy()
    ends[row] = False
    origin = np.full(len(table), -1)
    origin[row] = row
    via = np.zeros(len(table), dtype=np.int64)
    front = np.array([row])
    for _ in range(members):
        reached: list[int] = []
        for member in front.tolist():
            known = np.flatnonzero(holds[member])
            known = known[known != tag]
            found = has_room[:, known].any(axis=1) & (origin < 0)
            for other in np.flatnonzero(found).tolist():
                origin[other] = member
                via[other] = known[has_room[other, known].argmax()]
                reached.append(other)
        front = np.array(reached, dtype=np.int64)
        last = front[ends[front]]
        if last.size:
            return _steps(origin, via, Passed(row, int(last[0]), tag, slots))
    return []


def _steps(origin: Table, via: Table, first: Passed) -> list[Passed]:
    steps = [first]
    member = first.target
    while member != first.source:
        before = int(origin[member])
        steps.append(Passed(member, before, int(via[member]), first.slots))
        member = before
    return steps
