"""Offers entries and seeds to the frontier, in batches, with back pressure."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator

import msgspec

from skitter.crawl.commit import scope_mark
from skitter.crawl.equipment import Equipment
from skitter.crawl.feed import Feed
from skitter.errors import UrlError
from skitter.frontier.model import UrlState, own_note

FULL_POLL_S = 0.2
SEED = b"seed"
"""Value of a scope mark that came from a seed, not from an entry's redirect."""

ENDED = frozenset({UrlState.DONE, UrlState.DEAD, UrlState.DROPPED})

log = logging.getLogger(__name__)


class Seeder:
    """Puts a job's starting points into its queue. Offering them again changes nothing."""

    def __init__(self, equipment: Equipment) -> None:
        self._with = equipment

    async def offer(self, urls: Iterable[str], *, keep_scope: bool = False) -> int:
        """Offer a few URLs at once; answers how many were new.

        With ``keep_scope`` the next run knows their hosts before it reads the URLs again.
        """
        equipment = self._with
        normals = [equipment.normaliser.absolute(url) for url in urls]
        for normal in normals:
            equipment.home.add(normal.url)
            equipment.sitemaps.starts.add(normal.url)
        wider = [normal.url for normal in normals if equipment.judge.scope.add(normal.url)]
        if wider:
            # Links to those hosts were out of scope until here.
            equipment.finder.forget()
        if wider and keep_scope:
            prefix = scope_mark(equipment.number)
            await equipment.frontier.ack([], news={f"{prefix}{url}": SEED for url in wider})
        links = [equipment.sitemaps.entry(normal) for normal in normals]
        return (await equipment.frontier.offer(links)).new if links else 0

    async def submit(self, entries: Iterable[str]) -> int:
        """Offer what somebody has asked for by name, and count how often that was so."""
        urls = list(entries)
        new = await self.offer(urls)
        absolute = self._with.normaliser.absolute
        await self._with.frontier.count_urls(Counter(absolute(url).url for url in urls))
        return new

    async def revive(self, entries: Iterable[str]) -> None:
        """Take up entries anew that were given up: what kept them away may be mended."""
        await self._take_up(entries, {UrlState.DEAD})

    async def restart(self, entries: Iterable[str]) -> int:
        """Take up entries anew whatever came of them; answers how many.

        Those that wait to be visited, or are visited at this moment, stay as they are.
        """
        return await self._take_up(entries, ENDED | {UrlState.SCHEDULED, UrlState.UNKNOWN})

    async def _take_up(self, entries: Iterable[str], states: Container[UrlState]) -> int:
        equipment = self._with
        taken = 0
        for url in entries:
            normal = equipment.normaliser.absolute(url)
            link = equipment.sitemaps.entry(normal)
            known = await equipment.reader.look(equipment.number, link.host, link.fp)
            if known.state not in states:
                continue
            note = own_note(known.note)
            visit = int(msgspec.json.decode(note)["visit"]) if note else 0
            await equipment.control.forget(equipment.number, link.host, link.fp)
            again = msgspec.structs.replace(link, visit=visit + 1)
            taken += (await equipment.frontier.offer([again])).new
        return taken

    async def stream(self, seeds: Iterator[str], offered: Callable[[], None]) -> None:
        """Offer seeds as they come, waiting while the queue is full."""
        feed = Feed(seeds)
        while batch := await feed.take():
            await self._room()
            await self.offer(self._usable(batch), keep_scope=True)
            offered()

    def _usable(self, urls: list[str]) -> Iterator[str]:
        """Yield the seeds that keep the job's own limits, such as the longest URL."""
        for url in urls:
            try:
                self._with.normaliser.absolute(url)
            except UrlError as error:
                log.warning("seed skipped: %s", error)
            else:
                yield url

    async def _room(self) -> None:
        """Wait until the queue is below its bound; the frontier has no event for that."""
        equipment = self._with
        while True:
            counts = await equipment.reader.counts(equipment.number)
            if counts.queued < equipment.job.limits.queue:
                return
            await asyncio.sleep(FULL_POLL_S)
