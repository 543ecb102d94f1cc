"""The events of a shared store: one stream, and a connection of its own that waits for more.

The connection tells only that something has come. Who waits reads it like everyone else, so any
number may wait in one process.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from skitter.errors import SkitterError
from skitter.frontier.events import (
    MOST_KEPT,
    NEW,
    NONE,
    OLDEST,
    Bell,
    checked_events,
    checked_id,
)
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.nodes import Nodes

TOGETHER: Final = 500
"""Events that travel together."""
BLOCK_MS: Final = 1_000
"""How long a server is asked to wait: shorter than the silence after which it is given up."""
LINGER_S: Final = 5.0
"""How long the connection stays when nobody waits."""

log = logging.getLogger(__name__)


class Events:
    """Adds to the stream and reads it."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._key = keys.events
        self._watch = _Watch(nodes, keys.events)

    async def publish(self, events: Sequence[bytes]) -> None:
        """Add events; a call that is repeated adds them again."""
        checked_events(events)
        words = ("XADD", self._key, "MAXLEN", "~", MOST_KEPT, "*", "e")
        for first in range(0, len(events), TOGETHER):
            some = events[first : first + TOGETHER]
            await self._nodes.run_many([(self._key, (*words, event)) for event in some])

    async def latest(self) -> str:
        """Return the id of the last event; one before all others if there is none."""
        return await _latest(self._nodes, self._key)

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


async def _latest(nodes: Nodes, key: str) -> str:
    found: list[Any] = await nodes.run(key, "XREVRANGE", key, "+", "-", "COUNT", 1)
    return bytes(found[0][0]).decode() if found else NONE


class _Watch:
    """Rings when the stream has grown, as long as somebody wants to know."""

    def __init__(self, nodes: Nodes, key: str) -> None:
        self._address = nodes.address
        self._key = key
        self._task: asyncio.Task[None] | None = None
        self._wanted_at = 0.0
        self.bell = Bell()

    async def wait(self, heard: int, seconds: float) -> None:
        """Return when more has come than was ``heard``, or when the time is over."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._work())
        await self.bell.wait(heard, seconds)
        self._wanted_at = asyncio.get_running_loop().time()

    async def close(self) -> None:
        """End it."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _work(self) -> None:
        nodes = Nodes(self._address)
        self._wanted_at = asyncio.get_running_loop().time()
        try:
            await nodes.open(to_read=True)
            await self._follow(nodes)
        except SkitterError as error:
            log.warning("new events are not noticed at once: %s", error)
        finally:
            await nodes.close()

    async def _follow(self, nodes: Nodes) -> None:
        now = asyncio.get_running_loop().time
        last = await _latest(nodes, self._key)
        # Something may have come before this was known.
        self.bell.ring()
        while self.bell.waited_for or now() - self._wanted_at < LINGER_S:
            words = ("XREAD", "COUNT", 1, "BLOCK", BLOCK_MS, "STREAMS", self._key, last)
            if await nodes.run(self._key, *words):
                last = await _latest(nodes, self._key)
                self.bell.ring()
