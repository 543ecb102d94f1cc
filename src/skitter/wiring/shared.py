"""Stores that several processes use: a master's over the network, or Redis."""

import asyncio
import math
import socket
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from skitter.cluster.effort import Counted
from skitter.cluster.housekeeping import Housekeeping
from skitter.cluster.names import default_name
from skitter.cluster.relief import Picker
from skitter.cluster.tenure import Tenure
from skitter.crawl.engine import Engine
from skitter.crawl.rights import Rights
from skitter.errors import ConfigError
from skitter.frontier.model import LEASE_MS, Grant, SeenOptions
from skitter.politeness.robots_entry import is_stale
from skitter.wiring.store import Store

if TYPE_CHECKING:
    from skitter.frontier.cold.base import ColdStore
    from skitter.frontier.redis.frontier import RedisFrontier
    from skitter.frontier.redis.nodes import Nodes
    from skitter.frontier.remote.client import RemoteFrontier


NAME_PATIENCE_S = 4.0
PATIENCE_S = 8.0
"""How long the command of a person waits for a store that is full, or in other trouble."""


def require_redis() -> None:
    """Raise when the client for Redis was left out of this installation."""
    if find_spec("redis") is None:
        raise ConfigError("--store: the client for Redis is missing; pip install 'skitter[redis]'")


def machine_name() -> str:
    """Return what this machine calls itself."""
    return socket.gethostname() or "machine"


class Membership:
    """A member's part in a cluster, as its engine sees it and as a helper of its crawl."""

    def __init__(self) -> None:
        self._tenure: Tenure | None = None
        self._engine: Engine | None = None
        self._housekeeping: Housekeeping | None = None

    def begin(self, tenure: Tenure, housekeeping: Housekeeping | None = None) -> None:
        """Take up the tenure, and what the member that has control does beside it."""
        self._tenure = tenure
        self._housekeeping = housekeeping
        tenure.on_lost = self._lost
        tenure.counted = self._counted

    @property
    def tenure(self) -> Tenure:
        """What is owned."""
        assert self._tenure is not None
        return self._tenure

    def serve(self, engine: Engine) -> None:
        """Name the engine whose work the slots are for."""
        self._engine = engine

    def busy(self) -> Collection[int]:
        """Return the slots in which something is worked on."""
        return self._engine.busy_slots() if self._engine is not None else ()

    def _lost(self, slots: Collection[int]) -> None:
        if self._engine is not None:
            self._engine.abort(slots)

    def _counted(self) -> Counted:
        return self._engine.counted if self._engine is not None else Counted()

    @property
    def grants(self) -> Sequence[Grant]:
        """What may be claimed from at this moment."""
        return self.tenure.grants

    @property
    def complete(self) -> bool:
        """Whether every slot is owned here, and none is to go to another."""
        return self.tenure.complete

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        """Tell whether a slot is owned under ``fence``; a wide one, since ``asked_at``."""
        return self.tenure.holds(slot, fence, asked_at)

    async def refresh(self) -> None:
        """Own anew what was refused as another's."""
        await self.tenure.refresh()

    async def run(self) -> None:
        """Keep what is owned in step with the plan, until cancelled."""
        if self._housekeeping is None:
            await self.tenure.run()
            return
        keeping = asyncio.create_task(self._housekeeping.run())
        try:
            await self.tenure.run()
        finally:
            keeping.cancel()

    async def settle(self) -> None:
        """Let others take over what is not worked on any longer."""
        self.tenure.retire()


async def open_master(
    stack: AsyncExitStack, address: str | Path, token: str, member: str
) -> tuple[Store, Membership]:
    """Join a master; the stack leaves it."""
    from skitter.frontier.remote.client import RemoteFrontier  # noqa: PLC0415  brings a client

    frontier = RemoteFrontier(address, token, name=member)
    await frontier.open()
    stack.push_async_callback(frontier.close)
    membership = Membership()
    # The master ends what a silent child holds: rights must end here before that.
    tenure = Tenure(frontier, None, name=member, clock=frontier.clock, busy=membership.busy)
    membership.begin(tenure)
    await tenure.open()
    stack.push_async_callback(tenure.close)
    return _store(frontier, membership, member), membership


async def visit_place(
    stack: AsyncExitStack,
    store: str | None,
    control: str | None,
    token: str,
    cold: str | None = None,
) -> None:
    """Open what a member would join, without becoming one; the stack closes it."""
    if control is not None:
        from skitter.frontier.remote.client import RemoteFrontier  # noqa: PLC0415  as above

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
) -> Connected:
    """Open a Redis or Valkey store; the stack closes it."""
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
    return Connected(nodes, frontier)


async def read_redis(stack: AsyncExitStack, url: str) -> "RedisFrontier | None":
    """Open a store for questions alone; None when no crawl is in it. Nothing is written there."""
    found = await connect_to_read(stack, url)
    return None if found is None else found.frontier


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


async def join_redis(
    stack: AsyncExitStack,
    connected: Connected,
    *,
    member: str,
    name: str = "",
    picker: Picker = Picker.HASH,
) -> tuple[Store, Membership]:
    """Become a member of an open store; the stack leaves it.

    ``member`` names the files of this process, ``name`` tells it from all others alive.
    """
    from skitter.frontier.redis.members import RedisMembers  # noqa: PLC0415  brings a client

    nodes, frontier = connected
    membership = Membership()
    tenure = Tenure(
        frontier,
        RedisMembers(nodes, frontier.keys),
        name=name or default_name(),
        node=machine_name(),
        clock=frontier.clock,
        busy=membership.busy,
    )
    clock = frontier.clock
    vultures = frontier.vultures(lambda stored: is_stale(stored, clock.now_ms()))
    membership.begin(tenure, Housekeeping(tenure, frontier.moving, vultures, picker=picker))
    await _take_name(tenure)
    stack.push_async_callback(tenure.close)
    return _store(frontier, membership, member, own=frontier), membership


async def _take_name(tenure: Tenure) -> None:
    """Join; a process of the same name that was killed seems to be there for a moment longer."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + NAME_PATIENCE_S
    while True:
        try:
            await tenure.open()
        except ConfigError:
            if clock() > deadline:
                raise
            await asyncio.sleep(0.5)
        else:
            return


def _store(
    frontier: "RedisFrontier | RemoteFrontier",
    membership: Membership,
    member: str,
    own: "RedisFrontier | None" = None,
) -> Store:
    return Store(
        frontier=frontier,
        reader=frontier,
        control=frontier,
        secret=frontier.secret,
        clock=frontier.clock,
        holdings=membership,
        lease_ms=LEASE_MS,
        member=member,
        rights=Rights(membership, frontier.clock, LEASE_MS),
        own=own,
    )
