"""``skitter up``: a master that serves its store, writes the records and runs workers."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from skitter.cluster.housekeeping import Caretaker
from skitter.config import DEFAULT_CONCURRENCY, RunOptions
from skitter.crawl.inspect import InspectServer
from skitter.crawl.load import raise_file_limit
from skitter.crawl.recording import Recording
from skitter.crawl.survey import Found, Survey
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell
from skitter.observability.logs import is_json
from skitter.observability.stats import CrawlStats
from skitter.wiring.jobs import JobHost
from skitter.wiring.limits import JobLimits
from skitter.wiring.manager import NodeRun, manage
from skitter.wiring.node_options import NodeOptions
from skitter.wiring.nodes import NodesKeeper, children
from skitter.wiring.running import caretaker, local_store
from skitter.wiring.service import ServiceOptions
from skitter.wiring.service_child import ServiceChild
from skitter.wiring.service_process import ServiceProcess, start_service
from skitter.wiring.settings import answering
from skitter.wiring.store import Store
from skitter.wiring.tokens import NODE, Token, admin_token, derived
from skitter.wiring.workers import SOCKET

STATS_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What a master is started with."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8440
    token: str = ""
    """Empty takes the one in the data directory, made when there is none."""
    workers: int = 1
    max_workers: int | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    allow_private: bool = False
    hosts: Path | None = None
    fast: bool = False
    quiet: bool = False
    serves: bool = False
    """Whether there is a process for people beside that for nodes."""
    child: ServiceChild | None = None
    """That process, if it was started already."""
    warc: Path | None = None
    """Where jobs that come over the API may be archived."""
    sinks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """What jobs that come over the API may name for their records."""


class Master:
    """A running master."""

    def __init__(
        self,
        store: Store,
        limits: JobLimits,
        node: NodeRun,
        shell: RemoteShell,
        keeper: Caretaker,
        token: Token,
    ) -> None:
        self.stats = CrawlStats()
        self.port = shell.port
        self.token = token.file
        """Where the token is, if it was not given."""
        self.made_token = token.value if token.is_new else ""
        self.service: ServiceProcess | None = None
        """Serves people, if they are to be served."""
        self._survey = Survey(store.reader, totals=True)
        self._found = Found()
        self._limits = limits
        self._node = node
        self._keeper = keeper
        self._stopping = asyncio.Event()

    async def until_served(self) -> None:
        """Return when people are served, if they are to be."""
        if self.service is not None:
            await self.service.until_ready()

    async def run(self) -> str:
        """Serve until stopped."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._node.run()),
                group.create_task(self._look()),
                group.create_task(self._watch()),
                group.create_task(self._keep_limits()),
                group.create_task(self._keeper.run()),
            ]
            if self.service is not None:
                tasks.append(group.create_task(self.service.run()))
            await self._stopping.wait()
            self._node.stop()
            if self.service is not None:
                await self.service.stop()
            await tasks[0]
            for task in tasks:
                task.cancel()
        return "interrupted"

    def stop(self) -> None:
        """Let the workers finish their requests, then end."""
        self._stopping.set()

    def abort(self) -> None:
        """End the workers at once."""
        self._node.abort()
        if self.service is not None:
            self.service.kill()
        self._stopping.set()

    async def look(self) -> None:
        """Read what there is, for the person who watches."""
        self._found = await self._survey.look()
        self._show()

    async def _look(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._survey.pause_s)

    async def _watch(self) -> None:
        """Keep the counts a person watches fresh."""
        while True:
            self._show()
            await asyncio.sleep(STATS_S)

    def _show(self) -> None:
        self._node.standing.show(self.stats)
        self._found.show(self.stats)
        self._found.totals.show(self.stats)

    async def _keep_limits(self) -> None:
        while True:
            await self._limits.tend()
            await asyncio.sleep(STATS_S)


@asynccontextmanager
async def open_up(options: UpOptions) -> AsyncIterator[Master]:
    """Open a master on its data directory, and close it in reverse order."""
    raise_file_limit()
    async with AsyncExitStack() as stack:
        data = DataDir(options.data)
        data.acquire()
        stack.callback(data.release)
        token = admin_token(options.token, options.data)
        told = service_options(options, token.value)
        service = start_service(stack, told, None, options.child) if options.serves else None
        frontier = EmbeddedFrontier(data.frontier, durable=not options.fast)
        await frontier.open()
        stack.push_async_callback(frontier.close)
        store = local_store(frontier, member="up")
        frontier.records = recording = Recording()
        run = RunOptions(
            data=options.data,
            fast=options.fast,
            concurrency=options.concurrency,
            allow_private=options.allow_private,
            hosts=options.hosts,
        )
        limits = JobLimits(store)
        stack.push_async_callback(limits.close)
        server = _server_of(store, frontier, token.value)

        async def at_work() -> bool:
            return bool(server.sessions())

        jobs = JobHost(stack, store, recording, run, limits, at_work)
        await jobs.resume()
        path = options.data / SOCKET
        shell = RemoteShell(
            server,
            tcp=(options.host, options.port),
            socket_path=path,
            hand_over=None if service is None else service.hand_over,
        )
        await shell.open()
        stack.push_async_callback(shell.close)
        own = _own_workers(options, path)
        node = await manage(stack, own, frontier, store.clock, tells_ends=True)
        care = caretaker(frontier)
        look = children(server)
        nodes = NodesKeeper(frontier, frontier, store.clock, look, care.buried, has_table=False)
        answer = nodes.before(await answering(store, jobs.answer))
        inspector = InspectServer(options.data, answer)
        await inspector.open()
        stack.push_async_callback(inspector.close)
        if service is not None:
            service.begin()
        master = Master(store, limits, node, shell, care, token)
        master.service = service
        # Pages of earlier runs are none of the speed of this one.
        await master.look()
        yield master


def service_options(options: UpOptions, token: str) -> ServiceOptions:
    """Return what the process for people is told."""
    return ServiceOptions(
        token=token,
        data=str(options.data),
        allow_private=options.allow_private,
        hosts=None if options.hosts is None else str(options.hosts),
        archive=None if options.warc is None else str(options.warc.resolve()),
        sinks={name: dict(sink) for name, sink in options.sinks.items()},
        log_json=is_json(),
    )


def _server_of(store: Store, frontier: EmbeddedFrontier, token: str) -> RemoteServer:
    server = RemoteServer(frontier, secret=store.secret, clock=store.clock, token=token)
    server.also_admit(derived(token, NODE))
    server.guests = True
    return server


def _own_workers(options: UpOptions, socket: Path) -> NodeOptions:
    return NodeOptions(
        control=str(socket.resolve()),
        workers=options.workers,
        max_workers=options.max_workers,
        name="up",
        data=options.data / "workers",
        concurrency=options.concurrency,
        allow_private=options.allow_private,
        hosts=options.hosts,
        fast=options.fast,
    )
