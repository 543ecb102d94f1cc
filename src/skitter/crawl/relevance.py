"""How promising a link is to someone who looks for certain words: pure scores from 0 to 1.

A link is judged by what can be known before it is fetched: its text, its URL, and what its page
hands down. A page hands down what it is worth itself, by its own words or by the links with the
words it leads to; a page with neither hands down a share of the promise it was found under, so
that a chain of such pages sinks step by step and can still be crossed. That promise is the
link's own score, which its rank tells: nothing else has to be stored.
"""

import re
from collections.abc import Iterable
from urllib.parse import unquote

from skitter.crawl.keyword_pattern import KeywordPattern, fold

LEVELS = 1000
"""Steps between scores 0 and 1 that ranks tell apart; within one step it is first in, first out."""

MOVE_UP = 20
"""A waiting URL moves up when it is found again this many steps better."""

SAID = 0.7
"""What a keyword in a link's text is worth."""
SPELLED = 0.6
"""What a keyword in a URL is worth."""
PARENT = 0.5
"""The share of what its page hands down that a link takes."""
SILENCE = 0.5
"""The share of that which is left when the link's text says much, but none of the keywords."""
INHERITED = 0.5
"""The share of its own promise that a page hands down in any case."""
NAMED, DESCRIBED = 0.5, 0.4
"""What a keyword in a page's title and in its description is worth."""
TELLING_HITS = 3.0
"""As many keywords in a page's text make it relevant by half."""
HUB_LINKS = 1.0
"""As many links with the words, new on a page, make it worth half to its other links."""

_TELLING_WORDS = 3
_WORD = re.compile(r"[\u0e00-\u0fff\u3040-\u9fff\uac00-\ud7af]{3}|[^\W\d_]{2,}")


class Relevance:
    """Scores pages and links against keywords; see ``skitter.job.keywords``."""

    __slots__ = ("_pattern",)

    def __init__(self, keywords: Iterable[str]) -> None:
        self._pattern = KeywordPattern(keywords)

    def page(self, title: str | None, description: str | None, sample: str) -> float:
        """Return how much a page is about the keywords."""
        found = self._pattern.found
        named = len(set(found(fold(title)))) if title else 0
        described = len(set(found(fold(description)))) if description else 0
        told = len(found(fold(sample)))
        return _either(
            NAMED * _more(named), DESCRIBED * _more(described), told / (told + TELLING_HITS)
        )

    def hub(self, texts: Iterable[str]) -> float:
        """Return what a page is worth as a way to others, by the texts of its links first seen."""
        matches = self._pattern.matches
        hits = sum(1 for text in texts if matches(fold(text)))
        return hits / (hits + HUB_LINKS)

    def handed_down(self, worth: float, rank: int) -> float:
        """Return what a page hands down: what it is worth, or a share of what its rank promised."""
        return max(worth, INHERITED * self.score(rank))

    def link(self, anchor: str, url: str, parent: float) -> float:
        """Return how promising a link is; ``parent`` is what its page hands down."""
        said = fold(anchor)
        text = f"{said}\n{fold(_address(url))}"
        places = self._pattern.places(text)
        if not places:
            return PARENT * parent * (SILENCE if _tells(anchor) else 1.0)
        in_text, in_url = set[str](), set[str]()
        for start, word in places:
            (in_text if start < len(said) else in_url).add(word)
        return _either(SAID * _more(len(in_text)), SPELLED * _more(len(in_url)), PARENT * parent)

    def rank(self, score: float) -> int:
        """Return the rank of a score: lower is better, scores of one step are equal."""
        return round((1.0 - min(1.0, max(0.0, score))) * LEVELS)

    def score(self, rank: int) -> float:
        """Return the score that a rank stands for."""
        return max(0.0, 1.0 - rank / LEVELS)


_MOST_SAID = 400
"""Characters said of one target that are enough; a page may link to it without end."""


def best_texts(hrefs: Iterable[str], texts: Iterable[str]) -> dict[str, str]:
    """Return all that a page says of each target, fragments left out.

    A page often links twice, from a picture and from a headline; what is looked for may be in
    either.
    """
    found: dict[str, str] = {}
    for href, text in zip(hrefs, texts, strict=False):
        target = without_fragment(href)
        known = found.get(target)
        if not known:
            found[target] = text
        elif text and len(known) < _MOST_SAID and text not in known:
            found[target] = f"{known} {text}"
    return found


def without_fragment(href: str) -> str:
    """Return the part of ``href`` that names the page."""
    return href.partition("#")[0]


def _either(*chances: float) -> float:
    """Return the chance that at least one holds."""
    none = 1.0
    for chance in chances:
        none *= 1.0 - chance
    return 1.0 - none


def _more(hits: int) -> float:
    """Return 0 without a hit, most of 1 with one, and a little more with each further one."""
    return hits / (hits + 0.25)


def _address(url: str) -> str:
    rest = url.partition("://")[2]
    return unquote(rest) if "%" in rest else rest


def _tells(anchor: str) -> bool:
    """Tell whether a text is long enough to name what it leads to."""
    if anchor.isascii():
        return sum(map(str.isalpha, anchor.split())) >= _TELLING_WORDS
    return len(_WORD.findall(anchor)) >= _TELLING_WORDS
