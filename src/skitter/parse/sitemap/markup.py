"""Documents of markup: which kind of list it is, and its records."""

import re
from typing import Final

from skitter.parse.sitemap.collect import Collector
from skitter.parse.sitemap.feeds import ATOM_SHAPE, RSS_SHAPE, AtomTaker, RssTaker
from skitter.parse.sitemap.listing import LISTING_SHAPE, ListingTaker
from skitter.parse.sitemap.model import Kind
from skitter.parse.sitemap.records import RecordReader
from skitter.parse.sitemap.scanner import EMPTY, LEAF, START, Scanner, Token

_ROOTS: Final[dict[str, Kind]] = {
    "urlset": "urlset",
    "sitemapindex": "index",
    "rss": "rss",
    "rdf": "rss",
    "feed": "atom",
}
# A document may have lost its beginning; then its first element tells.
_HEADLESS: Final[dict[str, Kind]] = {
    "url": "urlset",
    "sitemap": "index",
    "channel": "rss",
    "item": "rss",
    "entry": "atom",
}
_HTML: Final = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_HTML_NAME: Final = re.compile(
    r"a|b|base|body|br|center|div|font|form|h[1-6r]|head|html|i|iframe|img|link|main|meta|noscript"
    r"|p|pre|script|section|span|strong|style|table|title|ul"
)
_LIST: Final = re.compile(
    r"<(?:[\w.-]{1,40}:)?(?:urlset|sitemapindex|rss|rdf|feed)(?=[\s/>])", re.IGNORECASE
)


def begins_list(head: str) -> bool:
    """Tell whether the start of a document holds a list that is not inside of an HTML page."""
    listed = _LIST.search(head)
    if listed is None:
        return False
    html = _HTML.search(head)
    return html is None or listed.start() < html.start()


def begins_html(head: str) -> bool:
    """Tell whether the start of a document is that of an HTML page."""
    return _HTML.search(head) is not None and not begins_list(head)


class MarkupReader:
    """Reads one document of markup."""

    __slots__ = ("_collector", "_html_ends", "_records", "_scanner", "first", "kind")

    def __init__(self, collector: Collector, head: str) -> None:
        self._collector = collector
        self._scanner = Scanner()
        self._records: RecordReader | None = None
        # Warnings a script printed before its sitemap are HTML, too.
        self._html_ends = not begins_list(head)
        self.kind: Kind = "unknown"
        self.first = ""
        """The name of the first element."""

    @property
    def has_ended(self) -> bool:
        """Whether the root element of the list is closed."""
        return self._records is not None and self._records.has_ended

    @property
    def has_entities(self) -> bool:
        """Whether the document declares entities."""
        return self._scanner.has_entities

    def read(self, text: str, *, final: bool) -> None:
        """Read the next text of the document."""
        self._scanner.feed(text, final=final)
        while self._records is None and self.kind != "html":
            token = self._scanner.next()
            if token is None:
                return
            if token[0] in (START, EMPTY, LEAF):
                self._look_for_root(token)
        if self._records is not None:
            self._records.read(self._scanner)

    def _look_for_root(self, token: Token) -> None:
        prefix, _, local = token[1].rpartition(":")
        kind = _ROOTS.get(local) or (_HEADLESS.get(local) if not self.first else None)
        self.first = self.first or token[1]
        if kind is not None:
            self.kind = kind
            self._collector.has_entities = self.has_entities
            self._records = self._reader(kind, prefix, token[2])
            if token[0] != START and local in _ROOTS:
                self._records.has_ended = True
            elif local in _HEADLESS:
                self._records.follow(token)
        elif self._html_ends and _HTML_NAME.fullmatch(local):
            self.kind = "html"

    def _reader(self, kind: Kind, prefix: str, attributes: str) -> RecordReader:
        if kind == "rss":
            return RecordReader(RSS_SHAPE, RssTaker(self._collector), prefix)
        if kind == "atom":
            return RecordReader(ATOM_SHAPE, AtomTaker(self._collector, attributes), prefix)
        taker = ListingTaker(self._collector, prefix, is_index=kind == "index")
        return RecordReader(LISTING_SHAPE, taker, prefix)
