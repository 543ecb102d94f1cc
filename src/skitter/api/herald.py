"""Who tells of events in this process: to those who listen, and to the receivers of webhooks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Annotated

from fastapi import Depends, FastAPI, Request

from skitter.api.hooks.book import HookBook
from skitter.api.hooks.delivery import Deliveries
from skitter.api.hooks.sender import Sender
from skitter.api.live.hub import EventHub
from skitter.errors import SkitterError
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.wiring.parts import hosts_table
from skitter.wiring.service import Service

LAST_WORDS_S = 1.0


class Herald:
    """Everything of one service that has to do with events."""

    def __init__(self, service: Service) -> None:
        store = service.store
        guard = AddressGuard(allow_private=service.options.allow_private)
        hosts = service.options.hosts
        resolver = Resolver(guard, hosts=hosts_table(None if hosts is None else Path(hosts)))
        self.hub = EventHub(store.reader)
        self.book = HookBook(store, store.reader, guard)
        self.deliveries = Deliveries(store, self.hub, Sender(resolver))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Tell of events while the block runs."""
        tasks = [asyncio.create_task(self.hub.run()), asyncio.create_task(self.deliveries.run())]
        try:
            yield
        finally:
            self.hub.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with suppress(SkitterError, TimeoutError):
                async with asyncio.timeout(LAST_WORDS_S):
                    await self.deliveries.give_back()


def herald_of(request: Request) -> Herald:
    """Return who tells of events in the app at hand."""
    herald = request.app.state.herald
    assert isinstance(herald, Herald)
    return herald


Events = Annotated[Herald, Depends(herald_of)]


@asynccontextmanager
async def telling(app: FastAPI) -> AsyncIterator[None]:
    """Tell of events while an app is served."""
    app.state.herald = Herald(service_of_app(app))
    async with app.state.herald.at_work():
        yield


def service_of_app(app: FastAPI) -> Service:
    """Return the service of an app."""
    service = app.state.service
    assert isinstance(service, Service)
    return service


def let_go(app: FastAPI) -> None:
    """Let everybody go who listens to an app: it ends, and their answers would not."""
    herald = getattr(app.state, "herald", None)
    if isinstance(herald, Herald):
        herald.hub.close()
