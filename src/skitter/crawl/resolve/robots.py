"""What robots.txt files forbid, as far as the store knows them: nobody is asked here."""

import time
from collections import OrderedDict
from collections.abc import Sequence

from skitter.clock import Clock
from skitter.crawl.gather import Gather
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
PAUSE_S = 0.02
"""From one question to the store to the next, while many are submitted."""


class KnownRobots:
    """The rules of sites that members have asked for."""

    def __init__(self, reader: FrontierReader, sites: SiteRules, clock: Clock) -> None:
        self._marks = Gather(reader.marks_of, pause_s=PAUSE_S)
        self._sites = sites
        self._clock = clock
        self._caches: dict[str, RobotsCache] = {}
        self._looked: OrderedDict[str, float] = OrderedDict()

    async def why_not(self, urls: Sequence[str]) -> list[str | None]:
        """Return for each URL the rule that forbids it; None where none is known."""
        await self._take_up([site for site in {origin(url) for url in urls} if self._is_new(site)])
        return [self._why_not(url) for url in urls]

    def _cache(self, url: str) -> RobotsCache:
        agent = self._sites.agent(host_key(url))
        found = self._caches.get(agent)
        if found is None:
            found = self._caches[agent] = RobotsCache(_ask_nobody, agent, self._clock)
        return found

    def _is_new(self, site: str) -> bool:
        """Tell whether the store is to be asked for the rules of a site, and note that it is."""
        now = time.monotonic()
        known = self._cache(f"{site}/").peek(site) is not None
        if known or now - self._looked.get(site, -LOOKED_S) < LOOKED_S:
            return False
        self._looked[site] = now
        self._looked.move_to_end(site)
        if len(self._looked) > SITES_KEPT:
            self._looked.popitem(last=False)
        return True

    async def _take_up(self, sites: Sequence[str]) -> None:
        marks = await self._marks([robots_mark(site) for site in sites])
        for site, stored in zip(sites, marks, strict=True):
            if stored is not None:
                self._cache(f"{site}/").load(site, stored)

    def _why_not(self, url: str) -> str | None:
        known = self._cache(url).peek(origin(url))
        decision = known.judge(url) if known is not None else None
        # A site that could not be asked is asked again by whoever fetches.
        if decision is None or decision.allowed or decision.code is not Code.ROBOTS:
            return None
        return decision.sentence


async def _ask_nobody(url: str) -> RobotsReply:
    raise FetchError(url, "robots.txt files are not asked for here")
