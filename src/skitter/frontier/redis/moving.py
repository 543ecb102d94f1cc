"""Hosts that are moved: from a crowded slot to a member that has time for them."""

from collections.abc import Sequence
from typing import NamedTuple

from skitter.frontier.redis.core import Core
from skitter.frontier.redis.owning import Owning
from skitter.types import HostKey
from skitter.url.partition import SLOTS, TAGS, wide_slot


class Crowd(NamedTuple):
    """One of several large hosts in a slot."""

    slot: int
    host: HostKey
    waiting: int
    """URLs in its queues."""


class Moving:
    """Finds crowded slots and moves hosts out of them."""

    def __init__(self, core: Core, owning: Owning) -> None:
        self._core = core
        self._owning = owning

    async def crowded(self, tags: Sequence[int], many: int) -> list[Crowd]:
        """Return the hosts with ``many`` waiting URLs that share a slot, of some tags."""
        answers = await self._core.call_many([(tag, "crowded", (many,)) for tag in tags])
        found = []
        for words in answers:
            for slot, host, waiting in zip(words[::3], words[1::3], words[2::3], strict=True):
                found.append(Crowd(int(slot), HostKey(host.decode()), waiting))
        return found

    async def move(self, host: HostKey, bucket: int | None) -> bool:
        """Let whoever has a bucket claim a host's URLs until none is left; None undoes it."""
        tag = self._core.keys.tag_of_host(host)
        if bucket is not None:
            await self._owning.wide.add({tag})
        slot = "" if bucket is None else wide_slot(host, bucket)
        return bool(await self._core.call(tag, "move_host", host, slot))

    async def moved(self) -> dict[HostKey, int]:
        """Return the hosts that are moved at present, each with its bucket."""
        keys = [self._core.keys.moved(tag) for tag in range(TAGS)]
        rows = await self._core.nodes.run_many([(key, ("HGETALL", key)) for key in keys])
        return {
            HostKey(host.decode()): (int(slot) - SLOTS) // TAGS
            for words in rows
            for host, slot in zip(words[::2], words[1::2], strict=True)
        }
