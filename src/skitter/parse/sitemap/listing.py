"""Sitemaps proper: urlsets and sitemap indexes, with their extensions."""

import re
from collections.abc import Iterable
from typing import Final

from skitter.parse.sitemap.collect import Collector
from skitter.parse.sitemap.escapes import unescape
from skitter.parse.sitemap.records import Record, Shape, Taker
from skitter.parse.sitemap.scanner import Scanner, attributes

LISTING_SHAPE: Final = Shape(
    roots=frozenset(("urlset", "sitemapindex")),
    records=frozenset(("url", "sitemap")),
    fields=frozenset(("loc", "lastmod", "changefreq", "priority")),
    foreign=frozenset(("link",)),
    tags=frozenset(("link",)),
    nested={"news": frozenset(("publication_date",))},
    key="loc",
)
_INNER: Final = r"[^<>\"'/]*+(?:\"[^\"<>]*+\"[^<>\"'/]*+)*"
_OPENING: Final = r"<(?:[\w.-]++:)?link\s"
_LINK: Final = re.compile(rf"{_OPENING}({_INNER})/>")
_LINKS: Final = rf"(?:{_OPENING}{_INNER}/>\s*+)*"
# A pattern is made of the prefix, many times over.
_MAX_PREFIX_CHARS: Final = 100
# As nearly everybody writes it.
_TRANSLATION: Final = re.compile(
    r"<[^\s<>]++\s++rel=\"alternate\"\s++hreflang=\"[^\"<>]*+\"\s++href=\"([^\"<>]*+)\"\s*+/>"
)


class ListingTaker(Taker):
    """Makes entries of the records of a urlset or an index."""

    __slots__ = ("_collector", "_implied", "_match")

    def __init__(self, collector: Collector, prefix: str, *, is_index: bool) -> None:
        self._collector = collector
        self._implied = "sitemap" if is_index else "url"
        self._match = _whole_record(prefix).match if len(prefix) <= _MAX_PREFIX_CHARS else None

    def take(self, record: Record) -> None:
        """Take a record that is whole."""
        fields = record.fields
        loc = fields.get("loc")
        if loc is None:
            return
        if (record.name or self._implied) == "sitemap":
            self._collector.sitemap(loc)
            return
        own = self._collector.page(
            loc,
            fields.get("lastmod") or fields.get("publication_date"),
            fields.get("changefreq"),
            fields.get("priority"),
        )
        if record.tags and own is not None:
            self._collector.alternates(own, _translations(written for _, written in record.tags))

    def sprint(self, scanner: Scanner) -> None:
        """Take the records that hold nothing but plain fields and links, one match for each."""
        match = self._match
        if match is None or not scanner.is_between:
            return
        text = scanner.text
        position = scanner.position
        while (found := match(text, position)) is not None:
            position = found.end()
            name, loc, before, lastmod, changefreq, priority, after = found.groups()
            if "&" in loc:
                loc = unescape(loc)
            if name == "url":
                own = self._collector.page(loc, lastmod, changefreq, priority)
                if own is not None and (before or after):
                    self._collector.alternates(own, _translations_in(before + after))
            else:
                self._collector.sitemap(loc)
        scanner.position = position


def _whole_record(prefix: str) -> re.Pattern[str]:
    """Return what matches a record with a loc first and then other fields, one of each at most.

    Everything it does not match is left to the scanner, which gives the same for what it does.
    """
    p = re.escape(f"{prefix}:") if prefix else ""
    others = "|".join(
        rf"<{p}{name}>\s*+([^<\s&][^<&]*+)</{p}{name}>\s*+"
        for name in ("lastmod", "changefreq", "priority")
    )
    # Links are all taken before the other fields: giving some back fails at once, in linear time.
    return re.compile(
        rf"\s*+<{p}(url|sitemap)>\s*+<{p}loc>\s*+([^<\s][^<]*+)</{p}loc>\s*+"
        rf"({_LINKS})(?!{_OPENING})(?:{others}){{0,3}}({_LINKS})</{p}\1>"
    )


def _translations_in(links: str) -> list[str]:
    """Return the translations among link elements, as they are written."""
    hrefs = _TRANSLATION.findall(links)
    if len(hrefs) == links.count("<"):
        return [unescape(href).strip() for href in hrefs]
    return _translations(_LINK.findall(links))


def _translations(links: Iterable[str]) -> list[str]:
    """Return where the page is in other languages; versions for other devices are not pages."""
    found: list[str] = []
    for written in links:
        given = attributes(written)
        if "hreflang" in given and given.get("rel", "").strip().lower() == "alternate":
            found.append(given.get("href", "").strip())
    return found
