"""Whether a page has contents of its own or leads to others, without extracting anything.

Contents are prose on end: paragraphs beside each other in one element. The teasers of a list are
prose too, but each in an element of its own; so the longest run decides, weighed against the text
of links and with what the page and its address say.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import NamedTuple
from urllib.parse import urlsplit

from turbohtml import Document, Element, Node, Text

from skitter.parse.article.blocks import measure
from skitter.parse.article.model import Judgement
from skitter.parse.article.names import Names

MAX_TEXTS = 400
MAX_NODES = 20_000
"""Texts and nodes beyond these are not looked at."""
_MAX_TEXT = 20_000
_MIN_TEXT = 30
_MAX_INLINE = 4
_MIN_SIZE = 50
_LITTLE = 150
_MAX_UP = 12
_INLINE = frozenset((
    "p", "span", "b", "i", "em", "strong", "font", "li", "blockquote", "u", "small", "q", "h2",
    "h3", "dd",
))  # fmt: skip
_SILENT = frozenset((
    "script", "style", "noscript", "template", "textarea", "option", "title", "svg", "button",
))  # fmt: skip
_APART = frozenset(("nav", "footer", "aside", "header", "form", "figure", "figcaption", "a"))
_ROOTS = frozenset(("html", "body"))
_MAX_METAS = 200
_MAX_SCRIPTS = 200
_SCRIPT_CHARS = 200_000
_PATH_CHARS = 200
_ARTICLE_TYPE = re.compile(r'"@type"\s*:\s*\[?\s*"(?:\w*Article|BlogPosting|Report|Recipe)"')
_LIST_TYPE = re.compile(r'"@type"\s*:\s*\[?\s*"(?:CollectionPage|SearchResultsPage)"')
_ARTICLE_PATH = re.compile(
    r"/(?:19|20)\d\d[/-]?\d\d|[-_/]\w*\d{4,}\w*(?:\.\w+)?/?\Z|(?:[^/-]+-){4,}[^/]*/?\Z|/t\d{6,}_"
)
_LIST_PATH = re.compile(
    r"/(?:category|categories|tag|tags|topics?|section|archives?|author|authors|search|list|index"
    r"|page|pages|label|latest|all)(?:/|_\d+|\.\w+|\Z)|/page/\d+",
    re.IGNORECASE,
)


class _Place(IntEnum):
    """Where a text stands; what a tag says counts before what a name says."""

    APART = 0
    """By a tag around it not among the contents."""
    DOUBTFUL = 1
    """By a name around it not among the contents."""
    OWN = 2


class _Sign(NamedTuple):
    """Something that speaks for contents, or against them where it is below zero."""

    points: float
    words: str


def judge_class(document: Document, url: str) -> Judgement:
    """Say whether ``document`` is a page of contents or of links; never raises."""
    texts = _texts(document)
    runs = _runs(texts)
    longest = max(runs, default=0)
    signs = [
        _run_sign(longest),
        _link_sign(longest, texts.linked),
        _teaser_sign(longest, runs),
        *_stated_signs(document),
        _path_sign(url),
    ]
    points = sum(sign.points for sign in signs)
    strongest = max(signs, key=lambda sign: sign.points if points > 0 else -sign.points)
    return Judgement(
        page_class="data" if points > 0 else "nav",
        confidence=round(0.5 + min(0.49, abs(points) / 12), 2),
        why=strongest.words,
    )


def _run_sign(longest: int) -> _Sign:
    words = f"longest run of text: {longest} characters"
    for least, points in ((1200, 4.0), (600, 3.0), (300, 2.0), (_LITTLE, 0.5)):
        if longest >= least:
            return _Sign(points, words)
    return _Sign(-2.5, words)


def _link_sign(longest: int, linked: int) -> _Sign:
    words = f"{linked} characters of links beside {longest} of text"
    if longest >= 5 * linked and longest:
        return _Sign(3.0, words)
    if longest >= linked and longest:
        return _Sign(1.5, words)
    return _Sign(-2.0, words) if longest * 8 < linked else _Sign(-0.5, words)


def _teaser_sign(longest: int, runs: list[int]) -> _Sign:
    """Judge whether prose is many short texts apart from each other."""
    others = sorted(runs)[:-1]
    if len(others) < 4:
        return _Sign(0.0, "few texts")
    alike = [size for size in others if size * 3 > longest]
    if len(alike) >= 3:
        return _Sign(-2.5, f"{len(alike) + 1} texts of about the same length, each by itself")
    return _Sign(0.0, "one text is longer than the others")


def _stated_signs(document: Document) -> list[_Sign]:
    signs: list[_Sign] = []
    for element in islice(document.iter_elements("meta"), _MAX_METAS):
        stated = element.attr("property")
        if stated == "article:published_time":
            signs.append(_Sign(1.0, "says when it was published"))
        elif stated == "og:type" and "article" in (element.attr("content") or "").lower():
            signs.append(_Sign(1.5, "says that it is an article"))
        elif stated == "og:type":
            signs.append(_Sign(-0.5, "says that it is no article"))
    scripts = _json_scripts(document)
    if scripts:
        articles = len(_ARTICLE_TYPE.findall(scripts))
        if 1 <= articles <= 2:
            signs.append(_Sign(1.5, "describes an article"))
        if articles > 4 or _LIST_TYPE.search(scripts):
            signs.append(_Sign(-1.0, "describes a list"))
    return signs


def _json_scripts(document: Document) -> str:
    scripts = islice(document.iter_elements("script"), _MAX_SCRIPTS)
    texts = (script.text for script in scripts if script.attr("type") == "application/ld+json")
    return "".join(islice(texts, 8))[:_SCRIPT_CHARS]


def _path_sign(url: str) -> _Sign:
    try:
        path = urlsplit(url).path[-_PATH_CHARS:]
    except ValueError:
        path = url[-_PATH_CHARS:]
    if url and path in ("", "/"):
        return _Sign(-5.5, "the home page")
    if _ARTICLE_PATH.search(path):
        return _Sign(1.0, "an address like that of an article")
    if _LIST_PATH.search(path):
        return _Sign(-1.5, "an address like that of a list")
    return _Sign(0.0, "the address says nothing")


@dataclass(slots=True)
class _Texts:
    """The text of a page, by what it is in."""

    linked: int = 0
    """Size of the texts of links."""
    long: Counter[Element] = field(default_factory=Counter)
    """Sizes of the texts that are long enough for a sentence, by the elements they are in."""


def _texts(document: Document) -> _Texts:
    found = _Texts()
    body = document.find("body")
    nodes = islice(body.descendants, MAX_NODES) if body is not None else ()
    for node in nodes:
        text = node.data[:_MAX_TEXT].strip() if type(node) is Text else ""
        if not text:
            continue
        parent = node.parent
        if not isinstance(parent, Element) or parent.tag in _SILENT:
            continue
        if _is_linked(parent):
            found.linked += measure(text)
        elif len(text) >= _MIN_TEXT:
            found.long[parent] += measure(text)
    return found


def _is_linked(element: Element) -> bool:
    """Tell whether ``element`` is a link or, with its nearest parents, inline in one."""
    node: Node | None = element
    for _ in range(_MAX_INLINE):
        if not isinstance(node, Element) or node.tag == "a":
            break
        node = node.parent
    return isinstance(node, Element) and node.tag == "a"


def _runs(texts: _Texts) -> list[int]:
    """Return the sizes of the runs of prose.

    Names are trusted to tell what is not the page's own, unless that leaves nothing.
    """
    places = _Places()
    own: Counter[Element] = Counter()
    doubtful: Counter[Element] = Counter()
    for element, size in islice(texts.long.items(), MAX_TEXTS):
        holder = _holder(element)
        if holder is None or size < _MIN_SIZE:
            continue
        place = places.of(holder)
        if place is _Place.OWN:
            own[holder] += size
        if place is not _Place.APART:
            doubtful[holder] += size
    sizes = own if max(own.values(), default=0) >= _LITTLE else doubtful
    return list(sizes.values())


def _holder(element: Element) -> Element | None:
    """Return the element whose children are paragraphs."""
    node: Node | None = element
    for _ in range(_MAX_UP):
        if not isinstance(node, Element) or node.tag not in _INLINE:
            break
        node = node.parent
    return node if isinstance(node, Element) else None


class _Places:
    """Says where the elements of one page stand."""

    def __init__(self) -> None:
        self._names = Names()
        self._known: dict[Element, _Place] = {}

    def of(self, element: Element) -> _Place:
        """Say whether something around ``element`` sets it apart."""
        place = _Place.OWN
        node: Node | None = element
        for _ in range(_MAX_UP):
            if not isinstance(node, Element):
                break
            if node in self._known:
                place = min(place, self._known[node])
                break
            if node.tag in _APART:
                place = _Place.APART
                break
            if node.tag not in _ROOTS and self._names.judge(self._names.read(node)) < 0:
                place = _Place.DOUBTFUL
            node = node.parent
        self._known[element] = place
        return place
