"""What robots.txt files forbid, as far as the store knows them: nobody is asked here."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence

from skitter.clock import Clock
from skitter.crawl.manners import robots_mark
from skitter.crawl.site_rules import SiteRules
from skitter.errors import FetchError
from skitter.frontier.base import FrontierReader
from skitter.politeness.decision import Code
from skitter.politeness.robots_cache import RobotsCache
from skitter.politeness.robots_reply import RobotsReply
from skitter.url.host import host_key, origin

LOOKED_S = 30.0
"""How long the store is not asked again for a file it did not have."""
SITES_KEPT = 50_000


class KnownRobots:
    """The rules of sites that members have asked for."""

    def __init__(self, reader: FrontierReader, sites: SiteRules, clock: Clock) -> None:
        self._reader = reader
        self._sites = sites
        self._clock = clock
        self._caches: dict[str, RobotsCache] = {}
        self._looked: OrderedDict[str, float] = OrderedDict()

    async def why_not(self, urls: Sequence[str]) -> list[str | None]:
        """Return for each URL the rule that forbids it; None where none is known."""
        await asyncio.gather(*(self._take_up(site) for site in {origin(url) for url in urls}))
        return [self._why_not(url) for url in urls]

    def _cache(self, url: str) -> RobotsCache:
        agent = self._sites.agent(host_key(url))
        found = self._caches.get(agent)
        if found is None:
            found = self._caches[agent] = RobotsCache(_ask_nobody, agent, self._clock)
        return found

    async def _take_up(self, site: str) -> None:
        cache, now = self._cache(f"{site}/"), time.monotonic()
        if cache.peek(site) is not None or now - self._looked.get(site, -LOOKED_S) < LOOKED_S:
            return
        self._looked[site] = now
        self._looked.move_to_end(site)
        if len(self._looked) > SITES_KEPT:
            self._looked.popitem(last=False)
        stored = await self._reader.mark(robots_mark(site))
        if stored is not None:
            cache.load(site, stored)

    def _why_not(self, url: str) -> str | None:
        known = self._cache(url).peek(origin(url))
        decision = known.judge(url) if known is not None else None
        # A site that could not be asked is asked again by whoever fetches.
        if decision is None or decision.allowed or decision.code is not Code.ROBOTS:
            return None
        return decision.sentence


async def _ask_nobody(url: str) -> RobotsReply:
    raise FetchError(url, "robots.txt files are not asked for here")
