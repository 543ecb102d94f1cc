"""How fast each member is: the weights by which slots are shared out.

A member says in its beats how long it had as many URLs in hand as it can work on, how many visits
it ended in that time, and how long it had fewer. Only the first kind of time tells how fast it is.
So the window of measurement is ten minutes of *such* time: while a member has no backlog, what was
measured last stays what it is worth. Nothing here reads a clock.
"""

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median
from typing import NamedTuple

from skitter.frontier.members import Beat

LEAST, MOST = 0.1, 10.0
"""Of the mean: a member that does nothing keeps slots enough to be noticed when it goes on."""
HOPE = 1.5
"""How much faster than it was one may be that has time to spare while others cannot keep up.

Without that it would never get more to do, and so never be measured.
"""
FIRST_PART = 0.25
"""The part of the window after which the speed of one that is new is taken for what it is."""
_MARKS = 120
"""Steps in which the window slides."""


class _Mark(NamedTuple):
    """Where a member stood: seconds measured, and visits ended in them."""

    seconds: float
    visits: float


@dataclass(slots=True, eq=False)
class _Member:
    """What is known of one member."""

    beat: Beat
    known: float | None
    """Visits a second, from before anything was measured here."""
    now: _Mark
    marks: deque[_Mark]
    """Past marks, the first of them at the beginning of the window or before it."""

    def add(self, seconds: float, visits: float, window_s: float) -> None:
        """Count some time."""
        if seconds <= 0:
            return
        now = self.now = _Mark(self.now.seconds + seconds, self.now.visits + visits)
        marks = self.marks
        if now.seconds - marks[-1].seconds >= window_s / _MARKS:
            marks.append(now)
        while len(marks) > 1 and now.seconds - marks[1].seconds >= window_s:
            marks.popleft()

    @property
    def measured(self) -> _Mark:
        """What lies in the window."""
        first = self.marks[0]
        return _Mark(self.now.seconds - first.seconds, self.now.visits - first.visits)

    def speed(self, window_s: float, usual: float) -> float:
        """Return visits a second; what of the window is not measured counts as it was known.

        What is only supposed of one that is new counts for less than what somebody has measured.
        """
        seconds, visits = self.measured
        before, enough_s = self.known, window_s
        if before is None:
            before, enough_s = usual, window_s * FIRST_PART
        if seconds >= enough_s:
            return visits / seconds
        return (visits + before * (enough_s - seconds)) / enough_s

    def evidence(self, window_s: float) -> float | None:
        """Return visits a second, if anything is known."""
        if self.known is not None:
            return self.speed(window_s, self.known)
        seconds, visits = self.measured
        return visits / seconds if seconds else None


class Speeds:
    """Weights of members, made of what their beats say one after another.

    ``known`` has weights, in visits a minute, that were measured by somebody else before; 0 says
    that there is none.
    """

    def __init__(self, window_s: float, known: Mapping[str, float] | None = None) -> None:
        self._window_s = window_s
        self._known = {name: weight / 60 for name, weight in (known or {}).items() if weight > 0}
        self._members: dict[str, _Member] = {}

    def observe(self, beats: Iterable[Beat]) -> None:
        """Take in what members say of themselves at one moment."""
        busy_s, spare_s = 0.0, {}
        for beat in beats:
            member = self._members[beat.name] = self._met(beat)
            last, member.beat = member.beat, beat
            took = max(0.0, (beat.busy_ms - last.busy_ms) / 1000)
            member.add(took, beat.busy_visits - last.busy_visits, self._window_s)
            busy_s += took
            spare_s[beat.name] = max(0.0, (beat.spare_ms - last.spare_ms) / 1000)
        if not busy_s:
            return
        # The fewer are short of time, the less can be expected of those who are not.
        pressure = busy_s / (busy_s + sum(spare_s.values()))
        speeds = self._speeds(self._members)
        for name, seconds in spare_s.items():
            counted = seconds * pressure
            self._members[name].add(counted, counted * HOPE * speeds[name], self._window_s)

    def keep(self, names: Collection[str]) -> None:
        """Forget everyone else."""
        self._members = {name: self._members[name] for name in names if name in self._members}

    def _met(self, beat: Beat) -> _Member:
        """Return what is known of a member; a new process of an old name counts from nothing."""
        member = self._members.get(beat.name)
        if member is None:
            start = _Mark(0.0, 0.0)
            return _Member(beat, self._known.get(beat.name), start, deque([start]))
        if member.beat.session != beat.session:
            member.beat = beat
        return member

    def weights(self, names: Collection[str]) -> dict[str, float]:
        """Return visits a minute of these members; the usual number for one that is new."""
        speeds = self._speeds(names)
        mean = fmean(speeds.values()) if speeds else 0.0
        if not mean:
            return dict.fromkeys(names, 1.0)
        return {
            name: min(MOST * mean, max(LEAST * mean, speed)) * 60 for name, speed in speeds.items()
        }

    def known(self, names: Collection[str]) -> dict[str, float]:
        """Return the same for somebody else to go on with: 0 for one that was never measured."""
        weights = self.weights(names)
        return {name: 0.0 if self._evidence(name) is None else weights[name] for name in names}

    def _evidence(self, name: str) -> float | None:
        member = self._members.get(name)
        return self._known.get(name) if member is None else member.evidence(self._window_s)

    def _speeds(self, names: Iterable[str]) -> dict[str, float]:
        names = list(names)
        evidence = [speed for name in names if (speed := self._evidence(name)) is not None]
        usual = median(evidence) if evidence else 0.0
        return {name: self._speed(name, usual) for name in names}

    def _speed(self, name: str, usual: float) -> float:
        member = self._members.get(name)
        if member is None:
            return self._known.get(name, usual)
        return member.speed(self._window_s, usual)
