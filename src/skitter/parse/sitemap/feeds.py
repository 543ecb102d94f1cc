"""Feeds: the pages that RSS (0.9 to 2.0) and Atom (0.3, 1.0) items point to."""

from typing import Final

from skitter.parse.sitemap.collect import Collector
from skitter.parse.sitemap.records import Record, Shape, Taker
from skitter.parse.sitemap.scanner import attributes

RSS_SHAPE: Final = Shape(
    roots=frozenset(("rss", "rdf")),
    records=frozenset(("item",)),
    fields=frozenset(("link", "guid", "pubdate")),
    foreign=frozenset(("date",)),
    tags=frozenset(("link", "guid")),
)
ATOM_SHAPE: Final = Shape(
    roots=frozenset(("feed",)),
    records=frozenset(("entry",)),
    fields=frozenset(("link", "updated", "modified", "published", "issued", "created")),
    tags=frozenset(("link",)),
)
_ATOM_DATES: Final = ("updated", "modified", "published", "issued", "created")
_HTTP: Final = ("http://", "https://")
_ALTERNATE: Final = ("", "alternate")


class RssTaker(Taker):
    """Makes entries of the items of an RSS feed."""

    __slots__ = ("_collector",)

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    def take(self, record: Record) -> None:
        """Take an item that is whole."""
        fields = record.fields
        loc = fields.get("link") or _linked(record) or _permalink(record)
        if loc is None:
            loc = attributes(record.attributes).get("rdf:about")
        if loc:
            self._collector.page(loc, fields.get("pubdate") or fields.get("date"))


class AtomTaker(Taker):
    """Makes entries of the entries of an Atom feed."""

    __slots__ = ("_collector",)

    def __init__(self, collector: Collector, written: str) -> None:
        self._collector = collector
        if base := attributes(written).get("xml:base"):
            collector.rebase(base)

    def take(self, record: Record) -> None:
        """Take an entry that is whole."""
        loc = _linked(record) or record.fields.get("link")
        if loc:
            dates = (record.fields.get(name) for name in _ATOM_DATES)
            self._collector.page(loc, next(filter(None, dates), None))


def _linked(record: Record) -> str | None:
    """Return where the page is that the record is about: HTML where there is a choice."""
    others: list[str] = []
    for name, written in record.tags:
        given = attributes(written)
        href = given.get("href", "").strip()
        rel = given.get("rel", "").strip().lower().rpartition("/")[2]
        if name != "link" or not href or rel not in _ALTERNATE:
            continue
        if "html" in given.get("type", "html"):
            return href
        others.append(href)
    return others[0] if others else None


def _permalink(record: Record) -> str | None:
    guid = record.fields.get("guid", "")
    if not guid.lower().startswith(_HTTP):
        return None
    for name, written in record.tags:
        given = attributes(written)
        if name == "guid" and given.get("ispermalink", "").strip().lower() == "false":
            return None
    return guid
