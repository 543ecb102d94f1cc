"""What the crawl needs of one document, found in one parse."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from turbohtml import Document

from skitter.parse.simhash import Sketch
from skitter.url.parse import Base


@dataclass(slots=True, kw_only=True)
class ParsedPage:
    """The facts of one HTML document. ``None`` means the page does not say."""

    encoding: str
    title: str | None = None
    description: str | None = None
    image: str | None = None
    language: str | None = None
    canonical: str | None = None
    base: str | None = None
    """Absolute base URL when a <base> changes it, else None."""
    robots: frozenset[str] = field(default_factory=frozenset)
    """Directives of <meta name=robots> (lower case), for every agent."""
    hrefs: list[str] = field(default_factory=list)
    """Raw link targets to follow, in document order, rel=nofollow ones left out; not joined."""
    texts: Sequence[str] = ()
    """What each of ``hrefs`` says, where that was asked for; else empty."""
    n_links: int = 0
    """Number of a and area elements with a link."""
    refresh: str | None = None
    """Raw target of a meta refresh to another page."""
    joiner: Base | None = None
    """Joins ``hrefs`` as the page means them, by its <base> and encoding; None without links."""
    sample: str = ""
    """Beginning of the page's own text, without links and navigation, where it was asked for."""
    sketch: Sketch | None = None
    """Condensed text, alike for pages that read alike; None where it was not asked for."""
    document: Document | None = None
    """The parsed document itself, where that was asked for."""
    unread: int = 0
    """Places where bytes are no characters of the encoding: "�" in the text."""
    cut: bool = False
    """Whether the document was so long that only its beginning was parsed."""
