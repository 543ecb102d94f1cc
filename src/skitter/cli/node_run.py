"""What ``skitter node`` does: a manager of members in processes of their own, or one of them."""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from skitter.cli.paths import check_hosts
from skitter.cli.progress import Display, make_display
from skitter.cli.report import INTERRUPTED, OK
from skitter.cli.watched import run_watched
from skitter.cluster.crew import Standing, die_with_parent, encode_standing
from skitter.cluster.manager.journal import timed
from skitter.cluster.manager.logs import turn_over
from skitter.cluster.names import checked_name
from skitter.cluster.relief import Picker
from skitter.config import DEFAULT_CONCURRENCY, Resolved, Settings, database_place, resolve
from skitter.errors import ConfigError
from skitter.observability.logs import is_json, want_json
from skitter.observability.stats import CrawlStats
from skitter.wiring.egress import checked_egress
from skitter.wiring.manager import open_node
from skitter.wiring.node_options import NodeOptions

TELL_S = 1.0
DEFAULT_DATA = Path(".skitter/node")
PLACES = ("store", "control")
"""What a node can join."""


def node_on(params: Mapping[str, object], place: int | None) -> int:
    """Join with what flags, environment and file say; return the exit code."""
    given = {name: params[name] for name in Settings.model_fields if params.get(name) is not None}
    resolved = resolve(given, os.environ, Path.cwd())
    want_json(wanted=resolved.settings.log_json)
    options = node_options(resolved)
    if place is None:
        return run_node(options)
    log = params.get("log")
    return _work(options, place, log if isinstance(log, Path) else None)


def run_node(options: NodeOptions) -> int:
    """Let this machine work until it is told to stop; return the exit code."""
    display = make_display(quiet=options.quiet)
    ended = run_watched(lambda: open_node(options), display)
    if ended is None:
        return INTERRUPTED
    if not options.quiet and not is_json():
        print(f"left the cluster: {ended}", file=sys.stderr)
    return INTERRUPTED if ended == "interrupted" else OK


def node_options(resolved: Resolved) -> NodeOptions:
    """Return what this machine brings, or say what is missing."""
    settings = resolved.settings
    place = _place(resolved)
    if settings.workers == 0 and settings.idle_exit is not None:
        raise ConfigError("--workers 0 and --idle-exit: the node would end at once; wanted one")
    check_hosts(settings.hosts)
    if settings.name is not None:
        checked_name(settings.name)
    return NodeOptions(
        store=settings.store if place == "store" else None,
        cold=database_place(resolved, "cold", joins_store=place == "store"),
        index=database_place(resolved, "index", joins_store=place == "store"),
        picker=settings.picker or Picker.HASH,
        control=settings.control if place == "control" else None,
        token=settings.token or "",
        name=settings.name or "",
        workers=wanted_workers(settings),
        max_workers=settings.max_workers,
        idle_exit=settings.idle_exit,
        data=settings.data or DEFAULT_DATA,
        concurrency=settings.concurrency or DEFAULT_CONCURRENCY,
        allow_private=bool(settings.allow_private),
        egress=checked_egress(settings.egress) if settings.egress else "",
        hosts=settings.hosts,
        fast=bool(settings.fast),
        quiet=bool(settings.quiet),
    )


def wanted_workers(settings: Settings) -> int:
    """Return how many workers there are to be from the start; one per core unless it was said."""
    cores = len(os.sched_getaffinity(0))
    usual = cores if settings.max_workers is None else min(cores, settings.max_workers)
    return usual if settings.workers is None else settings.workers


def _place(resolved: Resolved) -> str:
    """Return which of the two ways to join is meant: a flag wins over what is always set."""
    layers = {name: resolved.said[name].layer for name in PLACES if name in resolved.said}
    if not layers:
        raise ConfigError("nowhere to join: wanted --store URL or --control URL")
    if len(set(layers.values())) < len(layers):
        both = " and ".join(resolved.said[name].place for name in PLACES)
        raise ConfigError(f"{both}: wanted one of them")
    return max(layers, key=lambda name: layers[name])


def _work(options: NodeOptions, place: int, log: Path | None) -> int:
    """Be a worker of a machine, and tell the process that started it how it goes."""
    from skitter.frontier.redis import checks  # noqa: PLC0415  brings a client
    from skitter.wiring.node import open_member  # noqa: PLC0415  heavy, not for a manager

    die_with_parent()
    # How the store is set up has been told by whoever started this one.
    logging.getLogger(checks.__name__).setLevel(logging.ERROR)
    # A manager looks itself at what is left.
    alone = log is None
    ended = run_watched(
        lambda: open_member(options, place, surveys=alone), Teller(log), announces=False
    )
    # Whoever started this one told it to stop, and needs no word about it.
    return OK if ended is not None else INTERRUPTED


class Teller(Display):
    """Tells another process how a worker stands, in lines of JSON; words go to its log."""

    def __init__(self, log: Path | None = None) -> None:
        self._log = log

    def open(self) -> None:
        """Do nothing: lines need no screen."""

    def close(self) -> None:
        """Do nothing: lines need no screen."""

    def say(self, line: str) -> None:
        """Warn where people read, not where the numbers go."""
        print(timed(line) if self._log is not None else line, file=sys.stderr, flush=True)

    async def follow(self, stats: CrawlStats) -> None:
        """Tell after every interval, until cancelled; and a last time at the end."""
        try:
            while True:
                self._tell(stats)
                if self._log is not None:
                    with suppress(OSError):
                        turn_over(self._log)
                await asyncio.sleep(TELL_S)
        finally:
            self._tell(stats)

    def _tell(self, stats: CrawlStats) -> None:
        sys.stdout.buffer.write(encode_standing(Standing.of(stats)) + b"\n")
        sys.stdout.buffer.flush()
