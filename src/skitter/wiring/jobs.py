"""The jobs of a master: entered, seeded, their outputs open, and told about."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from skitter.config import RunOptions, job_files
from skitter.crawl.recording import Recording
from skitter.crawl.seeding import Seeder
from skitter.crawl.totals import Totals
from skitter.errors import ConfigError, SkitterError
from skitter.frontier.model import JobEntry
from skitter.job.spec import Job, check_job, identity_difference
from skitter.pipeline.base import Sink
from skitter.types import JobNumber
from skitter.wiring.answers import Answers, Question
from skitter.wiring.assembly import Assembly
from skitter.wiring.databases import database_places, make_databases
from skitter.wiring.files import open_sinks
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
    ) -> None:
        self._stack = stack
        self._store = store
        self._recording = recording
        self._options = options
        self._limits = limits
        self._assemblies: dict[JobNumber, Assembly] = {}

    async def resume(self) -> None:
        """Go on with the jobs that are in the store."""
        for number, entry in (await self._store.reader.jobs()).items():
            await self._open(number, Job.from_json(entry.spec))

    async def add(self, data: object, source: str) -> dict[str, object]:
        """Take a job in and offer its entries; one that is there goes on, if a limit stopped it."""
        job = check_job(data, source)
        if not job.entries:
            raise ConfigError(f"{source}: entries: nothing to crawl; wanted one URL or more")
        refuse_unstored_secrets(job)
        refuse_unkept_media(job)
        refuse_unstored_passwords(job)
        await self._refuse_other(job)
        number = await self._store.control.put_job(job_entry(job))
        assembly = self._assemblies.get(number) or await self._open_new(number, job)
        await self._limits.begin_run(number)
        await assembly.take_up_news()
        await Seeder(assembly.equipment).offer(job.entries)
        return await self.show(job.id)

    async def _refuse_other(self, job: Job) -> None:
        """Raise when a job of that id has other settings, or another job has its files."""
        folder = self._options.data / OUT
        files = {path.resolve() for path in _files(job, folder)}
        places = set(database_places(job))
        for entry in (await self._store.reader.jobs()).values():
            stored = Job.from_json(entry.spec)
            taken = {path.resolve() for path in _files(stored, folder)}
            if entry.id != job.id:
                if both := files & taken:
                    raise ConfigError(
                        f"job {job.id}: sinks: job {entry.id} writes to {min(both)};"
                        " wanted another file"
                    )
                continue
            difference = identity_difference(stored.identity(), job.identity())
            others = set(database_places(stored))
            if difference is None and (files, places) != (taken, others):
                difference = f"its records go to {', '.join(sorted({*map(str, taken), *others}))}"
            if difference is not None:
                raise ConfigError(
                    f"job {job.id}: is there with other settings ({difference}); give it another id"
                )

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
        self._recording.serve(number, await open_sinks(self._stack, self._store, number, sinks))
        assembly = Assembly(job, number, self._options, self._store)
        self._stack.push_async_callback(assembly.close)
        self._assemblies[number] = assembly
        return assembly

    async def show(self, job_id: str) -> dict[str, object]:
        """Return how one job stands."""
        for number, entry in (await self._store.reader.jobs()).items():
            if entry.id == job_id:
                return await self._facts(number, entry)
        raise ConfigError(f"job {job_id}: there is none of that id")

    async def list(self) -> list[dict[str, object]]:
        """Return how every job stands."""
        jobs = await self._store.reader.jobs()
        return [await self._facts(number, entry) for number, entry in jobs.items()]

    async def _facts(self, number: JobNumber, entry: JobEntry) -> dict[str, object]:
        counts = await self._store.reader.counts(number)
        totals = Totals.of(await self._store.reader.tallies(number))
        job = Job.from_json(entry.spec)
        ended = await self._limits.stopped_by(number, entry, totals.pages, counts.pending)
        return {
            "id": entry.id,
            "state": entry.state.value,
            "stopped_by": ended,
            "pages": totals.pages,
            "ok": totals.ok,
            "failed": totals.failed,
            "refused": totals.refused,
            "duplicates": totals.duplicates,
            "queued": counts.queued,
            "leased": counts.leased,
            "scheduled": counts.scheduled,
            "done": counts.done,
            "dead": counts.dead,
            "dropped": counts.dropped,
            "outputs": [*map(str, _files(job, self._options.data / OUT)), *database_places(job)],
        }

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer about jobs, or about the pages of one of them."""
        try:
            async for line in self._answer(question):
                yield line
        except SkitterError as error:
            yield _line({"error": str(error)})

    async def _answer(self, question: Question) -> AsyncIterator[bytes]:
        match question:
            case {"add_job": data, "source": str(source)}:
                yield _line(await self.add(data, source))
            case {"jobs": _}:
                for facts in await self.list():
                    yield _line(facts)
                yield _line({"complete": True})
            case {"show_job": str(job_id)}:
                yield _line(await self.show(job_id))
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
            raise ConfigError(f"jobs here: {known}; name one of them")
        [number] = found
        assembly = self._assemblies[number]
        reader, explainer = self._store.reader, assembly.explainer
        # Others crawl here: what they have recognised is in the store.
        await assembly.take_up_aliases()
        return Answers(reader, number, explainer, aliases=assembly.aliases)


def _files(job: Job, folder: Path) -> tuple[Path, ...]:
    """Return where the records of a job go: where it says, else to a file of its name."""
    folder.mkdir(exist_ok=True)
    return job_files(job, folder / f"{job.id}.jsonl")


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=False).encode() + b"\n"
