"""Offers entries and seeds to the frontier, in batches, with back pressure."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from skitter.crawl.equipment import Equipment
from skitter.crawl.feed import Feed

FULL_POLL_S = 0.2


class Seeder:
    """Puts a job's starting points into its queue. Offering them again changes nothing."""

    def __init__(self, equipment: Equipment) -> None:
        self._with = equipment

    async def offer(self, urls: Iterable[str]) -> int:
        """Offer a few URLs at once; answers how many were new."""
        links = []
        for url in urls:
            normal = self._with.normaliser.absolute(url)
            if self._with.judge.scope.add(normal.url):
                # Links to that host were out of scope until here.
                self._with.finder.forget()
            links.append(self._with.finder.make_link(normal, 0))
        return (await self._with.frontier.offer(links)).new if links else 0

    async def stream(self, seeds: Iterator[str], offered: Callable[[], None]) -> None:
        """Offer seeds as they come, waiting while the queue is full."""
        feed = Feed(seeds)
        while batch := await feed.take():
            await self._room()
            await self.offer(batch)
            offered()

    async def _room(self) -> None:
        """Wait until the queue is below its bound; the frontier has no event for that."""
        equipment = self._with
        while True:
            counts = await equipment.reader.counts(equipment.number)
            if counts.queued < equipment.job.limits.queue:
                return
            await asyncio.sleep(FULL_POLL_S)
