"""A real master with its service, in the process of the test."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from clusters import Background, command_line
from fastapi import FastAPI
from killable import family

from skitter.api.app import create_app
from skitter.wiring.service import Service, ServiceOptions, open_service
from skitter.wiring.tokens import OPERATOR, READER, derived
from skitter.wiring.up import Master, UpOptions, open_up

ADMIN = "an-admin-token-for-tests"
TOKENS = {
    "admin": ADMIN,
    "operator": derived(ADMIN, OPERATOR),
    "reader": derived(ADMIN, READER),
}


def bearer(role: str = "admin") -> dict[str, str]:
    """Return the header with the token of a role."""
    return {"Authorization": f"Bearer {TOKENS[role]}"}


class Served:
    """A master, the service beside it, and its app."""

    def __init__(self, master: Master, service: Service, app: FastAPI, http: httpx.AsyncClient):
        self.master = master
        self.service = service
        self.app = app
        self.http = http
        """Speaks to the app as an admin."""

    def client(self, role: str | None = None) -> httpx.AsyncClient:
        """Return a client with the token of a role, or with none."""
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {} if role is None else bearer(role)
        return httpx.AsyncClient(transport=transport, base_url="http://skitter", headers=headers)


@asynccontextmanager
async def a_service(
    data: Path, *, workers: int = 0, **given: Any
) -> AsyncIterator[tuple[Master, Service]]:
    """Open a master on a directory, and a service beside it that serves nobody yet."""
    given.setdefault("allow_private", True)
    options = ServiceOptions(token=ADMIN, data=str(data), **given)
    up = UpOptions(
        data=data,
        port=0,
        token=ADMIN,
        workers=workers,
        max_workers=4,
        allow_private=options.allow_private,
        fast=True,
    )
    async with open_up(up) as master, open_service(options) as service:
        yield master, service


@asynccontextmanager
async def served(data: Path, *, workers: int = 0, **given: Any) -> AsyncIterator[Served]:
    """Open a master on a directory, and a service beside it without a process of its own."""
    async with a_service(data, workers=workers, **given) as (master, service):
        app = create_app(service)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=transport, base_url="http://skitter", headers=bearer()
            ) as http,
        ):
            yield Served(master, service, app, http)


class Up:
    """``skitter up`` as a process of its own, over all the times it is started."""

    def __init__(self, folder: Path, *words: str | Path, env: Mapping[str, str] | None = None):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data = folder / "state"
        self._words = ("--data", self.data, *words)
        self._env = {"SKITTER_TOKEN": ADMIN, **(env or {})}
        self.port = 0

    def start(self) -> Background:
        """Start it, and wait until it serves."""
        words = ("up", "--port", str(self.port), *self._words)
        made = Background(self.folder, *words, env=self._env)
        made.until_told("listening on ")
        self.port = int(re.findall(r"listening on http://127\.0\.0\.1:(\d+)", made.told)[-1])
        return made

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def http(self, role: str = "admin") -> httpx.Client:
        """Return a client with the token of a role."""
        return httpx.Client(base_url=self.url, headers=bearer(role), timeout=60)


def service_pid(up: Background) -> int:
    """Return the process that serves people."""
    [pid] = [pid for pid in family(up.pid) if "skitter.api" in command_line(pid)]
    return pid
