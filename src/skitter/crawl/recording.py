"""Writes the records of acks to the outputs of their jobs, before the acks take effect.

One process writes the outputs of a crawl: its own visits and those of other members come here with
their acks, and what the sinks answer is stored in one step with them.
"""

import asyncio
from collections.abc import Sequence

from skitter.frontier.model import Ack
from skitter.pipeline.base import Batch, Sink
from skitter.types import JobNumber

CLEARED_MARK = "cleared"
"""Of a job: another value whenever one of its queues was cleared."""
PRIORITY_MARK = "priority"
"""Of a job: how urgent it is, since somebody changed that."""


class Recording:
    """The sinks of every job that this process writes outputs for."""

    def __init__(self) -> None:
        self._sinks: dict[JobNumber, Sequence[Sink]] = {}

    def serve(self, job: JobNumber, sinks: Sequence[Sink]) -> None:
        """Write the records of a job to ``sinks``, which are open, from here on."""
        self._sinks[job] = sinks

    @property
    def trouble(self) -> str:
        """Why writing waits, in words; "" while it does not."""
        every = (sink for sinks in self._sinks.values() for sink in sinks)
        return next((sink.trouble for sink in every if sink.trouble), "")

    async def write(self, acks: Sequence[Ack]) -> dict[str, bytes]:
        """Make the records of ``acks`` safe; answers the marks that say how far each sink is."""
        lines: dict[JobNumber, list[bytes]] = {}
        for ack in acks:
            lines.setdefault(ack.lease.job, []).append(ack.note)
        marks: dict[str, bytes] = {}
        for job, records in lines.items():
            written = await write_to_all(self._sinks.get(job, ()), Batch(None, records))
            marks |= {job_mark(job, name): mark for name, mark in written.items()}
        return marks


def job_mark(job: JobNumber, name: str) -> str:
    """Return the name of a mark that belongs to one job: a store may hold several."""
    return f"job:{job}:{name}"


async def write_to_all(sinks: Sequence[Sink], batch: Batch) -> dict[str, bytes]:
    """Write a batch to every sink at once; answers their marks.

    When one fails, the others are waited for before its error is raised.
    """
    answers = await asyncio.gather(*(sink.write(batch) for sink in sinks), return_exceptions=True)
    marks: dict[str, bytes] = {}
    for sink, answer in zip(sinks, answers, strict=True):
        if isinstance(answer, BaseException):
            raise answer
        marks[sink.mark_name] = answer
    return marks
