"""Events on their way to the receivers of one store, from one process at a time.

Whoever holds the lock delivers; how far each receiver is stands in the store, so that another
process goes on where this one ended. An event is sent once, and again when nobody can know whether
it arrived. Each receiver has a task of its own: a slow one keeps nobody waiting.
"""

import asyncio
import logging
import secrets
from collections.abc import Collection
from typing import Final

from skitter.api.hooks.kept import WISHES, Hook, read_hook, state_mark
from skitter.api.hooks.receiver import Office, Receiver
from skitter.api.hooks.sender import Sender
from skitter.api.live.hub import EventHub
from skitter.crawl.kept_going import kept_going
from skitter.errors import SkitterError
from skitter.wiring.store import Store

LOCK: Final = "webhooks"
LOCK_MS: Final = 10_000
LOOK_S: Final = 1.0
"""Between looks at who is to be told."""

log = logging.getLogger(__name__)


class Deliveries:
    """Delivers while this process has the lock."""

    def __init__(self, store: Store, hub: EventHub, sender: Sender) -> None:
        self._store = store
        self._holder = secrets.randbits(48)
        self._until = 0.0
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sender = sender
        self.office = Office(store, hub, sender, lambda: store.clock.boot() < self._until)

    @property
    def served(self) -> frozenset[str]:
        """The webhooks that this process delivers to."""
        return frozenset(self._tasks)

    async def run(self) -> None:
        """Deliver, or wait for this process's turn, until it is cancelled."""
        try:
            await kept_going("the delivery of webhooks", self._deliver)
        finally:
            await self._stop(list(self._tasks))
            await self._sender.close()

    async def _deliver(self) -> None:
        while True:
            try:
                await self._look()
            except SkitterError as error:
                log.warning("webhooks wait: %s", error)
            await asyncio.sleep(LOOK_S)

    async def give_back(self) -> None:
        """Let another process deliver at once."""
        self._until = 0.0
        await self._store.frontier.lock(LOCK, self._holder, 0)

    async def _look(self) -> None:
        """Keep the lock, and see to it that everybody who wants events has a task."""
        asked_at = self._store.clock.boot()
        if await self._store.frontier.lock(LOCK, self._holder, LOCK_MS):
            await self._stop(list(self._tasks))
            return
        self._until = asked_at + LOCK_MS * 0.9 / 1000
        marks = await self._store.reader.marks(WISHES)
        hooks = [hook for raw in marks.values() if (hook := read_hook(raw))]
        await self._forget(self.served - {hook.id for hook in hooks})
        for hook in hooks:
            task = self._tasks.get(hook.id)
            if task is None or task.done():
                self._tasks[hook.id] = asyncio.create_task(self._serve(hook))

    async def _forget(self, ids: Collection[str]) -> None:
        """Stop what was deleted; its last word may have come after that."""
        if ids:
            gone = {state_mark(hook_id): b"" for hook_id in ids}
            await self._stop(ids)
            await self._store.frontier.ack([], marks=gone)

    async def _stop(self, ids: Collection[str]) -> None:
        tasks = [self._tasks.pop(hook_id) for hook_id in ids]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, hook: Hook) -> None:
        try:
            await Receiver(hook, self.office).serve()
        except SkitterError as error:
            log.warning("webhook %s waits: %s", hook.id, error)
        except Exception:  # it is begun again at the next look
            log.exception("webhook %s waits", hook.id)
