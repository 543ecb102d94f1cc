"""A member for every job of a store or a master: what ``skitter node`` runs."""

import fcntl
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import count
from pathlib import Path

from skitter.cluster.relief import Picker
from skitter.config import DEFAULT_CONCURRENCY, RunOptions
from skitter.crawl.desk import Desk, Desks, FreedHosts, JobGone
from skitter.crawl.load import raise_file_limit
from skitter.crawl.service import Service
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import ConfigError
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.wiring.assembly import Assembly
from skitter.wiring.reach import make_reach
from skitter.wiring.shared import (
    Membership,
    connect_redis,
    join_redis,
    machine_name,
    open_master,
)
from skitter.wiring.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """What one machine brings into a cluster."""

    store: str | None = None
    """URL of a Redis or Valkey store."""
    cold: str | None = None
    """URL of a PostgreSQL database for the tails of long queues."""
    picker: Picker = Picker.HASH
    control: str | None = None
    """Address of a master, or the path of its socket."""
    token: str = ""
    name: str = ""
    """What the machine is called; empty takes its host name."""
    workers: int = 1
    """How many are wanted from the start; others come by orders."""
    max_workers: int | None = None
    """Processes at a time, at most; None leaves it to the number of cores."""
    idle_exit: int | None = None
    data: Path = Path(".skitter/node")
    concurrency: int = DEFAULT_CONCURRENCY
    allow_private: bool = False
    egress: str = ""
    """The address of this machine that requests leave from; empty lets the system choose."""
    hosts: Path | None = None
    fast: bool = False
    quiet: bool = False


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
        make = DeskMaker(stack, store, options, data, freed)
        works = Works(
            frontier=store.frontier,
            reader=store.reader,
            clock=store.clock,
            desks=Desks(make, strict=True),
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
        service = Service(works, bounds, memberships, surveys=surveys)
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


def _machine_and_place(data: Path) -> str:
    """Return a name for what runs from a directory of this machine, the same every time."""
    path = str(data.resolve()).encode(errors="surrogateescape")
    return f"{machine_name()}-{blake2b(path, digest_size=2).hexdigest()}"


def node_name(options: NodeOptions) -> str:
    """Return what the machine is called by those who give it orders."""
    return options.name or _machine_and_place(options.data)


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
    connected = await connect_redis(stack, options.store, cold=options.cold)
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
