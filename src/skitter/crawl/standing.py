"""Whether the jobs of a store run, as the engine of one process has heard of it.

Nothing of a paused job is handed out: what is under way comes to its end, what was claimed ahead
goes back. A run that is for one job waits while that is paused, and ends when it is cancelled.
"""

from collections.abc import Callable, Container

from skitter.frontier.base import FrontierReader
from skitter.frontier.model import JobState
from skitter.types import JobNumber

FINISHED, CANCELLED = "finished", "cancelled"


class Standings:
    """The states of all jobs, and of the one that a run is for, if it is for one."""

    def __init__(
        self, reader: FrontierReader, job: JobNumber | None, stop: Callable[[str], None]
    ) -> None:
        self._reader = reader
        self._job = job
        self._stop = stop
        self.own: JobState | None = None
        """How the job of this run stands; None for a run that serves every job."""
        self.note = ""
        """Why a run waits, in words for a person."""

    async def look(self) -> Container[JobNumber]:
        """Read how jobs stand; answers those of which nothing more is to be begun with.

        The run is stopped if its job was cancelled.
        """
        jobs = await self._reader.jobs()
        if self._job is not None:
            entry = jobs.get(self._job)
            # One that is not there any more was cancelled before it was dropped.
            self.own = JobState.CANCEL if entry is None else entry.state
            self.note = ""
            if entry is not None and self.own is JobState.PAUSE:
                self.note = f"paused; to go on: skitter job resume {entry.id}"
            if self.own is JobState.CANCEL:
                self._stop(CANCELLED)
        return {n for n, entry in jobs.items() if entry.state is not JobState.RUN}

    async def end(self) -> str:
        """Return what has ended a run that has nothing left to do."""
        await self.look()
        return CANCELLED if self.own is JobState.CANCEL else FINISHED

    async def is_paused(self) -> bool:
        """Tell whether a run that finds nothing to do is to wait for somebody to resume its job."""
        await self.look()
        return self.own is JobState.PAUSE
