"""Finds keywords in text, URLs included, whatever their number.

Case and width make no difference. A keyword begins where a word begins; four letters or more
stand for every word that begins with them ("vote" for "voters"), and a plural for its singular;
a shorter one stands for itself and its plural. Scripts without spaces between words are searched
everywhere. Between the words of a phrase anything may stand that is neither letter nor digit, so
that "climate change" is found in "/climate-change/".
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import cast
from unicodedata import normalize

import re2

PREFIX_CHARS = 4
FEW = 24
"""With more keywords RE2 looks first: its time does not grow with their number."""

_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u318f\u31f0-\u4dbf\u4e00-\u9fff"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_LETTER = r"[^\W\d_]"
_GAP = r"[\W_]*"
# What stands between two words of a phrase; one gap, since several in a row would have to be
# matched in every way.
_BREAKS = re.compile(r"(?<=\w)(?:[\W_]*\s[\W_]*|[_\u2010-\u2015-]+)(?=\w)")


def fold(text: str) -> str:
    """Return ``text`` as keywords are compared with it."""
    return text.lower() if text.isascii() else normalize("NFKC", text).casefold()


class KeywordPattern:
    """A list of keywords as one pattern; texts must be folded."""

    __slots__ = ("_glance", "_pattern", "found")

    def __init__(self, keywords: Iterable[str]) -> None:
        words = sorted({_singular(fold(keyword).strip()) for keyword in keywords} - {""})
        self._pattern = re.compile(_alternation(words))
        self.found = self._pattern.findall
        """Returns every keyword in a text, as it is written there."""
        self._glance = _glance(words) if len(words) > FEW else self._pattern

    def matches(self, text: str) -> bool:
        """Tell whether any keyword is in ``text``."""
        return bool(self.places(text))

    def places(self, text: str) -> Sequence[tuple[int, str]]:
        """Return where each keyword stands, and how it is written there."""
        if self._glance.search(text) is None:
            return ()
        return [(match.start(), match[0]) for match in self._pattern.finditer(text)]


def _singular(word: str) -> str:
    plural = len(word) > PREFIX_CHARS and word.isascii() and word.endswith("s")
    return word[:-1] if plural and not word.endswith("ss") else word


def _glance(words: Iterable[str]) -> re.Pattern[str]:
    """Return a pattern that finds at least what the exact one finds."""
    options = re2.Options()
    options.max_mem = 256 * 1024 * 1024
    parts = (_GAP.join(map(re2.escape, _BREAKS.split(word))) for word in words)
    return cast("re.Pattern[str]", re2.compile("|".join(parts), options))


def _alternation(words: list[str]) -> str:
    """Return one expression, branched by first and second character so that few are tried."""
    if not words:
        return r"(?!)"
    branches = defaultdict[tuple[str, str], list[str]](list)
    for word in words:
        start, second, rest = _pieces(word)
        branches[start, second].append(rest)
    firsts = []
    for start, group in groupby(sorted(branches), key=lambda key: key[0]):
        seconds = (
            f"{second}(?:{'|'.join(sorted(branches[start, second], key=len, reverse=True))})"
            for _, second in sorted(group, reverse=True)
        )
        firsts.append(f"{start}(?:{'|'.join(seconds)})")
    return "|".join(firsts)


def _pieces(word: str) -> tuple[str, str, str]:
    """Return the expression of ``word`` in three: first character, second, and the rest."""
    spaced = _UNSPACED.match(word) is None
    tokens = [re.escape(char) if char != " " else _GAP for char in _BREAKS.sub(" ", word)]
    first, second = tokens[0], tokens[1] if len(tokens) > 1 and tokens[1] != _GAP else ""
    rest = "".join(tokens[2 if second else 1 :])
    # What must not stand before is asked behind two characters, where few places are left.
    guard = ""
    if word[0].isdigit():
        guard = rf"(?<!\d{first}{second})"
    elif spaced and word[0].isalpha():
        guard = f"(?<!{_LETTER}{first}{second})"
    end = ""
    if word[-1].isdigit():
        end = r"(?!\d)"
    elif spaced and len(word) < PREFIX_CHARS:
        end = f"(?:e?s)?(?!{_LETTER})"
    return first, second + guard, rest + end
