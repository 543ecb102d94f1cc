"""One receiver: it is told of what it wants to know, in order, until it has taken it."""

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from skitter.api.hooks.kept import Hook, HookState, read_state, state_mark
from skitter.api.hooks.sender import Sender
from skitter.api.hooks.signature import HEADER, sign
from skitter.api.hooks.step import after_failure, after_nothing, after_success
from skitter.api.live.filters import Filter
from skitter.api.live.hub import EventHub
from skitter.api.live.listener import Listener
from skitter.api.live.told import Told
from skitter.wiring.store import Store

READ: Final = 500
BATCH: Final = 100
"""Events in one message."""
PAUSE_S: Final = 0.2
"""Between two messages to one receiver, so that what comes fast comes together."""
KEEP_S: Final = 10.0
"""How often it is kept how far a receiver is that wants nothing of what happens."""

_encode = msgspec.json.Encoder().encode


@dataclass(slots=True, eq=False)
class Office:
    """What all receivers are served with."""

    store: Store
    hub: EventHub
    sender: Sender
    may_send: Callable[[], bool]
    """Whether it is for this process to deliver."""
    delivered: int = 0
    """Events that arrived, since this process began."""
    failures: int = 0
    """Messages that did not."""


class Receiver:
    """Serves one webhook."""

    def __init__(self, hook: Hook, office: Office) -> None:
        self._hook = hook
        self._office = office
        self._state = HookState(after=hook.start)
        self._kept_at = 0.0

    async def serve(self) -> None:
        """Tell of what happened since the last time, and of what happens."""
        raw = await self._office.store.reader.mark(state_mark(self._hook.id))
        self._state = read_state(raw, self._hook.start)
        async with self._office.hub.listen(self._hook.filter, owed=True) as listener:
            while True:
                await self._rest()
                await self._step(listener)

    async def _rest(self) -> None:
        """Wait until it is time to try again what did not arrive."""
        wait_ms = self._state.next_try_ms - self._office.store.clock.now_ms()
        if wait_ms > 0:
            await asyncio.sleep(wait_ms / 1000)

    async def _step(self, listener: Listener) -> None:
        listener.skip()
        events = await self._office.hub.after(self._state.after, READ)
        if not events:
            await listener.wait()
            return
        wanted, upto = batch_of(events, self._hook.filter)
        if wanted and self._office.may_send():
            await self._send(wanted, upto)
            await asyncio.sleep(PAUSE_S)
        elif not wanted:
            await self._pass(upto)
        else:
            await asyncio.sleep(PAUSE_S)

    async def _send(self, wanted: Sequence[Told], upto: str) -> None:
        office, now_ms = self._office, self._office.store.clock.now_ms()
        body = _encode({"webhook": self._hook.id, "events": [event.body() for event in wanted]})
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "skitter-webhook",
            HEADER: sign(self._hook.secret, now_ms // 1000, body),
        }
        why = await office.sender.send(self._hook.url, body, headers)
        if why:
            office.failures += 1
            chance, tried = random.random(), (upto, len(wanted))  # noqa: S311  spreads load
            now_ms = office.store.clock.now_ms()
            await self._keep(after_failure(self._state, why, now_ms, chance, tried))
        else:
            office.delivered += len(wanted)
            await self._keep(after_success(self._state, upto, len(wanted)))

    async def _pass(self, upto: str) -> None:
        """Go past what is not wanted; a restart may look at a little of it again."""
        self._state = after_nothing(self._state, upto)
        if self._office.store.clock.boot() - self._kept_at >= KEEP_S:
            await self._keep(self._state)

    async def _keep(self, state: HookState) -> None:
        self._state = state
        self._kept_at = self._office.store.clock.boot()
        if self._office.may_send():
            marks = {state_mark(self._hook.id): state.encode()}
            await self._office.store.frontier.ack([], marks=marks)


def batch_of(events: Sequence[Told], wanted: Filter) -> tuple[list[Told], str]:
    """Return the first events that are wanted, as many as fit, and where they end."""
    found = [event for event in events if wanted.wants(event.facts)]
    if len(found) > BATCH:
        return found[:BATCH], found[BATCH - 1].id
    return found, events[-1].id
