"""A job and options in, a running crawl out."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from skitter.clock import SystemClock
from skitter.config import RunOptions
from skitter.crawl.desk import Desks, FreedHosts
from skitter.crawl.inspect import InspectServer
from skitter.crawl.lifecycle import Crawl, Helper, Parts, Places
from skitter.crawl.load import raise_file_limit
from skitter.crawl.recording import Recording
from skitter.crawl.rights import EverySlot, Rights
from skitter.crawl.seeding import Seeder
from skitter.crawl.summary import Totals
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import DataDirError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.job.spec import Job, Order, identity_difference
from skitter.types import JobNumber
from skitter.wiring.answers import Answers
from skitter.wiring.assembly import Assembly
from skitter.wiring.files import open_sinks, refuse_other_archive
from skitter.wiring.parts import (
    job_entry,
    make_archive,
    make_fetcher,
    make_sinks,
    refuse_unstored_secrets,
    seen_options,
)
from skitter.wiring.store import Store
from skitter.wiring.workers import open_helpers

LOCAL_LEASE_MS = 7 * 24 * 3600 * 1000
"""Nobody else works on a directory held by this process, and a restart ends every lease: leases
need only outlast a laptop's sleep."""


@asynccontextmanager
async def open_crawl(
    job: Job, options: RunOptions, seeds: Iterator[str] | None = None
) -> AsyncIterator[Crawl]:
    """Open everything a crawl needs, and close it in reverse order."""
    raise_file_limit()
    async with AsyncExitStack() as stack:
        # Everything a person may have got wrong comes first: --fresh deletes.
        await _check(job, options)
        if options.store is not None:
            from skitter.wiring.cluster import open_cluster_crawl  # noqa: PLC0415  brings a client

            opened = open_cluster_crawl(job, options, seeds)
            yield await stack.enter_async_context(opened)
            return
        data = DataDir(options.data)
        data.acquire(fresh=options.fresh)
        stack.callback(data.release)
        frontier = EmbeddedFrontier(data.frontier, durable=not options.fast, seen=seen_options(job))
        await frontier.open()
        stack.push_async_callback(frontier.close)
        number = await _enter_job(frontier, job, options.data)
        store = local_store(frontier, shared=options.workers > 0)
        await refuse_other_archive(store, number, make_archive(job, options))
        recording = Recording()
        recording.serve(number, await open_sinks(stack, store, number, make_sinks(options)))
        frontier.records = recording
        helpers = [await open_helpers(stack, frontier, store, options)] if options.workers else []
        crawl = await assemble(stack, job, number, options, store, helpers)
        crawl.feed(seeds)
        yield crawl


def local_store(frontier: EmbeddedFrontier, *, shared: bool = True, member: str = "") -> Store:
    """Return the store of a directory, which worker processes may share."""
    clock = SystemClock()
    holdings = EverySlot(frontier, "local")
    return Store(
        frontier=frontier,
        reader=frontier,
        control=frontier,
        secret=frontier.secret,
        clock=clock,
        holdings=holdings,
        lease_ms=LOCAL_LEASE_MS,
        member=member,
        rights=Rights(holdings, clock, LOCAL_LEASE_MS) if shared else None,
    )


async def assemble(
    stack: AsyncExitStack,
    job: Job,
    number: JobNumber,
    options: RunOptions,
    store: Store,
    helpers: Sequence[Helper] = (),
) -> Crawl:
    """Put a crawl together on an open store; the stack closes what is opened here."""
    assembly = Assembly(job, number, options, store)
    stack.push_async_callback(assembly.close)
    desks = Desks()
    works = Works(
        frontier=store.frontier,
        reader=store.reader,
        clock=store.clock,
        desks=desks,
        holdings=store.holdings,
        freed=FreedHosts(),
        rights=store.rights,
    )
    desk = await assembly.open(works.freed.add)
    desks.open[number] = desk
    crawl = Crawl(
        Parts(
            works=works,
            desk=desk,
            seeder=Seeder(assembly.equipment),
            explainer=assembly.explainer,
            totals=Totals.of(await store.reader.tallies(number)),
            helpers=helpers,
        ),
        engine_options(job, options, store.lease_ms),
        Places(data=options.data, out=options.out, warc=options.warc),
    )
    answers = Answers(
        store.reader, number, assembly.explainer, assembly.equipment.finder.linked.table
    )
    inspector = InspectServer(options.data, answers.answer)
    await inspector.open()
    stack.push_async_callback(inspector.close)
    return crawl


async def _enter_job(frontier: EmbeddedFrontier, job: Job, data: Path) -> JobNumber:
    """Make the job in the store, or check that the one there is the same."""
    for entry in (await frontier.jobs()).values():
        if entry.id != job.id:
            raise DataDirError(
                f"--data {data}: holds the job {entry.id!r}, not {job.id!r};"
                " choose another directory, or --fresh to start over"
            )
        stored = Job.from_json(entry.spec)
        difference = identity_difference(stored.identity(), job.identity())
        if difference is not None:
            raise DataDirError(
                f"--data {data}: holds this job with other settings ({difference});"
                " use the same ones to go on, or --fresh to start over"
            )
    return await frontier.put_job(job_entry(job))


async def _check(job: Job, options: RunOptions) -> None:
    await make_fetcher(job, options).close()
    job.http.resolved_headers()
    if options.workers or options.store:
        refuse_unstored_secrets(job)
    for sink in make_sinks(options):
        sink.check()
    archive = make_archive(job, options)
    if archive is not None:
        archive.check()


def engine_options(job: Job, options: RunOptions, lease_ms: int) -> EngineOptions:
    """Return the bounds of a run."""
    return EngineOptions(
        concurrency=options.concurrency,
        pages=job.limits.pages,
        time_s=job.limits.time,
        bytes=job.limits.bytes,
        best_first=job.order is Order.BEST,
        lease_ms=lease_ms,
    )
