"""How a visit comes by the robots.txt of a site that nobody has asked for it yet.

A request for robots.txt is a request: it is made under the gate that the visit holds, and what it
redirects to is asked in its turn as well. Where several processes share a store one of them asks,
under a lock, and the others take what it has brought. Where that is stored the lock lapses by
itself: whoever comes before finds the rules, and a call less is made for every new site.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from skitter.crawl.equipment import Equipment
from skitter.crawl.trip import Trip
from skitter.crawl.windows import PutOff
from skitter.errors import FetchError
from skitter.fetch.base import Request, Response
from skitter.frontier.model import Freed
from skitter.politeness.robots_entry import AgentRobots
from skitter.types import HostKey
from skitter.url.host import host_key

LOCK_MS = 6_000
"""How long others wait for a process that has died while it asked."""
KEEP_S = 2.0
POLL_MS = 200
MOST_WAIT_MS = 10_000
"""A robots.txt that lies on a host which rests longer than this counts as unreachable."""
MOST_GRANT_MS = 600_000
"""How long a redirect waits for a rate window: beginning anew would take from it as well."""


class RobotsErrand:
    """Brings the rules of a site, for everyone who waits for them."""

    def __init__(self, equipment: Equipment, trip: Trip, free: Callable[[Freed], None]) -> None:
        self._with = equipment
        self._trip = trip
        self._free = free
        self._sent = False
        """Whether the first request was made: the gate was taken for it."""

    async def __call__(self, site: str) -> AgentRobots:
        """Return the rules of a site: ask for them, unless another process has."""
        manners, lease = self._with.manners, self._trip.lease
        if self._with.rights is None:
            return await manners.request_robots(site, self._send)
        frontier, name = self._with.frontier, manners.robots_lock(site)
        while True:
            wait_ms, found = await asyncio.gather(
                frontier.lock(name, lease.id, LOCK_MS), manners.robots_stored(self._trip.url)
            )
            if found is not None or not wait_ms:
                break
            await asyncio.sleep(min(wait_ms, POLL_MS) / 1000)
        if found is None:
            try:
                found = await self._keeping(name, manners.request_robots(site, self._send))
            except PutOff:
                await frontier.lock(name, lease.id, 0)
                raise
            # Before the lock and the gate are let go: whoever has them next finds it.
            await manners.share_robots(frontier)
        if not wait_ms and not manners.is_kept(site):
            await frontier.lock(name, lease.id, 0)
        return found

    async def _keeping(self, name: str, asking: Coroutine[Any, Any, AgentRobots]) -> AgentRobots:
        """Wait for an answer, and keep the lock meanwhile."""
        task = asyncio.create_task(asking)
        try:
            while not (await asyncio.wait([task], timeout=KEEP_S))[0]:
                await self._with.frontier.lock(name, self._trip.lease.id, LOCK_MS)
        except BaseException:
            task.cancel()
            await asyncio.wait([task])
            raise
        return await task

    async def _send(self, request: Request) -> Response:
        """Make one of the requests; redirects come here, too."""
        rights, windows, trip = self._with.rights, self._with.windows, self._trip
        host = host_key(request.url)
        if self._with.manners.sites.is_blacklisted(host):
            raise FetchError(request.url, f"{host} is blacklisted")
        if rights is not None:
            request = msgspec.structs.replace(request, permit=partial(rights.check, trip.lease))
        if windows is not None:
            request = msgspec.structs.replace(request, ready=windows.ready(trip.lease, host))
        fetch = self._with.fetcher.fetch
        if not self._sent:
            self._sent = True
            return await fetch(request)
        if host == trip.host:
            await self._take_turn(request.url)
            await self._wait_granted(host)
            return await fetch(request)
        await self._enter(host, request.url)
        try:
            await self._wait_granted(host)
            return await fetch(request)
        finally:
            self._free(Freed(trip.lease.id, host))

    async def _wait_granted(self, host: HostKey) -> None:
        if self._with.windows is not None:
            await self._with.windows.wait(self._trip.lease, host, MOST_GRANT_MS)

    async def _take_turn(self, url: str) -> None:
        trip = self._trip
        delay_ms = self._with.manners.delay(trip.host, trip.url).delay_ms
        if not delay_ms:
            return
        wait_ms = await self._with.frontier.turn(trip.lease, trip.host, delay_ms, MOST_WAIT_MS)
        if wait_ms > MOST_WAIT_MS:
            raise _resting(url, trip.host)
        await asyncio.sleep(wait_ms / 1000)

    async def _enter(self, host: HostKey, url: str) -> None:
        clock, frontier = self._with.clock, self._with.frontier
        patience = clock.boot() + MOST_WAIT_MS / 1000
        while wait_ms := await frontier.enter(self._trip.lease, host, MOST_WAIT_MS):
            if wait_ms > MOST_WAIT_MS or clock.boot() > patience:
                raise _resting(url, host)
            await asyncio.sleep(wait_ms / 1000)


def _resting(url: str, host: HostKey) -> FetchError:
    return FetchError(url, f"{host} is not to be asked for a while")
