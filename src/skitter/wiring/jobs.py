"""The jobs of a master: entered, seeded, their outputs open, and told about."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import msgspec

from skitter.config import RunOptions, job_files
from skitter.crawl.ends import open_job
from skitter.crawl.happenings import tell_job
from skitter.crawl.inspect import error_facts
from skitter.crawl.recording import Recording
from skitter.crawl.resolve.lane import LANE
from skitter.crawl.seeding import Seeder
from skitter.errors import ConfigError, Conflict, NotFound, SkitterError
from skitter.frontier.model import JobEntry, JobState
from skitter.job.spec import Job, check_job
from skitter.pipeline.base import Sink
from skitter.types import JobNumber
from skitter.wiring.answers import NAME_ONE, Answers, Question
from skitter.wiring.assembly import Assembly
from skitter.wiring.browsers import refuse_without_browser
from skitter.wiring.databases import database_places, make_databases
from skitter.wiring.files import open_sinks
from skitter.wiring.job_facts import Facts, difference, find_job
from skitter.wiring.job_keeper import AtWork, JobKeeper, line_of
from skitter.wiring.limits import JobLimits
from skitter.wiring.parts import (
    job_entry,
    make_sinks,
    refuse_unkept_media,
    refuse_unstored_passwords,
    refuse_unstored_secrets,
)
from skitter.wiring.store import Store

OUT = "out"


class JobHost:
    """Takes jobs into a store whose records this process writes."""

    def __init__(
        self,
        stack: AsyncExitStack,
        store: Store,
        recording: Recording,
        options: RunOptions,
        limits: JobLimits,
        at_work: AtWork,
    ) -> None:
        self._stack = stack
        self._store = store
        self._recording = recording
        self._options = options
        self._limits = limits
        self._keeper = JobKeeper(store, limits, at_work)
        self._assemblies: dict[JobNumber, Assembly] = {}
        self._opened: dict[JobNumber, AsyncExitStack] = {}

    async def resume(self) -> None:
        """Go on with the jobs that are in the store."""
        for number, entry in (await self._store.reader.jobs()).items():
            await self._open(number, Job.from_json(entry.spec))

    async def add(self, data: object, source: str) -> Facts:
        """Take a job in and offer its entries; one that is there goes on, if a limit stopped it."""
        job = checked(data, source)
        before = await self._before(job)
        entry = job_entry(job)
        if before is not None:
            known, stored = before
            by_hand = stored.state is JobState.PAUSE and not await self._limits.stopped(known)
            entry = msgspec.structs.replace(entry, state=JobState.PAUSE) if by_hand else entry
        number = await self._store.control.put_job(entry)
        assembly = self._assemblies.get(number) or await self._open_new(number, job)
        await self._limits.begin_run(number)
        if before is None:
            await open_job(self._store.frontier, number)
        await assembly.take_up_news()
        await Seeder(assembly.equipment).submit(job.entries)
        if before is None:
            await tell_job(self._store.frontier, self._store.clock, job.id, "added")
        [facts] = await self._keeper.tell({"jobs": "show", "id": job.id})
        return {**facts, "added": before is None}

    async def _before(self, job: Job) -> tuple[JobNumber, JobEntry] | None:
        """Return the job of that id, if it is there; raises when it is another one.

        Or when another job has its files.
        """
        folder = self._options.data / OUT
        files = {path.resolve() for path in _files(job, folder)}
        places = set(database_places(job))
        found: tuple[JobNumber, JobEntry] | None = None
        for number, entry in (await self._store.reader.jobs()).items():
            stored = Job.from_json(entry.spec)
            taken = {path.resolve() for path in _files(stored, folder)}
            if entry.id == job.id:
                refuse_other(entry, stored, job)
                others = set(database_places(stored))
                if (files, places) != (taken, others):
                    there = ", ".join(sorted({*map(str, taken), *others}))
                    raise other_job(job, f"its records go to {there}")
                found = (number, entry)
            elif both := files & taken:
                raise Conflict(
                    f"job {job.id}: sinks: job {entry.id} writes to {min(both)}; wanted another"
                    " file"
                )
        return found

    async def _open_new(self, number: JobNumber, job: Job) -> Assembly:
        """Open a job's outputs; one that has none that can be written is not kept."""
        try:
            return await self._open(number, job)
        except SkitterError:
            await self._store.control.drop_job(number)
            raise

    async def _open(self, number: JobNumber, job: Job) -> Assembly:
        files = make_sinks(replace(self._options, out=_files(job, self._options.data / OUT)))
        sinks: list[Sink] = [*files, *make_databases(job, durable=not self._options.fast)]
        opened = self._opened[number] = AsyncExitStack()
        self._stack.push_async_callback(opened.aclose)
        self._recording.serve(number, await open_sinks(opened, self._store, number, sinks))
        assembly = Assembly(job, number, self._options, self._store)
        opened.push_async_callback(assembly.close)
        self._assemblies[number] = assembly
        return assembly

    async def _drop(self, job_id: str) -> Facts:
        """Forget a job; nothing is written for it any more."""
        number, _ = find_job(await self._store.reader.jobs(), job_id)
        await self._keeper.cancel(job_id)
        self._recording.serve(number, ())
        self._assemblies.pop(number, None)
        if opened := self._opened.pop(number, None):
            await opened.aclose()
        return await self._keeper.drop(job_id)

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer about jobs, or about the pages of one of them."""
        try:
            async for line in self._answer(question):
                yield line
        except SkitterError as error:
            yield line_of(error_facts(error))

    async def _answer(self, question: Question) -> AsyncIterator[bytes]:
        match question:
            case {"jobs": "add", "job": data, "source": str(source)}:
                yield line_of(await self.add(data, source))
                yield line_of({"complete": True})
            case {"jobs": "drop", "id": str(job_id)}:
                yield line_of(await self._drop(job_id))
                yield line_of({"complete": True})
            case {"jobs": _}:
                async for line in self._keeper.answer(question):
                    yield line
            case _:
                async for line in (await self._answers_for(question)).answer(question):
                    yield line

    async def _answers_for(self, question: Question) -> Answers:
        """Return who knows about the job that is asked for, or about the only one."""
        wanted = question.get("job")
        jobs = await self._store.reader.jobs()
        found = [number for number, entry in jobs.items() if wanted in (None, entry.id)]
        if len(found) != 1:
            known = ", ".join(entry.id for entry in jobs.values()) or "none"
            kind = ConfigError if wanted is None else NotFound
            raise kind(f"jobs here: {known}; {NAME_ONE}")
        [number] = found
        assembly = self._assemblies.get(number)
        if assembly is None:
            # The service has made it in the store itself.
            assembly = await self._open(number, Job.from_json(jobs[number].spec))
        reader, explainer = self._store.reader, assembly.explainer
        # Others crawl here: what they have recognised is in the store.
        await assembly.take_up_aliases()
        return Answers(reader, number, explainer, aliases=assembly.aliases)


def checked(data: object, source: str) -> Job:
    """Return a job that others can work on; raises, naming the field, when they could not."""
    job = check_job(data, source)
    if not job.entries:
        raise ConfigError(f"{source}: entries: nothing to crawl; wanted one URL or more")
    refuse_unstored_secrets(job)
    refuse_unstored_passwords(job)
    refuse_unkept_media(job)
    refuse_without_browser(job)
    return job


def refuse_other(entry: JobEntry, stored: Job, job: Job) -> None:
    """Raise when the job of an id was cancelled, or was told to do something else."""
    if entry.state is JobState.CANCEL:
        raise Conflict(f"job {job.id}: was cancelled; give it another id")
    if other := difference(stored, job):
        raise other_job(job, other)


def other_job(job: Job, why: str) -> Conflict:
    """Return the error for a job whose id another one has."""
    return Conflict(f"job {job.id}: is there with other settings ({why}); give it another id")


def _files(job: Job, folder: Path) -> tuple[Path, ...]:
    """Return where the records of a job go: where it says, else to a file of its name.

    A path that does not begin at the root is one in the folder, wherever the master was started.
    """
    folder.mkdir(exist_ok=True)
    if job.id == LANE:
        # Its records are read from the page index by whoever asked for them.
        return ()
    return tuple(folder / path for path in job_files(job, Path(f"{job.id}.jsonl")))
