"""The manager of one machine: keeps its processes in step with its list, and the list on disk."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from skitter.clock import Clock
from skitter.cluster.crew import Standing, Worker, ending, total_of
from skitter.cluster.manager import processes
from skitter.cluster.manager.journal import Journal, Overhearing
from skitter.cluster.manager.ledger import KEPT_ANSWERS, Kept, Ledger
from skitter.cluster.manager.logs import Piece, open_log, pieces, remove_log
from skitter.cluster.manager.notices import (
    MANAGER,
    SHOWN,
    Answer,
    Order,
    Pulse,
    Reading,
    ReadLogs,
    Report,
    Start,
    Stop,
    decode_answer,
    encode,
)
from skitter.cluster.manager.roster import OPEN, REFUSED, ListedWorker, Roster, State
from skitter.errors import ConfigError

LOOK_S: Final = 1.0
"""Between looks at what workers say and how fast they are."""
WINDOW_S: Final = 60.0
"""The time over which their speed is told."""
NO_START: Final = 1
"""Exit code that stands for a process that could not be started."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """What a machine is started with."""

    name: str
    session: str
    machine: str
    wanted: int
    limit: int
    ends_idle: bool
    """Whether the node ends when all its workers have."""
    command: Callable[[ListedWorker], Sequence[str]]
    """The words that start a worker, for the place and kind it has."""
    env: Mapping[str, str]
    program: int
    """How many of these words are the program itself."""


@dataclass(slots=True, eq=False)
class _Live:
    """A worker with a process, or one that is between two."""

    worker: Worker
    overhearing: Overhearing
    pages: deque[tuple[float, int]] = field(default_factory=deque)
    """How many it had when, over the last minute."""

    def look(self, now: float) -> None:
        self.pages.append((now, self.worker.standing.pages))
        while len(self.pages) > 2 and now - self.pages[1][0] >= WINDOW_S:
            self.pages.popleft()

    @property
    def per_minute(self) -> float:
        if len(self.pages) < 2:
            return 0.0
        (began, first), (until, last) = self.pages[0], self.pages[-1]
        return (last - first) * 60 / (until - began) if until > began else 0.0


class Manager:
    """Runs the workers of one machine."""

    def __init__(self, ledger: Ledger, plans: Plans, clock: Clock) -> None:
        self.changed = asyncio.Event()
        """Set when the list has changed."""
        self.queued = 0
        """URLs that wait in the store, if somebody has looked."""
        self._ledger = ledger
        self._plans = plans
        self._clock = clock
        self._since_ms = clock.now_ms()
        self._born = processes.born(os.getpid())
        self._roster = Roster(plans.limit, clock, lambda number: str(ledger.log_of(number)))
        self._answers: dict[str, bytes] = {}
        self._live: dict[int, _Live] = {}
        self._led: set[int] = set()
        """Those of them that have a process, or are about to."""
        self._past = Standing()
        """What workers did that have ended."""
        self._wake = asyncio.Event()
        self._closing = False
        self._refusal: ConfigError | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._saving = asyncio.Lock()
        self._journal = Journal(ledger.log_of(MANAGER))

    @property
    def name(self) -> str:
        """What the node is called."""
        return self._plans.name

    async def open(self) -> None:
        """Take over the list that is on disk."""
        kept = self._ledger.read()
        self._answers = kept.answers
        self._roster.take_over(kept.roster, self._plans.wanted, processes.is_alive)
        self._journal.say(f"node {self.name} begins as process {os.getpid()}")
        await self._save()

    async def run(self) -> None:
        """Keep the workers going until they are stopped, or have all ended where that is the end.

        Raises ``ConfigError`` when a worker refuses to work: the others would, too.
        """
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            while not self._is_over():
                self._wake.clear()
                await self._step(group)
                await _wait(self._wake, self._roster.next_due_s())
            watch.cancel()
        self._roster.close()
        await self._save()
        self._journal.say(f"node {self.name} ends")
        if self._refusal is not None:
            raise self._refusal

    def stop(self) -> None:
        """Let all workers finish their requests, then end."""
        self._closing = True
        for live in self._live.values():
            self._do(live.worker.stop())
        self._wake.set()

    def kill(self) -> None:
        """End all workers at once."""
        self._closing = True
        for live in self._live.values():
            live.worker.kill()
        self._wake.set()

    @property
    def standing(self) -> Standing:
        """How all workers stand together, with those that have ended."""
        return total_of([self._past, *(live.worker.standing for live in self._live.values())])

    # Processes

    def _is_over(self) -> bool:
        if self._closing:
            return not self._led
        return self._plans.ends_idle and self._roster.is_empty

    async def _step(self, group: asyncio.TaskGroup) -> None:
        """Start what is to be started, and bury what an earlier manager left behind."""
        for orphan in self._roster.orphans:
            if self._roster.is_late(orphan):
                processes.kill(orphan)
        changed = bool(self._roster.bury(processes.is_alive))
        due = [] if self._closing else self._roster.due()
        for worker in due:
            self._keep_live(self._roster.begin(worker.id, self._arguments))
        if due or changed:
            # The list says that they run before they do: a crash in between is noticed.
            await self._save()
        for worker in due:
            self._led.add(worker.id)
            group.create_task(self._lead(worker.id))

    def _arguments(self, worker: ListedWorker) -> Sequence[str]:
        return self._plans.command(worker)[self._plans.program :]

    def _keep_live(self, worker: ListedWorker) -> None:
        if worker.id not in self._live:
            path = self._ledger.log_of(worker.id)
            process = Worker(
                str(worker.id), self._plans.command(worker), self._plans.env, lambda: open_log(path)
            )
            self._live[worker.id] = _Live(process, Overhearing(path, f"worker {worker.id}"))

    async def _lead(self, number: int) -> None:
        """See one process of a worker through."""
        live = self._live[number]

        def began(pid: int) -> None:
            self._roster.began(number, pid, processes.born(pid))
            self._journal.say(f"worker {number} begins as process {pid}")
            self._do(self._save())

        try:
            code = 0 if self._closing else await live.worker.live(began)
            how = ending(code)
        except OSError as error:
            code, how = NO_START, f"could not be started: {error.strerror}"
        self._led.discard(number)
        live.overhearing.pass_on()
        worker = self._roster.end(number, code, how, closing=self._closing)
        if worker.state is State.RESTING:
            again = f"worker {number} ended ({how}); again in {self._roster.rest_s(number):.1f} s"
            log.warning("%s", again)
            self._journal.say(again)
        else:
            self._finish(worker, live)
        if code == REFUSED and not self._closing:
            self._refusal = ConfigError(
                f"worker {number} refuses to work: {live.overhearing.last or 'it has not said why'}"
            )
            self.stop()
        await self._save()
        self._wake.set()

    def _finish(self, worker: ListedWorker, live: _Live) -> None:
        self._journal.say(f"worker {worker.id} has ended: {worker.ended}")
        self._past = total_of((self._past, live.worker.standing))
        del self._live[worker.id]

    async def _watch(self) -> None:
        while True:
            for live in self._live.values():
                live.look(self._clock.boot())
                live.overhearing.pass_on()
            await asyncio.sleep(LOOK_S)

    # Orders

    async def obey(self, order: Order) -> Answer:
        """Carry out an order, unless it was before; answers what came of it."""
        known = self._answers.get(order.id)
        if known is not None:
            return decode_answer(known)
        try:
            answer = self._carry_out(order)
        except ConfigError as error:
            answer = Answer(id=order.id, refused=str(error))
        if not isinstance(order.deed, ReadLogs):
            self._answers[order.id] = encode(answer)
            while len(self._answers) > KEPT_ANSWERS:
                del self._answers[next(iter(self._answers))]
            await self._save()
            self._wake.set()
        return answer

    def _carry_out(self, order: Order) -> Answer:
        if self._closing:
            raise ConfigError("it is about to end; nothing was changed")
        match order.deed:
            case Start(kind=kind, priority=priority, count=count):
                listed = self._roster.want(kind=kind, priority=priority, count=count)
                numbers = ", ".join(str(worker.id) for worker in listed)
                self._journal.say(f"told to start {numbers}, kind {kind}, priority {priority}")
                return Answer(id=order.id, workers=tuple(listed))
            case Stop(worker=number):
                stopped = self._roster.stop(number)
                goes_on = "" if stopped.id == number else f", for which {stopped.id} goes on"
                self._journal.say(f"told to stop {number}{goes_on}")
                self._let_end(stopped)
                return Answer(id=order.id, workers=(stopped,))
            case ReadLogs() as wanted:
                return Answer(id=order.id, logs=self._read(wanted))

    def _let_end(self, worker: ListedWorker) -> None:
        live = self._live.get(worker.id)
        if live is None:
            return
        if worker.state is State.FINISHED:
            self._finish(worker, live)
        else:
            self._do(live.worker.stop())

    def _read(self, wanted: ReadLogs) -> dict[int, Piece]:
        if wanted.worker is None:
            open_ones = [worker.id for worker in self._roster.workers if worker.state in OPEN]
            numbers = [MANAGER, *open_ones]
        else:
            numbers = [wanted.worker]
            if wanted.worker != MANAGER:
                self._roster.worker(wanted.worker)
        try:
            return pieces(self._ledger.log_of, numbers, wanted.lines, wanted.after)
        except OSError as error:
            raise ConfigError(f"logs cannot be read: {error.strerror}") from error

    # What others are told

    def report(self, *, stopped: bool = False) -> Report:
        """Return what the node is, and its list of workers."""
        listed = self._roster.workers
        ended = [worker for worker in listed if worker.state is State.FINISHED]
        shown = {worker.id for worker in ended[-SHOWN:]}
        return Report(
            name=self.name,
            session=self._plans.session,
            machine=self._plans.machine,
            pid=os.getpid(),
            limit=self._plans.limit,
            since_ms=self._since_ms,
            stopped=stopped,
            workers=tuple(
                worker
                for worker in listed
                if worker.state is not State.FINISHED or worker.id in shown
            ),
        )

    def pulse(self, at_ms: int) -> Pulse:
        """Return how the workers stand."""
        readings = {}
        for number, live in self._live.items():
            standing, now = live.worker.standing, live.worker.now
            readings[number] = Reading(
                pages=standing.pages,
                per_minute=round(live.per_minute, 1),
                in_flight=now.in_flight,
                member=now.member,
                note=now.note,
            )
        return Pulse(session=self._plans.session, at_ms=at_ms, queued=self.queued, workers=readings)

    # What is kept

    async def _save(self) -> None:
        """Make the list safe as it is now; a full disk does not end the workers."""
        async with self._saving:
            for worker in self._roster.forget():
                remove_log(self._ledger.log_of(worker.id))
            kept = Kept(
                name=self.name,
                session=self._plans.session,
                machine=self._plans.machine,
                pid=os.getpid(),
                born=self._born,
                limit=self._plans.limit,
                since_ms=self._since_ms,
                roster=self._roster.stored,
                answers=dict(self._answers),
            )
            try:
                await asyncio.to_thread(self._ledger.write, kept)
            except OSError as error:
                log.warning("the list of workers could not be kept: %s", error.strerror)
        self.changed.set()

    def _do(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _wait(event: asyncio.Event, seconds: float | None) -> None:
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
