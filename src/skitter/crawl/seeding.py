"""Offers entries and seeds to the frontier, in batches, with back pressure."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from skitter.crawl.discover import LinkFinder
from skitter.crawl.judge import Judge
from skitter.frontier.base import Frontier, FrontierReader
from skitter.types import JobNumber
from skitter.url.normalise import Normaliser

BATCH = 1000
FULL_POLL_S = 0.2


class Seeder:
    """Puts a job's starting points into its queue. Offering them again changes nothing."""

    def __init__(
        self,
        frontier: Frontier,
        reader: FrontierReader,
        job: JobNumber,
        bound: int,
        *,
        finder: LinkFinder,
        judge: Judge,
        normaliser: Normaliser,
    ) -> None:
        self._frontier = frontier
        self._reader = reader
        self._job = job
        self._bound = bound
        self._finder = finder
        self._judge = judge
        self._normaliser = normaliser

    async def offer(self, urls: Iterable[str]) -> int:
        """Offer a few URLs at once; answers how many were new."""
        links = []
        for url in urls:
            normal = self._normaliser.absolute(url)
            if self._judge.scope.add(normal.url):
                # Links to that host were out of scope until here.
                self._finder.forget()
            links.append(self._finder.make_link(normal, 0))
        return (await self._frontier.offer(links)).new if links else 0

    async def stream(self, seeds: Iterator[str], offered: Callable[[], None]) -> None:
        """Offer seeds as they come, waiting while the queue is full.

        The iterator may block (a pipe), so it is read in a thread.
        """
        while batch := await asyncio.to_thread(_take, seeds):
            while (await self._reader.counts(self._job)).queued >= self._bound:
                await asyncio.sleep(FULL_POLL_S)
            await self.offer(batch)
            offered()


def _take(seeds: Iterator[str]) -> list[str]:
    return list(islice(seeds, BATCH))
