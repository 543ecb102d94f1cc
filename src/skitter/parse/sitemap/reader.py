"""Any bytes in, the URLs they list out: the reader of sitemaps and feeds."""

import re
from typing import Final

from skitter.parse.sitemap.charset import BlockDecoder
from skitter.parse.sitemap.collect import Collector
from skitter.parse.sitemap.lines import LineReader
from skitter.parse.sitemap.markup import MarkupReader, begins_html, begins_list
from skitter.parse.sitemap.model import Found, Kind, SitemapEnd, SitemapEntry
from skitter.parse.sitemap.unpack import BLOCK_BYTES, Unpacker
from skitter.parse.sitemap.verdict import Evidence, problem
from skitter.url.parse import Base

MAX_BYTES: Final = 100 * 1024 * 1024
"""The most plain bytes of one document that are read, twice what the protocol allows."""

# Whoever takes may have other things to do.
_SEEN_AT_ONCE: Final = 10_000
_BLOCKS_AT_ONCE: Final = 8
_BARREN_BYTES: Final = 2 * 1024 * 1024
_MARK_AND_SPACE: Final = "\ufeff\0 \t\n\r\f\v"
_TAG: Final = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?>", re.IGNORECASE)


class SitemapReader:
    """Reads one sitemap or feed in pieces of any size; no bytes make it raise.

    Reading is done in ``take``, a little at a time, so that this loop takes little memory and never
    stays away for long, however long the document is and however far it unpacks::

        for data in pieces:
            reader.feed(data)
            while found := reader.take():
                ...
        end = reader.close()
        found = reader.take()

    An answer without any address counts as true while there is more to read. Once it is false
    ``close`` has less than a block to read; before, it reads everything in one go.

    Raises ``UrlError`` when ``url``, the document's own address, is no http or https URL.
    """

    __slots__ = (
        "_barren",
        "_collector",
        "_content",
        "_decoder",
        "_end",
        "_is_html",
        "_max_bytes",
        "_unpacker",
    )

    def __init__(
        self, url: str, *, max_bytes: int = MAX_BYTES, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self._collector = Collector(Base(url))
        self._max_bytes = max_bytes
        self._unpacker = Unpacker(max_bytes, block_bytes)
        self._decoder = BlockDecoder()
        self._content: MarkupReader | LineReader | None = None
        self._is_html = False
        self._barren = 0
        self._end: SitemapEnd | None = None

    @property
    def found(self) -> int:
        """How many addresses of pages and sitemaps have been found."""
        return self._collector.urls + self._collector.sitemaps

    @property
    def skipped(self) -> int:
        """How many addresses have been left out: no http or https URL, or too long."""
        return self._collector.skipped

    def feed(self, data: bytes) -> None:
        """Add bytes of the document; after ``close`` they are dropped."""
        if self._end is None:
            self._unpacker.feed(data)

    def take(self) -> Found:
        """Read some of what was fed and return what it lists, which may be nothing."""
        goes_on = self._end is None
        blocks, enough = 0, self._collector.seen + _SEEN_AT_ONCE
        while goes_on and blocks < _BLOCKS_AT_ONCE and self._collector.seen < enough:
            goes_on = self._advance(final=False)
            blocks += 1
        return self._collector.take(goes_on=goes_on)

    def close(self) -> SitemapEnd:
        """Read what is left, for a last ``take``, and say what the document came to."""
        if self._end is None:
            while self._advance(final=True):
                pass
            self._read(self._decoder.decode(b"", final=True), final=True)
            self._end = self._summed_up()
        return self._end

    def _advance(self, *, final: bool) -> bool:
        """Read one block; False when there is none."""
        block = self._unpacker.block(final=final)
        if block is None:
            return False
        if not block:
            return True
        before = self._collector.seen
        self._read(self._decoder.decode(block), final=False)
        self._barren = self._barren + len(block) if before == self._collector.seen else 0
        if self._barren > _BARREN_BYTES:
            self._unpacker.drop()
        return True

    def _read(self, text: str, *, final: bool) -> None:
        if self._content is None and not self._is_html:
            text = text.lstrip(_MARK_AND_SPACE)
            if text:
                self._open(text)
        if self._content is not None:
            self._content.read(text, final=final)
        if self._kind() == "html":
            self._is_html = True
            self._content = None
            self._unpacker.drop()

    def _open(self, head: str) -> None:
        """Judge by its first text how the document is to be read."""
        if head.startswith("<") or begins_list(head):
            self._content = MarkupReader(self._collector, head)
        elif begins_html(head) or _TAG.search(head):
            self._is_html = True
        else:
            self._content = LineReader(self._collector)

    def _kind(self) -> Kind:
        if self._is_html:
            return "html"
        match self._content:
            case MarkupReader(kind=kind):
                return kind
            case LineReader():
                return "text" if self._collector.urls else "unknown"
            case _:
                return "unknown" if self._unpacker.is_damaged else "empty"

    def _summed_up(self) -> SitemapEnd:
        collector, unpacker, content = self._collector, self._unpacker, self._content
        markup = content if isinstance(content, MarkupReader) else None
        evidence = Evidence(
            kind=self._kind(),
            found=self.found,
            max_bytes=self._max_bytes,
            is_damaged=unpacker.is_damaged,
            is_cut=unpacker.is_cut,
            is_too_big=unpacker.is_too_big,
            is_barren=self._barren > _BARREN_BYTES,
            first=markup.first if markup else None,
            has_ended=markup.has_ended if markup else False,
            has_entities=markup.has_entities if markup else False,
        )
        return SitemapEnd(
            kind=evidence.kind,
            problem=problem(evidence),
            urls=collector.urls,
            sitemaps=collector.sitemaps,
            skipped=collector.skipped,
        )


def read_sitemap(
    body: bytes, url: str, *, max_bytes: int = MAX_BYTES
) -> tuple[list[SitemapEntry], list[str], SitemapEnd]:
    """Return the pages and the further sitemaps of a whole document, and what it came to.

    Raises ``UrlError`` when ``url`` is no http or https URL.
    """
    reader = SitemapReader(url, max_bytes=max_bytes)
    reader.feed(body)
    end = reader.close()
    found = reader.take()
    return found.entries, found.sitemaps, end
