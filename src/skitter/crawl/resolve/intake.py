"""Which URLs are queued to be resolved, and how: new ones, and known ones as their next visit."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from skitter.crawl.resolve.decide import why_blocked
from skitter.crawl.resolve.found import read_note
from skitter.crawl.resolve.lane import lane_link
from skitter.crawl.resolve.robots import KnownRobots
from skitter.crawl.resolve.tickets import Item
from skitter.crawl.site_rules import SiteRules
from skitter.errors import UrlError
from skitter.fetch.guard import AddressGuard
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.model import is_pointer
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.normalise import Normaliser, NormalUrl


@dataclass(frozen=True, slots=True)
class Known:
    """A record of a URL, in whatever job; whether it is young enough to be the answer."""

    is_answer: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """One URL, what was decided, and how it would be queued; None when it cannot be."""

    item: Item
    normal: NormalUrl | None = None
    media: str = ""
    known: bool = True
    """Whether a job may have a record of it."""

    @property
    def is_wanted(self) -> bool:
        """Whether it is to be fetched."""
        return self.normal is not None and not self.item.stopped and not self.item.cached


@dataclass(frozen=True, slots=True)
class Lane:
    """The job that resolved pages belong to, as the store has it."""

    number: JobNumber
    normaliser: Normaliser


@dataclass(slots=True, kw_only=True, eq=False)
class Intake:
    """Judges URLs and queues them in the lane."""

    frontier: Frontier
    control: FrontierControl
    reader: FrontierReader
    lane: Callable[[], Awaitable[Lane]]
    """Finds the lane, or makes it."""
    sites: SiteRules
    guard: AddressGuard
    robots: KnownRobots
    submitted: Counter[str] = field(default_factory=Counter)
    """How often each URL was submitted since that was last written down."""

    async def judge(
        self, urls: Sequence[str], known: Sequence[Known | None], media: str
    ) -> list[Judged]:
        """Decide about each URL, by what the page index has of it."""
        normaliser = (await self.lane()).normaliser
        judged = [
            self._judge(normaliser, url, media, found)
            for url, found in zip(urls, known, strict=True)
        ]
        wanted = [one.normal.url for one in judged if one.is_wanted and one.normal is not None]
        forbidden = iter(await self.robots.why_not(wanted))
        return [_forbidden(one, next(forbidden)) if one.is_wanted else one for one in judged]

    def _judge(self, normaliser: Normaliser, url: str, media: str, known: Known | None) -> Judged:
        try:
            normal = normaliser.absolute(url)
        except UrlError as error:
            return Judged(Item(url, "invalid", error.why))
        if known is not None and known.is_answer:
            return Judged(Item(url, cached=True), normal)
        why = why_blocked(normal.host, self.sites, self.guard)
        item = Item(url) if why is None else Item(url, "blocked", why)
        return Judged(item, normal, media, known is not None)

    async def offer(self, judged: Sequence[Judged]) -> None:
        """Queue URLs; those the lane knows are visited once more, those that wait wait on."""
        number = (await self.lane()).number
        # Of a URL that several ask for, the one who wants most with it counts.
        wanted = {
            one.normal.fp: (one.normal, one.media)
            for one in sorted(judged, key=lambda one: len(one.media))
            if one.normal is not None
        }
        known = {one.normal.fp: one.normal.host for one in judged if one.normal and one.known}
        notes = await self._notes(number, known) if known else {}
        links = [
            lane_link(number, normal, _next_visit(notes.get(fp, b"")), media)
            for fp, (normal, media) in wanted.items()
        ]
        if links:
            await self.frontier.offer(links)

    async def _notes(
        self, number: JobNumber, urls: Mapping[Fingerprint, HostKey]
    ) -> dict[Fingerprint, bytes]:
        """Return what the lane has of URLs, and let them be queued again."""
        places = [(number, host, fp) for fp, host in urls.items()]
        notes = await self.reader.notes_of(places)
        known = [place for place, note in zip(places, notes, strict=True) if note]
        await asyncio.gather(*(self.control.forget(*place, again=True) for place in known))
        return dict(zip(urls, notes, strict=True))

    async def queued_as(self, urls: Sequence[str]) -> list[str]:
        """Return URLs as they are queued; those that cannot be are left out."""
        normaliser = (await self.lane()).normaliser
        judged = (self._judge(normaliser, url, "", Known(is_answer=True)) for url in urls)
        return [one.normal.url for one in judged if one.normal is not None]

    async def write_counts(self) -> None:
        """Write down how often URLs were submitted since the last time."""
        counts, self.submitted = self.submitted, Counter()
        if counts:
            await self.frontier.count_urls(counts)

    def count(self, judged: Sequence[Judged]) -> None:
        """Count how often URLs were submitted."""
        self.submitted.update(one.normal.url for one in judged if one.normal is not None)


def _forbidden(one: Judged, why: str | None) -> Judged:
    if why is None:
        return one
    return Judged(msgspec.structs.replace(one.item, stopped="blocked", why=why), one.normal)


def _next_visit(note: bytes) -> int:
    return 1 if not note or is_pointer(note) else read_note(note).visit + 1
