"""One crawl from its seeds to its summary: start, stop, and what a person watches meanwhile."""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from skitter.crawl.desk import Desk
from skitter.crawl.drift import Alarm, drift_mark, read_alarms
from skitter.crawl.engine import Engine
from skitter.crawl.explain import Explainer
from skitter.crawl.fitted import fitted_mark, warnings_of
from skitter.crawl.happenings import tell_job
from skitter.crawl.seeding import Seeder
from skitter.crawl.standing import CANCELLED, FINISHED
from skitter.crawl.summary import Summary
from skitter.crawl.totals import Totals
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import SkitterError
from skitter.frontier.model import Counts, JobState
from skitter.job.spec import Sitemaps
from skitter.observability.stats import CrawlStats

STATS_S = 0.25
LIMITS = frozenset({"pages limit", "time limit", "bytes limit"})
SHARED_STATS_S = 1.0
"""How often the counts of a store are read that is not in this process."""
SLOWEST_STATS_S = 3.0
WORTH = 50
"""Unless a page limit needs them, such a look is followed by this many times its own length."""


class Helper(Protocol):
    """Something that works beside the visits of a crawl: a record writer, an ownership."""

    async def run(self) -> None:
        """Work until cancelled."""

    async def settle(self) -> None:
        """Finish what has come in; called when the visits have ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a crawl is made of."""

    works: Works
    desk: Desk
    seeder: Seeder
    explainer: Explainer
    totals: Totals
    helpers: Sequence[Helper] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a crawl keeps things, for its summary."""

    data: Path
    out: tuple[Path | str, ...]
    """Files, and databases by their names for people."""
    warc: Path | None = None


class Crawl:
    """One crawl, ready to run."""

    def __init__(self, parts: Parts, options: EngineOptions, places: Places) -> None:
        self.stats = CrawlStats()
        self._parts = parts
        self._with = parts.desk.equipment
        self._job = self._with.job
        self._number = self._with.number
        self._reader = parts.works.reader
        self._clock = parts.works.clock
        self._places = places
        self._totals = parts.totals
        self._pages_before = parts.totals.used
        self._was_finished = False
        self._seeds: Iterator[str] | None = None
        parts.totals.show(self.stats)
        self.engine = Engine(parts.works, self._number, stats=self.stats, options=options)
        self._main: asyncio.Task[None] | None = None
        self.quiet_s = 0.0
        """How long to wait before the first request: others may still be making theirs."""

    def feed(self, seeds: Iterator[str] | None) -> None:
        """Take seeds to offer beside the job's entries."""
        self._seeds = seeds

    def stop(self) -> None:
        """Begin to drain: requests in flight may finish."""
        self.engine.stop("interrupted")

    def abort(self) -> None:
        """Stop at once; what is not safe yet is fetched again by the next run."""
        self.engine.stop("interrupted")
        self.engine.break_off()
        if self._main is not None:
            self._main.cancel()

    async def run(self) -> Summary:
        """Crawl until finished, stopped or out of patience."""
        started = self._clock.boot()
        self._main = asyncio.create_task(self._crawl())
        try:
            await self._main
        except asyncio.CancelledError:
            if not self.engine.stopped_by or self.engine.broken_off:
                raise
        except BaseExceptionGroup as group:
            # The tasks of a crawl fail together; what made them fail is what a person wants.
            raise first_error(group) from group
        return await self._summary(self._clock.boot() - started)

    async def _crawl(self) -> None:
        parts = self._parts
        nothing_left = not (await self._reader.counts(self._number)).pending
        self._was_finished = nothing_left and self._pages_before > 0
        if nothing_left and not self._totals.ok:
            await parts.seeder.revive(self._job.entries)
        await parts.seeder.submit(self._job.entries)
        await self._tell("started")
        await parts.works.holdings.refresh()
        if self.quiet_s:
            self.stats.note = "waiting until workers of an earlier run have surely ended"
            await asyncio.sleep(self.quiet_s)
        self._with.sitemaps.offered = self.engine.offered
        async with asyncio.TaskGroup() as group:
            extras = [
                group.create_task(self._seed()),
                group.create_task(self._watch()),
                group.create_task(self._mind_trouble()),
                *(group.create_task(helper.run()) for helper in parts.helpers),
            ]
            await self.engine.run()
            if self.engine.stopped_by in LIMITS and parts.works.rights is not None:
                # Others are not to go beyond it either; the same command lets the job run again.
                await self._with.control.set_job_state(self._number, JobState.PAUSE)
            for helper in parts.helpers:
                await helper.settle()
            if not self.engine.broken_off:
                why = self.engine.stopped_by or FINISHED
                await self._tell(why if why in (FINISHED, CANCELLED) else f"stopped: {why}")
            for task in extras:
                task.cancel()

    async def _tell(self, what: str) -> None:
        await tell_job(self._parts.works.frontier, self._clock, self._job.id, what)

    async def _seed(self) -> None:
        if self._seeds is not None:
            await self._parts.seeder.stream(self._seeds, self.engine.offered)
        self.engine.seeded()

    async def _watch(self) -> None:
        """Keep the counts a person watches fresh."""
        shared = self.stats.is_shared = self._parts.works.rights is not None
        while True:
            began = self._clock.boot()
            counts = await self._show()
            self.engine.others_have(self._totals.used, counts.leased)
            took_s = self._clock.boot() - began
            await asyncio.sleep(self._until_next_look(took_s) if shared else STATS_S)

    def _until_next_look(self, took_s: float) -> float:
        """Return how long to leave the counts of a shared store alone, after such a look."""
        if self._job.limits.pages is not None:
            return SHARED_STATS_S
        return min(SLOWEST_STATS_S, max(SHARED_STATS_S, WORTH * took_s))

    async def _mind_trouble(self) -> None:
        """Tell the person who watches why everything waits, while it does."""
        while True:
            self.stats.note = self._parts.works.trouble or self.engine.standings.note
            if self.engine.is_stuck:
                self.abort()
            await asyncio.sleep(STATS_S)

    async def _show(self) -> Counts:
        counts = await self._reader.counts(self._number)
        self._totals = Totals.of(await self._reader.tallies(self._number))
        self._totals.show(self.stats)
        self.stats.queued = counts.pending
        self.stats.dropped = counts.dropped
        self.stats.hosts = await self._reader.hosts_with_work()
        return counts

    async def _summary(self, seconds: float) -> Summary:
        await self._show()
        totals, stats = self._totals, self.stats
        guard, aliases = self._with.guard, self._with.aliases
        waits = stats.waiting_until_ms if self.engine.stopped_by == "waiting" else None
        return Summary(
            pages=totals.pages,
            ok=totals.ok,
            failed=totals.failed,
            refused=totals.refused,
            duplicates=totals.duplicates,
            queued=stats.queued,
            seconds=round(seconds, 3),
            dropped=stats.dropped,
            stopped_by=self.engine.stopped_by or "finished",
            out=self._places.out,
            data=self._places.data,
            hosts=await self._reader.hosts(self._number),
            status_codes=dict(totals.status_codes),
            errors=dict(totals.errors),
            waiting_until=_rfc3339(waits) if waits is not None else None,
            # Whoever fetched them: the pages of others are pages of this run, too.
            finished_before=self._was_finished and totals.used == self._pages_before,
            trouble=await self._trouble(),
            cut={code.value: n for code, n in self._with.finder.cut.items()},
            sitemaps=totals.sitemaps,
            sitemap_urls=totals.sitemap_urls,
            sitemap_faults=totals.sitemap_faults,
            media=totals.media,
            only_sitemaps=self._job.sitemaps is Sitemaps.ONLY,
            aliases=aliases.book.kept_names() if aliases is not None else {},
            left_out=totals.aliases,
            again=totals.again,
            rejected=totals.rejected,
            error_pages=totals.error_pages,
            garbled=totals.garbled,
            warnings=warnings_of(self._job, totals, await self._fitted()),
            alarms=[alarm.words for alarm in await self._alarms()],
            traps=dict(guard.cut) if guard is not None else {},
            warc=self._places.warc,
        )

    async def _fitted(self) -> Collection[str]:
        return await self._reader.marks(fitted_mark(self._number))

    async def _alarms(self) -> list[Alarm]:
        if self._with.drift is None:
            return []
        return read_alarms(await self._reader.marks(drift_mark(self._number)))

    async def _trouble(self) -> str | None:
        """Return why the first entry brought nothing, when the whole job brought nothing."""
        if self._totals.ok or not self._job.entries:
            return None
        found = await self._parts.explainer.explain(self._job.entries[0])
        # The address as it was asked for: a person may have left out the scheme.
        return f"{found['url']}: {found['why']}"


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
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
