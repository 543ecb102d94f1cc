"""Stores that several processes use: a master's over the network, or Redis."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from skitter.cluster.effort import Counted
from skitter.cluster.housekeeping import Housekeeping
from skitter.cluster.names import default_name
from skitter.cluster.relief import Picker
from skitter.cluster.tenure import Tenure
from skitter.crawl.engine import Engine
from skitter.crawl.rights import Rights
from skitter.errors import ConfigError
from skitter.frontier.model import LEASE_MS, Grant
from skitter.politeness.robots_entry import is_stale
from skitter.wiring.connect import Connected
from skitter.wiring.node_options import machine_name
from skitter.wiring.store import Store

if TYPE_CHECKING:
    from skitter.frontier.redis.frontier import RedisFrontier
    from skitter.frontier.remote.client import RemoteFrontier


NAME_PATIENCE_S = 4.0


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
        members_write=own is not None,
    )
