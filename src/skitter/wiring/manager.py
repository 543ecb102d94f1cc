"""What ``skitter node`` runs, and ``skitter up`` for its own workers: a manager of processes."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Protocol

from skitter.clock import Clock
from skitter.cluster.crew import Standing
from skitter.cluster.manager.ledger import Ledger
from skitter.cluster.manager.manager import Manager, Plans
from skitter.cluster.manager.post import Post
from skitter.cluster.manager.roster import ListedWorker
from skitter.crawl.ends import Ends
from skitter.crawl.survey import Found, Survey
from skitter.errors import ConfigError, FrontierError
from skitter.frontier.base import Frontier, FrontierReader
from skitter.observability.stats import CrawlStats
from skitter.wiring.connect import connect_worker
from skitter.wiring.node_options import NodeOptions, machine_name, node_name
from skitter.wiring.worker_words import PROGRAM_WORDS, environment, words_of

STATS_S = 1.0


class NodeRun:
    """The workers of a machine, watched as one."""

    def __init__(self, manager: Manager, post: Post, survey: Survey) -> None:
        self.stats = CrawlStats()
        self.manager = manager
        self._post = post
        self._survey = survey
        self._found: Found | None = None
        self._ended = "idle"

    async def run(self) -> str:
        """Keep the workers going until they are stopped or, where that is wanted, idle."""
        async with asyncio.TaskGroup() as group:
            beside = [
                group.create_task(self._post.run(self.manager)),
                group.create_task(self._watch()),
                group.create_task(self._look()),
            ]
            try:
                await self.manager.run()
            finally:
                for task in beside:
                    task.cancel()
        await self._post.say_goodbye(self.manager)
        self._show()
        return self._ended

    @property
    def standing(self) -> Standing:
        """How all workers stand together."""
        return self.manager.standing

    async def _watch(self) -> None:
        while True:
            self._show()
            await asyncio.sleep(STATS_S)

    def _show(self) -> None:
        self.standing.show(self.stats)
        if self._found is not None:
            self._found.show(self.stats)

    async def _look(self) -> None:
        """Keep what is left fresh; apart from the rest, for a store in trouble does not answer."""
        while True:
            # A job may be dropped while it is looked at.
            with suppress(FrontierError):
                self._found = await self._survey.look()
                self.manager.queued = self._found.queued
            await asyncio.sleep(self._survey.pause_s)

    def stop(self) -> None:
        """Let the workers finish their requests."""
        self._ended = "interrupted"
        self.manager.stop()

    def abort(self) -> None:
        """End the workers at once."""
        self._ended = "interrupted"
        self.manager.kill()


@asynccontextmanager
async def open_node(options: NodeOptions) -> AsyncIterator[NodeRun]:
    """Join with the workers of this machine, and leave when the block ends."""
    async with AsyncExitStack() as stack:
        frontier, clock, place = await _join(stack, options)
        # A master tells of the ends of its jobs itself.
        tells_ends = options.control is None
        run = await manage(stack, options, frontier, clock, tells_ends=tells_ends)
        run.stats.place = place
        yield run


async def manage(
    stack: AsyncExitStack,
    options: NodeOptions,
    frontier: "_Store",
    clock: Clock,
    *,
    tells_ends: bool,
) -> NodeRun:
    """Return the manager of this machine, whose workers end with the stack at the latest."""
    ledger = Ledger.take(options.data)
    stack.callback(ledger.close)
    post = Post(frontier, frontier, clock)
    session = secrets.token_hex(8)
    name = await _free_name(post, options, ledger, session)
    plans = Plans(
        name=name,
        session=session,
        machine=machine_name(),
        wanted=options.workers,
        limit=max(1, options.max_workers or max(options.workers, default_limit())),
        ends_idle=options.idle_exit is not None,
        command=lambda worker: _command(options, worker),
        env=environment(options),
        program=PROGRAM_WORDS,
    )
    manager = Manager(ledger, plans, clock)
    await manager.open()
    stack.callback(manager.kill)
    ends = Ends(frontier, frontier, clock) if tells_ends else None
    return NodeRun(manager, post, Survey(frontier, ends=ends))


def default_limit() -> int:
    """Return how many processes this machine may have unless somebody says otherwise."""
    return 2 * len(os.sched_getaffinity(0))


async def _join(stack: AsyncExitStack, options: NodeOptions) -> tuple["_Store", Clock, str]:
    """Open what the workers will join, and tell where its page index is, if that is in question.

    What is wrong with it is said once, here.
    """
    if options.control is not None:
        from skitter.frontier.remote.client import RemoteFrontier  # noqa: PLC0415  brings a client

        remote = RemoteFrontier(options.control, options.token, name=node_name(options))
        await remote.open()
        stack.push_async_callback(remote.close)
        return remote, remote.clock, ""
    if options.store is None:
        raise ConfigError("nowhere to join: wanted --store URL or --control URL")
    connected = await connect_worker(stack, options)
    frontier = connected.frontier
    return frontier, frontier.clock, await frontier.told_home()


class _Store(Frontier, FrontierReader, Protocol):
    """The two parts of the seam that a manager needs, in one object."""


async def _free_name(post: Post, options: NodeOptions, ledger: Ledger, session: str) -> str:
    """Return what the node is called; only a name that somebody chose can be refused."""
    name = node_name(options)
    if ledger.number > 1:
        name = f"{name}.{ledger.number}"
    try:
        await post.check_name(name, ledger.read().session)
    except ConfigError:
        if options.name:
            raise
        return f"{name}-{session[:4]}"
    return name


def _command(options: NodeOptions, worker: ListedWorker) -> Sequence[str]:
    return [*words_of(options, worker.place), "--kind", worker.kind, "--log", worker.log]
