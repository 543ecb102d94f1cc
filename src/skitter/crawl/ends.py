"""Tells when jobs have come to their end: nothing is left of them, or they have all they want.

The store keeps which jobs are open, so an end is told by whoever looks next, though nobody did when
it came, and once, however many look.
"""

import secrets
from collections.abc import Mapping

import msgspec

from skitter.clock import Clock
from skitter.crawl.happenings import tell_job
from skitter.crawl.recording import job_mark
from skitter.crawl.standing import FINISHED
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.model import Counts, JobEntry
from skitter.types import JobNumber

PAGES_LIMIT = "pages limit"
ONCE_MS = 60_000
"""How long no other process tells of the same end: longer than it may go without a look."""
OPEN_MARK = "open"
"""Behind the number of its job: its end is still to be told."""


class Stand(msgspec.Struct, frozen=True):
    """How a running job stands."""

    id: str
    why: str
    """What became of it, as it is told; "" while it goes on, or has not begun."""
    goes_on: bool


def stand_of(entry: JobEntry, counts: Counts, pages: int) -> Stand:
    """Return how a running job stands that has had so many pages, those set aside among them."""
    if not counts.pending:
        # One that was never offered anything is still being added.
        return Stand(entry.id, FINISHED if counts.done or counts.dead else "", goes_on=False)
    if entry.pages is not None and pages >= entry.pages:
        return Stand(entry.id, f"stopped: {PAGES_LIMIT}", goes_on=False)
    return Stand(entry.id, "", goes_on=True)


async def open_job(frontier: Frontier, job: JobNumber) -> None:
    """Keep that the end of a job is to be told; before anything of it is fetched."""
    await frontier.ack([], marks={_mark(job): b"1"})


class Ends:
    """Tells of the ends of the jobs of a store."""

    def __init__(self, frontier: Frontier, reader: FrontierReader, clock: Clock) -> None:
        self._frontier = frontier
        self._reader = reader
        self._clock = clock
        self._holder = secrets.randbits(48)

    async def look(self, stands: Mapping[JobNumber, Stand]) -> None:
        """Take in how the running jobs stand."""
        marks = await self._reader.marks_of([_mark(job) for job in stands])
        opened = {job for job, mark in zip(stands, marks, strict=True) if mark}
        begun = [job for job, stand in stands.items() if stand.goes_on and job not in opened]
        if begun:
            await self._frontier.ack([], marks={_mark(job): b"1" for job in begun})
        for job in opened:
            if stands[job].why:
                await self._tell(job, stands[job])

    async def _tell(self, job: JobNumber, stand: Stand) -> None:
        if await self._frontier.lock(f"ended:{job}", self._holder, ONCE_MS) == 0:
            await tell_job(self._frontier, self._clock, stand.id, stand.why)
            await self._frontier.ack([], marks={_mark(job): b""})


def _mark(job: JobNumber) -> str:
    return job_mark(job, OPEN_MARK)
