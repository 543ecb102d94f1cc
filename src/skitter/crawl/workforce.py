"""The workers of one process: as many as may be busy at once, also when that changes."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

Work = Callable[[], Coroutine[Any, Any, None]]


class Workforce:
    """Tasks that all do the same, in a group of the caller's."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._group: asyncio.TaskGroup | None = None
        self._workers: list[asyncio.Task[None]] = []

    def begin(self, group: asyncio.TaskGroup, n: int) -> None:
        """Let ``n`` of them work."""
        self._group = group
        self.grow(n)

    def grow(self, n: int) -> None:
        """Have ``n`` of them at least; those that are too many wait for something to do."""
        assert self._group is not None
        while len(self._workers) < n:
            self._workers.append(self._group.create_task(self._work()))

    def end(self) -> None:
        """Stop them all."""
        for worker in self._workers:
            worker.cancel()
