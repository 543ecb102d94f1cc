"""Runs a crawl or a service under the eyes of a person: progress and signals.

The first Ctrl-C or SIGTERM lets what is in flight finish, the second stops at once, the third
ends the process. The frontier is durable, so none of them loses anything.
"""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import Protocol, TypeVar

import uvloop

from skitter.cli.progress import Display, QuietDisplay
from skitter.cli.report import INTERRUPTED
from skitter.garbage import keep_what_is_loaded
from skitter.observability.logs import is_json, json_handler
from skitter.observability.stats import CrawlStats

_LOG_LINE_CHARS = 300
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


R_co = TypeVar("R_co", covariant=True)


class Running(Protocol[R_co]):
    """What the command line needs of something that runs: a crawl, a member, a master."""

    @property
    def stats(self) -> CrawlStats:
        """Its counters, live."""

    async def run(self) -> R_co:
        """Work until finished or stopped."""

    def stop(self) -> None:
        """Begin to drain."""

    def abort(self) -> None:
        """Stop at once."""


class Interruptions:
    """Turns signals into ``stop``, ``abort`` and, when even that hangs, the end."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._running: Running[object] | None = None
        self._main: asyncio.Task[object] | None = None
        self.count = 0

    def install(self, loop: asyncio.AbstractEventLoop, main: asyncio.Task[object]) -> None:
        """Listen from now on; until something is watched a signal cancels ``main``."""
        self._main = main
        for number in STOP_SIGNALS:
            loop.add_signal_handler(number, self.interrupt)

    def remove(self, loop: asyncio.AbstractEventLoop) -> None:
        """Leave signals to Python again."""
        for number in STOP_SIGNALS:
            loop.remove_signal_handler(number)

    def watch(self, running: Running[object]) -> None:
        """Direct signals to what runs."""
        self._running = running

    def interrupt(self) -> None:
        """Act on one signal."""
        self.count += 1
        if self.count > 2:
            self._display.close()
            os._exit(INTERRUPTED)
        if self._running is None:
            if self._main is not None:
                self._main.cancel()
        elif self.count == 1:
            self._display.say(_stopping(self._running.stats.in_flight))
            self._running.stop()
        else:
            self._display.say("stopping at once")
            self._running.abort()


def run_watched(
    opened: Callable[[], AbstractAsyncContextManager[Running[R_co]]],
    display: Display,
    *,
    announces: bool = True,
) -> R_co | None:
    """Open something and let it run; None when it was interrupted before it began.

    Unless it ``announces``, nobody is told that it is about to stop.
    """
    interruptions = Interruptions(display if announces else QuietDisplay())
    keep_what_is_loaded()
    take_long_turns()
    try:
        with _logged_to(display):
            return uvloop.run(_watched(opened, display, interruptions))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return None
    finally:
        display.close()


def take_long_turns() -> None:
    """Let whoever has the processor keep it when something arrives for this process.

    Where several share a core, each then does more at a turn, and finds more of what it needs in
    the processor's caches; people at the same machine are not disturbed. A policy that somebody
    chose for the process stays.
    """
    # Linux has such a policy, and not every sandbox allows it.
    with suppress(AttributeError, OSError):
        if os.sched_getscheduler(0) == os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


async def _watched(
    opened: Callable[[], AbstractAsyncContextManager[Running[R_co]]],
    display: Display,
    interruptions: Interruptions,
) -> R_co:
    loop = asyncio.get_running_loop()
    main = asyncio.current_task()
    assert main is not None
    interruptions.install(loop, main)
    try:
        async with opened() as running:
            interruptions.watch(running)
            display.open()
            if running.stats.place:
                display.say(running.stats.place)
            return await _with_progress(running, display)
    finally:
        interruptions.remove(loop)


async def _with_progress(running: Running[R_co], display: Display) -> R_co:
    async with asyncio.TaskGroup() as tasks:
        progress = tasks.create_task(display.follow(running.stats))
        try:
            return await running.run()
        finally:
            progress.cancel()


def _stopping(in_flight: int) -> str:
    requests = "1 request" if in_flight == 1 else f"{in_flight} requests"
    return f"stopping: finishing {requests} (Ctrl-C again to stop at once)"


@contextmanager
def _logged_to(display: Display) -> Iterator[None]:
    """Send warnings, ours and those of libraries, to the display while the block runs.

    Where the log is JSON, it is told more than that, and the display nothing.
    """
    as_json = is_json()
    handler = json_handler(sys.stderr) if as_json else _DisplayHandler(display)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    if as_json:
        root.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


class _DisplayHandler(logging.Handler):
    """Shows a line a warning, without tearing the lines that are redrawn."""

    def __init__(self, display: Display) -> None:
        super().__init__(level=logging.WARNING)
        self._display = display

    def emit(self, record: logging.LogRecord) -> None:
        first, *rest = record.getMessage().splitlines() or [""]
        cut = len(first) > _LOG_LINE_CHARS or rest
        self._display.say(first[:_LOG_LINE_CHARS] + ("…" if cut else ""))
