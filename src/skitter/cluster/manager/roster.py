"""The workers one machine is to run: which wait, which run, and how the others ended.

No process and no file: what happens is told to it, so that every order of events can be tried out.
A worker that crashed rests for a while and keeps its room; no more than ``limit`` have room at a
time. Those that wait for room get it by priority, then by age.
"""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, Literal

import msgspec

from skitter.clock import Clock
from skitter.errors import ConfigError

ALL_KINDS: Final = "all"
KINDS: Final = (ALL_KINDS, "list", "site", "news", "web", "resolve")
"""What a worker is started for: every job, or those of one kind. A label, see decision 24."""
DEFAULT_PRIORITY: Final = 5
HIGHEST: Final = 9
MOST_WANTED: Final = 1_000
"""Workers that one machine lists as not ended, at most."""
KEPT: Final = 50
"""Ended workers that stay in the list."""
FIRST_REST_S: Final = 0.5
LONGEST_REST_S: Final = 30.0
CALM_S: Final = 60.0
"""A worker that lasted this long rests as after its first crash."""
LAST_WORDS_S: Final = 8.0
"""How long a process may outlive the manager that started it."""
ORPHAN_LOOK_S: Final = 0.3
"""Between looks at such a process."""
REFUSED: Final = 2
"""Exit code of a worker that cannot work as it was told."""


class State(StrEnum):
    """Where a worker is in its life."""

    WAITING = "waiting"
    """For room."""
    RESTING = "resting"
    """It crashed, and is about to be started again."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Its process is about to end for good."""
    FINISHED = "finished"


OPEN: Final = frozenset({State.WAITING, State.RESTING, State.RUNNING})
ROOMY: Final = frozenset({State.RESTING, State.RUNNING, State.STOPPING})
"""States that take up room."""
Origin = Literal["start", "order"]
"""Whether a worker came with the start of its manager, or by an order."""


class ListedWorker(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One worker, over all its processes."""

    id: int
    state: State = State.WAITING
    kind: str = ALL_KINDS
    priority: int = DEFAULT_PRIORITY
    """0 (last) to 9 (first): who is started first when there is room."""
    origin: Origin = "start"
    wanted: bool = True
    """Whether it is to run, now or after the next start of its manager."""
    follows: int = 0
    """The worker of an earlier manager that this one goes on for."""
    turn: int = 0
    """The number of the first of those it goes on for, its own if there is none: its age."""
    place: int = 0
    """The directory it works in; 0 before its first start."""
    arguments: tuple[str, ...] = ()
    """Of its last process."""
    added_ms: int = 0
    started_ms: int = 0
    """Of its last process."""
    ended_ms: int = 0
    starts: int = 0
    pid: int = 0
    """0 when there is no process, or none is known."""
    born: int = 0
    """When the system started that process: numbers of processes are used again."""
    ended: str = ""
    """Why its last process ended."""
    log: str = ""


class Stored(msgspec.Struct, kw_only=True):
    """A list as it is kept."""

    last_id: int = 0
    workers: tuple[ListedWorker, ...] = ()


IsAlive = Callable[[ListedWorker], bool]
Arguments = Callable[[ListedWorker], Iterable[str]]


def checked_kind(kind: str) -> str:
    """Return a kind of worker; raises ``ConfigError`` for one that is none."""
    if kind not in KINDS:
        raise ConfigError(f"kind {kind!r}; wanted {', '.join(KINDS[:-1])} or {KINDS[-1]}")
    return kind


def checked_priority(priority: int) -> int:
    """Return a priority; raises ``ConfigError`` for one out of range."""
    if not 0 <= priority <= HIGHEST:
        raise ConfigError(f"priority {priority}; wanted 0 (last) to {HIGHEST} (first)")
    return priority


class Roster:
    """The list of one machine."""

    def __init__(
        self, limit: int, clock: Clock, log_of: Callable[[int], str] = lambda number: ""
    ) -> None:
        self.limit = limit
        """Processes at a time, at most."""
        self._clock = clock
        self._log_of = log_of
        self._last_id = 0
        self._workers: dict[int, ListedWorker] = {}
        self._rests: dict[int, float] = {}
        """How long a worker rests after its next crash."""
        self._until: dict[int, float] = {}
        """Boot time at which a rest is over, or a process nobody can see has surely ended."""

    @property
    def workers(self) -> Sequence[ListedWorker]:
        """All that are listed, by age of their numbers."""
        return tuple(self._workers.values())

    def worker(self, number: int) -> ListedWorker:
        """Return one worker; raises ``ConfigError`` when there is none of that number."""
        found = self._workers.get(number)
        if found is None:
            known = [worker.id for worker in self._workers.values() if worker.state in OPEN]
            there = ", ".join(map(str, known)) if known else "none"
            raise ConfigError(f"worker {number}: there is none of that number; at work: {there}")
        return found

    @property
    def stored(self) -> Stored:
        """What is to be kept of the list."""
        return Stored(last_id=self._last_id, workers=tuple(self._workers.values()))

    @property
    def is_empty(self) -> bool:
        """Whether nobody runs, rests or waits."""
        return all(worker.state is State.FINISHED for worker in self._workers.values())

    # What somebody wants

    def want(
        self,
        *,
        kind: str = ALL_KINDS,
        priority: int = DEFAULT_PRIORITY,
        count: int = 1,
        origin: Origin = "order",
    ) -> list[ListedWorker]:
        """List new workers, who wait for room."""
        checked_kind(kind)
        checked_priority(priority)
        listed = sum(worker.state in OPEN for worker in self._workers.values())
        if not 1 <= count <= MOST_WANTED - listed:
            raise ConfigError(
                f"count {count}: {listed} workers are listed; wanted 1 or more,"
                f" and {MOST_WANTED} of them at most"
            )
        return [self._list(kind, priority, origin) for _ in range(count)]

    def stop(self, number: int) -> ListedWorker:
        """Let a worker end for good; raises ``ConfigError`` for one that is gone.

        Whoever goes on for it ends instead: the order may have been given before its manager was
        started again.
        """
        worker = self._last_of(number)
        match worker.state:
            case State.FINISHED:
                raise ConfigError(f"worker {worker.id}: it is gone already: {worker.ended}")
            case State.WAITING | State.RESTING:
                return self._finish(worker, "stopped", wanted=False)
            case State.RUNNING:
                return self._set(worker, state=State.STOPPING, wanted=False)
            case State.STOPPING:
                return self._set(worker, wanted=False)

    def _last_of(self, number: int) -> ListedWorker:
        """Return who goes on for a worker; itself when nobody does."""
        worker = self.worker(number)
        heirs = {one.follows: one for one in self._workers.values() if one.follows}
        while worker.id in heirs:
            worker = heirs[worker.id]
        return worker

    # What there is to do

    def due(self) -> list[ListedWorker]:
        """Return those to be started at this moment, in that order."""
        now = self._clock.boot()
        resting = [one for one in self._in(State.RESTING) if self._until[one.id] <= now]
        taken = sum(worker.state in ROOMY for worker in self._workers.values())
        return resting + self._line()[: max(0, self.limit - taken)]

    def next_due_s(self) -> float | None:
        """Return after how many seconds to look again, if nothing happens before."""
        now = self._clock.boot()
        rests = [self._until[worker.id] - now for worker in self._in(State.RESTING)]
        orphans = [ORPHAN_LOOK_S for _ in self.orphans]
        return max(0.0, min(rests + orphans)) if rests or orphans else None

    @property
    def orphans(self) -> list[ListedWorker]:
        """Workers of an earlier manager whose process may still be there."""
        return [worker for worker in self._in(State.STOPPING) if worker.id in self._until]

    def is_late(self, orphan: ListedWorker) -> bool:
        """Tell whether the process of an orphan should have ended long ago."""
        return self._until[orphan.id] <= self._clock.boot()

    def _line(self) -> list[ListedWorker]:
        """Return those that wait for room, the next one first."""
        waiting = self._in(State.WAITING)
        return sorted(waiting, key=lambda one: (-one.priority, one.turn))

    def _in(self, state: State) -> list[ListedWorker]:
        return [worker for worker in self._workers.values() if worker.state is state]

    # What has happened

    def begin(self, number: int, arguments: Arguments = lambda worker: ()) -> ListedWorker:
        """Say that a process is about to be started, with arguments for the place it has then."""
        worker = self._workers[number]
        self._until.pop(number, None)
        placed = self._set(worker, place=worker.place or self._free_place())
        return self._set(
            placed,
            state=State.RUNNING,
            arguments=tuple(arguments(placed)),
            started_ms=self._clock.now_ms(),
            ended_ms=0,
            starts=worker.starts + 1,
            pid=0,
            born=0,
        )

    def began(self, number: int, pid: int, born: int) -> None:
        """Say which process it is."""
        self._set(self._workers[number], pid=pid, born=born)

    def end(self, number: int, code: int, how: str, *, closing: bool = False) -> ListedWorker:
        """Say that its process has ended; ``closing`` when all of them are to.

        One that ended for no good reason rests, to be started again.
        """
        worker = self._workers[number]
        if closing and worker.wanted:
            return self._finish(worker, "its node was stopped")
        if worker.state is State.STOPPING:
            forced = "" if code == 0 else f" ({how})"
            return self._finish(worker, f"stopped{forced}", wanted=False)
        if code == 0:
            return self._finish(worker, "ended by itself", wanted=False)
        if code == REFUSED:
            return self._finish(worker, f"refused to work ({how})")
        now = self._clock.boot()
        lasted_s = (self._clock.now_ms() - worker.started_ms) / 1000
        rest = FIRST_REST_S if lasted_s > CALM_S else self._rests.get(number, FIRST_REST_S)
        self._rests[number] = min(rest * 2, LONGEST_REST_S)
        self._until[number] = now + rest
        return self._set(
            worker, state=State.RESTING, ended_ms=self._clock.now_ms(), ended=how, pid=0, born=0
        )

    def rest_s(self, number: int) -> float:
        """Return how long a worker still rests."""
        return max(0.0, self._until.get(number, 0.0) - self._clock.boot())

    # Over restarts of the manager

    def take_over(self, stored: Stored, wanted: int, is_alive: IsAlive) -> None:
        """Go on with the list of an earlier manager, and with ``wanted`` workers from the start.

        Processes of an earlier manager end with it. Those that still do have room until they are
        gone. Whoever was wanted is listed anew; of those from the start as many as now.
        """
        self._last_id = stored.last_id
        self._workers = {worker.id: worker for worker in stored.workers}
        again = [worker for worker in stored.workers if worker.wanted]
        from_start = [worker for worker in again if worker.origin == "start"]
        kept = {worker.id for worker in from_start[:wanted]}
        for worker in stored.workers:
            stays = worker.origin == "order" or worker.id in kept
            if worker.state is State.WAITING and stays:
                continue
            self._leave_behind(worker, is_alive)
            if worker.wanted and stays:
                self._list(worker.kind, worker.priority, worker.origin, worker)
        for _ in range(wanted - len(kept)):
            self._list(ALL_KINDS, DEFAULT_PRIORITY, "start")

    def _leave_behind(self, worker: ListedWorker, is_alive: IsAlive) -> None:
        has_process = worker.state in (State.RUNNING, State.STOPPING)
        # One without a number was about to be started, or had just been.
        if has_process and (not worker.pid or is_alive(worker)):
            self._set(worker, state=State.STOPPING, wanted=False, ended="its manager ended")
            self._until[worker.id] = self._clock.boot() + LAST_WORDS_S
        elif worker.state is State.FINISHED:
            self._set(worker, wanted=False)
        else:
            self._finish(worker, "its manager ended", wanted=False)

    def bury(self, is_alive: IsAlive) -> list[ListedWorker]:
        """Take note of processes of an earlier manager that have ended; answer those workers."""
        return [
            self._finish(worker, worker.ended)
            for worker in self.orphans
            if (not is_alive(worker) if worker.pid else self.is_late(worker))
        ]

    def close(self) -> None:
        """Say that the manager ends in good order, its processes having ended."""
        for worker in self._in(State.RESTING):
            self._finish(worker, "its node was stopped")

    def forget(self) -> list[ListedWorker]:
        """Drop the oldest of those that have ended, beyond the number that is kept."""
        ended = [
            worker
            for worker in self._workers.values()
            if worker.state is State.FINISHED and not worker.wanted
        ]
        ended.sort(key=lambda worker: (worker.ended_ms, worker.id))
        dropped = ended[: max(0, len(ended) - KEPT)]
        for worker in dropped:
            del self._workers[worker.id]
        return dropped

    # Changes

    def _list(
        self, kind: str, priority: int, origin: Origin, follows: ListedWorker | None = None
    ) -> ListedWorker:
        self._last_id += 1
        new = ListedWorker(
            id=self._last_id,
            kind=kind,
            priority=priority,
            origin=origin,
            follows=0 if follows is None else follows.id,
            turn=self._last_id if follows is None else follows.turn,
            added_ms=self._clock.now_ms() if follows is None else follows.added_ms,
            log=self._log_of(self._last_id),
        )
        self._workers[new.id] = new
        return new

    def _finish(
        self, worker: ListedWorker, why: str, *, wanted: bool | None = None
    ) -> ListedWorker:
        self._until.pop(worker.id, None)
        self._rests.pop(worker.id, None)
        return self._set(
            worker,
            state=State.FINISHED,
            wanted=worker.wanted if wanted is None else wanted,
            ended_ms=self._clock.now_ms(),
            ended=why,
            pid=0,
            born=0,
        )

    def _set(self, worker: ListedWorker, **changes: object) -> ListedWorker:
        changed = msgspec.structs.replace(worker, **changes)
        self._workers[worker.id] = changed
        return changed

    def _free_place(self) -> int:
        """Return the lowest directory that no other has: files in it are gone on with."""
        taken = {worker.place for worker in self._workers.values() if worker.state in ROOMY}
        return next(number for number in range(1, len(taken) + 2) if number not in taken)
