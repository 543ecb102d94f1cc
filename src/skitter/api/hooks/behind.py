"""How many events wait for each receiver, counted in a few reads for all of them together."""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from skitter.api.live.filters import Filter
from skitter.api.live.history import EventLog, read_events
from skitter.api.live.told import EventKey, Told, id_of, key_of

READ: Final = 1_000
"""Events in one read, and looked at for one receiver at least."""
MOST_READS: Final = 4


class Place(NamedTuple):
    """What a receiver wants, and the last event it knows of."""

    wanted: Filter
    after: str


async def count_waiting(log: EventLog, places: Sequence[Place]) -> list[int | None]:
    """Return how many events wait for each, as far as that was looked at; None where it was not.

    Who is up to date costs nothing. Those behind are walked past from the one furthest behind on,
    so that events which many wait for are read once.
    """
    latest = key_of(await log.latest_event()) or ()
    walk = _Walk([_Behind(place) for place in places])
    walk.skip_those_at(latest)
    for _ in range(MOST_READS):
        start = walk.start()
        if start is None:
            break
        rows = await log.events(id_of(start), READ)
        walk.take(read_events(rows), key_of(rows[-1][0]) or latest if rows else latest)
    return [one.count if one.looked else None for one in walk.every]


class _Behind:
    """One receiver, and what was found for it."""

    def __init__(self, place: Place) -> None:
        self.wanted = place.wanted
        self.key: EventKey = key_of(place.after) or ()
        self.count = 0
        self.looked = 0


class _Walk:
    """The way through the log, past all who are behind."""

    def __init__(self, every: list[_Behind]) -> None:
        self.every = every
        self._ahead: deque[_Behind] = deque()
        self._passed: list[_Behind] = []
        self._at: EventKey = ()

    def skip_those_at(self, latest: EventKey) -> None:
        """Leave out those for whom nothing waits."""
        for one in self.every:
            one.looked = READ if one.key >= latest else 0
        behind = (one for one in self.every if not one.looked)
        self._ahead.extend(sorted(behind, key=lambda one: one.key))

    def start(self) -> EventKey | None:
        """Return after which event to read on; None at the end."""
        if any(one.looked < READ for one in self._passed):
            return self._at
        return self._ahead[0].key if self._ahead else None

    def take(self, events: Sequence[Told], last: EventKey) -> None:
        """Count what was read, up to and with ``last``."""
        while self._ahead and self._ahead[0].key <= last:
            self._passed.append(self._ahead.popleft())
        self._at = last
        for one in self._passed:
            if one.looked >= READ:
                # What is read now may not follow on what was counted for it.
                continue
            newer = [event for event in events if event.key > one.key]
            one.count += sum(one.wanted.wants(event.facts) for event in newer)
            # A short read is the end of the log: there is nothing more to look at.
            one.looked += len(newer) if len(events) == READ else READ
