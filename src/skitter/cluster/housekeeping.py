"""What the member that has control does for all beside sharing the slots out.

It relieves crowded slots, where that is wanted, and lets the vultures walk. Both can be done twice
or not at all without harm, so a change of control needs no hand-over.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Final, Protocol

from skitter.cluster.relief import MANY, Efforts, Large, Picker, choose_moves
from skitter.errors import FrontierError
from skitter.frontier.members import Plan, View
from skitter.frontier.vultures import Buried
from skitter.types import HostKey
from skitter.url.partition import BUCKETS, TAGS

STEP_S: Final = 1.0
RELIEF_S: Final = 3.0
"""Between looks for crowded slots: a move has to show in the beats before the next one."""

log = logging.getLogger(__name__)


class Leading(Protocol):
    """A member's part in control."""

    @property
    def leads(self) -> bool:
        """Whether it has control."""

    @property
    def view(self) -> View:
        """Who is there; whole where it has control."""

    @property
    def plan(self) -> Plan:
        """Who is to own what."""


class HostMover(Protocol):
    """Moves hosts between members."""

    async def crowded(self, tags: Sequence[int], many: int) -> Sequence[Large]:
        """Return the large hosts that share a slot, of some tags."""

    async def move(self, host: HostKey, bucket: int | None) -> bool:
        """Let whoever has a bucket claim a host's URLs until none is left."""


class Walk(Protocol):
    """Goes over the store, a step at a time."""

    async def step(self) -> object:
        """Make one step."""

    async def total(self) -> Buried:
        """Return how much has gone since the store was made."""


class Housekeeping:
    """Runs beside every member of a cluster; only the one that has control does anything."""

    def __init__(
        self,
        leading: Leading,
        mover: HostMover,
        vultures: Walk,
        *,
        picker: Picker = Picker.HASH,
        many: int = MANY,
    ) -> None:
        self._leading = leading
        self._mover = mover
        self._vultures = vultures
        self._picker = picker
        self._many = many
        self._efforts = Efforts()
        self._relieved = float("-inf")

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await asyncio.sleep(STEP_S)
            if not self._leading.leads:
                continue
            try:
                await self._vultures.step()
                if self._picker is Picker.ADVANCED:
                    await self._relieve()
            except FrontierError as error:
                log.warning("housekeeping has to wait: %s", error)

    async def _relieve(self) -> None:
        now = asyncio.get_running_loop().time()
        if now - self._relieved < RELIEF_S:
            return
        self._relieved = now
        plan = self._leading.plan
        self._efforts.look(member.beat for member in self._leading.view.members)
        idle = self._efforts.idle()
        tags = sorted(
            {
                slot % TAGS
                for name in self._efforts.busy()
                if name in plan.members
                for slot in plan.slots_of(name)
            }
        )
        if not idle or not tags:
            return
        buckets = {
            name: [slot for slot in plan.slots_of(name) if slot < BUCKETS]
            for name in idle
            if name in plan.members
        }
        for move in choose_moves(await self._mover.crowded(tags, self._many), idle, buckets):
            if await self._mover.move(move.host, move.bucket):
                log.info("%s goes to another member until it is done", move.host)


class Caretaker:
    """Lets the vultures of a store walk that is this process's own. A helper of its crawl."""

    def __init__(self, vultures: Walk) -> None:
        self._vultures = vultures
        self.buried = vultures.total

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await asyncio.sleep(STEP_S)
            try:
                await self._vultures.step()
            except FrontierError as error:
                log.warning("housekeeping has to wait: %s", error)

    async def settle(self) -> None:
        """Leave the rest to the next run."""
