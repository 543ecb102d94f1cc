"""The events that pass one filter, and what of them a listener is sent when.

A listener is a place in its channel, nothing more. What it is sent next follows from that place,
so listeners who stand at the same place are sent the same bytes, and one who was slow, or comes
back, is soon where the others are. Every event is either sent or counted in the message after it.
"""

from collections import deque
from itertools import islice
from typing import Final, NamedTuple

from skitter.api.live.filters import Filter
from skitter.api.live.told import Told

KEPT: Final = 1_024
"""Events a channel remembers; a listener who is further behind loses the oldest."""
HELD: Final = 20
"""Events that may wait for their turn; of more than these, page after page is left out."""


class Piece(NamedTuple):
    """What a listener is sent at once."""

    data: bytes
    messages: int
    dropped: int
    place: int
    """Where the listener is afterwards."""


class Channel:
    """Events for one filter, numbered as they come."""

    def __init__(self, wanted: Filter) -> None:
        self.filter = wanted
        self.listeners = 0
        self._events: deque[Told] = deque(maxlen=KEPT)
        self._end = 0
        self._pieces: dict[tuple[int, int], Piece] = {}

    @property
    def end(self) -> int:
        """The place after everything that has happened."""
        return self._end

    def add(self, event: Told) -> None:
        """Take in an event that passes the filter."""
        self._events.append(event)
        self._end += 1
        self._pieces.clear()

    def piece(self, place: int, most: int) -> Piece:
        """Return what a listener at ``place`` is sent, if it may be ``most`` messages."""
        found = self._pieces.get((place, most))
        if found is None:
            found = self._pieces[place, most] = self._cut(place, most)
        return found

    def _cut(self, place: int, most: int) -> Piece:
        first = self._end - len(self._events)
        lost = max(0, first - place)
        start = place + lost
        waiting = list(islice(self._events, start - first, None))
        chosen = choose(waiting, most)
        if not chosen:
            return Piece(b"", 0, 0, place)
        data, passed = [], -lost
        for at in chosen:
            data.append(waiting[at].message(at - passed))
            passed = at + 1
        dropped = lost + passed - len(chosen)
        return Piece(b"".join(data), len(chosen), dropped, start + passed)


def choose(waiting: list[Told], most: int) -> list[int]:
    """Return which of the waiting events are sent now, in their order.

    While few wait, the oldest are sent and the others keep waiting. Of many, those that come
    often give way to those that are rare, and the oldest to the newest.
    """
    early = max(0, len(waiting) - HELD)
    rare = [at for at in range(early) if not waiting[at].is_often][:most]
    if rare:
        return rare
    return list(range(early, min(len(waiting), early + most)))
