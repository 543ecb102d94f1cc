"""Marks in memory, and managers of small processes, for tests of nodes without a store."""

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from skitter.clock import Clock, SystemClock
from skitter.cluster.manager.ledger import Ledger
from skitter.cluster.manager.manager import Manager, Plans
from skitter.cluster.manager.roster import ListedWorker
from skitter.errors import StoreUnavailable
from skitter.frontier.model import Ack, Receipt


class MemoryMarks:
    """The part of a frontier that keeps marks."""

    trouble = ""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.away = False
        self.before_write: Callable[[Mapping[str, bytes]], None] = lambda marks: None

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        assert not acks
        assert not news
        await self._reach()
        self.before_write(marks or {})
        self.kept |= marks or {}
        return Receipt()

    async def mark(self, name: str) -> bytes | None:
        await self._reach()
        return self.kept.get(name)

    async def marks(self, prefix: str) -> dict[str, bytes]:
        await self._reach()
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}

    async def _reach(self) -> None:
        await asyncio.sleep(0)
        if self.away:
            raise StoreUnavailable("the store is away")


def as_store(marks: MemoryMarks) -> Any:
    """Return marks where a whole frontier is asked for: nothing else of it is used."""
    return marks


STAY = """
import json, os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print(json.dumps({"pages": 5, "in_flight": 2, "member": "m" + sys.argv[1]}), flush=True)
print("place", sys.argv[1], "kind", sys.argv[2], file=sys.stderr, flush=True)
while True:
    time.sleep(0.05)
"""


def plans(name: str = "a", *, code: str = STAY, **changes: Any) -> Plans:
    """Return what a node of small Python programs is started with."""

    def command(worker: ListedWorker) -> list[str]:
        return [sys.executable, "-S", "-c", code, str(worker.place), worker.kind]

    given: dict[str, Any] = {
        "name": name,
        "session": f"session of {name}",
        "machine": "box",
        "wanted": 1,
        "limit": 2,
        "ends_idle": False,
        "command": command,
        "env": {},
        "program": 4,
    }
    return Plans(**{**given, **changes})


class Node:
    """A manager that runs in a task."""

    def __init__(self, data: Path, given: Plans, clock: Clock | None = None) -> None:
        self.ledger = Ledger.take(data)
        self.manager = Manager(self.ledger, given, clock or SystemClock())
        self.task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Node":
        await self.manager.open()
        self.task = asyncio.create_task(self.manager.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.manager.kill()
        if self.task is not None:
            await asyncio.wait([self.task], timeout=60)
        self.ledger.close()

    def workers(self, *states: str) -> list[ListedWorker]:
        """Return those of its list that are in one of some states."""
        return [one for one in self.manager.report().workers if one.state.value in states]

    async def until(self, is_so: Callable[[], object], seconds: float = 60.0) -> None:
        """Wait for something to become true."""
        async with asyncio.timeout(seconds):
            while not is_so():
                if self.task is not None and self.task.done():
                    self.task.result()
                await asyncio.sleep(0.01)

    async def running(self, count: int) -> list[ListedWorker]:
        """Wait until so many have a process that has said a word; return them."""

        def are_ready() -> bool:
            found = self.workers("running")
            told = self.manager.pulse(0).workers
            return len(found) == count and all(told[one.id].member for one in found)

        await self.until(are_ready)
        return self.workers("running")
