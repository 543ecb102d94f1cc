"""What a process needs to work on one job, put together in the order its pieces need each other."""

import random
from collections.abc import Callable
from contextlib import AsyncExitStack

from skitter.config import RunOptions
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.commit import Committer, scope_mark, traps_mark
from skitter.crawl.desk import Desk
from skitter.crawl.drift import Drift, drift_mark, read_alarms
from skitter.crawl.equipment import Equipment
from skitter.crawl.explain import Explainer
from skitter.crawl.extraction import Extraction
from skitter.crawl.fitted import of_today
from skitter.crawl.hops import Reservations
from skitter.crawl.keep import Keeper
from skitter.crawl.linked import linked_mark
from skitter.crawl.manners import Manners
from skitter.crawl.media import MediaFinder
from skitter.crawl.news import templates_mark
from skitter.crawl.outputs import Outputs
from skitter.crawl.recording import CLEARED_MARK, PRIORITY_MARK, job_mark
from skitter.crawl.refresh import Refresh
from skitter.crawl.seeding import SEED
from skitter.crawl.site_rules import SiteRates, SiteRules
from skitter.crawl.totals import Totals
from skitter.crawl.visit import Visitor
from skitter.frontier.model import Freed
from skitter.job.spec import Job
from skitter.pipeline.base import Archive
from skitter.types import JobNumber
from skitter.wiring.aliases import make_desk
from skitter.wiring.answers import MEMBER_SIGN
from skitter.wiring.browsers import refuse_without_browser
from skitter.wiring.databases import open_databases
from skitter.wiring.link_parts import LinkParts
from skitter.wiring.parts import make_archive, make_fetcher
from skitter.wiring.reach import JobReach
from skitter.wiring.store import Store


class Assembly:
    """The pieces of one job in one process. ``close`` it when the last visit has ended."""

    def __init__(self, job: Job, number: JobNumber, options: RunOptions, store: Store) -> None:
        self._store = store
        self._number = number
        self._durable = not options.fast
        self._databases = AsyncExitStack()
        self._free: Callable[[Freed], None] = lambda _: None
        self.archive: Archive | None = make_archive(job, options, store.member)
        sites = SiteRules(job, store.settings)
        reach = None if store.reach is None else store.reach.of(job, SiteRates(job, sites))
        self.fetcher = make_fetcher(job, options, reach)
        name = f"blackbox-{number}" if store.member else "blackbox"
        self._blackbox = BlackBox(options.data / name)
        self._browser = store.browsers.of(job)
        links = LinkParts(job, number, store, sites)
        self.equipment = self._equipment(job, links, reach)
        self.explainer = Explainer(
            job=job,
            number=number,
            reader=store.reader,
            judge=links.judge,
            normaliser=links.normaliser,
            manners=self.equipment.manners,
            guard=links.guard,
            aliases=links.finder.aliases,
        )
        self.aliases = make_desk(store, links.finder, self.explainer, links.aliases)

    def _equipment(self, job: Job, links: LinkParts, reach: JobReach | None) -> Equipment:
        store, clock = self._store, self._store.clock
        rng = random.Random()  # noqa: S311  jitter, not secrets
        extraction = Extraction.of(job, links.judge.links, clock)
        manners = Manners(
            job,
            fetcher=self.fetcher,
            reader=store.reader,
            clock=clock,
            rng=rng,
            keeper=Keeper(job, clock) if self.archive is not None else None,
        )
        manners.sites = links.sites
        return Equipment(
            job=job,
            number=self._number,
            frontier=store.frontier,
            reader=store.reader,
            control=store.control,
            fetcher=self.fetcher,
            manners=manners,
            judge=links.judge,
            normaliser=links.normaliser,
            finder=links.finder,
            reservations=Reservations(),
            blackbox=self._blackbox,
            clock=clock,
            rng=rng,
            home=links.home,
            sitemaps=links.sitemaps,
            guard=links.guard,
            extraction=extraction,
            drift=Drift() if extraction is not None or links.news is not None else None,
            media=MediaFinder.of(job, links.judge, links.normaliser, links.finder),
            news=links.news,
            refresh=Refresh.of(job, links.judge, clock),
            aliases=links.aliases,
            relevance=links.relevance,
            renderer=self._browser,
            keeps_raw=self.archive is not None,
            rights=store.rights,
            windows=None if reach is None else reach.windows,
        )

    @property
    def archive_mark(self) -> str:
        """The name under which the archive's position is kept."""
        assert self.archive is not None
        member = f"{MEMBER_SIGN}{self._store.member}" if self._store.member else ""
        return job_mark(self._number, self.archive.mark_name + member)

    async def open(self, free: Callable[[Freed], None]) -> Desk:
        """Take up what earlier runs and other members left, and make ready to visit."""
        equipment = self.equipment
        refuse_without_browser(equipment.job)
        self._free = free
        await self.take_up_news()
        await self._take_up_learned()
        mark = await self._open_archive()
        databases = await open_databases(
            self._databases, self._store, self._number, equipment.job, durable=self._durable
        )
        return Desk(
            equipment,
            Committer(equipment, Outputs(equipment, self.archive, mark, databases)),
            Visitor(equipment, free),
            self.take_up_news,
        )

    async def take_up_news(self) -> None:
        """Take up what is set, and hosts that entries, seeds and redirects have led to."""
        equipment = self.equipment
        await self._store.settings.refresh(self._store.reader)
        for freed in equipment.manners.retuned():
            self._free(freed)
        # The store may have lost links that are remembered here as queued.
        equipment.finder.forget()
        equipment.sitemaps.forget()
        if priority := await self._store.reader.mark(job_mark(self._number, PRIORITY_MARK)):
            equipment.finder.priority = int(priority)
        if equipment.refresh is not None:
            cleared = await self._store.reader.mark(job_mark(self._number, CLEARED_MARK))
            equipment.refresh.cleared = cleared or b""
        for entry in equipment.job.entries:
            normal = equipment.normaliser.absolute(entry)
            equipment.home.add(normal.url)
            equipment.sitemaps.starts.add(normal.url)
            equipment.widen([normal.url])
        prefix = scope_mark(self._number)
        for name, value in (await self._store.reader.marks(prefix)).items():
            url = name[len(prefix) :]
            equipment.widen([url])
            if value == SEED:
                equipment.home.add(url)
                equipment.sitemaps.starts.add(url)
        await self.take_up_aliases()

    async def take_up_aliases(self) -> None:
        """Take up which hosts are one site, and store at once what an undo waits for."""
        if self.equipment.aliases is None:
            return
        marks = await self.equipment.aliases.take_up_news()
        if marks:
            await self._store.frontier.ack([], marks=marks)

    async def _take_up_learned(self) -> None:
        equipment, reader = self.equipment, self._store.reader
        linked = equipment.finder.linked
        linked.mark_name = linked_mark(self._number, self._store.member)
        linked.restore(await reader.mark(linked.mark_name))
        totals = Totals.of(await reader.tallies(self._number))
        equipment.judge.fitted.begin(totals)
        if equipment.drift is not None:
            equipment.drift.prefix = drift_mark(self._number)
            equipment.drift.restore(of_today(equipment.job, totals.filled))
            equipment.drift.take_up(read_alarms(await reader.marks(equipment.drift.prefix)))
        if equipment.news is not None:
            stored = await reader.marks(templates_mark(self._number))
            equipment.news.templates.restore(stored)
            equipment.news.templates.mark_name = templates_mark(self._number, self._store.member)
        if equipment.guard is not None:
            prefix = traps_mark(self._number)
            stored = await reader.marks(prefix)
            equipment.guard.restore({name[len(prefix) :]: v for name, v in stored.items()})
        if equipment.aliases is not None:
            await equipment.aliases.open()

    async def _open_archive(self) -> str:
        if self.archive is None:
            return ""
        name = self.archive_mark
        mark = await self.archive.open(await self._store.reader.mark(name))
        await self._store.frontier.ack([], marks={name: mark})
        return name

    async def close(self) -> None:
        """Close what holds files and sockets; what fails does not keep the rest open."""
        async with AsyncExitStack() as stack:
            stack.callback(self._blackbox.close)
            stack.push_async_callback(self.fetcher.close)
            stack.push_async_callback(self._databases.aclose)
            if self._browser is not None:
                stack.push_async_callback(self._store.browsers.leave, self._browser)
            if self.archive is not None:
                stack.push_async_callback(self.archive.close)
