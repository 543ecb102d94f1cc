"""What the demo web is made of: pages and links as plain facts, before a byte is rendered.

A page's HTML is written from these facts and the ground truth is read from the same facts, so
the two cannot disagree. Nothing here knows a host name or a port.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class Target(NamedTuple):
    """A page's identity: the short name of its site, and its path with query."""

    site: str
    path: str


class Spelling(Enum):
    """How a link writes the address of its target; every spelling means the same page."""

    PLAIN = auto()
    ABSOLUTE = auto()
    RELATIVE = auto()
    SCHEMELESS = auto()
    FRAGMENT = auto()
    QUESTION = auto()
    TRACKED = auto()
    DOTTED = auto()
    LOWER_PERCENT = auto()
    UNESCAPED = auto()
    SHOUTED = auto()
    SPACED = auto()


@dataclass(frozen=True, slots=True)
class Link:
    """One link of a page."""

    to: Target
    text: str
    spelling: Spelling = Spelling.PLAIN
    rel: str = ""
    tag: str = "a"

    @property
    def followed(self) -> bool:
        """Whether a polite crawler may follow it."""
        return "nofollow" not in self.rel.split()


class Markup(str):
    """Text that is HTML already and is not escaped."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph: text and links in reading order."""

    parts: tuple[str | Link, ...]


@dataclass(frozen=True, slots=True)
class LinkList:
    """A heading and a list of links under it."""

    heading: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A small table; the first row is its head."""

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """HTML written by hand; ``{0}``, ``{1}`` stand for the addresses of its links.

    One that starts with a doctype is the whole document.
    """

    html: str
    links: tuple[Link, ...] = ()


Block = Prose | LinkList | Table | Raw


class ListingKind(Enum):
    """The format of a sitemap."""

    INDEX = auto()
    URLSET = auto()
    TEXT = auto()
    RSS = auto()
    ATOM = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One address in a sitemap, and what is said of it; what is empty is not said."""

    to: Target
    title: str = ""
    lastmod: str = ""
    changefreq: str = ""
    priority: str = ""
    news: str = ""
    """Name of the paper, in the tags of the news extension."""
    images: tuple[str, ...] = ()
    """Paths of pictures, in the tags of the image extension: they are not pages."""
    tracked: bool = False
    """Written with tracking parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A sitemap, a sitemap index or a feed."""

    kind: ListingKind
    entries: tuple[Listed, ...]
    packed: bool = False
    """The file itself is gzip."""
    torn: Listed | None = None
    """The file breaks off in the middle of this address."""


class Delivery(Enum):
    """How the bytes of a response travel; most members are faults."""

    WHOLE = auto()
    CHUNKED = auto()
    UNTIL_CLOSE = auto()
    TRICKLE = auto()
    CLOSE = auto()
    RESET = auto()
    LONG_LENGTH = auto()
    SHORT_LENGTH = auto()
    CHUNKS_CUT = auto()
    GZIP_CUT = auto()
    NOT_GZIP = auto()
    UNKNOWN_CODING = auto()
    BAD_STATUS_LINE = auto()
    HUGE_HEADERS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """The encoding of a page by its WHATWG name, and where the page says so."""

    name: str = "utf-8"
    header: str | None = "utf-8"
    meta: str | None = "utf-8"
    bom: bool = False
    lookalikes: frozenset[str] = frozenset()
    """Other names that decode the page to the same text, where nothing declares one."""


UTF8 = Charset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the server says when a page is asked for."""

    status: int = 200
    location: Target | None = None
    """Where a redirect leads; None with a status of 3xx leads nowhere."""
    location_as: str | None = None
    """What the Location header says, where it is not the plain URL of ``location``."""
    media_type: str = "text/html"
    body: bytes | None = None
    """The body of what is not HTML."""
    coding: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    wait_s: float = 0.0
    delivery: Delivery = Delivery.WHOLE
    first: tuple[int, ...] = ()
    """Statuses answered to the first requests, before ``status``."""
    retry_after_s: int | None = None


PLAIN_ANSWER = Answer()


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Everything true of one URL."""

    at: Target
    title: str | None = None
    lang: str = "en"
    summary: str = ""
    nav: tuple[Link, ...] = ()
    blocks: tuple[Block, ...] = ()
    charset: Charset = UTF8
    answer: Answer = PLAIN_ANSWER
    robots_meta: str = ""
    robots_header: str = ""
    canonical: Target | None = None
    refresh: Target | None = None
    base: str | None = None
    """Path of a <base>, which relative links start from."""
    twin_of: Target | None = None
    """The page whose body this one repeats byte by byte."""
    uncounted: bool = False
    """It has links whose number is a matter of taste (mail addresses, broken ones)."""
    heavy: bool = False
    """Dressed with the inline styles and scripts of a large site."""
    listing: Listing | None = None
    """What a sitemap says, in place of a document."""

    def links(self) -> Iterator[Link]:
        """Yield every link in document order, the ones not to be followed included."""
        yield from self.nav
        for block in self.blocks:
            match block:
                case Prose(parts=parts):
                    yield from (part for part in parts if isinstance(part, Link))
                case LinkList(links=links) | Raw(links=links):
                    yield from links
                case Table():
                    pass

    @property
    def n_links(self) -> int:
        """Number of a and area elements with an address."""
        return sum(link.tag in {"a", "area"} for link in self.links())

    @property
    def directives(self) -> frozenset[str]:
        """Robots directives that hold for every agent, from the markup and the header."""
        found = set(_words(self.robots_meta))
        if ":" not in self.robots_header:
            found.update(_words(self.robots_header))
        if "none" in found:
            found |= {"noindex", "nofollow"}
        return frozenset(found)


def _words(directives: str) -> list[str]:
    return [word.strip().lower() for word in directives.split(",") if word.strip()]
