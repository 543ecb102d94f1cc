"""A crawl whose leases may pass to others, on the machine's clock."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web
from msgspec.structs import replace as changed

from skitter.clock import SystemClock
from skitter.crawl.rights import EverySlot, Rights
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import UrlState

LEASE_MS = 300


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
        await self.open(self.held, SystemClock())
        self.slots = SomeSlots(self.frontier)
        self.holdings = self.slots
        await self.slots.refresh()
        self.slots.refreshed = 0
        self.rights = Rights(self.slots, SystemClock(), LEASE_MS)
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
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.001)


async def state(rig: CrawlRig, path: str) -> UrlState:
    return (await rig.look(f"{SITE}{path}")).state
