"""The page index of a service, and what resolves URLs for those who ask it."""

import asyncio
import logging
from contextlib import suppress
from weakref import WeakKeyDictionary

from skitter.crawl.kept_going import kept_going
from skitter.crawl.resolve.arrivals import Arrivals
from skitter.crawl.resolve.index import PageIndex
from skitter.crawl.resolve.intake import Intake, Lane
from skitter.crawl.resolve.lane import LANE, lane_job
from skitter.crawl.resolve.load import MOST_PENDING, Load
from skitter.crawl.resolve.resolver import Desk, Resolver
from skitter.crawl.resolve.robots import KnownRobots
from skitter.crawl.resolve.tickets import Tickets
from skitter.crawl.room import Room
from skitter.crawl.site_rules import SiteRules
from skitter.errors import Conflict, SkitterError, UrlError
from skitter.fetch.guard import AddressGuard
from skitter.frontier.model import Counts, JobState
from skitter.job.spec import Job, Kind
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.wiring.parts import job_entry
from skitter.wiring.service import Service
from skitter.wiring.store import Store

TEND_S = 1.0
"""How often what is set for sites is read again, and submissions are written down."""

log = logging.getLogger(__name__)

_rooms: WeakKeyDictionary[Service, Room] = WeakKeyDictionary()
_indexes: WeakKeyDictionary[Service, PageIndex] = WeakKeyDictionary()


def index_of(service: Service) -> PageIndex:
    """Return the page index of a service; there is one, which remembers the rules of jobs."""
    found = _indexes.get(service)
    if found is None:
        found = _indexes[service] = PageIndex(service.store.reader, service.store.secret)
    return found


def room_of(service: Service) -> Room:
    """Return the room there is for what a service keeps for people."""
    found = _rooms.get(service)
    if found is None:
        store = service.store
        found = _rooms[service] = Room(store.frontier, store.reader, store.clock)
    return found


async def times_submitted(service: Service, url: str) -> int:
    """Return how often a URL was submitted to be resolved; the last second may be missing."""
    store = service.store
    normaliser = Normaliser(lane_job().urls.rules(), Fingerprinter(store.secret))
    try:
        normal = normaliser.absolute(url)
    except UrlError:
        return 0
    [count] = await store.reader.url_counts([normal.url])
    return count


class Lanes:
    """Finds the job that resolved pages belong to, and makes it when it is first needed."""

    def __init__(self, store: Store, index: PageIndex) -> None:
        self._store = store
        self._index = index
        self._lane: Lane | None = None

    async def __call__(self) -> Lane:
        """Return the lane; raises ``Conflict`` when it was cancelled, or its id is taken."""
        if self._lane is None:
            job = lane_job()
            await self._check()
            number = await self._store.control.put_job(job_entry(job, outbox=False))
            await self._index.read_jobs()
            self._lane = Lane(number, self._index.normaliser(number))
        return self._lane

    async def _check(self) -> None:
        for entry in (await self._store.reader.jobs()).values():
            if entry.id != LANE:
                continue
            if Job.from_json(entry.spec).kind is not Kind.RESOLVE:
                raise Conflict(f"job {LANE}: another job has this id; URLs cannot be resolved")
            if entry.state is JobState.CANCEL:
                raise Conflict(f"job {LANE}: was cancelled; URLs are not resolved here any more")

    async def counts(self) -> Counts:
        """Return how many URLs of the lane wait; forgets it when it is there no more."""
        lane = await self()
        entry = (await self._index.jobs()).get(lane.number)
        if entry is None or entry.state is JobState.CANCEL:
            self._lane = None
            await self()
        return await self._store.reader.counts(lane.number)


class Resolving:
    """A resolver, and what it has going on beside the calls to it."""

    def __init__(self, service: Service, most: int = MOST_PENDING) -> None:
        store, index = service.store, index_of(service)
        sites = SiteRules(lane_job(), store.settings)
        lanes = Lanes(store, index)
        self._store = store
        self._intake = Intake(
            frontier=store.frontier,
            control=store.control,
            reader=store.reader,
            lane=lanes,
            sites=sites,
            guard=AddressGuard(allow_private=service.options.allow_private),
            robots=KnownRobots(store.reader, sites, store.clock),
        )
        arrivals = Arrivals(store.reader)
        self.resolver = Resolver(
            Desk(
                index=index,
                intake=self._intake,
                tickets=Tickets(store.frontier, room_of(service)),
                load=Load(lanes.counts, most),
                arrivals=arrivals,
                clock=store.clock,
            )
        )
        works = {"the reader of arrivals": arrivals.run, "the resolver's upkeep": self._tend}
        self._tasks = [asyncio.create_task(kept_going(*one)) for one in works.items()]

    async def close(self) -> None:
        """End it, with what was counted written down."""
        await self.resolver.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(SkitterError):
            await self._intake.write_counts()

    async def _tend(self) -> None:
        """Follow what is set for sites, and write down how often URLs were submitted."""
        while True:
            try:
                await self._store.settings.refresh(self._store.reader)
                await self._intake.write_counts()
            except SkitterError as error:
                log.info("the store does not answer a resolver: %s", error)
            await asyncio.sleep(TEND_S)


_resolving: WeakKeyDictionary[Service, Resolving] = WeakKeyDictionary()


def resolver_of(service: Service) -> Resolver:
    """Return what resolves URLs in a service; it is made when it is first needed."""
    found = _resolving.get(service)
    if found is None:
        found = _resolving[service] = Resolving(service)
        service.stack.push_async_callback(found.close)
    return found.resolver
