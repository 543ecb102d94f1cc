"""The only place where concrete classes meet: a job and options in, a running crawl out."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from skitter.clock import Clock, SystemClock
from skitter.config import RunOptions
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.commit import Committer, scope_mark, totals_mark
from skitter.crawl.discover import LinkFinder
from skitter.crawl.engine import EngineOptions
from skitter.crawl.equipment import Equipment
from skitter.crawl.explain import Explainer
from skitter.crawl.hops import Reservations
from skitter.crawl.inspect import InspectServer, ask_running
from skitter.crawl.judge import Judge
from skitter.crawl.lifecycle import Crawl, Parts, Places
from skitter.crawl.load import raise_file_limit
from skitter.crawl.manners import Manners
from skitter.crawl.seeding import SEED, Seeder
from skitter.crawl.summary import Totals
from skitter.errors import ConfigError, DataDirError
from skitter.fetch.base import FetchLimits
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher, default_headers
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import JobEntry, Overflow
from skitter.job.spec import Job, identity_difference
from skitter.pipeline.jsonl import JsonlSink
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope, ScopeKind

LOCAL_LEASE_MS = 7 * 24 * 3600 * 1000
"""Nobody else works on a directory held by this process, and a restart ends every lease: leases
need only outlast a laptop's sleep."""


class _Assembly:
    """Puts a crawl together, in the order its pieces need each other."""

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
            control=frontier,
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
        self.explainer = Explainer(
            job,
            number,
            reader=frontier,
            judge=self.judge,
            normaliser=self.normaliser,
            manners=self.manners,
        )
        self._number = number

    async def open(self) -> Parts:
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
        return Parts(
            equipment=self.equipment,
            committer=Committer(self.equipment, self.sinks, self.totals),
            seeder=Seeder(self.equipment),
            explainer=self.explainer,
            totals=self.totals,
        )

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
        parts = _Assembly(job, number, options, frontier, fetcher)
        stack.push_async_callback(parts.close)
        made = await parts.open()
        inspector = InspectServer(options.data, parts.explainer.explain)
        await inspector.open()
        stack.push_async_callback(inspector.close)
        limits = EngineOptions(
            concurrency=options.concurrency,
            pages=job.limits.pages,
            ahead=not job.polite.delay,
        )
        crawl = Crawl(made, limits, Places(data=options.data, out=options.out))
        crawl.feed(seeds)
        yield crawl


async def explain_page(data: Path, url: str) -> dict[str, object]:
    """Return everything known of ``url`` in a data directory, asking a running crawl if any."""
    found = await ask_running(data, url)
    if found is not None:
        return found
    directory = DataDir(data)
    directory.require()
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
