"""A crawl whose state is in Redis: this process begins it, writes its files, and works on it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from skitter.config import RunOptions
from skitter.crawl.consuming import Consumer
from skitter.crawl.lifecycle import Crawl, Helper
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.model import JobState
from skitter.frontier.redis.outbox import Outbox
from skitter.job.spec import Job, identity_difference
from skitter.types import JobNumber
from skitter.wiring.connect import Connected, connect_worker
from skitter.wiring.databases import make_databases
from skitter.wiring.files import open_sinks, refuse_other_archive
from skitter.wiring.host_rules import stored_rules
from skitter.wiring.node import DeskMaker
from skitter.wiring.node_options import NodeOptions, machine_name
from skitter.wiring.parts import job_entry, make_archive, make_sinks, seen_options
from skitter.wiring.reach import make_reach
from skitter.wiring.running import Beside, assemble
from skitter.wiring.shared import join_redis
from skitter.wiring.worker_words import node_crew
from skitter.wiring.workers import Helpers

LEFT_TO_OTHERS = frozenset({"interrupted"})
"""Ends of this process after which nodes go on."""


@asynccontextmanager
async def open_cluster_crawl(
    job: Job, options: RunOptions, seeds: Iterator[str] | None
) -> AsyncIterator[Crawl]:
    """Open everything a crawl on a shared store needs, and close it in reverse order."""
    assert options.store is not None
    async with AsyncExitStack() as stack:
        data = DataDir(options.data)
        if data.frontier.exists() and not options.fresh:
            raise DataDirError(
                f"--data {options.data}: holds a crawl without --store; go on without it,"
                " or choose another directory"
            )
        data.acquire(fresh=options.fresh)
        stack.callback(data.release)
        connected = await connect_worker(stack, options, seen_options(job))
        number = await _enter_job(connected, job, options)
        # Who may not write the files is no member either: others would wait for its slots.
        outbox = _outbox(connected, number)
        await outbox.open()
        stack.push_async_callback(outbox.close)
        store, membership = await join_redis(
            stack, connected, member=machine_name(), picker=options.picker
        )
        store = replace(store, reach=make_reach(stack, store.frontier, store.clock, shared=True))
        await refuse_other_archive(store, number, make_archive(job, options, store.member))
        files = make_sinks(options)
        databases = make_databases(job, fresh=options.fresh)
        await open_sinks(stack, store, number, [*files, *databases])
        for database in databases:
            # Every member has it open for itself, this one, too.
            await database.close()
        consumer = Consumer(outbox, number, files)
        stack.push_async_callback(consumer.close)
        helpers: list[Helper] = [membership, outbox, consumer]
        if options.workers:
            # They stop first: what they bring last is to be written, too.
            crew = node_crew(_own_workers(options))
            stack.callback(crew.kill)
            helpers.insert(0, Helpers(crew))
        helping = _own_workers(options)
        beside = Beside(
            helpers, lambda freed: DeskMaker(stack, store, helping, options.data, freed)
        )
        crawl = await assemble(stack, job, number, options, store, beside)
        membership.serve(crawl.engine)
        consumer.is_last = lambda: crawl.engine.stopped_by not in LEFT_TO_OTHERS
        crawl.stats.place = await connected.frontier.told_home()
        crawl.feed(seeds)
        yield crawl


def _outbox(connected: Connected, number: JobNumber) -> Outbox:
    nodes, frontier = connected
    return Outbox(nodes, frontier.keys, number, machine_name())


async def _enter_job(connected: Connected, job: Job, options: RunOptions) -> JobNumber:
    """Make the job in the store, or check that the one there is the same."""
    frontier = connected.frontier
    for number, entry in (await frontier.jobs()).items():
        if entry.id != job.id:
            continue
        if options.fresh:
            await _drop_job(connected, number)
            continue
        if entry.state is JobState.CANCEL:
            # Or one whose dropping did not come to its end.
            raise ConfigError(
                f"--store: the job {job.id!r} was cancelled; --fresh to start it over"
            )
        if options.out and not entry.outbox:
            raise ConfigError(
                f"--store: the job {job.id!r} was added without files, and nodes work on it; get"
                " its records with: skitter job export"
            )
        stored = Job.from_json(entry.spec)
        difference = identity_difference(stored.identity(), job.identity())
        if difference is not None:
            raise ConfigError(
                f"--store: holds the job {job.id!r} with other settings ({difference});"
                " use the same ones to go on, or --fresh to start over"
            )
    # A job that is changed leaves alone what is set for its hosts.
    frontier.rules = await stored_rules(frontier)
    return await frontier.put_job(job_entry(job, outbox=bool(options.out)))


async def _drop_job(connected: Connected, number: JobNumber) -> None:
    """Forget a job, unless a crawl writes its records at this moment."""
    outbox = _outbox(connected, number)
    await outbox.open()
    try:
        await connected.frontier.drop_job(number)
    finally:
        await outbox.close()


def _own_workers(options: RunOptions) -> NodeOptions:
    return NodeOptions(
        store=options.store,
        cold=options.cold,
        index=options.index,
        picker=options.picker,
        workers=options.workers,
        data=options.data / "workers",
        concurrency=options.concurrency,
        allow_private=options.allow_private,
        hosts=options.hosts,
        fast=options.fast,
    )
