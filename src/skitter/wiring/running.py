"""An open store in, a crawl that is ready to run out."""

import math
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from skitter.clock import SystemClock
from skitter.cluster.housekeeping import Caretaker
from skitter.config import RunOptions
from skitter.crawl.desk import Desks, FreedHosts, MakeDesk
from skitter.crawl.inspect import InspectServer
from skitter.crawl.lifecycle import Crawl, Helper, Parts, Places
from skitter.crawl.observer import Observer
from skitter.crawl.rights import EverySlot, Rights
from skitter.crawl.seeding import Seeder
from skitter.crawl.totals import Totals
from skitter.crawl.works import PATIENCE_S, EngineOptions, Works
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.job.refresh import Policy
from skitter.job.spec import Job, Order
from skitter.politeness.robots_entry import is_stale
from skitter.types import JobNumber
from skitter.wiring.answers import Answers
from skitter.wiring.assembly import Assembly
from skitter.wiring.databases import database_places
from skitter.wiring.job_keeper import JobKeeper, answering_jobs, everyone_at_work
from skitter.wiring.limits import JobLimits
from skitter.wiring.node_options import machine_name
from skitter.wiring.settings import answering
from skitter.wiring.store import Store

LOCAL_LEASE_MS = 7 * 24 * 3600 * 1000
"""Nobody else works on a directory held by this process, and a restart ends every lease: leases
need only outlast a laptop's sleep."""


class Beside(NamedTuple):
    """What a process does beside the visits of its crawl."""

    helpers: Sequence[Helper] = ()
    others: Callable[[FreedHosts], MakeDesk] | None = None
    """Makes desks for other jobs of the store: whoever owns a host serves all of them."""


ALONE = Beside()


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
        own=frontier,
    )


def caretaker(frontier: EmbeddedFrontier) -> Caretaker:
    """Return who clears away what nobody needs in a store that this process has open."""
    now_ms = SystemClock().now_ms
    return Caretaker(frontier.vultures(lambda stored: is_stale(stored, now_ms())))


async def assemble(
    stack: AsyncExitStack,
    job: Job,
    number: JobNumber,
    options: RunOptions,
    store: Store,
    beside: Beside = ALONE,
) -> Crawl:
    """Put a crawl together on an open store; the stack closes what is opened here."""
    assembly = Assembly(job, number, options, store)
    stack.push_async_callback(assembly.close)
    freed = FreedHosts()
    observer = Observer(store.frontier, store.clock, store.member or machine_name())
    desks = Desks(beside.others(freed) if beside.others is not None else None, observer=observer)
    works = Works(
        frontier=store.frontier,
        reader=store.reader,
        clock=store.clock,
        desks=desks,
        holdings=store.holdings,
        freed=freed,
        rights=store.rights,
        windows=None if store.reach is None else store.reach.windows,
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
            # The first to settle: what others do last is to end with a store that has it all.
            helpers=(observer, *beside.helpers),
        ),
        engine_options(job, options, store.lease_ms),
        Places(data=options.data, out=(*options.out, *database_places(job)), warc=options.warc),
    )
    answers = Answers(
        store.reader,
        number,
        assembly.explainer,
        assembly.equipment.finder.linked.table,
        assembly.aliases,
    )
    keeper = JobKeeper(store, JobLimits(store), everyone_at_work)
    answer = await answering(store, answering_jobs(keeper, answers.answer))
    inspector = InspectServer(options.data, answer)
    await inspector.open()
    stack.push_async_callback(inspector.close)
    return crawl


def engine_options(job: Job, options: RunOptions, lease_ms: int) -> EngineOptions:
    """Return the bounds of a run."""
    return EngineOptions(
        concurrency=options.concurrency,
        pages=job.limits.pages,
        time_s=job.limits.time,
        bytes=job.limits.bytes,
        best_first=job.order is Order.BEST,
        # Who looks at pages again and again wants to be there when they change.
        patience_s=math.inf if job.refresh.policy is Policy.PERIOD else PATIENCE_S,
        lease_ms=lease_ms,
    )
