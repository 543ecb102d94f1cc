"""Limits of time and bytes, kept by a master for its jobs; that of pages is kept by the store.

``skitter crawl`` runs one job and stops itself. A master goes on with others, so it pauses a job
that is at its limit, and remembers why. The time counts while the job has something to fetch, over
restarts of the master; giving the job to it again begins a new run.
"""

from collections.abc import Collection

import msgspec

from skitter.crawl.ends import PAGES_LIMIT
from skitter.crawl.happenings import tell_job
from skitter.crawl.recording import job_mark
from skitter.crawl.standing import CANCELLED, FINISHED
from skitter.crawl.totals import Totals
from skitter.frontier.model import Counts, JobEntry, JobState
from skitter.job.parts import Limits
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.wiring.store import Store

KEEP_S = 10.0
"""A kill forgets this much of the time that jobs have run."""
LONGEST_STEP_S = 10.0
"""More than this between two looks is time in which this machine slept."""
RUN_MARK = "run"
"""Behind the number of its job: how long that has run, and what stopped it."""
TIME, BYTES = "time limit", "bytes limit"


class _Run(msgspec.Struct):
    """How long a job has run, and what has stopped it."""

    ran_s: float = 0.0
    stopped_by: str = ""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Run).decode


class JobLimits:
    """Looks after the jobs of one master."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._looked_at: float | None = None
        self._runs: dict[JobNumber, _Run] = {}
        self._kept_s: dict[JobNumber, float] = {}
        self._specs: dict[JobNumber, tuple[str, Limits]] = {}

    async def begin_run(self, job: JobNumber) -> None:
        """Take note that somebody wants the job to run, now."""
        if (await self._run(job)) != _Run():
            self._runs[job] = _Run()
            await self._keep([job])

    async def stopped(self, job: JobNumber) -> str:
        """Return the limit that a job was paused for; "" when somebody paused it, or nobody."""
        return (await self._run(job)).stopped_by

    async def stopped_by(self, job: JobNumber, entry: JobEntry, pages: int, counts: Counts) -> str:
        """Return what keeps a job from going on; "" while nothing does."""
        if entry.state is JobState.CANCEL:
            return CANCELLED
        if not counts.pending:
            # Records that were rejected are no pages, and the URLs are done all the same.
            return FINISHED if pages or counts.done or counts.dead else ""
        if entry.state is not JobState.RUN and (why := (await self._run(job)).stopped_by):
            return why
        # Also of one that is paused: so a crawl of a shared store leaves a job at its limit.
        return PAGES_LIMIT if entry.pages is not None and pages >= entry.pages else ""

    async def tend(self) -> None:
        """Pause the jobs that are at a limit."""
        now = self._store.clock.boot()
        step_s = 0.0 if self._looked_at is None else min(now - self._looked_at, LONGEST_STEP_S)
        self._looked_at = now
        for job, entry in (await self._store.reader.jobs()).items():
            limits = self._limits(job, entry)
            if entry.state is JobState.RUN and (limits.time or limits.bytes):
                await self._mind(job, entry, limits, step_s)

    async def close(self) -> None:
        """Keep how long the jobs have run."""
        await self._keep(self._runs)

    async def _mind(self, job: JobNumber, entry: JobEntry, limits: Limits, step_s: float) -> None:
        reader = self._store.reader
        if not (await reader.counts(job)).pending:
            return
        run = await self._run(job)
        run.ran_s += step_s
        if limits.time is not None and run.ran_s >= limits.time:
            await self._stop(job, entry, TIME)
        elif limits.bytes is not None:
            totals = Totals.of(await reader.tallies(job))
            if totals.body_bytes >= limits.bytes:
                await self._stop(job, entry, BYTES)
        if run.ran_s - self._kept_s.get(job, 0.0) >= KEEP_S:
            await self._keep([job])

    async def _stop(self, job: JobNumber, entry: JobEntry, why: str) -> None:
        """Hand out nothing more of a job; what is under way comes to its end."""
        self._runs[job].stopped_by = why
        await self._keep([job])
        await self._store.control.set_job_state(job, JobState.PAUSE)
        await tell_job(self._store.frontier, self._store.clock, entry.id, f"paused: {why}")

    async def _run(self, job: JobNumber) -> _Run:
        run = self._runs.get(job)
        if run is None:
            stored = await self._store.reader.mark(_mark(job))
            run = self._runs[job] = _decode(stored) if stored else _Run()
            self._kept_s[job] = run.ran_s
        return run

    async def _keep(self, jobs: Collection[JobNumber]) -> None:
        marks = {_mark(job): _encode(self._runs[job]) for job in jobs}
        self._kept_s |= {job: self._runs[job].ran_s for job in jobs}
        if marks:
            await self._store.frontier.ack([], marks=marks)

    def _limits(self, job: JobNumber, entry: JobEntry) -> Limits:
        spec, limits = self._specs.get(job, ("", None))
        if limits is None or spec != entry.spec:
            limits = Job.from_json(entry.spec).limits
            self._specs[job] = (entry.spec, limits)
        return limits


def _mark(job: JobNumber) -> str:
    return job_mark(job, RUN_MARK)
