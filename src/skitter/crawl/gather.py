"""One call for many callers: what comes while a call is under way goes together with the next.

Whoever comes to an idle one goes at once, without waiting for company. The busier it is, the larger
the calls become by themselves; a pause between calls makes them fewer where each is dear.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Gather(Generic[T, R]):
    """Calls ``ask`` with the items of all who wait; it answers one result for each, in order."""

    def __init__(
        self,
        ask: Callable[[Sequence[T]], Awaitable[Sequence[R]]],
        most: int = 2_000,
        pause_s: float = 0.0,
    ) -> None:
        self._ask = ask
        self._most = most
        self._pause_s = pause_s
        """From the beginning of a call to that of the next, at least."""
        self._begun = float("-inf")
        self._waiting: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]] = []
        self._running: asyncio.Task[None] | None = None

    async def __call__(self, items: Sequence[T]) -> Sequence[R]:
        """Return the results for ``items``."""
        if not items:
            return []
        future: asyncio.Future[Sequence[R]] = asyncio.get_running_loop().create_future()
        self._waiting.append((items, future))
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Let the call under way end; whoever waits for another is cancelled."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._running is not None:
            await asyncio.wait([self._running])

    async def _run(self) -> None:
        try:
            while self._waiting:
                await self._pause()
                await self._serve(self._take())
        finally:
            self._running = None

    async def _pause(self) -> None:
        if self._pause_s:
            now = asyncio.get_running_loop().time
            if (wait_s := self._begun + self._pause_s - now()) > 0:
                await asyncio.sleep(wait_s)
            self._begun = now()

    def _take(self) -> list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]]:
        """Return who is served next: as many as one call takes, and one at least."""
        size, count = 0, 0
        for items, _ in self._waiting:
            size += len(items)
            if count and size > self._most:
                break
            count += 1
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    async def _serve(self, taken: list[tuple[Sequence[T], asyncio.Future[Sequence[R]]]]) -> None:
        together = [item for items, _ in taken for item in items]
        try:
            results = await self._ask(together)
        except Exception as error:  # noqa: BLE001  it belongs to those who asked
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
            return
        at = 0
        for items, future in taken:
            if not future.done():
                future.set_result(results[at : at + len(items)])
            at += len(items)
