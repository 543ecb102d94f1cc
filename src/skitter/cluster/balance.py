"""When slots are to move, and how many at a time: what control remembers between two plans.

Who is there decides at once: slots of one that is gone go to others, and one that is new gets its
share, because it has nothing to do until then. Weights decide slowly, so that a slot is not moved
for a speed that does not last. Time is told to it.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from skitter.cluster.speeds import Speeds
from skitter.frontier.members import Beat, Plan

if TYPE_CHECKING:
    from skitter.cluster.assignment import Move

WINDOW_S = 600.0
"""The time over which speed is measured; everything else here is a part of it."""
MOVED = 0.02
"""The part of all slots that may move in a tenth of the window, for weights alone."""
TIDIED = 0.01
"""The part of it that may move so that members own slots in fewer tags."""


class Sharing(NamedTuple):
    """How the slots are to be shared out."""

    owners: Sequence[str]
    weights: Mapping[str, float]
    """Visits a minute of each member; 0 for one that was never measured."""
    moved: int


class Balance:
    """Decides on the next plan. It goes on from the plan in force, whoever made that."""

    def __init__(self, slots: int, plan: Plan, now: float, window_s: float = WINDOW_S) -> None:
        self._slots = slots
        self._minute_s = window_s / 10
        self._step_s = window_s / 40
        self._speeds = Speeds(window_s, plan.known_weights())
        # An earlier control may just have moved as much as may be moved.
        self._spent = deque([(now, slots)])
        self._looked = now
        self._calm_since = now

    def observe(self, beats: Iterable[Beat]) -> None:
        """Take in what members say of their work."""
        self._speeds.observe(beats)

    def is_due(self, now: float) -> bool:
        """Tell whether it is time to look at the weights again."""
        return now - self._looked >= self._step_s

    def share_anew(self, plan: Plan, names: Sequence[str], now: float) -> Sharing:
        """Share the slots out among those who are there, and move nothing else."""
        from skitter.cluster.assignment import moves  # noqa: PLC0415  numpy takes long to load

        self._calm_since = now
        self._speeds.keep(names)
        # Slots that were planned for another number of them are as good as nobody's.
        old = plan.owners() if len(plan) == self._slots else [""] * self._slots
        return self._shared(old, moves(old, self._speeds.weights(names), 0), names)

    def follow_speeds(self, plan: Plan, now: float) -> Sharing | None:
        """Bring shares in line with weights if they are off, a little at a time."""
        from skitter.cluster.assignment import moves, tidying  # noqa: PLC0415  as above

        self._looked = now
        while self._spent and now - self._spent[0][0] >= self._minute_s:
            self._spent.popleft()
        spent = sum(moved for _, moved in self._spent)
        room = int(self._slots * MOVED) - spent
        if room <= 0:
            return None
        old, weights = plan.owners(), self._speeds.weights(plan.members)
        found = moves(old, weights, room)
        if not found and not spent and now - self._calm_since >= self._minute_s:
            found = tidying(old, weights, int(self._slots * TIDIED))
        if not found:
            return None
        self._spent.append((now, len(found)))
        return self._shared(old, found, plan.members)

    def _shared(self, old: Sequence[str], found: "Sequence[Move]", names: Sequence[str]) -> Sharing:
        owners = list(old)
        for move in found:
            owners[move.slot] = move.target
        return Sharing(owners, self._speeds.known(names), len(found))
