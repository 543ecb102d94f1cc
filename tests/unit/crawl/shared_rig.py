"""A crawl whose leases may pass to others, on the machine's clock, which tests can put forward."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web
from msgspec.structs import replace as changed

from skitter.clock import SystemClock
from skitter.crawl.rights import EverySlot, Rights
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import UrlState

LEASE_MS = 20_000


class ForwardClock(SystemClock):
    """The machine's clock, put forward where a test would have to wait."""

    ahead_s = 0.0

    def now_ms(self) -> int:
        return super().now_ms() + round(self.ahead_s * 1000)

    def boot(self) -> float:
        return super().boot() + self.ahead_s


class SomeSlots(EverySlot):
    """Everything is granted, yet a test says which slots are held."""

    def __init__(self, frontier: EmbeddedFrontier) -> None:
        super().__init__(frontier, "member")
        self.gone: set[int] = set()
        self.refreshed = 0

    async def refresh(self) -> None:
        self.refreshed += 1
        await super().refresh()

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        del fence, asked_at
        return slot not in self.gone


class SharedRig(CrawlRig):
    """A crawl whose leases may pass to others."""

    async def begin(self) -> None:
        """Open everything, with requests that can be held and slots that can be lost."""
        self.held = HeldFetcher(self.fetcher)
        self.time = ForwardClock()
        await self.open(self.held, self.time)
        self.slots = SomeSlots(self.frontier)
        self.holdings = self.slots
        await self.slots.refresh()
        self.slots.refreshed = 0
        self.rights = Rights(self.slots, self.time, LEASE_MS)
        self.equipment = replace(self.equipment, rights=self.rights)
        self.equipment.widen([HOME])

    @property
    def begun(self) -> int:
        """How many requests were begun, also those that were broken off or called off."""
        return sum(len(times) for times in self.held.times.values())

    async def offer_in(self, slot: int, *paths: str) -> None:
        """Offer URLs that lie in one slot."""
        made = [self.finder.make_link(self.normal(f"{SITE}{path}"), 1, HOME) for path in paths]
        await self.frontier.offer([changed(link, slot=slot) for link in made])


def small_web() -> Web:
    """Five pages without links."""
    made = Web()
    for name in ("a", "b", "c", "d", "e"):
        made.html(f"{SITE}/{name}", f"page {name}")
    return made


def found(rig: CrawlRig) -> list[str]:
    return sorted(record["url"].removeprefix(SITE) for record in rig.sink.records)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.001)


async def state(rig: CrawlRig, path: str) -> UrlState:
    return (await rig.look(f"{SITE}{path}")).state
