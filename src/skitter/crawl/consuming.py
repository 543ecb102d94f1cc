"""Writes the records that many members bring through a shared store to the files of one process.

Exactly once: records are written first; then one write to the store keeps both how long the files
are now and which records they hold; only then do the records leave the store. A crash in between
repeats a step and never a record.
"""

import asyncio
from collections.abc import Sequence

from skitter.crawl.recording import job_mark, write_to_all
from skitter.frontier.base import RecordSource
from skitter.pipeline.base import Batch, Sink
from skitter.types import JobNumber

BATCH = 1_000
IDLE_S = 0.2


class Consumer:
    """Keeps the files of a job in step with its records."""

    def __init__(self, source: RecordSource, job: JobNumber, sinks: Sequence[Sink]) -> None:
        self._source = source
        self._job = job
        self._sinks = sinks
        self._lock = asyncio.Lock()

    async def run(self) -> None:
        """Write records as they come, until cancelled."""
        while True:
            if not await self._step():
                await asyncio.sleep(IDLE_S)

    async def settle(self) -> None:
        """Write everything that has come."""
        while await self._step():
            pass

    async def _step(self) -> int:
        """Write what is there, at most a batch; answers how many records that were."""
        # A cancelled step must not be begun anew while it is half done.
        return await asyncio.shield(asyncio.ensure_future(self._write()))

    async def _write(self) -> int:
        async with self._lock:
            entries = await self._source.read(BATCH)
            if not entries:
                return 0
            written = await write_to_all(self._sinks, Batch(None, [e.line for e in entries]))
            marks = {job_mark(self._job, name): mark for name, mark in written.items()}
            await self._source.keep(marks, entries)
            await self._source.let_go(entries)
            return len(entries)
