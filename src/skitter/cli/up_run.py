"""What ``skitter up`` does."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from skitter.cli.node_run import node_options, run_node, wanted_workers
from skitter.cli.paths import check_hosts
from skitter.cli.progress import make_display
from skitter.cli.report import INTERRUPTED
from skitter.cli.watched import run_watched
from skitter.config import DEFAULT_CONCURRENCY, STATE_DIR, Settings, cold_place, resolve
from skitter.errors import ConfigError
from skitter.wiring.up import Master, UpOptions, open_up

DEFAULT_PORT = 8440
MASTER_FLAGS = frozenset({"data", "host", "port", "token"})


def up_on(params: Mapping[str, object]) -> int:
    """Serve with what flags, environment and file say; return the exit code."""
    given = {name: params[name] for name in Settings.model_fields if params.get(name) is not None}
    resolved = resolve(given, os.environ, Path.cwd())
    settings = resolved.settings
    if "store" in given:
        _refuse_address(given)
    # What is always set counts only where no flag asks for a master of this machine.
    if "store" in given or (settings.store is not None and not given.keys() & MASTER_FLAGS):
        return run_node(node_options(resolved))
    cold_place(resolved, joins_store=False)
    options = up_options(settings)
    run_watched(lambda: _announced(options), make_display(quiet=options.quiet))
    return INTERRUPTED


def _refuse_address(given: Mapping[str, object]) -> None:
    """Raise when nodes are to come to an address, though Redis is where they meet."""
    unused = [name for name in ("host", "port", "token") if name in given]
    if unused:
        raise ConfigError(f"--{unused[0]} and --store: nodes join the store itself; wanted one")


def up_options(settings: Settings) -> UpOptions:
    """Return what a master is started with."""
    check_hosts(settings.hosts)
    return UpOptions(
        data=settings.data or STATE_DIR / "up",
        host=settings.host or "127.0.0.1",
        port=DEFAULT_PORT if settings.port is None else settings.port,
        token=settings.token or "",
        workers=wanted_workers(settings),
        max_workers=settings.max_workers,
        concurrency=settings.concurrency or DEFAULT_CONCURRENCY,
        allow_private=bool(settings.allow_private),
        hosts=settings.hosts,
        fast=bool(settings.fast),
        quiet=bool(settings.quiet),
    )


@asynccontextmanager
async def _announced(options: UpOptions) -> AsyncIterator[Master]:
    """Say where the master listens before its progress is shown."""
    async with open_up(options) as master:
        if not options.quiet:
            token = "" if master.token is None else f"; the token is in {master.token}"
            where = f"http://{options.host}:{master.port}"
            print(f"listening on {where}{token}", file=sys.stderr, flush=True)
        yield master
