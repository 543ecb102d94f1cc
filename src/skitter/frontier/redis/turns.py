"""Further requests to a host whose gate is held, and locks for a moment."""

from skitter.frontier.model import Lease
from skitter.frontier.redis.core import Core
from skitter.types import HostKey
from skitter.url.partition import tag_of


class Turns:
    """What one visit takes from the others for a moment."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def turn(self, lease: Lease, host: HostKey, delay_ms: int, at_most_ms: int | None) -> int:
        """Ask a host once more under the gate that a lease holds."""
        most = -1 if at_most_ms is None else at_most_ms
        tag = self._core.keys.tag_of_host(host)
        wait_ms: int = await self._core.call(tag, "turn", lease.id, host, delay_ms, most)
        return wait_ms

    async def lock(self, name: str, holder: int, ttl_ms: int) -> int:
        """Take, keep or give back a lock."""
        wait_ms: int = await self._core.call(tag_of(name), "lock", name, holder, ttl_ms)
        return wait_ms
