"""Opens stores that other processes use as well, without becoming a member there."""

import math
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

from skitter.errors import ConfigError
from skitter.frontier.model import SeenOptions
from skitter.wiring.node_options import machine_name

if TYPE_CHECKING:
    from skitter.frontier.cold.base import ColdStore
    from skitter.frontier.pages.base import PageStore
    from skitter.frontier.redis.frontier import RedisFrontier
    from skitter.frontier.redis.nodes import Nodes

PATIENCE_S = 8.0
"""How long the command of a person waits for a store that is full, or in other trouble."""


def require_redis() -> None:
    """Raise when the client for Redis was left out of this installation."""
    if find_spec("redis") is None:
        raise ConfigError("--store: the client for Redis is missing; pip install 'skitter[redis]'")


async def visit_place(
    stack: AsyncExitStack,
    store: str | None,
    control: str | None,
    token: str,
    cold: str | None = None,
) -> None:
    """Open what a member would join, without becoming one; the stack closes it."""
    if control is not None:
        from skitter.frontier.remote.client import RemoteFrontier  # noqa: PLC0415  brings a client

        frontier = RemoteFrontier(control, token, name=machine_name())
        await frontier.open()
        stack.push_async_callback(frontier.close)
    elif store is not None and cold is not None:
        await connect_redis(stack, store, cold=cold)
    elif store is not None:
        require_redis()
        from skitter.frontier.redis.address import StoreAddress  # noqa: PLC0415
        from skitter.frontier.redis.nodes import Nodes  # noqa: PLC0415

        nodes = Nodes(StoreAddress.parse(store))
        await nodes.open()
        stack.push_async_callback(nodes.close)


async def _open_cold(stack: AsyncExitStack, url: str, space: str) -> "ColdStore":
    from skitter.frontier.cold.postgres import PostgresStore  # noqa: PLC0415  brings a client

    cold = PostgresStore(url, space)
    await cold.open()
    stack.push_async_callback(cold.close)
    return cold


async def _open_pages(
    stack: AsyncExitStack, url: str, space: str, *, to_read: bool = False
) -> "PageStore":
    from skitter.frontier.pages.postgres import PostgresPages  # noqa: PLC0415  brings a client

    pages = PostgresPages(url, space)
    await pages.open(to_read=to_read)
    stack.push_async_callback(pages.close)
    return pages


class Place(Protocol):
    """What somebody is told of a store in Redis who is to work on it."""

    @property
    def store(self) -> str | None:
        """Its URL."""

    @property
    def cold(self) -> str | None:
        """URL of a database for the tails of long queues."""

    @property
    def index(self) -> str | None:
        """URL of a database for the page index."""


class Connected(NamedTuple):
    """A store in Redis that this process uses without being a member."""

    nodes: "Nodes"
    frontier: "RedisFrontier"


async def connect_redis(
    stack: AsyncExitStack,
    url: str,
    seen: SeenOptions | None = None,
    cold: str | None = None,
    patience_s: float = math.inf,
    index: str | None = None,
) -> Connected:
    """Open a Redis or Valkey store; the stack closes it.

    Who does not name the database of its page index can do everything but read and write that.
    """
    require_redis()
    from skitter.frontier.redis.address import StoreAddress  # noqa: PLC0415  brings a client
    from skitter.frontier.redis.frontier import RedisFrontier  # noqa: PLC0415
    from skitter.frontier.redis.nodes import Nodes  # noqa: PLC0415

    nodes = Nodes(StoreAddress.parse(url), patience_s=patience_s)
    await nodes.open()
    stack.push_async_callback(nodes.close)
    frontier = RedisFrontier(nodes, seen=seen)
    await frontier.open()
    stack.push_async_callback(frontier.close)
    if cold is not None:
        await frontier.keep_tails(await _open_cold(stack, cold, frontier.cold_space))
    elif await frontier.cold_identity():
        raise ConfigError(
            "--store: the long queues of this store are in PostgreSQL; name it with --cold URL"
        )
    if index is not None:
        pages = await _open_pages(stack, index, frontier.pages_space)
        await frontier.keep_pages(pages, patience_s)
    return Connected(nodes, frontier)


async def connect_worker(
    stack: AsyncExitStack,
    place: Place,
    seen: SeenOptions | None = None,
    patience_s: float = math.inf,
) -> Connected:
    """Open a store to work on it, or to answer for it: the page index is needed for either."""
    assert place.store is not None
    connected = await connect_redis(stack, place.store, seen, place.cold, patience_s, place.index)
    connected.frontier.require_pages()
    return connected


async def read_redis(
    stack: AsyncExitStack, url: str, index: str | None = None
) -> "RedisFrontier | None":
    """Open a store for questions alone; None when no crawl is in it. Nothing is written there."""
    found = await connect_to_read(stack, url)
    if found is None:
        return None
    frontier = found.frontier
    if index is not None and frontier.has_pages_elsewhere:
        space = frontier.pages_space
        await frontier.read_pages(await _open_pages(stack, index, space, to_read=True))
    return frontier


async def connect_to_read(stack: AsyncExitStack, url: str) -> Connected | None:
    """Open a store in the same way, for who also asks for its members."""
    require_redis()
    from skitter.frontier.redis.address import StoreAddress  # noqa: PLC0415  brings a client
    from skitter.frontier.redis.frontier import RedisFrontier  # noqa: PLC0415
    from skitter.frontier.redis.nodes import Nodes  # noqa: PLC0415

    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open(to_read=True)
    stack.push_async_callback(nodes.close)
    frontier = RedisFrontier(nodes)
    stack.push_async_callback(frontier.close)
    return Connected(nodes, frontier) if await frontier.open_to_read() else None
