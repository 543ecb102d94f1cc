"""What a document lists, made into entries: joined, judged, counted."""

import re
from functools import lru_cache
from typing import Final

from skitter.parse.sitemap.model import MAX_URL_CHARS, Found, SitemapEntry
from skitter.url.parse import Base

_FREQUENCIES: Final = frozenset(
    ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")
)
_MAX_VALUE_CHARS: Final = 100
_RECENT: Final = 4096
# What the URL parser gives back as it is, after an origin, unless there are dot segments.
_SETTLED: Final = re.compile(r"[A-Za-z0-9\-._~!$&*+,;=:@/()?]*+\Z")

_REFERENCE: Final = re.compile(r"&[^\s&;]++;")


class Collector:
    """Gathers what one document lists."""

    __slots__ = (
        "_base",
        "_entries",
        "_own",
        "_recent",
        "_sitemaps",
        "has_entities",
        "sitemaps",
        "skipped",
        "urls",
    )

    def __init__(self, base: Base) -> None:
        self._base = base
        self._own = base
        self._entries: list[SitemapEntry] = []
        self._sitemaps: list[str] = []
        self._recent: dict[str, None] = {}
        self.has_entities = False
        """Whether the document declares entities: what refers to one is left out."""
        self.urls = 0
        self.sitemaps = 0
        self.skipped = 0

    @property
    def seen(self) -> int:
        """How many addresses have come, taken or left out."""
        return self.urls + self.sitemaps + self.skipped

    def take(self, *, goes_on: bool) -> Found:
        """Hand over what was gathered since the last time."""
        found = Found(self._entries, self._sitemaps, goes_on)
        self._entries, self._sitemaps = [], []
        return found

    def rebase(self, reference: str) -> None:
        """Join what follows to ``reference``, itself joined to the address of the document."""
        url = self._base.join(reference)
        self._own = Base(url) if url is not None else self._base

    def page(
        self,
        loc: str,
        lastmod: str | None = None,
        changefreq: str | None = None,
        priority: str | None = None,
    ) -> str | None:
        """Add a page and return its URL; None when it is left out."""
        url = self._address(loc)
        if url is None:
            self.skipped += 1
            return None
        self.urls += 1
        self._entries.append(
            SitemapEntry(
                url,
                read_date(lastmod) if lastmod else None,
                read_frequency(changefreq[:_MAX_VALUE_CHARS]) if changefreq else None,
                read_priority(priority[:_MAX_VALUE_CHARS]) if priority else None,
            )
        )
        return url

    def alternates(self, own: str, hrefs: list[str]) -> None:
        """Add the other languages of the page ``own`` that have not just been added.

        Each page of a group of translations lists the whole group, so nearly all are repeats.
        """
        self._remember(own)
        for href in hrefs:
            url = self._address(href)
            if url is None or url in self._recent:
                continue
            self._remember(url)
            self.urls += 1
            self._entries.append(SitemapEntry(url))

    def sitemap(self, loc: str) -> None:
        """Add a further sitemap."""
        url = self._address(loc)
        if url is None:
            self.skipped += 1
            return
        self.sitemaps += 1
        self._sitemaps.append(url)

    def _address(self, loc: str) -> str | None:
        """Return the URL a document means by ``loc``; None when it is none that is taken."""
        base = self._own
        loc = loc.strip()
        if not loc or (self.has_entities and _REFERENCE.search(loc)):
            return None
        is_settled = (
            loc.startswith(base.prefix)
            and "/." not in loc
            and _SETTLED.match(loc, len(base.prefix)) is not None
        )
        url = loc if is_settled else base.join(loc)
        return url if url is not None and len(url) <= MAX_URL_CHARS else None

    def _remember(self, url: str) -> None:
        if len(self._recent) >= _RECENT:
            self._recent.pop(next(iter(self._recent)))
        self._recent[url] = None


def read_date(text: str) -> str | None:
    """Return a date as written, without the space around it; None for what cannot be one."""
    text = text.strip()
    return text if 0 < len(text) <= _MAX_VALUE_CHARS else None


@lru_cache(maxsize=64)
def read_frequency(text: str) -> str | None:
    """Return one of the protocol's words for how often a page changes."""
    word = text.strip().lower()
    return word if word in _FREQUENCIES else None


@lru_cache(maxsize=256)
def read_priority(text: str) -> float | None:
    """Return a number from 0 to 1."""
    try:
        number = float(text.strip().replace(",", "."))
    except ValueError:
        return None
    return abs(number) if 0.0 <= number <= 1.0 else None
