"""What serves people: a store that others work on, and answers to every question about it.

A service is a client of its store like everyone else. On the embedded store what only the master
can do is asked of the master; in Redis everything is done here.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from skitter.crawl.inspect import Answer, Question, ask_running, error_of
from skitter.crawl.rights import EverySlot
from skitter.errors import StoreUnavailable
from skitter.frontier.model import LEASE_MS
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.server import SERVICE
from skitter.wiring.store import Store
from skitter.wiring.workers import SOCKET

Facts = dict[str, Any]
ONE_LINE = frozenset({"page", "outputs", "undo_alias"})
"""Questions that are answered in one line, with nothing behind it."""


class ServiceOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a service is started with; plain values, for they go to another process."""

    token: str
    """The admin's; all others follow from it."""
    data: str
    """The directory of the master, or what this machine has for itself beside a shared store."""
    store: str | None = None
    """URL of a store that many share; None for the master of ``data``."""
    cold: str | None = None
    """URL of a database for the tails of that store's long queues."""
    index: str | None = None
    """URL of a database for that store's page index."""
    allow_private: bool = False
    """Whether jobs may reach private, loopback and link-local addresses."""
    hosts: str | None = None
    """A hosts(5) file that is asked before the DNS."""
    log_json: bool = False
    """Whether the log is lines of JSON."""
    archive: str | None = None
    """Where the operator lets jobs be archived; None for nowhere."""
    sinks: dict[str, dict[str, Any]] = {}
    """What the operator has set up for the records of jobs, by name."""


class Service:
    """An open store, and who answers for it."""

    def __init__(self, store: Store, options: ServiceOptions, answer: Answer) -> None:
        self.store = store
        self.options = options
        self._answer = answer
        self.stack = AsyncExitStack()
        """What is opened for the service later, and closed before its store."""

    @property
    def kind(self) -> str:
        """What the store is: "embedded" or "redis"."""
        return "embedded" if self.options.store is None else "redis"

    async def ask(self, question: Question) -> list[Facts]:
        """Return the answer to a question; a list comes whole or not at all.

        Raises ``ConfigError`` for what cannot be (``NotFound``, ``Conflict``), and
        ``FrontierError`` when the store, or who has it, is away.
        """
        async with aclosing(self.lines(question)) as lines:
            return [dict(json.loads(line)) async for line in lines]

    async def lines(self, question: Question) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an answer as they come, and raise when it breaks off."""
        complete = False
        answer = self._answer(question)
        try:
            async for line in answer:
                if line.startswith(b'{"error":') and (error := error_of(json.loads(line))):
                    raise error
                complete = line.startswith(b'{"complete":') or not ONE_LINE.isdisjoint(question)
                if not line.startswith(b'{"complete":'):
                    yield line
        finally:
            if isinstance(answer, AsyncGenerator):
                await answer.aclose()
        if not complete:
            raise StoreUnavailable("what runs here does not answer at the moment; ask again")


@asynccontextmanager
async def open_service(options: ServiceOptions) -> AsyncIterator[Service]:
    """Open the way to a store; the master, or the store itself, is there already."""
    async with AsyncExitStack() as stack:
        if options.store is None:
            service = await _beside_a_master(stack, options)
        else:
            from skitter.wiring.service_store import open_shared  # noqa: PLC0415  brings a client

            store, answer = await open_shared(stack, options, Path(options.data))
            service = Service(store, options, answer)
        async with service.stack:
            yield service


async def _beside_a_master(stack: AsyncExitStack, options: ServiceOptions) -> Service:
    data = Path(options.data)
    frontier = RemoteFrontier(data / SOCKET, name=SERVICE)
    await frontier.open()
    stack.push_async_callback(frontier.close)
    store = Store(
        frontier=frontier,
        reader=frontier,
        control=frontier,
        secret=frontier.secret,
        clock=frontier.clock,
        holdings=EverySlot(frontier, "service"),
        lease_ms=LEASE_MS,
    )
    return Service(store, options, lambda question: ask_running(data, question))
