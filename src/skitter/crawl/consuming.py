"""Writes the records that many members bring through a shared store to the files of one process.

Exactly once: records are written first; then one write to the store keeps both how long the files
are now and which records they hold; only then do the records leave the store. A crash in between
repeats a step and never a record.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from skitter.crawl.recording import job_mark, write_to_all
from skitter.frontier.base import RecordSource
from skitter.pipeline.base import Batch, Sink
from skitter.types import JobNumber

BATCH = 1_000
MANY = 100
"""After so many records the next are looked for at once: members wait while a stream is full."""
IDLE_S = 0.2
"""How long records gather: to look for few costs as much as to look for many."""
SETTLE_S = 3.0
"""How long a writer that leaves goes on writing what others still bring."""

CLOSE_S = 2.0
"""How long the store may take for the last step."""
LOOK_S = 0.1

T = TypeVar("T")


class Consumer:
    """Keeps the files of a job in step with its records."""

    def __init__(self, source: RecordSource, job: JobNumber, sinks: Sequence[Sink]) -> None:
        self._source = source
        self._job = job
        self._sinks = sinks
        self._lock = asyncio.Lock()
        self._closed = False
        self._asking: asyncio.Task[Any] | None = None
        """What the store is asked at this moment."""
        self.is_last: Callable[[], bool] = lambda: True
        """Tells whether nobody brings more: then everything is written, however long it takes."""

    async def run(self) -> None:
        """Write records as they come, until cancelled."""
        while True:
            if await self._step() < MANY:
                await asyncio.sleep(IDLE_S)

    async def settle(self) -> None:
        """Write everything that has come; what others bring meanwhile stays for the next run."""
        clock = asyncio.get_running_loop().time
        until = clock() + SETTLE_S
        while await self._step():
            if not self.is_last() and clock() > until:
                return

    async def close(self) -> None:
        """Begin nothing more, and wait for a step that was left alone.

        A store that does not answer is not waited for: as after a crash, the next run finds out
        what the files hold.
        """
        self._closed = True
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S), self._lock:
                return
        while self._lock.locked():
            if self._asking is not None:
                self._asking.cancel()
            await asyncio.sleep(LOOK_S)

    async def _step(self) -> int:
        """Write what is there, at most a batch; answers how many records that were."""
        # A cancelled step must not be begun anew while it is half done.
        step = asyncio.ensure_future(self._write())
        step.add_done_callback(_mark_as_told)
        return await asyncio.shield(step)

    async def _write(self) -> int:
        async with self._lock:
            if self._closed:
                return 0
            entries = await self._ask(self._source.read(BATCH))
            if not entries:
                # Members may be waiting for room, and would never bring what pushes these out.
                await self._ask(self._source.let_go(()))
                return 0
            written = await write_to_all(self._sinks, Batch(None, [e.line for e in entries]))
            marks = {job_mark(self._job, name): mark for name, mark in written.items()}
            await self._ask(self._source.keep(marks, entries))
            await self._ask(self._source.let_go(entries))
            return len(entries)

    async def _ask(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait for the store, which may be given up; files are always written to the end."""
        asking = asyncio.ensure_future(call)
        self._asking = asking
        try:
            return await asking
        finally:
            self._asking = None


def _mark_as_told(step: asyncio.Future[int]) -> None:
    """Ask for the error of a step that nobody waits for; who does gets it all the same."""
    if not step.cancelled():
        step.exception()
