"""Pages that were set aside and are visited once more, after their rules were mended."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec

from skitter.crawl.equipment import Equipment
from skitter.crawl.extraction import read_rejects
from skitter.crawl.fitted import DETAIL, LIST
from skitter.crawl.link_rules import Carried, encode_carried
from skitter.crawl.trip import Trip, Visit
from skitter.errors import UrlError
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import Link, UrlState, own_note
from skitter.pipeline.record import PageRecord, decode_line
from skitter.types import HostKey, Outcome, PageClass

BATCH: Final = 200
_ASIDE: Final = b'"outcome":"rejected"'
_WAITS: Final = frozenset({UrlState.QUEUED, UrlState.LEASED})


async def look_at_past(visit: Visit, trip: Trip, reader: FrontierReader) -> None:
    """Take note of whether the page of a visit, which is not its first, was set aside before."""
    lease, history = visit.lease, trip.history
    if lease.visit == 1 or visit.record is None or (visit.page is None and visit.aside is None):
        return
    if history is not None and history.visits:
        past = [one.outcome == Outcome.REJECTED for one in history.visits]
    else:
        note = own_note(await reader.note(lease.job, lease.host, lease.fp))
        past = [_ASIDE in note]
    visit.was_aside, visit.never_kept = past[-1], all(past)


class Retrial:
    """Queues the pages of one job that were set aside."""

    def __init__(self, equipment: Equipment) -> None:
        self._with = equipment
        rules = equipment.job.list_
        self._listed = {} if rules is None else rules.fields

    async def queue(self) -> int:
        """Queue them once more; answers how many. Those that wait already are left alone."""
        queued = 0
        async for links in self._aside():
            found = await asyncio.gather(*map(self._freed, links))
            # Who is killed here finds them again: what is known of each stays until its visit.
            again = [link for link, free in zip(links, found, strict=True) if free]
            queued += (await self._with.frontier.offer(again)).new if again else 0
        return queued

    async def _aside(self) -> AsyncIterator[list[Link]]:
        after = b""
        while True:
            notes, after = await self._with.reader.notes(self._with.number, after)
            made = (self._link(decode_line(note)) for note in notes if _ASIDE in note)
            links = [link for link in made if link is not None]
            for at in range(0, len(links), BATCH):
                yield links[at : at + BATCH]
            if not after:
                return

    async def _freed(self, link: Link) -> bool:
        """Make a URL unknown to the queue; False when it waits to be visited as it is."""
        equipment, number = self._with, self._with.number
        known = await equipment.reader.look(number, link.host, link.fp)
        if known.state in _WAITS:
            return False
        if known.state is UrlState.UNKNOWN:
            return True
        # One that comes again by itself need not be waited for.
        again = known.state is not UrlState.SCHEDULED
        return await equipment.control.forget(number, link.host, link.fp, again=again)

    def _link(self, record: PageRecord) -> Link | None:
        """Return a page as the link it was found by, as far as its record tells."""
        equipment = self._with
        try:
            normal = equipment.normaliser.absolute(record.url)
        except UrlError:
            return None
        if record.outcome != Outcome.REJECTED:
            return None
        if record.depth == 0 and not record.referrer:
            link = equipment.sitemaps.entry(normal)
        else:
            finder = equipment.finder
            rank, data = finder.bare_rank(normal.url), self._carried(record, normal.host)
            said = record.referrer or ""
            link = finder.make_link(normal, record.depth, said, rank, data=data)
        page_class = PageClass.NAV if record.page_class == "nav" else PageClass.DATA
        return msgspec.structs.replace(link, page_class=page_class, visit=record.visit + 1)

    def _carried(self, record: PageRecord, host: HostKey) -> bytes:
        """Return what the page was told by the one that links to it."""
        listed = self._listed
        if listed and record.page_class != "nav" and record.fields.keys() >= listed.keys():
            fields = {name: record.fields[name] for name in listed}
            required = [name for name, rule in listed.items() if rule.required]
            return encode_carried(Carried(fields=fields, required=required))
        ruling = self._with.judge.ruling(record.url, host)
        rule = _rule_of(read_rejects(record.error))
        if ruling is None or rule == (ruling.extract or DETAIL):
            return b""
        # Only where the link stood on its page has told that.
        if rule in self._with.job.rules:
            return encode_carried(Carried(rule=rule))
        return encode_carried(Carried(rule="")) if rule == DETAIL else b""


def _rule_of(rejects: Sequence[tuple[str, str, str]]) -> str:
    return next((rule for rule, _, _ in rejects if rule != LIST), "")
