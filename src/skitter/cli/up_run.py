"""What ``skitter up`` does."""

import dataclasses
import logging
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from skitter.cli.node_run import node_options, wanted_workers
from skitter.cli.paths import check_hosts
from skitter.cli.progress import make_display
from skitter.cli.report import INTERRUPTED, complain
from skitter.cli.watched import Running, run_watched
from skitter.config import (
    DEFAULT_CONCURRENCY,
    STATE_DIR,
    Resolved,
    Settings,
    database_place,
    resolve,
)
from skitter.errors import ConfigError
from skitter.observability.logs import is_json, want_json
from skitter.wiring.service_child import ServiceChild
from skitter.wiring.tokens import why_weak
from skitter.wiring.up import UpOptions, open_up

DEFAULT_PORT = 8440
log = logging.getLogger(__name__)
MASTER_FLAGS = frozenset({"data", "host", "port", "token"})


class Up(Running[str], Protocol):
    """What runs: a master, or a node of a store, each with its service."""

    port: int
    made_token: str
    """The token, if it was made by this start; "" for one that was there or given."""
    token: Path | None
    """Where the token is, if it was not given."""

    async def until_served(self) -> None:
        """Return when people are served."""


def up_on(params: Mapping[str, object], child: ServiceChild) -> int:
    """Serve with what flags, environment and file say; return the exit code.

    ``child`` is the process for people, which loads itself meanwhile.
    """
    _require_api()
    given = {name: params[name] for name in Settings.model_fields if params.get(name) is not None}
    resolved = resolve(given, os.environ, Path.cwd())
    settings = resolved.settings
    want_json(wanted=settings.log_json)
    # What is always set counts only where no flag asks for a master of this machine.
    shares = "store" in given or (settings.store is not None and not given.keys() & MASTER_FLAGS)
    options = dataclasses.replace(up_options(resolved), child=child)
    if shares:
        run_watched(
            lambda: _announced(options, _shared(resolved, options)),
            make_display(quiet=options.quiet),
        )
    else:
        database_place(resolved, "cold", joins_store=False)
        database_place(resolved, "index", joins_store=False)
        run_watched(
            lambda: _announced(options, open_up(options)), make_display(quiet=options.quiet)
        )
    return INTERRUPTED


def _require_api() -> None:
    """Raise when the API was left out of this installation."""
    for name in ("fastapi", "httptools", "nicegui", "uvicorn"):
        if find_spec(name) is None:
            raise ConfigError(
                f"{name} is missing, which serves the API; pip install 'skitter[api]'"
            )


def _shared(resolved: Resolved, options: UpOptions) -> AbstractAsyncContextManager[Up]:
    from skitter.wiring.up_shared import open_shared_up  # noqa: PLC0415  brings a client

    return open_shared_up(options, node_options(resolved))


def up_options(resolved: Resolved) -> UpOptions:
    """Return what a master is started with."""
    settings = resolved.settings
    check_hosts(settings.hosts)
    host = settings.host or "127.0.0.1"
    if not settings.token and not is_loopback(host):
        raise ConfigError(
            f"--host {host}: others can reach it there; wanted a token in SKITTER_TOKEN or --token"
        )
    if settings.token and not is_loopback(host) and (weak := why_weak(settings.token)):
        raise ConfigError(f"--host {host}: others can reach it there, and {weak}")
    return UpOptions(
        data=settings.data or STATE_DIR / "up",
        host=host,
        port=DEFAULT_PORT if settings.port is None else settings.port,
        token=settings.token or "",
        workers=wanted_workers(settings),
        max_workers=settings.max_workers,
        concurrency=settings.concurrency or DEFAULT_CONCURRENCY,
        allow_private=bool(settings.allow_private),
        hosts=settings.hosts,
        fast=bool(settings.fast),
        quiet=bool(settings.quiet),
        serves=True,
        warc=None if settings.warc is None else Path(settings.warc).expanduser(),
        sinks={
            name: sink.model_dump(mode="json", exclude_none=True)
            for name, sink in resolved.sinks.items()
        },
    )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


@asynccontextmanager
async def _announced(
    options: UpOptions, opened: AbstractAsyncContextManager[Up]
) -> AsyncIterator[Up]:
    """Say where the service listens before its progress is shown."""
    async with opened as up:
        await up.until_served()
        if weak := why_weak(options.token or _token_of(up)):
            _warn(weak)
        if not options.quiet or is_json():
            told = "" if up.token is None else f"; the token is in {up.token}"
            where = f"http://{bracketed(options.host)}:{up.port}"
            if is_json():
                log.info("listening on %s%s", where, told)
            else:
                print(f"listening on {where}{told}", file=sys.stderr, flush=True)
            # Told once, by the start that made it; a log is kept and read by others.
            if up.made_token and not is_json():
                print(f"open {where}/#token={up.made_token}", file=sys.stderr, flush=True)
        yield up


def _warn(line: str) -> None:
    if is_json():
        log.warning(line)
    else:
        complain(line)


def bracketed(host: str) -> str:
    """Return an address as it stands in a URL."""
    return f"[{host}]" if ":" in host else host


def _token_of(up: Up) -> str:
    """Return the token of the directory; "" for one that was given."""
    return "" if up.token is None else up.token.read_text(encoding="ascii").strip()
