"""Hosts that do not answer: remembered and left alone for a while.

A host that cannot be resolved or connected to several times in a row costs a timeout for each of
its URLs. It is skipped for a time that doubles while it stays dead, and one answer clears it.
"""

from collections import OrderedDict
from dataclasses import dataclass

from skitter.clock import Clock, SystemClock
from skitter.errors import FetchError, HostDead
from skitter.fetch.base import Fetcher, Request, Response
from skitter.types import HostKey
from skitter.url.host import host_key


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadHostOptions:
    """When a host counts as dead, and for how long. Times in seconds."""

    failures: int = 3
    """Faults of the host in a row, with no answer in between."""
    first_s: float = 60.0
    max_s: float = 3600.0
    max_hosts: int = 10_000


@dataclass(slots=True, eq=False)
class _Health:
    failures: int = 0
    deaths: int = 0
    dead_until: float = 0.0


class DeadHosts:
    """The memory of hosts that failed of late; bounded, the longest quiet is forgotten first."""

    def __init__(self, options: DeadHostOptions | None = None, clock: Clock | None = None) -> None:
        self._options = options or DeadHostOptions()
        self._now = (clock or SystemClock()).boot
        self._hosts: OrderedDict[HostKey, _Health] = OrderedDict()

    def dead_for(self, host: HostKey) -> float:
        """Return for how many more seconds ``host`` is to be skipped; 0 when it may be asked."""
        health = self._hosts.get(host)
        return max(0.0, health.dead_until - self._now()) if health is not None else 0.0

    def failed(self, host: HostKey) -> None:
        """Count a fault of ``host``."""
        health = self._hosts.setdefault(host, _Health())
        self._hosts.move_to_end(host)
        if health.dead_until > self._now():
            # A fetch that began before the host was found dead tells nothing new.
            return
        health.failures += 1
        if health.failures >= self._options.failures or health.deaths:
            length = self._options.first_s * 2.0 ** min(health.deaths, 32)
            health.dead_until = self._now() + min(length, self._options.max_s)
            health.deaths += 1
            health.failures = 0
        if len(self._hosts) > self._options.max_hosts:
            self._hosts.popitem(last=False)

    def answered(self, host: HostKey) -> None:
        """Forget what is held against ``host``."""
        self._hosts.pop(host, None)


class DeadHostFetcher:
    """A fetcher that does not ask hosts known to be dead: it raises ``HostDead`` at once."""

    def __init__(self, inner: Fetcher, hosts: DeadHosts) -> None:
        self._inner = inner
        self._hosts = hosts

    async def fetch(self, request: Request) -> Response:
        """Fetch by the inner fetcher unless the host is dead, and remember what came of it."""
        host = host_key(request.url)
        wait = self._hosts.dead_for(host)
        if wait:
            raise HostDead(request.url, f"{host} did not answer of late; skipped for {wait:.0f} s")
        try:
            response = await self._inner.fetch(request)
        except FetchError as exc:
            if exc.host_fault:
                self._hosts.failed(host)
            raise
        self._hosts.answered(host)
        return response

    async def close(self) -> None:
        """Close the inner fetcher."""
        await self._inner.close()
