"""How a URL ends that was queued under a name which turned out to be another name of its site."""

import msgspec

from skitter.crawl.aliases.book import ALIAS_WORDS, alias_of
from skitter.crawl.endings import Endings
from skitter.crawl.equipment import Equipment
from skitter.crawl.trip import Trip, Visit
from skitter.frontier.model import Link, own_note
from skitter.types import HostKey, Outcome
from skitter.url.host import host_key
from skitter.url.normalise import NormalUrl


class _Ended(msgspec.Struct):
    outcome: str
    final_url: str | None = None
    error: str | None = None


_ended = msgspec.json.Decoder(_Ended).decode


async def under_kept_name(equipment: Equipment, endings: Endings, trip: Trip) -> Visit | None:
    """End a visit whose host is an alias, and queue the page under the kept name.

    None where the page has to be fetched as it is: the host is no alias, or the page redirects
    here from under its kept name.
    """
    aliases = equipment.aliases
    row = aliases.book.names.get(trip.host) if aliases is not None else None
    kept_url = aliases.book.kept_url(trip.url, trip.host) if aliases is not None else None
    if row is None or kept_url is None:
        return None
    kept = equipment.normaliser.absolute(kept_url)
    note = own_note(await equipment.reader.note(equipment.number, kept.host, kept.fp))
    if note and _leads_to(note, trip.host):
        return None
    visit = endings.end(trip, Outcome.DUPLICATE, alias_of(row))
    assert visit.record is not None
    visit.record.duplicate_of = kept.url
    visit.links = [*visit.links, _link(equipment, trip, kept)]
    return visit


async def is_left_out(equipment: Equipment, trip: Trip, target: NormalUrl) -> bool:
    """Tell whether a page redirects to itself under another name of its site.

    There alone it can be had: under the other name it is left out, unless it was fetched before.
    """
    aliases = equipment.aliases
    kept = aliases.book.kept_url(target.url, target.host) if aliases is not None else None
    if kept is None or kept not in trip.chain:
        return False
    note = own_note(await equipment.reader.note(equipment.number, target.host, target.fp))
    return not note or (_ended(note).error or "").startswith(ALIAS_WORDS)


def _leads_to(note: bytes, host: HostKey) -> bool:
    record = _ended(note)
    target = record.final_url
    return record.outcome == Outcome.DUPLICATE and target is not None and host_key(target) == host


def _link(equipment: Equipment, trip: Trip, kept: NormalUrl) -> Link:
    lease = trip.lease
    if trip.is_page:
        return equipment.finder.make_link(
            kept, lease.depth, lease.referrer, lease.rank, data=lease.data
        )
    return equipment.sitemaps.link(kept, lease.depth, lease.referrer, lease.rank)
