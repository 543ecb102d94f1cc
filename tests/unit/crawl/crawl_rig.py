"""A crawl taken apart: the real frontier, finder, judge and committer over a table of pages.

Time is virtual, so that back-offs of minutes pass at once; requests are answered by a fake.
"""

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from skitter.clock import Clock
from skitter.crawl.blackbox import BlackBox
from skitter.crawl.commit import Committer
from skitter.crawl.desk import Desk, Desks, FreedHosts
from skitter.crawl.discover import LinkFinder
from skitter.crawl.engine import Engine
from skitter.crawl.equipment import Equipment
from skitter.crawl.extraction import Extraction
from skitter.crawl.hops import Reservations
from skitter.crawl.judge import Judge
from skitter.crawl.keep import Keeper
from skitter.crawl.linked import linked_mark
from skitter.crawl.manners import Manners
from skitter.crawl.media import MediaFinder
from skitter.crawl.news import News
from skitter.crawl.outputs import Outputs
from skitter.crawl.recording import Recording, job_mark
from skitter.crawl.refresh import Refresh
from skitter.crawl.relevance import Relevance
from skitter.crawl.rights import EverySlot, Holdings, Rights
from skitter.crawl.seeding import Seeder
from skitter.crawl.sitemaps import SitemapFinder
from skitter.crawl.totals import Totals
from skitter.crawl.traps.guard import TrapGuard, TrapLimits
from skitter.crawl.trip import Visit
from skitter.crawl.visit import Visitor
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import FetchError, SinkError
from skitter.fetch.base import Fetcher, Request, Response
from skitter.fetch.browser.base import Renderer
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Counts, Freed, Grant, JobEntry, Lease, Sighting
from skitter.job.spec import Job, check_job
from skitter.observability.stats import CrawlStats
from skitter.pipeline.base import Archive, Batch
from skitter.testing.fake_fetcher import FakeFetcher, page
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser, NormalUrl
from skitter.url.scope import Scope, ScopeKind

Record = dict[str, Any]
SITE = "http://site.test"
HOME = f"{SITE}/"


class Web(dict[str, Response | FetchError]):
    """The pages there are, by URL."""

    def html(self, url: str, body: str = "", *links: str, **headers: str) -> None:
        """Put a page there; a header ``x_robots_tag`` is written with dashes."""
        anchors = "".join(f'<a href="{link}">{link}</a>' for link in links)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        typed = {"content-type": "text/html; charset=utf-8", **named}
        self[url] = page(url, f"<title>{url}</title>{body}{anchors}", headers=typed)

    def status(self, url: str, status: int, **headers: str) -> None:
        """Let a URL answer with a status alone."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self[url] = page(url, status=status, headers=named)

    def moved(self, url: str, target: str, status: int = 301) -> None:
        """Let a URL redirect."""
        self.status(url, status, location=target)

    def text(self, url: str, body: str, media_type: str = "text/plain") -> None:
        """Put a document of another type there."""
        self[url] = page(url, body, headers={"content-type": media_type})

    def sitemap(self, url: str, *entries: str) -> None:
        """Put a sitemap there; an entry is a URL, and whatever tags of its own behind a space."""
        rows = [entry.partition(" ") for entry in entries]
        listed = "".join(f"<url><loc>{loc}</loc>{tags}</url>" for loc, _, tags in rows)
        self.text(url, f"<urlset>{listed}</urlset>", "application/xml")

    def index(self, url: str, *sitemaps: str) -> None:
        """Put an index of sitemaps there."""
        listed = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in sitemaps)
        self.text(url, f"<sitemapindex>{listed}</sitemapindex>", "application/xml")

    def robots(self, text: str, site: str = SITE) -> None:
        """Give a site a robots.txt."""
        url = f"{site}/robots.txt"
        self[url] = page(url, text, headers={"content-type": "text/plain"})


class MemorySink:
    """A sink in memory; its mark is the number of lines."""

    mark_name = "sink:memory"
    place = "memory"
    trouble = ""

    def check(self) -> None:
        pass

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.broken = False

    async def open(self, mark: bytes | None) -> bytes:
        del self.lines[int(mark or 0) :]
        return mark or b"0"

    async def write(self, batch: Batch) -> bytes:
        if self.broken:
            raise SinkError("memory: cannot be written (No space left on device)")
        self.lines += batch.lines
        return str(len(self.lines)).encode()

    async def close(self) -> None:
        pass

    @property
    def records(self) -> list[Record]:
        return [json.loads(line) for line in self.lines]


def make_job(**fields: Any) -> Job:
    """Return a job without delays; ``polite`` and ``http`` are tables as in a job file."""
    polite = {"delay": 0.0, "adaptive": False, **fields.pop("polite", {})}
    asked = {"id": "job", "entries": [HOME], "sitemaps": "no", "polite": polite, **fields}
    return check_job(asked, "test job")


class HeldFetcher:
    """Keeps answers back until a test lets them go; notes when each host was asked."""

    def __init__(self, inner: Fetcher) -> None:
        self._inner = inner
        self._held: dict[str, asyncio.Event] = {}
        self._asked: dict[str, asyncio.Event] = {}
        self.times: dict[str, list[float]] = {}

    def hold(self, url: str) -> None:
        """Keep the answer to ``url`` back."""
        self._held[url] = asyncio.Event()
        self._asked[url] = asyncio.Event()

    async def asked(self, url: str) -> None:
        """Return when a held URL has been asked for."""
        await self._asked[url].wait()

    def let_go(self, url: str) -> None:
        """Give the answer."""
        self._held[url].set()

    async def fetch(self, request: Request) -> Response:
        host = request.url.split("/")[2]
        self.times.setdefault(host, []).append(asyncio.get_running_loop().time())
        if request.url in self._held:
            self._asked[request.url].set()
            await self._held[request.url].wait()
        return await self._inner.fetch(request)

    async def close(self) -> None:
        await self._inner.close()

    def shortest_gap(self, host: str) -> float:
        """Return the least time between two requests to a host, in seconds."""
        return min(after - before for before, after in pairwise(self.times[host]))


class CrawlRig:
    """Everything one visit needs, and short words for what tests do with it."""

    def __init__(self, root: Path, web: Mapping[str, Response | FetchError], job: Job) -> None:
        self.root = root
        self.job = job
        self.clock = VirtualClock()
        self.fetcher = FakeFetcher(web)
        self.sink = MemorySink()
        self.archive: Archive | None = None
        """Set before ``open`` to keep every exchange."""
        self.rights: Rights | None = None
        """Set before ``open`` where leases may pass to others."""
        self.renderer: Renderer | None = None
        """Set before ``open`` to show pages as a browser does."""
        self.freed: list[Freed] = []

    async def open(self, fetcher: Fetcher | None = None, clock: Clock | None = None) -> None:
        """Open the store and put the pieces together as the program does."""
        at = clock or self.clock
        self.frontier = EmbeddedFrontier(self.root / "frontier", clock=at, durable=False)
        job, frontier = self.job, self.frontier
        await frontier.open()
        self.number = await frontier.put_job(
            JobEntry(
                id=job.id,
                delay_ms=round(job.polite.delay * 1000),
                per_host=job.polite.per_host,
                queue_bound=job.limits.queue,
            )
        )
        rng = random.Random(1)
        self.normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))
        self.judge = Judge(job, Scope(job.scope))
        self.guard = TrapGuard(TrapLimits(), now_ms=at.now_ms) if job.traps.enabled else None
        self.relevance = Relevance(job.keywords) if job.keywords else None
        self.finder = LinkFinder(
            job,
            self.number,
            self.judge,
            self.normaliser,
            guard=self.guard,
            relevance=self.relevance,
        )
        news = self.finder.news = News.of(job, self.judge, at)
        self.reservations = Reservations()
        self.blackbox = BlackBox(self.root / "blackbox")
        keeps = self.archive is not None
        self.manners = Manners(
            job,
            fetcher=fetcher or self.fetcher,
            reader=frontier,
            clock=at,
            rng=rng,
            keeper=Keeper(job, at) if keeps else None,
        )
        self.finder.linked.mark_name = linked_mark(self.number)
        self.equipment = Equipment(
            job=job,
            number=self.number,
            frontier=frontier,
            reader=frontier,
            control=frontier,
            fetcher=fetcher or self.fetcher,
            manners=self.manners,
            judge=self.judge,
            normaliser=self.normaliser,
            finder=self.finder,
            reservations=self.reservations,
            blackbox=self.blackbox,
            clock=at,
            home=Scope(ScopeKind.DOMAIN),
            rng=rng,
            sitemaps=SitemapFinder(
                job, judge=self.judge, normaliser=self.normaliser, finder=self.finder, clock=at
            ),
            guard=self.guard,
            extraction=Extraction.of(job, self.judge.links, at),
            news=news,
            refresh=Refresh.of(job, self.judge, at),
            media=MediaFinder.of(job, self.judge, self.normaliser, self.finder),
            relevance=self.relevance,
            renderer=self.renderer,
            keeps_raw=keeps,
            rights=self.rights,
        )
        self.visitor = Visitor(self.equipment, self.freed.append)
        self.recording = Recording()
        self.recording.serve(self.number, [self.sink])
        frontier.records = self.recording
        mark = self.mark_of(self.archive) if self.archive is not None else ""
        self.committer = Committer(self.equipment, Outputs(self.equipment, self.archive, mark))
        self.seeder = Seeder(self.equipment)
        self.desks = Desks()
        self.holdings: Holdings = EverySlot(frontier, "member")
        await self.holdings.refresh()
        self.earlier = await self.totals()
        """What the runs before this one have counted."""

    @property
    def grants(self) -> Sequence[Grant]:
        return self.holdings.grants

    async def close(self) -> None:
        self.blackbox.close()
        await self.frontier.close()

    def mark_of(self, output: MemorySink | Archive) -> str:
        """Return the name under which the store keeps how far an output is."""
        return job_mark(self.number, output.mark_name)

    async def totals(self) -> Totals:
        """Return what is counted of the job in the store."""
        return Totals.of(await self.frontier.tallies(self.number))

    def normal(self, url: str) -> NormalUrl:
        return self.normaliser.absolute(url)

    async def offer(self, *urls: str) -> None:
        """Offer entries."""
        await self.seeder.offer(urls)

    async def offer_links(self, depth: int, *urls: str) -> None:
        """Offer URLs as if a page had linked to them."""
        await self.frontier.offer(
            [self.finder.make_link(self.normal(url), depth, HOME) for url in urls]
        )

    async def claim(self, k: int = 1) -> list[Lease]:
        freed, self.freed[:] = list(self.freed), []
        return list((await self.frontier.claim(self.grants, k, freed=freed)).leases)

    async def lease(self, url: str | None = None) -> Lease:
        """Lease the one URL that is ready, or offer and lease ``url``."""
        if url is not None:
            await self.offer(url)
        [lease] = await self.claim()
        return lease

    async def visit(self, url: str | None = None) -> Visit:
        return await self.visitor.visit(await self.lease(url))

    async def commit(self, *visits: Visit) -> None:
        for visit in visits:
            await self.committer.add(visit)
        await self.committer.flush()

    async def crawl(self, *entries: str, steps: int = 500) -> list[Record]:
        """Crawl one URL after the other until nothing is left; answers the records."""
        await self.offer(*(entries or self.job.entries))
        for _ in range(steps):
            freed, self.freed[:] = list(self.freed), []
            claim = await self.frontier.claim(self.grants, 1, freed=freed)
            for lease in claim.leases:
                await self.commit(await self.in_time(lease))
            if not claim.leases:
                if claim.next_ready_ms is None:
                    return self.sink.records
                self.clock.advance(max(0, claim.next_ready_ms - self.clock.now_ms()) / 1000)
        raise AssertionError(f"not finished after {steps} steps")

    async def in_time(self, lease: Lease) -> Visit:
        """Visit a URL; where that waits for a host, its time passes."""
        visiting = asyncio.create_task(self.visitor.visit(lease))
        while not (await asyncio.wait({visiting}, timeout=0.3))[0]:
            self.clock.advance(1)
        return await visiting

    def engine(self, *, every_job: bool = False, **options: Any) -> Engine:
        """Return an engine over these pieces; it needs the machine's clock to make progress."""
        self.stats = CrawlStats()
        self.earlier.show(self.stats)
        works = Works(
            frontier=self.frontier,
            reader=self.frontier,
            clock=self.equipment.clock,
            desks=self.desks,
            holdings=self.holdings,
            freed=FreedHosts(),
            rights=self.rights,
        )
        self.visitor = Visitor(self.equipment, works.freed.add)
        self.desks.open[self.number] = Desk(self.equipment, self.committer, self.visitor)
        chosen = EngineOptions(**{"concurrency": 4, **options})
        job = None if every_job else self.number
        engine = Engine(works, job, stats=self.stats, options=chosen)
        engine.seeded()
        return engine

    async def run(self, *entries: str, **options: Any) -> list[Record]:
        """Crawl with an engine until it ends; answers the records."""
        await self.offer(*(entries or self.job.entries))
        await self.engine(**options).run()
        return self.sink.records

    @property
    def asked(self) -> list[str]:
        """URLs requested so far, robots.txt left out."""
        return [url for url in self.asked_all if not url.endswith("/robots.txt")]

    @property
    def asked_all(self) -> list[str]:
        return [request.url for request in self.fetcher.requests]

    async def counts(self) -> Counts:
        return await self.frontier.counts(self.number)

    async def look(self, url: str, *, as_sitemap: bool = False) -> Sighting:
        normal = self.normal(url)
        if as_sitemap:
            normal = self.normaliser.as_sitemap(normal)
        return await self.frontier.look(self.number, normal.host, normal.fp)


def by_url(records: Sequence[Record]) -> dict[str, Record]:
    """Return the records by URL; no URL has two."""
    found = {record["url"]: record for record in records}
    assert len(found) == len(records)
    return found


def fake_lease(url: str = HOME, *, number: int = 1, fp: int = 1, **fields: Any) -> Lease:
    """Return a lease no frontier has given."""
    values: dict[str, Any] = {
        "id": number,
        "url": url,
        "fp": Fingerprint(fp),
        "host": HostKey("site.test"),
        "job": JobNumber(1),
        "slot": 0,
        "fence": 1,
        "page_class": PageClass.DATA,
        "priority": 5,
        "depth": 0,
        "attempts": 0,
        "lost": 0,
        "visit": 1,
        "referrer": "",
        "found_s": 0,
        "expires_at": 0.0,
        **fields,
    }
    return Lease(**values)
