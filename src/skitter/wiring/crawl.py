"""A job and options in, a running crawl out."""

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from skitter.clock import Clock, SystemClock
from skitter.config import RunOptions
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.commit import Committer, scope_mark, totals_mark, traps_mark
from skitter.crawl.discover import LinkFinder
from skitter.crawl.engine import EngineOptions
from skitter.crawl.equipment import Equipment
from skitter.crawl.explain import Explainer
from skitter.crawl.hops import Reservations
from skitter.crawl.inspect import InspectServer
from skitter.crawl.judge import Judge
from skitter.crawl.keep import Keeper
from skitter.crawl.lifecycle import Crawl, Parts, Places
from skitter.crawl.linked import linked_mark
from skitter.crawl.load import raise_file_limit
from skitter.crawl.manners import Manners
from skitter.crawl.outputs import Outputs
from skitter.crawl.relevance import Relevance
from skitter.crawl.seeding import SEED, Seeder
from skitter.crawl.sitemaps import SitemapFinder
from skitter.crawl.summary import Totals
from skitter.errors import ConfigError, DataDirError
from skitter.fetch.http import HttpFetcher
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import JobEntry, Overflow
from skitter.job.spec import Job, Order, identity_difference
from skitter.pipeline.base import SINK_MARKS, Archive, Sink
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope, ScopeKind
from skitter.wiring.answers import Answers
from skitter.wiring.parts import make_archive, make_fetcher, make_guard, make_sinks, seen_options

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
        clock: Clock = SystemClock()
        rng = random.Random()  # noqa: S311  jitter, not secrets
        self.frontier = frontier
        self.totals = Totals()
        self.sinks = make_sinks(options)
        self.archive = make_archive(job, options)
        self.blackbox = BlackBox(options.data / "blackbox")
        self._number = number
        normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))
        judge = Judge(job, Scope(job.scope))
        guard = make_guard(job, clock)
        relevance = Relevance(job.keywords) if job.order is Order.BEST else None
        finder = LinkFinder(job, number, judge, normaliser, guard=guard, relevance=relevance)
        manners = Manners(
            job,
            fetcher=fetcher,
            reader=frontier,
            clock=clock,
            rng=rng,
            keeper=Keeper(job, clock) if self.archive is not None else None,
        )
        self.equipment = Equipment(
            job=job,
            number=number,
            frontier=frontier,
            reader=frontier,
            control=frontier,
            fetcher=fetcher,
            manners=manners,
            judge=judge,
            normaliser=normaliser,
            finder=finder,
            reservations=Reservations(),
            blackbox=self.blackbox,
            clock=clock,
            rng=rng,
            home=Scope(ScopeKind.DOMAIN),
            sitemaps=SitemapFinder(
                job, judge=judge, normaliser=normaliser, finder=finder, clock=clock
            ),
            guard=guard,
            relevance=relevance,
            keeps_raw=self.archive is not None,
            lease_ms=LOCAL_LEASE_MS,
        )
        self.explainer = Explainer(
            job=job,
            number=number,
            reader=frontier,
            judge=judge,
            normaliser=normaliser,
            manners=manners,
            guard=guard,
        )

    async def open(self) -> Parts:
        """Take up what earlier runs left: totals, scope, traps, counts, the outputs' positions."""
        equipment = self.equipment
        self.totals = Totals.decode(await self.frontier.mark(totals_mark(self._number)))
        prefix = scope_mark(self._number)
        for name, value in (await self.frontier.marks(prefix)).items():
            equipment.judge.scope.add(name[len(prefix) :])
            if value == SEED:
                equipment.home.add(name[len(prefix) :])
        await self._take_up_learned()
        await self._open_outputs()
        outputs = Outputs(equipment, self.sinks, self.archive)
        return Parts(
            equipment=equipment,
            committer=Committer(equipment, outputs, self.totals),
            seeder=Seeder(equipment),
            explainer=self.explainer,
            totals=self.totals,
        )

    async def _take_up_learned(self) -> None:
        equipment = self.equipment
        equipment.finder.linked.restore(await self.frontier.mark(linked_mark(self._number)))
        if equipment.guard is not None:
            prefix = traps_mark(self._number)
            stored = await self.frontier.marks(prefix)
            equipment.guard.restore({name[len(prefix) :]: v for name, v in stored.items()})

    async def _open_outputs(self) -> None:
        await refuse_other_files(self.frontier, self.sinks)
        await refuse_other_archive(self.frontier, self.archive)
        marks = {}
        for sink in self.sinks:
            marks[sink.mark_name] = await sink.open(await self.frontier.mark(sink.mark_name))
        if self.archive is not None:
            name = self.archive.mark_name
            marks[name] = await self.archive.open(await self.frontier.mark(name))
        await self.frontier.ack([], marks=marks)

    async def close(self) -> None:
        """Close what holds files; what fails does not keep the rest open."""
        async with AsyncExitStack() as stack:
            stack.callback(self.blackbox.close)
            for sink in self.sinks:
                stack.push_async_callback(sink.close)
            if self.archive is not None:
                stack.push_async_callback(self.archive.close)


async def refuse_other_files(frontier: EmbeddedFrontier, sinks: Sequence[Sink]) -> None:
    """Raise when the records of this crawl go to other files: some would miss a part of them."""
    known = await frontier.marks(SINK_MARKS)
    wanted = {sink.mark_name: sink for sink in sinks}
    if not known or known.keys() == wanted.keys():
        return
    files = ", ".join(name.split(":", 2)[2] for name in sorted(known))
    strangers = [sink.path for name, sink in wanted.items() if name not in known]
    named = f"--out {strangers[0]}: " if strangers else "--out: "
    raise ConfigError(
        f"{named}this crawl writes to {files}; name the same to go on, --fresh to start over,"
        " or get another format with: skitter job export"
    )


async def refuse_other_archive(frontier: EmbeddedFrontier, archive: Archive | None) -> None:
    """Raise when the archive of this crawl is in another directory, or it has begun without."""
    known = await frontier.marks("archive:")
    begun = await frontier.marks(SINK_MARKS)
    if archive is None and known:
        [place, *_] = known
        raise ConfigError(
            f"--warc: this crawl is archived in {place.removeprefix('archive:')};"
            " name the same to go on, or --fresh to start over"
        )
    if archive is not None and begun and archive.mark_name not in known:
        where = ", ".join(name.removeprefix("archive:") for name in known) or "no archive"
        raise ConfigError(
            f"--warc {archive.mark_name.removeprefix('archive:')}: this crawl has begun with"
            f" {where}; go on with that, or --fresh to start over"
        )


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
        fetcher = make_fetcher(job, options)
        stack.push_async_callback(fetcher.close)
        _check(job, options)
        data = DataDir(options.data)
        data.acquire(fresh=options.fresh)
        stack.callback(data.release)
        frontier = EmbeddedFrontier(data.frontier, durable=not options.fast, seen=seen_options(job))
        await frontier.open()
        stack.push_async_callback(frontier.close)
        number = await _enter_job(frontier, job, options.data)
        assembly = _Assembly(job, number, options, frontier, fetcher)
        stack.push_async_callback(assembly.close)
        made = await assembly.open()
        answers = Answers(
            frontier, number, assembly.explainer, assembly.equipment.finder.linked.table
        )
        inspector = InspectServer(options.data, answers.answer)
        await inspector.open()
        stack.push_async_callback(inspector.close)
        crawl = Crawl(
            made,
            _engine_options(job, options),
            Places(data=options.data, out=options.out, warc=options.warc),
        )
        crawl.feed(seeds)
        yield crawl


def _check(job: Job, options: RunOptions) -> None:
    job.http.resolved_headers()
    for sink in make_sinks(options):
        sink.check()
    archive = make_archive(job, options)
    if archive is not None:
        archive.check()


def _engine_options(job: Job, options: RunOptions) -> EngineOptions:
    return EngineOptions(
        concurrency=options.concurrency,
        pages=job.limits.pages,
        time_s=job.limits.time,
        bytes=job.limits.bytes,
        ahead=not job.polite.delay,
        best_first=job.order is Order.BEST,
    )
