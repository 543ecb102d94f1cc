"""One crawl from its seeds to its summary: start, stop, and what a person watches meanwhile."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from skitter.crawl.commit import Committer
from skitter.crawl.engine import Engine, EngineOptions
from skitter.crawl.equipment import Equipment
from skitter.crawl.explain import Explainer
from skitter.crawl.seeding import Seeder
from skitter.crawl.summary import Summary, Totals
from skitter.crawl.visit import Visitor
from skitter.errors import SkitterError
from skitter.frontier.model import Grant
from skitter.job.spec import Sitemaps
from skitter.observability.stats import CrawlStats
from skitter.url.partition import SLOTS

MEMBER = "local"
STATS_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a crawl is made of."""

    equipment: Equipment
    committer: Committer
    seeder: Seeder
    explainer: Explainer
    totals: Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a crawl keeps things, for its summary."""

    data: Path
    out: tuple[Path, ...]
    warc: Path | None = None


class Crawl:
    """One crawl, ready to run."""

    def __init__(self, parts: Parts, options: EngineOptions, places: Places) -> None:
        self.stats = CrawlStats()
        self._parts = parts
        self._job = parts.equipment.job
        self._number = parts.equipment.number
        self._reader = parts.equipment.reader
        self._clock = parts.equipment.clock
        self._places = places
        self._seeds: Iterator[str] | None = None
        parts.totals.show(self.stats)
        self._engine = Engine(
            parts.equipment,
            parts.committer,
            stats=self.stats,
            options=options,
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
        started = self._clock.boot()
        self._main = asyncio.create_task(self._crawl())
        try:
            await self._main
        except asyncio.CancelledError:
            if not self._engine.stopped_by:
                raise
        except BaseExceptionGroup as group:
            # The tasks of a crawl fail together; what made them fail is what a person wants.
            raise _first(group) from group
        return await self._summary(self._clock.boot() - started)

    async def _crawl(self) -> None:
        parts = self._parts
        if not parts.totals.ok and not (await self._reader.counts(self._number)).pending:
            await parts.seeder.revive(self._job.entries)
        await parts.seeder.offer(self._job.entries)
        grants = await self._own_everything()
        visitor = Visitor(parts.equipment, self._engine.free)
        parts.equipment.sitemaps.offered = self._engine.offered
        async with asyncio.TaskGroup() as group:
            extras = [
                group.create_task(self._seed()),
                group.create_task(self._watch()),
            ]
            await self._engine.run(visitor, grants)
            for task in extras:
                task.cancel()
        await self._store_links()

    async def _store_links(self) -> None:
        """Keep the counts of links up to the end of this run."""
        equipment = self._parts.equipment
        marks = equipment.finder.linked.take_mark(self._number, 0.0, force=True)
        if marks:
            await equipment.frontier.ack([], marks=marks)

    async def _own_everything(self) -> list[Grant]:
        return (await self._parts.equipment.frontier.own(MEMBER, range(SLOTS)))[:1]

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
        counts = await self._reader.counts(self._number)
        self._parts.totals.show(self.stats)
        self.stats.queued = counts.pending
        self.stats.dropped = counts.dropped
        self.stats.hosts = await self._reader.hosts_with_work()

    async def _summary(self, seconds: float) -> Summary:
        await self._show()
        totals, stats = self._parts.totals, self.stats
        guard = self._parts.equipment.guard
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
            out=self._places.out,
            data=self._places.data,
            hosts=await self._reader.hosts(self._number),
            status_codes=dict(totals.status_codes),
            errors=dict(totals.errors),
            waiting_until=_rfc3339(waits) if waits is not None else None,
            run_pages=stats.run_pages,
            trouble=await self._trouble(),
            cut={code.value: n for code, n in self._parts.equipment.finder.cut.items()},
            sitemaps=totals.sitemaps,
            sitemap_urls=totals.sitemap_urls,
            sitemap_faults=totals.sitemap_faults,
            only_sitemaps=self._job.sitemaps is Sitemaps.ONLY,
            traps=dict(guard.cut) if guard is not None else {},
            warc=self._places.warc,
        )

    async def _trouble(self) -> str | None:
        """Return why the first entry brought nothing, when the whole job brought nothing."""
        if self._parts.totals.ok or not self._job.entries:
            return None
        found = await self._parts.explainer.explain(self._job.entries[0])
        return str(found["why"])


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
