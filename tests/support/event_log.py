"""Events of a store in a list, for tests of what is made of them."""

import asyncio
import json

from skitter.errors import StoreUnavailable


class Log:
    """Events in a list, read as a store reads them."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, bytes]] = []
        self.reads = 0
        self.is_away = False
        self.fault: Exception | None = None
        """Raised by the next read."""
        self._added = asyncio.Event()

    def publish(self, n: int = 1, **facts: object) -> None:
        for _ in range(n):
            body = {"type": "page", **facts}
            self.rows.append((f"{len(self.rows) + 1:03d}-0", json.dumps(body).encode()))
        self._added.set()

    async def latest_event(self) -> str:
        return self.rows[-1][0] if self.rows else "0"

    async def events(self, after: str, limit: int, wait_ms: int = 0) -> list[tuple[str, bytes]]:
        self.reads += 1
        if self.fault is not None:
            fault, self.fault = self.fault, None
            raise fault
        if self.is_away:
            raise StoreUnavailable("gone")
        at = int(after.partition("-")[0] or 0)
        if wait_ms and at >= len(self.rows):
            self._added.clear()
            try:
                async with asyncio.timeout(wait_ms / 1000):
                    await self._added.wait()
            except TimeoutError:
                return []
        return self.rows[at : at + limit]
