"""A job and options in, a running crawl out."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from skitter.config import RunOptions
from skitter.crawl.lifecycle import Crawl, Helper
from skitter.crawl.load import raise_file_limit
from skitter.crawl.recording import Recording
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import JobState
from skitter.job.parts import SeenKind
from skitter.job.spec import Job, identity_difference
from skitter.pipeline.base import Sink
from skitter.types import JobNumber
from skitter.wiring.browsers import refuse_without_browser
from skitter.wiring.connect import require_redis
from skitter.wiring.databases import check_databases, make_databases
from skitter.wiring.files import open_sinks, refuse_other_archive
from skitter.wiring.host_rules import stored_rules
from skitter.wiring.parts import (
    job_entry,
    make_archive,
    make_fetcher,
    make_sinks,
    refuse_unkept_media,
    refuse_unstored_passwords,
    refuse_unstored_secrets,
    seen_options,
)
from skitter.wiring.reach import make_reach
from skitter.wiring.running import Beside, assemble, caretaker, local_store
from skitter.wiring.workers import open_helpers


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
            require_redis()
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
        shared = options.workers > 0
        store = local_store(frontier, shared=shared)
        store = replace(store, reach=make_reach(stack, frontier, store.clock, shared=shared))
        await refuse_other_archive(store, number, make_archive(job, options))
        recording = Recording()
        databases = make_databases(job, durable=not options.fast, fresh=options.fresh)
        sinks: list[Sink] = [*make_sinks(options), *databases]
        recording.serve(number, await open_sinks(stack, store, number, sinks))
        frontier.records = recording
        helpers: list[Helper] = [caretaker(frontier)]
        quiet_s = 0.0
        if options.workers:
            workers = await open_helpers(stack, frontier, store, options)
            helpers.append(workers)
            quiet_s = workers.quiet_s
        crawl = await assemble(stack, job, number, options, store, Beside(helpers))
        crawl.quiet_s = quiet_s
        crawl.feed(seeds)
        yield crawl


async def _enter_job(frontier: EmbeddedFrontier, job: Job, data: Path) -> JobNumber:
    """Make the job in the store, or check that the one there is the same."""
    for entry in (await frontier.jobs()).values():
        if entry.id != job.id:
            raise DataDirError(
                f"--data {data}: holds the job {entry.id!r}, not {job.id!r};"
                " choose another directory, or --fresh to start over"
            )
        if entry.state is JobState.CANCEL:
            raise DataDirError(
                f"--data {data}: the job {job.id!r} was cancelled; --fresh to start it over"
            )
        stored = Job.from_json(entry.spec)
        difference = identity_difference(stored.identity(), job.identity())
        if difference is not None:
            raise DataDirError(
                f"--data {data}: holds this job with other settings ({difference});"
                " use the same ones to go on, or --fresh to start over"
            )
    # A job that is changed leaves alone what is set for its hosts.
    frontier.rules = await stored_rules(frontier)
    return await frontier.put_job(job_entry(job))


async def _check(job: Job, options: RunOptions) -> None:
    await make_fetcher(job, options).close()
    job.http.own_headers()
    refuse_unkept_media(job)
    refuse_without_browser(job)
    if options.workers or options.store:
        refuse_unstored_secrets(job)
    if options.store:
        refuse_unstored_passwords(job)
    if job.seen.kind is SeenKind.COMPACT and options.store is None:
        raise ConfigError(
            "--seen compact: for a store in memory; wanted exact or bloom, or --store"
        )
    for sink in make_sinks(options):
        sink.check()
    archive = make_archive(job, options)
    if archive is not None:
        archive.check()
    await check_databases(job)
