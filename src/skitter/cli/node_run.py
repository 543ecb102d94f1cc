"""What ``skitter node`` does: one member in this process, or several in their own."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skitter.cli.progress import Display, make_display
from skitter.cli.report import INTERRUPTED, OK
from skitter.cli.request import check_hosts
from skitter.cli.run import run_watched
from skitter.cluster.crew import Crew, Standing, die_with_parent, encode_standing
from skitter.cluster.names import checked_name
from skitter.cluster.relief import Picker
from skitter.config import DEFAULT_CONCURRENCY, Resolved, Settings, cold_place, resolve
from skitter.errors import ConfigError
from skitter.frontier.redis import checks
from skitter.observability.stats import CrawlStats
from skitter.wiring.node import NodeOptions, check_place, open_member
from skitter.wiring.workers import node_crew

TELL_S = 1.0
DEFAULT_DATA = Path(".skitter/node")
PLACES = ("store", "control")
"""What a node can join."""


def node_on(params: Mapping[str, object], index: int | None) -> int:
    """Join with what flags, environment and file say; return the exit code."""
    given = {name: params[name] for name in Settings.model_fields if params.get(name) is not None}
    options = node_options(resolve(given, os.environ, Path.cwd()))
    return run_node(options) if index is None else _work(options, index)


def run_node(options: NodeOptions) -> int:
    """Let this machine work until it is told to stop; return the exit code."""
    display = make_display(quiet=options.quiet)
    if options.workers == 1:
        ended = run_watched(lambda: open_member(options), display)
    else:
        ended = run_watched(lambda: open_crew(options), display)
    if ended is None:
        return INTERRUPTED
    if not options.quiet:
        print(f"left the cluster: {ended}", file=sys.stderr)
    return INTERRUPTED if ended == "interrupted" else OK


def node_options(resolved: Resolved) -> NodeOptions:
    """Return what this machine brings, or say what is missing."""
    settings = resolved.settings
    place = _place(resolved)
    if settings.workers == 0:
        raise ConfigError("--workers 0: a node without workers does nothing; wanted 1 or more")
    check_hosts(settings.hosts)
    if settings.name is not None:
        checked_name(settings.name)
    return NodeOptions(
        store=settings.store if place == "store" else None,
        cold=cold_place(resolved, joins_store=place == "store"),
        picker=settings.picker or Picker.HASH,
        control=settings.control if place == "control" else None,
        token=settings.token or "",
        name=settings.name or "",
        workers=settings.workers or len(os.sched_getaffinity(0)),
        idle_exit=settings.idle_exit,
        data=settings.data or DEFAULT_DATA,
        concurrency=settings.concurrency or DEFAULT_CONCURRENCY,
        allow_private=bool(settings.allow_private),
        hosts=settings.hosts,
        fast=bool(settings.fast),
        quiet=bool(settings.quiet),
    )


def _place(resolved: Resolved) -> str:
    """Return which of the two ways to join is meant: a flag wins over what is always set."""
    layers = {name: resolved.said[name].layer for name in PLACES if name in resolved.said}
    if not layers:
        raise ConfigError("nowhere to join: wanted --store URL or --control URL")
    if len(set(layers.values())) < len(layers):
        both = " and ".join(resolved.said[name].place for name in PLACES)
        raise ConfigError(f"{both}: wanted one of them")
    return max(layers, key=lambda name: layers[name])


def _work(options: NodeOptions, index: int) -> int:
    """Be worker ``index`` of a machine, and tell the process that started it how it goes."""
    die_with_parent()
    # How the store is set up has been told by whoever started this one.
    logging.getLogger(checks.__name__).setLevel(logging.ERROR)
    ended = run_watched(lambda: open_member(options, index), Teller(), announces=False)
    # Whoever started this one told it to stop, and needs no word about it.
    return OK if ended is not None else INTERRUPTED


class Teller(Display):
    """Tells another process how a worker stands, in lines of JSON."""

    def open(self) -> None:
        """Do nothing: lines need no screen."""

    def close(self) -> None:
        """Do nothing: lines need no screen."""

    def say(self, line: str) -> None:
        """Warn where people read, not where the numbers go."""
        print(line, file=sys.stderr, flush=True)

    async def follow(self, stats: CrawlStats) -> None:
        """Tell after every interval, until cancelled; and a last time at the end."""
        try:
            while True:
                self._tell(stats)
                await asyncio.sleep(TELL_S)
        finally:
            self._tell(stats)

    def _tell(self, stats: CrawlStats) -> None:
        sys.stdout.buffer.write(encode_standing(Standing.of(stats)) + b"\n")
        sys.stdout.buffer.flush()


class CrewRun:
    """Several members in processes of their own, watched as one."""

    def __init__(self, crew: Crew) -> None:
        self.stats = CrawlStats()
        self._crew = crew
        self._ended = "idle"
        self._stopping: asyncio.Task[None] | None = None

    async def run(self) -> str:
        """Keep the workers going until they end by themselves or are stopped."""
        async with asyncio.TaskGroup() as group:
            watch = group.create_task(self._watch())
            await self._crew.run()
            watch.cancel()
        self._crew.add_to(self.stats)
        return self._ended

    async def _watch(self) -> None:
        while True:
            self._crew.add_to(self.stats)
            await asyncio.sleep(TELL_S)

    def stop(self) -> None:
        """Let the workers finish their requests."""
        self._ended = "interrupted"
        self._stopping = asyncio.get_running_loop().create_task(self._crew.stop())

    def abort(self) -> None:
        """End the workers at once."""
        self._crew.kill()


@asynccontextmanager
async def open_crew(options: NodeOptions) -> AsyncIterator[CrewRun]:
    """Start the workers of this machine, and end them with the block."""
    # What every worker would have to say is said once, here.
    await check_place(options)
    crew = node_crew(options)
    try:
        yield CrewRun(crew)
    finally:
        await crew.stop()
