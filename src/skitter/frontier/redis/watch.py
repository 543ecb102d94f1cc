"""A connection of its own that waits for a stream to grow, as long as somebody wants to know."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from skitter.errors import SkitterError
from skitter.frontier.events import NONE, Bell
from skitter.frontier.redis.nodes import Nodes

BLOCK_MS: Final = 1_000
"""How long a server is asked to wait: shorter than the silence after which it is given up."""
LINGER_S: Final = 10.0
"""How long the connection stays when nobody waits."""
AT_ONCE: Final = 100
"""Entries that are read at a time."""

log = logging.getLogger(__name__)
Fields = Sequence[bytes]


class Watch:
    """Rings when a stream has grown; ``on_new`` sees the entries before that."""

    def __init__(
        self, nodes: Nodes, key: str, on_new: Callable[[list[Fields]], None] = lambda _: None
    ) -> None:
        self._address = nodes.address
        self._key = key
        self._on_new = on_new
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
            log.warning("what is new in the store is not noticed at once: %s", error)
        finally:
            await nodes.close()

    async def _follow(self, nodes: Nodes) -> None:
        now = asyncio.get_running_loop().time
        last = await latest_in(nodes, self._key)
        # Something may have come before this was known.
        self.bell.ring()
        while self.bell.waited_for or now() - self._wanted_at < LINGER_S:
            words = ("XREAD", "COUNT", AT_ONCE, "BLOCK", BLOCK_MS, "STREAMS", self._key, last)
            found = await nodes.run(self._key, *words)
            if found:
                entries = found[0][1]
                last = bytes(entries[-1][0]).decode()
                self._on_new([fields for _, fields in entries])
                self.bell.ring()


async def latest_in(nodes: Nodes, key: str) -> str:
    """Return the id of the last entry of a stream; one before all others if there is none."""
    found: list[Any] = await nodes.run(key, "XREVRANGE", key, "+", "-", "COUNT", 1)
    return bytes(found[0][0]).decode() if found else NONE
