"""One page fetched right now, beside every queue, with the manners of its host.

A host has one such request at a time over all services of a store. Crawls do not ask it meanwhile:
its next-allowed time is put off before the request and after it, and the request itself waits for
the host's delay, because a crawl may have asked a moment before.
"""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from skitter.config import RunOptions
from skitter.crawl.manners import Manners
from skitter.crawl.site_rules import SiteRules
from skitter.errors import ConfigError, ConnectError, FetchTimeout, TooManyRedirects
from skitter.fetch.base import Fetcher, Request, Response
from skitter.fetch.redirects import BadRedirect, Follow, next_hop
from skitter.job.spec import Job
from skitter.politeness.settings.live import LiveSettings
from skitter.types import HostKey
from skitter.url.host import host_key
from skitter.wiring.parts import make_fetcher
from skitter.wiring.render_once import PlainAccess, shown
from skitter.wiring.store import Store

TURN_S = 10.0
"""How long one waits for its turn at a host."""
LONGEST_REST_S = 10.0
"""Of a longer delay so much is kept; who asks for one page waits for the answer."""
LOCK_MS = 90_000
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Visited:
    """Where a page was found, and the answer."""

    redirects: tuple[str, ...]
    """Every URL that was asked on the way, the last one left out."""
    response: Response


class Direct:
    """Fetches single pages on behalf of people."""

    def __init__(self, store: Store, *, allow_private: bool, hosts: Path | None) -> None:
        self._store = store
        self._options = RunOptions(data=Path(), allow_private=allow_private, hosts=hosts)
        self._settings = LiveSettings()

    async def fetch(self, url: str, job: Job) -> Visited:
        """Return a page; raises ``ConfigError`` for what is forbidden, ``FetchError`` else."""
        await self._settings.refresh(self._store.reader)
        fetcher = make_fetcher(job, self._options)
        manners = Manners(
            job,
            fetcher=fetcher,
            reader=self._store.reader,
            clock=self._store.clock,
            rng=random.Random(),  # noqa: S311  jitter, not secrets
        )
        manners.sites = SiteRules(job, self._settings)
        try:
            visited = await self._follow(url, job, fetcher, manners)
            access = _access(manners)
            browsers = self._store.browsers
            response = await shown(job, visited.response, access, fetcher, browsers)
            return Visited(visited.redirects, response)
        finally:
            await fetcher.close()
            if marks := manners.take_marks():
                await self._store.frontier.ack([], marks=marks)

    async def _follow(self, url: str, job: Job, fetcher: Fetcher, manners: Manners) -> Visited:
        asked: list[str] = []
        while True:
            response = await self._ask(url, fetcher, manners)
            hop = next_hop(url, response)
            if isinstance(hop, BadRedirect) or not isinstance(hop, Follow):
                return Visited(tuple(asked), response)
            asked.append(url)
            if hop.url in asked or len(asked) > job.http.max_redirects:
                raise TooManyRedirects(url, f"{len(asked)} redirects, and no end")
            url = hop.url

    async def _ask(self, url: str, fetcher: Fetcher, manners: Manners) -> Response:
        host = host_key(url)
        decision = manners.sites.explain(host, 0)
        if not decision.allowed:
            raise ConfigError(f"url: {decision.sentence}")
        async with self._turn(host, url):
            if manners.obeys_robots:
                robots = await manners.robots_known(url)
                if robots is None:
                    robots = await manners.ask_robots(url)
                if robots.unavailable:
                    raise ConnectError(url, robots.judge(url).sentence)
                if not robots.decide(url).allowed:
                    raise ConfigError(f"url: {robots.judge(url).sentence}")
            rest_ms = manners.delay(host, url).delay_ms
            await self._put_off(host, 2 * rest_ms)
            await asyncio.sleep(min(rest_ms / 1000, LONGEST_REST_S))
            headers = manners.sites.agent_header(host)
            try:
                return await fetcher.fetch(Request(url=url, headers=headers))
            finally:
                await self._put_off(host, rest_ms)

    async def _put_off(self, host: HostKey, rest_ms: int) -> None:
        until = self._store.clock.now_ms() + rest_ms
        await self._store.control.set_host(host, not_before_ms=until)

    @asynccontextmanager
    async def _turn(self, host: HostKey, url: str) -> AsyncIterator[None]:
        """Be the only one who asks a host in this way."""
        lock, name, holder = self._store.frontier.lock, f"direct:{host}", secrets.randbits(48)
        clock = asyncio.get_running_loop().time
        until = clock() + TURN_S
        while await lock(name, holder, LOCK_MS):
            if clock() > until:
                raise FetchTimeout(url, "others are asking this host; its turn did not come")
            await asyncio.sleep(LOOK_S)
        try:
            yield
        finally:
            await lock(name, holder, 0)


def _access(manners: Manners) -> PlainAccess:
    """Return what the scripts of a page may ask for."""

    async def allows(url: str) -> bool:
        if not manners.sites.explain(host_key(url), 0).allowed:
            return False
        if not manners.obeys_robots:
            return True
        robots = await manners.robots_known(url) or await manners.ask_robots(url)
        return robots.decide(url).allowed

    return PlainAccess(allows, lambda url: manners.sites.agent_header(host_key(url)))
