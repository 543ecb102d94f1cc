"""A member for every job of a store or a master: what ``skitter node`` runs."""

import fcntl
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from skitter.config import RunOptions
from skitter.crawl.desk import Desk, Desks, FreedHosts, JobGone
from skitter.crawl.ends import Ends
from skitter.crawl.lifecycle import Helper
from skitter.crawl.load import raise_file_limit
from skitter.crawl.observer import Observer
from skitter.crawl.service import Service
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import ConfigError
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.wiring.assembly import Assembly
from skitter.wiring.connect import connect_worker
from skitter.wiring.node_options import NodeOptions, node_name
from skitter.wiring.reach import make_reach
from skitter.wiring.shared import Membership, join_redis, open_master
from skitter.wiring.store import Store


class DeskMaker:
    """Opens a desk for a job when its first URL comes."""

    def __init__(
        self,
        stack: AsyncExitStack,
        store: Store,
        options: NodeOptions,
        data: Path,
        freed: FreedHosts,
    ) -> None:
        self._store = store
        self._options = options
        self._data = data
        self._freed = freed
        self._open: dict[JobNumber, Assembly] = {}
        stack.push_async_callback(self._close_all)

    async def __call__(self, number: JobNumber) -> Desk:
        """Read the job from the store and make ready to visit its URLs."""
        entry = (await self._store.reader.jobs()).get(number)
        if entry is None:
            raise JobGone
        job = Job.from_json(entry.spec)
        run = _run_options(self._options, job, self._data)
        assembly = self._open[number] = Assembly(job, number, run, self._store)
        try:
            desk = await assembly.open(self._freed.add)
        except BaseException:
            await self._close(number)
            raise
        return replace(desk, close=partial(self._close, number))

    async def _close(self, number: JobNumber) -> None:
        assembly = self._open.pop(number, None)
        if assembly is not None:
            await assembly.close()

    async def _close_all(self) -> None:
        async with AsyncExitStack() as stack:
            for number in list(self._open):
                stack.push_async_callback(self._close, number)


@asynccontextmanager
async def open_member(
    options: NodeOptions, index: int = 1, *, surveys: bool = True
) -> AsyncIterator[Service]:
    """Join as worker ``index`` of this machine, and leave when the block ends.

    It looks at what is left over all jobs if it ``surveys``; one process of a machine is enough.
    """
    raise_file_limit()
    async with AsyncExitStack() as stack:
        data = _take_place(stack, options.data, index)
        store, memberships = await _join(stack, options, data)
        reach = make_reach(stack, store.frontier, store.clock, shared=True, egress=options.egress)
        store = replace(store, reach=reach)
        freed = FreedHosts()
        observer = Observer(store.frontier, store.clock, node_name(options))
        make = DeskMaker(stack, store, options, data, freed)
        works = Works(
            frontier=store.frontier,
            reader=store.reader,
            clock=store.clock,
            desks=Desks(make, strict=True, observer=observer),
            holdings=store.holdings,
            freed=freed,
            rights=store.rights,
            windows=reach.windows,
        )
        bounds = EngineOptions(
            concurrency=options.concurrency,
            lease_ms=store.lease_ms,
            idle_exit=options.idle_exit,
        )
        helpers: list[Helper] = [observer, *memberships]
        # A master tells of the ends of its jobs itself.
        told = options.control is not None
        ends = None if told else Ends(store.frontier, store.reader, store.clock)
        service = Service(works, bounds, helpers, surveys=surveys, ends=ends)
        for membership in memberships:
            membership.serve(service.engine)
            service.stats.member = membership.tenure.name
        yield service


def _take_place(stack: AsyncExitStack, data: Path, index: int) -> Path:
    """Return a directory that no other process works in: files are named after it."""
    for number in count(index):
        place = data / str(number)
        place.mkdir(parents=True, exist_ok=True)
        fd = os.open(place / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            continue
        stack.callback(os.close, fd)
        return place
    raise AssertionError


async def _join(
    stack: AsyncExitStack, options: NodeOptions, data: Path
) -> tuple[Store, Sequence[Membership]]:
    member = f"{node_name(options)}-{data.name}"
    if options.control is not None:
        store, membership = await open_master(stack, options.control, options.token, member)
        return store, (membership,)
    if options.store is None:
        raise ConfigError("nowhere to join: wanted --store URL or --control URL")
    name = member if options.name else ""
    connected = await connect_worker(stack, options)
    store, membership = await join_redis(
        stack, connected, member=member, name=name, picker=options.picker
    )
    return store, (membership,)


def _run_options(options: NodeOptions, job: Job, data: Path) -> RunOptions:
    archive = job.archive.directory
    return RunOptions(
        data=data,
        warc=Path(archive).expanduser() if archive else None,
        fast=options.fast,
        concurrency=options.concurrency,
        allow_private=options.allow_private,
        hosts=options.hosts,
    )
