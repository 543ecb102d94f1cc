"""What a sitemap or a feed tells, as values."""

from typing import Literal

from msgspec import Struct

Kind = Literal["urlset", "index", "text", "rss", "atom", "html", "empty", "unknown"]

MAX_URL_CHARS = 4096
"""Characters of the longest URL that is taken."""


class SitemapEntry(Struct, frozen=True, gc=False):
    """A page a sitemap or a feed lists."""

    loc: str
    """Absolute, in its WHATWG serialisation."""
    lastmod: str | None = None
    """As written; ``lastmod_ms`` reads it."""
    changefreq: str | None = None
    """One of the protocol's seven words."""
    priority: float | None = None
    """From 0 to 1."""


class Found(Struct, frozen=True):
    """What a reader has found since it was last asked.

    It is false when that is nothing and everything that was fed is read.
    """

    entries: list[SitemapEntry]
    """Pages."""
    sitemaps: list[str]
    """Addresses of further sitemaps, absolute, in their WHATWG serialisation."""
    goes_on: bool = False
    """Whether bytes that were fed still wait to be read; asking again reads on."""

    def __bool__(self) -> bool:
        return bool(self.entries or self.sitemaps or self.goes_on)


class SitemapEnd(Struct, frozen=True, kw_only=True):
    """What a whole document came to."""

    kind: Kind
    problem: str | None = None
    """One sentence for a person when something is wrong; what was found is good even so."""
    urls: int = 0
    """Pages found."""
    sitemaps: int = 0
    """Further sitemaps found."""
    skipped: int = 0
    """Addresses left out: no http or https URL, or too long."""
