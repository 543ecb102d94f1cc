"""Sitemaps: how their facts are written down, and what is listed for a site by following them."""

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from xml.sax.saxutils import escape

from skitter.demo.model import Listed, Listing, ListingKind, Target
from skitter.demo.web import Web

WELL_KNOWN = "/sitemap.xml"
GUESSES = frozenset({
    WELL_KNOWN, "/sitemap_index.xml", "/sitemap-index.xml", "/sitemap.xml.gz", "/sitemap.txt",
    "/sitemaps.xml", "/sitemap", "/wp-sitemap.xml", "/feed", "/feed/", "/feed.xml", "/rss",
    "/rss.xml", "/atom.xml", "/index.xml",
})  # fmt: skip
"""Where a crawler may look for sitemaps that nothing mentions."""
_TRACKING = "utm_source=feed&utm_medium=rss"
_TORN_CHARS = 9
_NAMESPACES = (
    'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMap:
    """What following the sitemaps of one site brings."""

    files: frozenset[Target]
    """Everything named as a sitemap, missing and broken ones included."""
    pages: tuple[Listed, ...]
    """Every entry, in the order of reading."""


def site_map(web: Web, site: str, *, guess: bool = True) -> SiteMap:
    """Follow the sitemaps of ``site`` from its robots.txt; ``guess`` tries the usual place, too."""
    waiting = [Target(site, path) for path in web.sites[site].robots.sitemaps]
    if guess and not waiting and web.page(Target(site, WELL_KNOWN)).listing:
        waiting = [Target(site, WELL_KNOWN)]
    files, pages = list[Target](), list[Listed]()
    while waiting:
        file = waiting.pop(0)
        if file in files:
            continue
        files.append(file)
        listing = web.page(file).listing
        if listing is None:
            continue
        if listing.kind is ListingKind.INDEX:
            waiting += [entry.to for entry in listing.entries]
        else:
            pages += listing.entries
    return SiteMap(files=frozenset(files), pages=tuple(pages))


def listing_bytes(web: Web, at: Target, listing: Listing) -> bytes:
    """Return the file at ``at``."""
    text = _WRITERS[listing.kind](web, at, listing).encode()
    return gzip.compress(text, 6, mtime=0) if listing.packed else text


def _address(web: Web, entry: Listed) -> str:
    url = web.url(entry.to)
    return url + ("&" if "?" in url else "?") + _TRACKING if entry.tracked else url


def _index(web: Web, at: Target, listing: Listing) -> str:
    return _xml("sitemapindex", "sitemap", web, listing)


def _urlset(web: Web, at: Target, listing: Listing) -> str:
    return _xml("urlset", "url", web, listing)


def _xml(root: str, item: str, web: Web, listing: Listing) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{root} {_NAMESPACES}>"]
    lines += [
        "\n    ".join([f"  <{item}>", *_tags(web, entry)]) + f"\n  </{item}>"
        for entry in listing.entries
    ]
    if listing.torn is None:
        return "\n".join([*lines, f"</{root}>", ""])
    half = escape(_address(web, listing.torn))[:-_TORN_CHARS]
    return "\n".join([*lines, f"  <{item}>", f"    <loc>{half}"])


def _tags(web: Web, entry: Listed) -> Iterator[str]:
    yield _tag("loc", _address(web, entry))
    for name in ("lastmod", "changefreq", "priority"):
        if value := getattr(entry, name):
            yield _tag(name, value)
    if entry.news:
        paper = _tag("news:name", entry.news) + _tag("news:language", "en")
        yield (
            f"<news:news><news:publication>{paper}</news:publication>"
            f"{_tag('news:publication_date', entry.lastmod)}{_tag('news:title', entry.title)}"
            "</news:news>"
        )
    for path in entry.images:
        url = web.url(Target(entry.to.site, path))
        yield f"<image:image>{_tag('image:loc', url)}</image:image>"


def _tag(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"


def _text(web: Web, at: Target, listing: Listing) -> str:
    return "".join(f"{_address(web, entry)}\n" for entry in listing.entries)


def _rss(web: Web, at: Target, listing: Listing) -> str:
    items = "".join(
        f"<item>{_tag('title', entry.title)}{_tag('link', _address(web, entry))}"
        f'<guid isPermaLink="false">{escape(entry.to.path)}</guid>{_tag("pubDate", _mail(entry))}'
        "</item>\n"
        for entry in listing.entries
    )
    home = _tag("link", web.entry_of(at.site))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>'
        f"<title>Latest</title>{home}<description>The latest</description>\n{items}"
        "</channel></rss>\n"
    )


def _mail(entry: Listed) -> str:
    return format_datetime(datetime.fromisoformat(entry.lastmod).replace(tzinfo=UTC), usegmt=True)


def _atom(web: Web, at: Target, listing: Listing) -> str:
    entries = "".join(
        f"<entry>{_tag('title', entry.title)}{_tag('id', f'tag:{entry.to.path}')}"
        f'<link rel="alternate" href="{escape(_address(web, entry))}"/>'
        f"{_tag('updated', f'{entry.lastmod}T08:00:00Z')}</entry>\n"
        for entry in listing.entries
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">'
        f'<title>Latest</title><link rel="self" href="{escape(web.url(at))}"/>'
        f"<id>{escape(web.url(at))}</id><updated>2025-06-01T08:00:00Z</updated>\n{entries}</feed>\n"
    )


_WRITERS = {
    ListingKind.INDEX: _index,
    ListingKind.URLSET: _urlset,
    ListingKind.TEXT: _text,
    ListingKind.RSS: _rss,
    ListingKind.ATOM: _atom,
}
