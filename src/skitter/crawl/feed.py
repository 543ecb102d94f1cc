"""Reads an iterator that may block (a pipe) without holding up the event loop or the exit."""

import asyncio
import threading
from collections import deque
from collections.abc import Iterator

HELD = 10_000
"""Items read ahead at most; then the reading waits for the taking."""
BATCH = 1000


class Feed:
    """Hands out what an iterator brings, as soon as it brings it.

    The reading thread is a daemon: a pipe that never ends must not keep the process alive.
    """

    def __init__(self, items: Iterator[str]) -> None:
        self._source = items
        self._items: deque[str] = deque()
        self._changed = threading.Condition()
        self._ready = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._ended = False
        self._error: Exception | None = None
        threading.Thread(target=self._read, name="seeds", daemon=True).start()

    async def take(self) -> list[str]:
        """Return the next items, at least one; empty when there are no more."""
        while not self._items and not self._ended:
            await self._ready.wait()
            self._ready.clear()
        with self._changed:
            batch = [self._items.popleft() for _ in range(min(BATCH, len(self._items)))]
            self._changed.notify()
        if not batch and self._error is not None:
            raise self._error
        return batch

    def _read(self) -> None:
        try:
            for item in self._source:
                with self._changed:
                    while len(self._items) >= HELD:
                        self._changed.wait()
                    self._items.append(item)
                self._wake()
        except Exception as error:  # noqa: BLE001  handed to the one who takes
            self._error = error
        self._ended = True
        self._wake()

    def _wake(self) -> None:
        if self._ready.is_set():
            return
        try:
            self._loop.call_soon_threadsafe(self._ready.set)
        except RuntimeError:
            # The loop has closed; nobody takes any more.
            return
