"""The events of a shared store: one stream, and a connection of its own that waits for more.

The connection tells only that something has come. Who waits reads it like everyone else, so any
number may wait in one process.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from skitter.frontier.events import (
    MOST_KEPT,
    NEW,
    OLDEST,
    checked_events,
    checked_id,
)
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.watch import Watch, latest_in

TOGETHER: Final = 500
"""Events that travel together."""


class Events:
    """Adds to the stream and reads it."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._key = keys.events
        self._watch = Watch(nodes, keys.events)

    async def publish(self, events: Sequence[bytes]) -> None:
        """Add events; a call that is repeated adds them again."""
        checked_events(events)
        words = ("XADD", self._key, "MAXLEN", "~", MOST_KEPT, "*", "e")
        for first in range(0, len(events), TOGETHER):
            some = events[first : first + TOGETHER]
            await self._nodes.run_many([(self._key, (*words, event)) for event in some])

    async def latest(self) -> str:
        """Return the id of the last event; one before all others if there is none."""
        return await latest_in(self._nodes, self._key)

    async def read(self, after: str, limit: int, wait_ms: int) -> list[tuple[str, bytes]]:
        """Return events behind an id; waits for some if there are none."""
        if after == NEW:
            after = await self.latest()
        begin = "-" if after == OLDEST else f"({checked_id(after)}"
        now = asyncio.get_running_loop().time
        until = now() + wait_ms / 1000
        while True:
            heard = self._watch.bell.rings
            words = ("XRANGE", self._key, begin, "+", "COUNT", max(1, limit))
            found = await self._nodes.run(self._key, *words)
            left = until - now()
            if found or left <= 0:
                return [(bytes(id_).decode(), bytes(fields[1])) for id_, fields in found]
            await self._watch.wait(heard, left)

    async def close(self) -> None:
        """Let the connection go."""
        await self._watch.close()
