"""A real master with its service, in the process of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

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
async def served(data: Path, *, workers: int = 0, **given: Any) -> AsyncIterator[Served]:
    """Open a master on a directory, and a service beside it without a process of its own."""
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
        app = create_app(service)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://skitter", headers=bearer()
        ) as http:
            yield Served(master, service, app, http)
