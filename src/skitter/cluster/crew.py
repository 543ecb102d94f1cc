"""Worker processes of this machine: started, watched, started again when they crash, stopped.

A worker tells how it stands in lines of JSON on its standard output. It ends with the process that
started it, also when that one is killed.
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from skitter.errors import ConfigError
from skitter.observability.stats import CrawlStats

FIRST_WAIT_S = 0.5
LONGEST_WAIT_S = 30.0
CALM_S = 60.0
"""A worker that lasted this long is started anew at once."""
STOP_S = 15.0
"""How long a worker may take to finish its requests."""
PARENT_S = 1.0
"""How often a worker looks for the process that started it."""
ORPHAN_S = 6.0
"""How long a worker without one may take to finish its requests."""
MAX_LINE = 1 << 20
_PR_SET_PDEATHSIG = 1

log = logging.getLogger(__name__)


class Standing(msgspec.Struct, omit_defaults=True):
    """How one worker stands."""

    pages: int = 0
    bytes: int = 0
    in_flight: int = 0
    status_codes: dict[int, int] = {}
    errors: dict[str, int] = {}
    note: str = ""
    queued: int = 0
    left: int | None = None
    """What the jobs of the store still have to fetch, if this worker has looked."""
    hosts: int = 0
    member: str = ""
    """What this worker is called where members meet."""

    @staticmethod
    def of(stats: CrawlStats) -> "Standing":
        """Read the counters of a running worker."""
        return Standing(
            stats.run_pages,
            stats.run_bytes,
            stats.in_flight,
            dict(stats.status_codes),
            dict(stats.errors),
            stats.note,
            stats.queued,
            stats.left,
            stats.hosts,
            stats.member,
        )

    def show(self, stats: CrawlStats) -> None:
        """Copy what a person watches, beside nothing else."""
        stats.run_pages = stats.pages = self.pages
        stats.run_bytes = stats.bytes = self.bytes
        stats.in_flight = self.in_flight
        stats.status_codes = Counter(self.status_codes)
        stats.errors = Counter(self.errors)
        stats.note = self.note
        stats.queued, stats.left, stats.hosts = self.queued, self.left, self.hosts


encode_standing = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Standing).decode


def die_with_parent() -> None:
    """Let this process be told to stop when the one that started it has ended.

    What it works on may have ended with that one: then its last words are never answered, and it
    goes without them.
    """
    parent = os.getppid()
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1 or os.getppid() != parent:
        # The parent had ended before.
        os.kill(os.getpid(), signal.SIGTERM)


def _follow(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_S)
    time.sleep(ORPHAN_S)
    os._exit(1)


class Worker:
    """One worker process, over all the times it is started."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        env: Mapping[str, str],
        log_to: Callable[[], int] | None = None,
    ) -> None:
        self._name = name
        self._command = command
        self._env = env
        self._log_to = log_to
        """Opens what the process writes its words to; None for those of this process."""
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()
        self._stop = asyncio.Event()
        self._killed = False
        self._before = Standing()
        """What earlier processes of this worker did."""
        self.now = Standing()

    @property
    def pid(self) -> int | None:
        """The process at work, if there is one."""
        return self._process.pid if self._process is not None else None

    async def run(self) -> None:
        """Keep the worker going until it ends by itself in good order, or is stopped."""
        wait_s = FIRST_WAIT_S
        clock = asyncio.get_running_loop().time
        while not self._stop.is_set():
            started = clock()
            code = await self.live()
            if code == 0 or self._stop.is_set():
                return
            if code == 2:
                raise ConfigError(f"worker {self._name} refuses to work; it has said why above")
            if clock() - started > CALM_S:
                wait_s = FIRST_WAIT_S
            log.warning("worker %s ended (%s); again in %.1f s", self._name, ending(code), wait_s)
            await self._pause(wait_s)
            wait_s = min(wait_s * 2, LONGEST_WAIT_S)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def live(self, on_start: Callable[[int], None] = lambda pid: None) -> int:
        """Start a process and return its exit code when it has ended; ``on_start`` is told its pid.

        A negative code is the number of the signal that ended it.
        """
        async with self._starting:
            self._process = process = await self._begin()
        on_start(process.pid)
        if self._stop.is_set():
            _signal(process, signal.SIGKILL if self._killed else signal.SIGTERM)
        assert process.stdout is not None
        while line := await process.stdout.readline():
            try:
                self.now = _decode(line)
            except msgspec.MsgspecError:
                log.debug("worker %s said: %r", self._name, line[:200])
        code = await process.wait()
        self._process = None
        # What a process did stays; what it was doing has ended with it.
        self.now.in_flight, self.now.note = 0, ""
        self.now.queued, self.now.left, self.now.hosts = 0, None, 0
        self._before = total_of((self._before, self.now))
        self.now = Standing()
        return code

    async def _begin(self) -> asyncio.subprocess.Process:
        words = None if self._log_to is None else self._log_to()
        try:
            return await asyncio.create_subprocess_exec(
                *self._command,
                env=self._env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=words,
                start_new_session=True,
                limit=MAX_LINE,
            )
        finally:
            if words is not None:
                os.close(words)

    @property
    def standing(self) -> Standing:
        """How this worker stands over all its processes."""
        return total_of((self._before, self.now))

    async def stop(self, patience_s: float = STOP_S) -> None:
        """Let the worker finish its requests, then end it."""
        self._stop.set()
        # One that is about to be there must not be missed: it might not listen to the signal alone.
        async with self._starting:
            process = self._process
        if process is None:
            return
        _signal(process, signal.SIGTERM)
        try:
            async with asyncio.timeout(patience_s):
                await process.wait()
        except TimeoutError:
            _signal(process, signal.SIGKILL)

    def kill(self) -> None:
        """End the worker at once."""
        self._killed = True
        self._stop.set()
        if self._process is not None:
            _signal(self._process, signal.SIGKILL)


class Crew:
    """The workers of one process."""

    def __init__(
        self, count: int, command: Callable[[int], Sequence[str]], env: Mapping[str, str]
    ) -> None:
        self.workers = [Worker(str(n), command(n), env) for n in range(1, count + 1)]

    async def run(self) -> None:
        """Keep all workers going; returns when every one has ended by itself."""
        async with asyncio.TaskGroup() as group:
            for worker in self.workers:
                group.create_task(worker.run())

    async def stop(self) -> None:
        """Stop all workers at the same time."""
        await asyncio.gather(*(worker.stop() for worker in self.workers))

    def kill(self) -> None:
        """End all workers at once."""
        for worker in self.workers:
            worker.kill()

    def add_to(self, stats: CrawlStats) -> None:
        """Show what the workers do, beside nothing else."""
        total_of([worker.standing for worker in self.workers]).show(stats)


def worker_command(*args: str) -> list[str]:
    """Return the command line of this program with other arguments."""
    return [sys.executable, "-m", "skitter", *args]


def total_of(standings: Sequence[Standing]) -> Standing:
    """Return what workers do together."""
    codes: Counter[int] = Counter()
    errors: Counter[str] = Counter()
    for one in standings:
        codes.update(one.status_codes)
        errors.update(one.errors)
    return Standing(
        sum(one.pages for one in standings),
        sum(one.bytes for one in standings),
        sum(one.in_flight for one in standings),
        dict(codes),
        dict(errors),
        next((one.note for one in standings if one.note), ""),
        # They all look at the same store.
        max((one.queued for one in standings), default=0),
        max((one.left for one in standings if one.left is not None), default=None),
        max((one.hosts for one in standings), default=0),
    )


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    try:
        process.send_signal(number)
    except ProcessLookupError:
        return


def ending(code: int) -> str:
    """Return how a process ended, in words."""
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
