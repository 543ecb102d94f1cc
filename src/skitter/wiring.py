"""The only place where concrete classes meet: a job and options in, a running crawl out."""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from skitter.clock import Clock, SystemClock
from skitter.config import RunOptions
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.commit import Committer, scope_mark, totals_mark
from skitter.crawl.discover import LinkFinder
from skitter.crawl.engine import Engine, EngineOptions
from skitter.crawl.equipment import Equipment
from skitter.crawl.explain import Explainer
from skitter.crawl.hops import Reservations
from skitter.crawl.inspect import InspectServer, ask_running
from skitter.crawl.judge import Judge
from skitter.crawl.load import raise_file_limit
from skitter.crawl.manners import Manners
from skitter.crawl.seeding import SEED, Seeder
from skitter.crawl.summary import Summary, Totals
from skitter.crawl.visit import Visitor
from skitter.errors import ConfigError, DataDirError, SkitterError
from skitter.fetch.base import FetchLimits
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher, default_headers
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Grant, JobEntry, Overflow
from skitter.job.spec import Job, identity_difference
from skitter.observability.stats import CrawlStats
from skitter.pipeline.jsonl import JsonlSink
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.partition import SLOTS
from skitter.url.scope import Scope, ScopeKind

MEMBER = "local"
LOCAL_LEASE_MS = 7 * 24 * 3600 * 1000
"""Nobody else works on a directory held by this process, and a restart ends every lease: leases
need only outlast a laptop's sleep."""
STATS_S = 0.25


class Crawl:
    """One crawl, ready to run."""

    def __init__(self, job: Job, number: JobNumber, options: RunOptions, parts: "_Parts") -> None:
        self.stats = CrawlStats()
        self._job = job
        self._number = number
        self._options = options
        self._parts = parts
        self._seeds: Iterator[str] | None = None
        parts.totals.show(self.stats)
        self._engine = Engine(
            parts.equipment,
            parts.committer,
            stats=self.stats,
            options=EngineOptions(
                concurrency=options.concurrency,
                pages=job.limits.pages,
                ahead=not job.polite.delay,
            ),
        )
        self._main: asyncio.Task[None] | None = None

    def feed(self, seeds: Iterator[str] | None) -> None:
        """Take seeds to offer beside the job's entries."""
        self._seeds = seeds

    def stop(self) -> None:
        """Begin to drain: requests in flight may finish."""
        self._engine.stop("interrupted")

    def abort(self) -> None:
        """Stop at once; what is not safe yet is fetched again by the next run."""
        self._engine.stop("interrupted")
        if self._main is not None:
            self._main.cancel()

    async def run(self) -> Summary:
        """Crawl until finished, stopped or out of patience."""
        started = self._parts.clock.boot()
        self._main = asyncio.create_task(self._crawl())
        try:
            await self._main
        except asyncio.CancelledError:
            if not self._engine.stopped_by:
                raise
        except BaseExceptionGroup as group:
            # The tasks of a crawl fail together; what made them fail is what a person wants.
            raise _first(group) from group
        return await self._summary(self._parts.clock.boot() - started)

    async def _crawl(self) -> None:
        parts = self._parts
        await parts.seeder.offer(self._job.entries)
        grants = await self._own_everything()
        visitor = Visitor(parts.equipment, self._engine.free)
        async with asyncio.TaskGroup() as group:
            extras = [
                group.create_task(self._seed()),
                group.create_task(self._watch()),
            ]
            await self._engine.run(visitor, grants)
            for task in extras:
                task.cancel()

    async def _own_everything(self) -> list[Grant]:
        return (await self._parts.frontier.own(MEMBER, range(SLOTS)))[:1]

    async def _seed(self) -> None:
        if self._seeds is not None:
            await self._parts.seeder.stream(self._seeds, self._engine.offered)
        self._engine.seeded()

    async def _watch(self) -> None:
        """Keep the counts a person watches fresh."""
        while True:
            await self._show()
            await asyncio.sleep(STATS_S)

    async def _show(self) -> None:
        counts = await self._parts.frontier.counts(self._number)
        self._parts.totals.show(self.stats)
        self.stats.queued = counts.pending
        self.stats.dropped = counts.dropped
        self.stats.hosts = self._parts.frontier.hosts_with_work

    async def _summary(self, seconds: float) -> Summary:
        await self._show()
        totals, stats = self._parts.totals, self.stats
        waits = stats.waiting_until_ms if self._engine.stopped_by == "waiting" else None
        return Summary(
            pages=totals.pages,
            ok=totals.ok,
            failed=totals.failed,
            refused=totals.refused,
            duplicates=totals.duplicates,
            queued=stats.queued,
            seconds=round(seconds, 3),
            dropped=stats.dropped,
            stopped_by=self._engine.stopped_by or "finished",
            out=self._options.out,
            data=self._options.data,
            hosts=await self._parts.frontier.hosts(self._number),
            status_codes=dict(totals.status_codes),
            errors=dict(totals.errors),
            waiting_until=_rfc3339(waits) if waits is not None else None,
        )


class _Parts:
    """The pieces of a crawl, made in the order they need each other."""

    def __init__(
        self,
        job: Job,
        number: JobNumber,
        options: RunOptions,
        frontier: EmbeddedFrontier,
        fetcher: HttpFetcher,
    ) -> None:
        self.clock: Clock = SystemClock()
        self.frontier = frontier
        self.totals = Totals()
        rng = random.Random()  # noqa: S311  jitter, not secrets
        self.normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))
        self.judge = Judge(job, Scope(job.scope))
        self.fetcher = fetcher
        self.manners = Manners(
            job, fetcher=self.fetcher, reader=frontier, clock=self.clock, rng=rng
        )
        reservations = Reservations()
        self.finder = LinkFinder(job, number, self.judge, self.normaliser)
        self.sinks = _sinks(options)
        self.blackbox = BlackBox(options.data / "blackbox")
        self.equipment = Equipment(
            job=job,
            number=number,
            frontier=frontier,
            reader=frontier,
            fetcher=self.fetcher,
            manners=self.manners,
            judge=self.judge,
            normaliser=self.normaliser,
            finder=self.finder,
            reservations=reservations,
            blackbox=self.blackbox,
            clock=self.clock,
            rng=rng,
            home=Scope(ScopeKind.DOMAIN),
            lease_ms=LOCAL_LEASE_MS,
        )
        self._number = number
        self.seeder = Seeder(self.equipment)

    async def open(self) -> None:
        """Take up what earlier runs left: totals, the scope as it grew, the sinks' positions."""
        self.totals = Totals.decode(await self.frontier.mark(totals_mark(self._number)))
        prefix = scope_mark(self._number)
        for name, value in (await self.frontier.marks(prefix)).items():
            self.judge.scope.add(name[len(prefix) :])
            if value == SEED:
                self.equipment.home.add(name[len(prefix) :])
        marks = {}
        for sink in self.sinks:
            known = await self.frontier.mark(sink.mark_name)
            if known is None:
                await self._refuse_second_file(sink)
            marks[sink.mark_name] = await sink.open(known)
        await self.frontier.ack([], marks=marks)
        self.committer = Committer(self.equipment, self.sinks, self.totals)

    async def _refuse_second_file(self, sink: JsonlSink) -> None:
        """Raise when the records of this crawl are in another file: they would be torn apart."""
        for name in await self.frontier.marks(JsonlSink.MARK_PREFIX):
            raise ConfigError(
                f"--out {sink.path}: this crawl writes to {name.removeprefix(sink.MARK_PREFIX)};"
                " name that file to go on, or --fresh to start over"
            )

    async def close(self) -> None:
        """Close what holds files."""
        for sink in self.sinks:
            await sink.close()
        self.blackbox.close()


def _fetcher(job: Job, options: RunOptions) -> HttpFetcher:
    http = job.http
    limits = FetchLimits(
        connect_s=min(http.connect_timeout, http.timeout),
        first_byte_s=min(http.first_byte_timeout, http.timeout),
        total_s=http.timeout,
        header_bytes=http.max_header_bytes,
        body_bytes=http.max_bytes,
    )
    hosts = _hosts_table(options.hosts)
    guard = AddressGuard(allow_private=options.allow_private)
    resolver = Resolver(guard, hosts=hosts)
    return HttpFetcher(limits, resolver=resolver, headers=default_headers(http.agent))


def _sinks(options: RunOptions) -> list[JsonlSink]:
    if options.out is None:
        return []
    return [JsonlSink(options.out, durable=not options.fast, overwrite=options.fresh)]


def _hosts_table(path: Path | None) -> HostsTable | None:
    if path is None:
        return None
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--hosts {path}: cannot be read ({error}); wanted a hosts file"
        ) from error
    return HostsTable.parse(text, source=f"--hosts {path}")


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
    return await frontier.put_job(
        JobEntry(
            id=job.id,
            spec=job.to_json(),
            delay_ms=round(job.polite.delay * 1000),
            per_host=job.polite.per_host,
            queue_bound=job.limits.queue,
            overflow=Overflow(job.limits.overflow.value),
        )
    )


@asynccontextmanager
async def open_crawl(
    job: Job, options: RunOptions, seeds: Iterator[str] | None = None
) -> AsyncIterator[Crawl]:
    """Open everything a crawl needs, and close it in reverse order."""
    raise_file_limit()
    async with AsyncExitStack() as stack:
        # Everything a person may have got wrong comes first: --fresh deletes.
        fetcher = _fetcher(job, options)
        stack.push_async_callback(fetcher.close)
        job.http.resolved_headers()
        for sink in _sinks(options):
            sink.check()
        data = DataDir(options.data)
        data.acquire(fresh=options.fresh)
        stack.callback(data.release)
        frontier = EmbeddedFrontier(data.frontier, durable=not options.fast)
        await frontier.open()
        stack.push_async_callback(frontier.close)
        number = await _enter_job(frontier, job, options.data)
        parts = _Parts(job, number, options, frontier, fetcher)
        stack.push_async_callback(parts.close)
        await parts.open()
        explainer = Explainer(
            job,
            number,
            reader=frontier,
            judge=parts.judge,
            normaliser=parts.normaliser,
            manners=parts.manners,
        )
        inspector = InspectServer(options.data, explainer.explain)
        await inspector.open()
        stack.push_async_callback(inspector.close)
        crawl = Crawl(job, number, options, parts)
        crawl.feed(seeds)
        yield crawl


async def explain_page(data: Path, url: str) -> dict[str, object]:
    """Return everything known of ``url`` in a data directory, asking a running crawl if any."""
    found = await ask_running(data, url)
    if found is not None:
        return found
    directory = DataDir(data)
    if not directory.exists():
        raise DataDirError(f"--data {data}: no crawl has begun there")
    directory.acquire()
    frontier = EmbeddedFrontier(directory.frontier)
    try:
        await frontier.open()
        for number, entry in (await frontier.jobs()).items():
            explainer = await _explainer(
                frontier, number, Job.from_json(entry.spec), RunOptions(data=data)
            )
            return await explainer.explain(url)
        raise DataDirError(f"--data {data}: no crawl has begun there")
    finally:
        await frontier.close()
        directory.release()


async def _explainer(
    frontier: EmbeddedFrontier, number: JobNumber, job: Job, options: RunOptions
) -> Explainer:
    normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))
    scope = Scope(job.scope, [normaliser.absolute(entry).url for entry in job.entries])
    prefix = scope_mark(number)
    for name in await frontier.marks(prefix):
        scope.add(name[len(prefix) :])
    return Explainer(
        job,
        number,
        reader=frontier,
        judge=Judge(job, scope),
        normaliser=normaliser,
        manners=Manners(
            job,
            fetcher=_fetcher(job, options),
            reader=frontier,
            clock=SystemClock(),
            rng=random.Random(),  # noqa: S311  jitter, not secrets
        ),
    )


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first error inside nested groups, the kinds meant for people before others."""
    known = group.subgroup(SkitterError) or group
    error: BaseException = known
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _rfc3339(at_ms: int) -> str:
    return (
        datetime.fromtimestamp(at_ms / 1000, UTC)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z")
    )
