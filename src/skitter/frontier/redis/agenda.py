"""Which tags are worth asking: what this member remembers of them, and how sure it can be.

A hint is exact when a script has just told it. Offers and acks of this member improve it; what
other members do is learned by asking anew, once a second. A hint that is too hopeful costs one
call, one that is too late costs that second.
"""

from collections.abc import Collection, Iterable

from skitter.frontier.model import SCORED_RANKS
from skitter.frontier.redis.wire import NEVER, RANK_BITS, Hint
from skitter.types import JobNumber

USUAL_URGENCY = 4
"""Of a tag whose hosts have rested: nobody has looked what they have."""
TURNS_PER_RANK = 4
_RANK_MASK = (1 << RANK_BITS) - 1


class _Tag:
    """What is remembered of one tag."""

    __slots__ = ("at_ms", "front", "heard", "jobs", "turn")

    def __init__(self) -> None:
        self.at_ms = NEVER
        self.front = NEVER
        self.jobs: tuple[JobNumber, ...] = ()
        """Those that had something as urgent as the best host when a script told it last."""
        self.heard = float("-inf")
        """When a script told it last, in seconds of the boot clock."""
        self.turn = 0

    @property
    def urgency(self) -> int:
        """The urgency of the best host, as far as it is known."""
        return USUAL_URGENCY if self.front == NEVER else self.front >> RANK_BITS

    @property
    def lateness(self) -> int:
        """How many turns later it comes because its best URL scores worse."""
        rank = self.front & _RANK_MASK
        return rank * TURNS_PER_RANK if rank < SCORED_RANKS else 0


class Agenda:
    """The tags in which this member owns slots."""

    def __init__(self) -> None:
        self._tags: dict[int, _Tag] = {}
        self._turn = 0

    def keep(self, tags: Collection[int]) -> None:
        """Remember these tags and no others."""
        if self._tags.keys() != set(tags):
            self._tags = {tag: self._tags.get(tag) or _Tag() for tag in tags}

    @property
    def tags(self) -> set[int]:
        """The tags that are remembered."""
        return set(self._tags)

    def doubt(self, tags: Iterable[int]) -> None:
        """Believe nothing of some tags any more."""
        for tag in tags:
            if tag in self._tags:
                self._tags[tag] = _Tag()

    def learn(self, tag: int, hint: Hint, heard: float) -> None:
        """Take what a script told of a tag."""
        known = self._tags.get(tag)
        if known is not None:
            known.at_ms, known.front, known.jobs = hint
            known.heard = heard
            self._turn += 1
            known.turn = self._turn

    def improve(self, tag: int, hint: Hint) -> None:
        """Take what an offer or an ack told of some hosts of a tag."""
        known = self._tags.get(tag)
        if known is not None:
            known.at_ms = min(known.at_ms, hint.at_ms)
            known.front = min(known.front, hint.front)

    def unheard(self, since: float) -> list[int]:
        """Return the tags that no script has told of since a time."""
        return [tag for tag, known in self._tags.items() if known.heard <= since]

    def unknown(self) -> list[int]:
        """Return the tags that no script has told of ever."""
        return self.unheard(float("-inf"))

    def ready(self, now_ms: int) -> list[int]:
        """Return the most urgent of the tags that have something now, in the order of turns."""
        found = [(tag, known) for tag, known in self._tags.items() if known.at_ms <= now_ms]
        if not found:
            return []
        urgency = min(known.urgency for _, known in found)
        chosen = [(tag, known) for tag, known in found if known.urgency == urgency]
        chosen.sort(key=_by_turn)
        return [tag for tag, _ in chosen]

    def jobs(self, tag: int) -> tuple[JobNumber, ...]:
        """Return the jobs that have something in a tag, as far as it is known."""
        return self._tags[tag].jobs

    def urgency(self, tag: int) -> int:
        """Return the urgency of the best host of a tag, as far as it is known."""
        return self._tags[tag].urgency

    def next_ms(self) -> int | None:
        """Return when the next tag has something; None for never."""
        at_ms = min((known.at_ms for known in self._tags.values()), default=NEVER)
        return None if at_ms == NEVER else at_ms


def _by_turn(entry: tuple[int, _Tag]) -> int:
    known = entry[1]
    return known.turn + known.lateness
