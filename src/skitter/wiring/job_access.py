"""Questions about jobs, put to whoever has the store: a running process, or nobody yet."""

import json
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

from skitter.config import RunOptions
from skitter.crawl.ends import open_job
from skitter.crawl.happenings import tell_job
from skitter.crawl.inspect import Question, ask_running
from skitter.crawl.recording import Recording
from skitter.crawl.rights import EverySlot
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import LEASE_MS
from skitter.job.spec import Job
from skitter.wiring.api_access import ask_api
from skitter.wiring.connect import PATIENCE_S, Connected, connect_redis, connect_to_read
from skitter.wiring.host_rules import stored_rules
from skitter.wiring.job_facts import Facts
from skitter.wiring.job_keeper import JobKeeper, nobody_at_work, seeding
from skitter.wiring.jobs import JobHost, checked, refuse_other
from skitter.wiring.limits import JobLimits
from skitter.wiring.look import Where
from skitter.wiring.parts import job_entry, seen_options
from skitter.wiring.running import local_store
from skitter.wiring.store import Store

if TYPE_CHECKING:
    from skitter.frontier.redis.frontier import RedisFrontier


async def ask_jobs(where: Where, question: Question) -> list[Facts]:
    """Return the answer of the process that has the store open, or open it to answer."""
    if where.api is not None:
        return await ask_api(where.api, where.token, question)
    if where.store is not None:
        return await _ask_store(where, question)
    assert where.data is not None
    async with aclosing(ask_running(where.data, question)) as answer:
        lines = [line async for line in answer]
    return _collected(where, lines) if lines else await _ask_directory(where, question)


def _collected(where: Where, lines: list[bytes]) -> list[Facts]:
    found = [dict(json.loads(line)) for line in lines]
    for facts in found:
        if "error" in facts and "id" not in facts:
            raise ConfigError(str(facts["error"]))
    if "complete" not in found[-1]:
        raise DataDirError(f"{where}: what runs there ended before it had answered; ask again")
    return found[:-1]


# In a directory of this machine


async def _ask_directory(where: Where, question: Question) -> list[Facts]:
    """Open a directory on which nothing runs."""
    async with AsyncExitStack() as stack:
        assert where.data is not None
        directory = DataDir(where.data)
        if not directory.frontier.exists():
            raise DataDirError(
                f"{where}: nothing runs there and no crawl has begun; start it with: skitter up"
            )
        directory.require()
        await directory.acquire_when_free()
        stack.callback(directory.release)
        frontier = EmbeddedFrontier(directory.frontier)
        await frontier.open()
        stack.push_async_callback(frontier.close)
        store = local_store(frontier)
        limits = JobLimits(store)
        if question.get("jobs") != "add":
            return await JobKeeper(store, limits, nobody_at_work).tell(question)
        frontier.rules = await stored_rules(frontier)
        options = RunOptions(data=where.data)
        host = JobHost(stack, store, Recording(), options, limits, nobody_at_work)
        try:
            await host.resume()
        except ConfigError as error:
            raise DataDirError(
                f"{where}: holds a crawl of its own; wanted the directory of a skitter up ({error})"
            ) from error
        return [await host.add(question["job"], str(question["source"]))]


# In a store that many share


async def _ask_store(where: Where, question: Question) -> list[Facts]:
    assert where.store is not None
    async with AsyncExitStack() as stack:
        match question.get("jobs"):
            case "list" | "show":
                found = await connect_to_read(stack, where.store)
                if found is None:
                    return _in_nothing(question)
                return await keeper_of(found).tell(question)
            case "add":
                return [await _add(stack, where, question)]
            case _:
                return await keeper_of(await _connect(stack, where)).tell(question)


def _in_nothing(question: Question) -> list[Facts]:
    """Answer for a store that nobody has used yet."""
    if question.get("jobs") == "list":
        return []
    raise ConfigError(f"job {question.get('id')}: there is none of that id; known: none")


async def _connect(stack: AsyncExitStack, where: Where, job: Job | None = None) -> Connected:
    assert where.store is not None
    seen = None if job is None else seen_options(job)
    connected = await connect_redis(stack, where.store, seen, where.cold, PATIENCE_S, where.index)
    # A job that is changed leaves alone what is set for its hosts.
    connected.frontier.rules = await stored_rules(connected.frontier)
    return connected


def store_of(frontier: "RedisFrontier") -> Store:
    """Return a shared store as one sees it who is no member."""
    return Store(
        frontier=frontier,
        reader=frontier,
        control=frontier,
        secret=frontier.secret,
        clock=frontier.clock,
        holdings=EverySlot(frontier, "operator"),
        lease_ms=LEASE_MS,
    )


def keeper_of(connected: Connected) -> JobKeeper:
    """Return who tells about the jobs of a shared store."""
    nodes, frontier = connected

    async def at_work() -> bool:
        from skitter.frontier.redis import roll  # noqa: PLC0415  brings a client

        return bool(await roll.members(nodes, frontier.keys, frontier.clock))

    store = store_of(frontier)
    return JobKeeper(store, JobLimits(store), at_work)


async def _add(stack: AsyncExitStack, where: Where, question: Question) -> Facts:
    """Put a job into a shared store; its members take it up, and its records stay there."""
    source = str(question["source"])
    job = checked(question["job"], source)
    _refuse_unminded(job, source, f"run skitter crawl --job {source} {where}")
    return await _enter(await _connect(stack, where, job), job)


async def add_job(connected: Connected, data: object, source: str) -> Facts:
    """Put a job into a shared store that is open already."""
    job = checked(data, source)
    _refuse_unminded(job, source, "use the embedded store")
    return await _enter(connected, job)


def refuse_unminded(job: Job) -> None:
    """Raise when a job of a shared store wants what no process of it would do."""
    _refuse_unminded(job, f"job {job.id}", "use the embedded store")


async def _enter(connected: Connected, job: Job) -> Facts:
    store = store_of(connected.frontier)
    entry = job_entry(job, outbox=False)
    added = True
    for stored in (await store.reader.jobs()).values():
        if stored.id == job.id:
            refuse_other(stored, Job.from_json(stored.spec), job)
            entry = job_entry(job, outbox=stored.outbox, state=stored.state)
            added = False
    number = await store.control.put_job(entry)
    if added:
        await open_job(store.frontier, number)
    async with seeding(store, number, job) as seeder:
        await seeder.submit(job.entries)
    if added:
        await tell_job(store.frontier, store.clock, job.id, "added")
    return {**await keeper_of(connected).show(job.id), "added": added}


def _refuse_unminded(job: Job, source: str, instead: str) -> None:
    """Raise when a job wants what no process of a cluster would do for it."""
    if any(sink.is_file for sink in job.sinks):
        raise ConfigError(
            f"{source}: sinks: nobody writes files for a job that is added to a store; name a"
            f" database, leave them out and use skitter job export, or {instead}"
        )
    for name in ("time", "bytes"):
        if getattr(job.limits, name) is not None:
            raise ConfigError(
                f"{source}: limits.{name}: nobody minds it for a job that is added to a store;"
                f" wanted limits.pages, or {instead}"
            )
