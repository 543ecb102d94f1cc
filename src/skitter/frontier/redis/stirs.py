"""What members queue, told to the others: a short stream of the tags concerned.

A member that has time to spare looks into those of its tags at once, instead of with its next look
at everything.
"""

import asyncio
from collections.abc import Iterable
from typing import Final

from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.watch import Fields, Watch

MOST_KEPT: Final = 100
EVERY: Final = b"*"


class Stirs:
    """Tells of offers, and hears of those of others."""

    def __init__(self, nodes: Nodes, keys: Keys, agenda: Agenda) -> None:
        self._nodes = nodes
        self._key = keys.stirs
        self._agenda = agenda
        self._watch = Watch(nodes, keys.stirs, self._heard)
        self._count = 0
        """How often tags of this member were concerned."""

    async def tell(self, tags: Iterable[int] | None) -> None:
        """Tell that URLs of some tags were queued; None for any."""
        words = EVERY if tags is None else ",".join(map(str, sorted(set(tags)))).encode()
        key = self._key
        await self._nodes.run(key, "XADD", key, "MAXLEN", "~", MOST_KEPT, "*", "t", words)

    def _heard(self, entries: list[Fields]) -> None:
        words = {bytes(fields[1]) for fields in entries}
        mine = self._agenda.tags
        told = mine if EVERY in words else {int(tag) for word in words for tag in word.split(b",")}
        concerned = mine & told
        if concerned:
            self._agenda.doubt(concerned)
            self._count += 1

    async def wait(self, since: int, wait_ms: int) -> int:
        """Return how often this member was concerned, when that is another number or after time."""
        now = asyncio.get_running_loop().time
        until = now() + wait_ms / 1000
        while self._count == since and (left := until - now()) > 0:
            await self._watch.wait(self._watch.bell.rings, left)
        return self._count

    async def close(self) -> None:
        """Let the connection go."""
        await self._watch.close()
