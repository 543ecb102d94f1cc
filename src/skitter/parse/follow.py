"""Which link targets of a document are to be followed, raw and in document order.

This runs once per page on the event loop: one XPath call that returns strings where it suffices,
and a slower walk over elements only for the documents that need it.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import cast

from turbohtml import Document, Element, XPath

from skitter.parse.anchor import link_texts

EXTRA_TAGS = ("area", "frame", "iframe")
"""Elements besides <a> that lead to pages."""

_FRAMES = frozenset(("frame", "iframe"))
_SPACES = "".join(map(chr, range(0x21)))
_REMOVED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"[\x00-\x20]*([A-Za-z][A-Za-z0-9+.-]*):")

_HREFS = XPath("//a/@href")
_RELS = XPath("//a/@rel")
_COUNT = XPath("count(//a/@href|//area/@href)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOptions:
    """Which links of a page are taken, and what is read of it besides for the crawl to judge by."""

    nofollow: bool = False
    """Whether links marked rel=nofollow are followed all the same."""
    frames: bool = True
    """Whether the documents in <frame> and <iframe> are followed."""
    pagination: bool = True
    """Whether <link rel=next> and <link rel=prev> are followed."""
    max_href_chars: int = 8192
    """Longer targets are dropped."""
    texts: bool = False
    """Whether the text of every link is read."""
    sample: int = 0
    """How many characters of the page's own text are kept."""
    sketch: bool = False
    """Whether the page's text is condensed, for comparing it with others."""
    keep: bool = False
    """Whether the parsed document is kept, for rules to be read on it."""


DEFAULT = FollowOptions()


def links_to_follow(
    document: Document, *, options: FollowOptions, has_extras: bool, has_base: bool
) -> tuple[list[str], int]:
    """Return the targets of ``document``, and how many of its a and area elements have a link.

    ``has_extras`` says that there are elements besides <a> to look at. A target that is only a
    fragment leads to the page itself and is left out, unless a <base> gives it another meaning.
    """
    hrefs = cast("list[str]", _HREFS(document))
    if not has_extras and (options.nofollow or not _has_nofollow(document)):
        return _tidy(hrefs, options.max_href_chars, keep_fragments=has_base), len(hrefs)
    targets = _targets(document.select(_selector(options)))
    n_links = int(cast("float", _COUNT(document)))
    return _tidy(targets, options.max_href_chars, keep_fragments=has_base), n_links


def links_with_texts(
    document: Document, *, options: FollowOptions, has_base: bool
) -> tuple[list[str], list[str], int]:
    """Return the targets as ``links_to_follow`` does, with the text of each beside it."""
    elements = document.select(_selector(options))
    targets = _targets(elements)
    texts = link_texts(document, elements)
    hrefs = _tidy(targets, options.max_href_chars, keep_fragments=has_base)
    if len(hrefs) < len(targets):
        kept = [
            bool(_tidy([target], options.max_href_chars, keep_fragments=has_base))
            for target in targets
        ]
        texts = list(compress(texts, kept))
    return hrefs, texts, int(cast("float", _COUNT(document)))


def _targets(elements: list[Element]) -> list[str]:
    return [element.attr("src" if element.tag in _FRAMES else "href") or "" for element in elements]


def _has_nofollow(document: Document) -> bool:
    rels = cast("list[str]", _RELS(document))
    return bool(rels) and "nofollow" in " ".join(rels).lower()


@lru_cache(maxsize=16)
def _selector(options: FollowOptions) -> str:
    allowed = "" if options.nofollow else ':not([rel~="nofollow" i])'
    parts = [f"a[href]{allowed}", f"area[href]{allowed}"]
    if options.frames:
        parts += ["frame[src]", "iframe[src]"]
    if options.pagination:
        parts += [f'link[rel~="{name}" i][href]' for name in ("next", "prev", "previous")]
    return ",".join(parts)


def _tidy(hrefs: list[str], max_chars: int, *, keep_fragments: bool) -> list[str]:
    """Strip the targets and leave out what cannot be fetched.

    Most documents have nothing to strip or to cut, which one look at all targets together tells.
    """
    together = "".join(hrefs)
    if len(together) > max_chars or _has_space(together):
        hrefs = [tidied for href in hrefs if len(tidied := stripped(href)) <= max_chars]
    return [
        href
        for href in hrefs
        if href[:1] == "/" or href[:4] == "http" or _is_followable(href, keep_fragments)
    ]


def _has_space(text: str) -> bool:
    return " " in text or "\n" in text or "\t" in text or "\r" in text or "\f" in text


def stripped(href: str) -> str:
    """Drop what the URL parser drops (WHATWG URL §4.4), so that a scheme stands at the start."""
    return href.strip(_SPACES).translate(_REMOVED)


def _is_followable(href: str, keep_fragments: bool) -> bool:
    if not href or (href[0] == "#" and not keep_fragments):
        return False
    scheme = _SCHEME.match(href)
    return scheme is None or scheme[1].lower() in ("http", "https")
