"""The jobs of an open store: told about, paused, resumed, cancelled and cleared."""

import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skitter.config import RunOptions
from skitter.crawl.drift import drift_mark, read_alarms
from skitter.crawl.fitted import fitted_mark, warnings_of
from skitter.crawl.happenings import tell_job
from skitter.crawl.inspect import Answer, Question, error_facts
from skitter.crawl.recording import CLEARED_MARK, PRIORITY_MARK, job_mark
from skitter.crawl.retrying import Retrial
from skitter.crawl.seeding import Seeder
from skitter.crawl.totals import Totals
from skitter.errors import ConfigError, Conflict, SkitterError
from skitter.frontier.model import JobEntry, JobState
from skitter.job.spec import Job, check_job
from skitter.types import JobNumber, PageClass
from skitter.wiring.answers import output_paths
from skitter.wiring.assembly import Assembly
from skitter.wiring.job_facts import Facts, find_job, job_facts, more_facts
from skitter.wiring.limits import JobLimits
from skitter.wiring.parts import job_entry
from skitter.wiring.store import Store

CLASSES = {"nav": PageClass.NAV, "data": PageClass.DATA}

AtWork = Callable[[], Awaitable[bool]]


async def everyone_at_work() -> bool:
    """Tell that there are members, of a process that is one."""
    return True


async def nobody_at_work() -> bool:
    """Tell that there are none, of a store that this process has opened to look at it."""
    return False


class JobKeeper:
    """Answers for every job of a store."""

    def __init__(self, store: Store, limits: JobLimits, at_work: AtWork) -> None:
        self._store = store
        self._limits = limits
        self._at_work = at_work
        self.check: Callable[[Job], None] = lambda job: None
        """Raises when nobody would do for a job what it wants."""

    async def every(self) -> list[Facts]:
        """Return how every job stands."""
        jobs = await self._store.reader.jobs()
        return [await self._facts(number, entry) for number, entry in jobs.items()]

    async def show(self, job_id: str, *, with_spec: bool = False) -> Facts:
        """Return how one job stands, and what it was told to do; as a job file if wanted."""
        number, entry = find_job(await self._store.reader.jobs(), job_id)
        reader, job = self._store.reader, Job.from_json(entry.spec)
        totals = Totals.of(await reader.tallies(number))
        files = await output_paths(reader, number)
        hosts = {"hosts": await reader.hosts(number)}
        alarms = read_alarms(await reader.marks(drift_mark(number)))
        told: Facts = {"alarms": [alarm.words for alarm in alarms]} if alarms else {}
        warnings = warnings_of(job, totals, await reader.marks(fitted_mark(number)))
        told |= {"warnings": warnings} if warnings else {}
        more = more_facts(job, totals, files)
        if with_spec:
            told |= {"spec": _as_file(entry)}
        return {**await self._facts(number, entry), **hosts, **more, **told}

    async def _facts(self, number: JobNumber, entry: JobEntry) -> Facts:
        reader, job = self._store.reader, Job.from_json(entry.spec)
        counts = await reader.counts(number)
        totals = Totals.of(await reader.tallies(number))
        ended = await self._limits.stopped_by(number, entry, totals.used, counts)
        at_work = await self._at_work()
        return job_facts(entry, job, counts, totals, ended, at_work=at_work)

    async def pause(self, job_id: str) -> Facts:
        """Hand out nothing more of a job; what is under way comes to its end."""
        number, entry = await self._living(job_id, "paused")
        if entry.state is JobState.RUN:
            await self._store.control.set_job_state(number, JobState.PAUSE)
            await self._tell(job_id, "paused")
        return await self._one(job_id)

    async def resume(self, job_id: str) -> Facts:
        """Let a job go on; one that a limit has stopped gets its time anew."""
        number, entry = await self._living(job_id, "resumed")
        if entry.state is JobState.PAUSE:
            if await self._limits.stopped(number):
                await self._limits.begin_run(number)
            await self._store.control.set_job_state(number, JobState.RUN)
            await self._tell(job_id, "resumed")
        return await self._one(job_id)

    async def cancel(self, job_id: str) -> Facts:
        """End a job for good: what waits is dropped, what was recorded stays."""
        number, entry = find_job(await self._store.reader.jobs(), job_id)
        # Once more where it was cancelled before: that may have been broken off half way.
        await self._store.control.set_job_state(number, JobState.CANCEL)
        if entry.state is not JobState.CANCEL:
            await self._tell(job_id, "cancelled")
        return await self._one(job_id)

    async def clear(self, job_id: str, page_class: PageClass, *, restart: bool) -> Facts:
        """Forget what waits of one class; with ``restart`` its entries are offered anew."""
        number, entry = await self._living(job_id, "cleared")
        cleared = await self._store.control.clear(number, page_class)
        # Members remember links as queued, which they are not any more.
        mark = job_mark(number, CLEARED_MARK)
        await self._store.frontier.ack([], news={mark: secrets.token_bytes(8)})
        found: Facts = {"cleared": cleared}
        if restart:
            job = Job.from_json(entry.spec)
            async with seeding(self._store, number, job) as seeder:
                found["restarted"] = await seeder.restart(job.entries)
        return {**await self._one(job_id), **found}

    async def retry(self, job_id: str) -> Facts:
        """Queue the pages that were set aside once more: their rules may be mended."""
        number, entry = await self._living(job_id, "tried again")
        async with assembled(self._store, number, Job.from_json(entry.spec)) as assembly:
            queued = await Retrial(assembly.equipment).queue()
        totals = Totals.of(await self._store.reader.tallies(number))
        room = None if entry.pages is None else max(0, entry.pages - totals.used)
        return {**await self._one(job_id), "retried": queued, "room": room}

    async def _tell(self, job_id: str, what: str) -> None:
        await tell_job(self._store.frontier, self._store.clock, job_id, what)

    async def change(self, job_id: str, changes: Mapping[str, object]) -> Facts:
        """Say anew who owns a job, how urgent it is, or what limits it has; others stay."""
        number, entry = await self._living(job_id, "changed")
        spec = _as_file(entry)
        limits = changes.get("limits")
        if isinstance(limits, Mapping):
            kept = {**spec.get("limits", {}), **limits}
            spec["limits"] = {name: value for name, value in kept.items() if value is not None}
        spec |= {name: changes[name] for name in ("owner", "priority") if name in changes}
        job = check_job(spec, f"job {job_id}")
        self.check(job)
        changed = job_entry(job, outbox=entry.outbox, state=entry.state)
        await self._store.control.put_job(changed)
        if job.priority != Job.from_json(entry.spec).priority:
            # Members that are at work on the job hear of it with their next claim.
            news = {job_mark(number, PRIORITY_MARK): b"%d" % job.priority}
            await self._store.frontier.ack([], news=news)
        await self._tell(job_id, "changed")
        return await self.show(job_id, with_spec=True)

    async def drop(self, job_id: str) -> Facts:
        """Forget a job and everything of it; files of its records stay."""
        number, _ = find_job(await self._store.reader.jobs(), job_id)
        await self._store.control.set_job_state(number, JobState.CANCEL)
        await self._store.control.drop_job(number)
        await self._tell(job_id, "forgotten")
        return {"dropped": job_id}

    async def _living(self, job_id: str, verb: str) -> tuple[JobNumber, JobEntry]:
        number, entry = find_job(await self._store.reader.jobs(), job_id)
        if entry.state is JobState.CANCEL:
            raise Conflict(f"job {job_id}: was cancelled; it cannot be {verb}")
        return number, entry

    async def _one(self, job_id: str) -> Facts:
        return await self._facts(*find_job(await self._store.reader.jobs(), job_id))

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer about jobs."""
        try:
            for facts in await self.tell(question):
                yield line_of(facts)
            yield line_of({"complete": True})
        except SkitterError as error:
            yield line_of(error_facts(error))

    async def tell(self, question: Question) -> list[Facts]:
        """Return what a question about jobs asks for, or do what it wants."""
        verbs = {
            "pause": self.pause,
            "resume": self.resume,
            "cancel": self.cancel,
            "drop": self.drop,
            "retry": self.retry,
        }
        match question:
            case {"jobs": "list"}:
                return await self.every()
            case {"jobs": "show", "id": str(job_id)}:
                return [await self.show(job_id, with_spec=question.get("spec") is True)]
            case {"jobs": "change", "id": str(job_id), "changes": dict(changes)}:
                return [await self.change(job_id, changes)]
            case {"jobs": str(verb), "id": str(job_id)} if verb in verbs:
                return [await verbs[verb](job_id)]
            case {"jobs": "clear", "id": str(job_id), "class": "nav" | "data" as name}:
                restart = question.get("restart") is True
                return [await self.clear(job_id, CLASSES[name], restart=restart)]
            case {"jobs": "add"}:
                raise ConfigError(
                    "a crawl of one job runs there; wanted the directory of a skitter up, or a"
                    " store"
                )
            case _:
                raise ConfigError("not a question about jobs that this version knows")


def _as_file(entry: JobEntry) -> dict[str, Any]:
    """Return a stored job with the names of a job file."""
    spec: dict[str, Any] = json.loads(entry.spec)
    spec.pop("version", None)
    return spec


@asynccontextmanager
async def seeding(store: Store, number: JobNumber, job: Job) -> AsyncIterator[Seeder]:
    """Make what offers URLs of a job, in a process that does not work on it."""
    async with assembled(store, number, job) as assembly:
        yield Seeder(assembly.equipment)


@asynccontextmanager
async def assembled(store: Store, number: JobNumber, job: Job) -> AsyncIterator[Assembly]:
    """Put together what a job needs, in a process that does not work on it."""
    with TemporaryDirectory(prefix="skitter-") as folder:
        assembly = Assembly(job, number, RunOptions(data=Path(folder)), store)
        try:
            await assembly.take_up_news()
            yield assembly
        finally:
            await assembly.close()


def answering_jobs(keeper: JobKeeper, other: Answer) -> Answer:
    """Return who answers questions about jobs, and leaves others to ``other``."""

    async def answer(question: Question) -> AsyncIterator[bytes]:
        lines = keeper.answer(question) if "jobs" in question else other(question)
        async for line in lines:
            yield line

    return answer


def line_of(value: Mapping[str, object]) -> bytes:
    """Return one line of an answer."""
    return json.dumps(value, default=str, ensure_ascii=False).encode() + b"\n"
