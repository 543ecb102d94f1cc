"""Tells an engine that has time to spare that others have queued something."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from skitter.errors import SkitterError
from skitter.frontier.base import FrontierReader

WAIT_MS: Final = 4_000
PAUSE_S: Final = 0.02
"""Between two looks: while very much is being queued, nobody need hear of each piece."""

log = logging.getLogger(__name__)


class Doorbell:
    """Waits at the store for what others queue, but only when somebody wants to know."""

    def __init__(self, reader: FrontierReader, on_ring: Callable[[], None]) -> None:
        self._reader = reader
        self._on_ring = on_ring
        self._heard = 0
        self._asked_at = float("-inf")
        self._asking: asyncio.Task[None] | None = None

    def listen(self) -> None:
        """Call back once, when something has been queued since the last time, or soon."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())

    async def _ask(self) -> None:
        now = asyncio.get_running_loop().time
        await asyncio.sleep(self._asked_at + PAUSE_S - now())
        self._asked_at = now()
        try:
            stirs = await self._reader.stirs(self._heard, WAIT_MS)
        except SkitterError as error:
            # The claim that comes next says the same, to somebody who can do something about it.
            log.debug("nobody tells what is queued: %s", error)
            return
        if stirs != self._heard:
            self._heard = stirs
            self._on_ring()

    async def close(self) -> None:
        """Stop listening."""
        if self._asking is not None:
            self._asking.cancel()
            with suppress(asyncio.CancelledError):
                await self._asking
