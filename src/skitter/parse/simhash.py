"""A page's text condensed, so that pages which say the same are known without keeping the text.

The text is cut into parts of at most eight words, each reduced to a number. Left out are words
with digits, names of months and days, and the words of the page's own URL: an empty calendar page
of May reads like one of June, and "not found: /a/b" like "not found: /c/d". The parts show how
much of a page is new, whatever its order; the simhash over them how far two pages are apart.
"""

import re
from array import array
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, cast
from urllib.parse import unquote

from turbohtml import Document, XPath
from xxhash import xxh3_64_intdigest

PART_WORDS = 8
MAX_CHARS = 12_000
"""Text beyond this is not read; of a long line only the beginning counts."""
MAX_HREFS = 200
NEAR_BITS = 3
"""Simhashes this many bits apart are of nearly the same text."""

_MASK = (1 << 64) - 1
_WITHOUT = [bytes(n for n in range(256) if not n >> bit & 1) for bit in range(8)]
_CACHED_WORDS = 30_000
_CACHED_LINES = 8_000
_MANY_LINES = 60
_PROSE_LINES = 24
_PROSE_CHARS = 80
_LINE_CHARS = 100
_SAMPLE = 96
_TEXTS = XPath("//body//text()")
_HREFS = XPath("//a/@href")
_CODE = XPath("//body//script/text()|//body//style/text()|//body//template//text()")
_URL_WORD = re.compile(r"[^\W\d_]+")
_URL_MARKS = re.compile(r"[/?&=_.:%-]")
_DIGITS = re.compile(r"\d+")
_EDGES = (
    "".join(map(chr, range(0x21, 0x30))) + ":;<=>?@[\\]^_`{|}~«»„“”‘’…·•–—|、。，：；！？（）《》"
)
_DATE_TEXT = (
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday "
    "saturday sunday mon tue tues wed thu thur thurs fri sat sun mo tu we th fr sa su am pm st nd "
    "rd januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag "
    "freitag samstag sonntag janvier février mars avril juin juillet août septembre octobre "
    "novembre décembre lundi mardi mercredi jeudi vendredi samedi dimanche enero febrero marzo "
    "abril mayo junio julio agosto septiembre octubre noviembre diciembre lunes martes miércoles "
    "jueves viernes sábado domingo gennaio febbraio aprile maggio giugno luglio settembre ottobre "
    "dicembre janeiro fevereiro março maio junho julho setembro outubro novembro dezembro"
)
_DATE_WORDS = frozenset(_DATE_TEXT.split())


class Sketch(NamedTuple):
    """What is kept of a text."""

    simhash: int
    """64 bits; 0 for a page without words."""
    parts: dict[int, int]
    """The parts of the text and how many words each has."""
    hrefs: Sequence[str] = ()
    """The first links of the page, as written."""


class _Words(dict[str, int]):
    """The number of every word met, 0 for a word that says nothing; bounded."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        number = self[word] = _number(word)
        return number


def _number(word: str) -> int:
    bare = word.strip(_EDGES)
    if any(map(str.isdigit, bare)):
        if bare.isascii():
            return 0
        # Scripts without spaces: the digits alone are left out, not the sentence around them.
        bare = _DIGITS.sub("", bare)
    if not bare or bare in _DATE_WORDS:
        return 0
    return xxh3_64_intdigest(bare.encode("utf-8", "surrogatepass"))


_Line = tuple[list[int], list[tuple[int, int]]]


class _Lines(dict[str, _Line]):
    """What was read of lines that pages of a site have in common; bounded."""

    def __missing__(self, line: str) -> _Line:
        if len(self) >= _CACHED_LINES:
            self.clear()
        read = self[line] = _read(line)
        return read


_words = _Words()
_lines = _Lines()


def page_sketch(document: Document, url: str) -> Sketch:
    """Return the sketch of the text a reader of ``document`` sees."""
    return sketch_of(visible_texts(document), url, cast("list[str]", _HREFS(document)))


def visible_texts(document: Document) -> list[str]:
    """Return the pieces of text that a reader of ``document`` sees."""
    texts = cast("list[str]", _TEXTS(document))
    code = cast("list[str]", _CODE(document))
    if code:
        hidden = set(code)
        texts = [text for text in texts if text not in hidden]
    return texts


def sketch_of(lines: Sequence[str], url: str, hrefs: Sequence[str] = ()) -> Sketch:
    """Return the sketch of ``lines`` and links, found at ``url``."""
    own = frozenset(map(_words.__getitem__, _URL_WORD.findall(unquote(url).lower())))
    parts: dict[int, int] = {}
    left = MAX_CHARS
    for line in _chosen(lines):
        line = line[:_LINE_CHARS]
        numbers, found = _lines[line]
        if own.isdisjoint(numbers):
            parts.update(found)
        else:
            # Before the parts are made, or a word that is left out would shift them all.
            parts.update(_parts([n for n in numbers if n not in own]))
        left -= len(line)
        if left <= 0:
            break
    return Sketch(_simhash(parts), parts, hrefs[:MAX_HREFS])


def _chosen(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that are read: of many, the first long ones and a share of the short.

    Which share depends on the line, not on its place, so that it is the same on every page.
    """
    if len(lines) <= _MANY_LINES:
        return lines
    share = len(lines) // _MANY_LINES + 1
    short = [line for line in lines if len(line) < _PROSE_CHARS and len(line) % share == 0]
    return [*short, *islice((line for line in lines if len(line) >= _PROSE_CHARS), _PROSE_LINES)]


def _read(line: str) -> "_Line":
    """Return the words of ``line`` that say something, and its parts."""
    text = line.lower()
    if "/" in text:
        # A page that names its own path names words of it.
        text = _URL_MARKS.sub(" ", text)
    numbers = [n for n in map(_words.__getitem__, text.split()) if n]
    return numbers, _parts(numbers)


def _parts(numbers: list[int]) -> list[tuple[int, int]]:
    if not numbers:
        return []
    if len(numbers) <= PART_WORDS:
        return [(sum(numbers) & _MASK, len(numbers))]
    cuts = range(0, len(numbers), PART_WORDS)
    parts = (numbers[cut : cut + PART_WORDS] for cut in cuts)
    return [(sum(part) & _MASK, len(part)) for part in parts]


def _simhash(parts: dict[int, int]) -> int:
    """Return the bits that most of ``parts`` have; of many parts, a sample that texts share."""
    sample = sorted(parts)[:_SAMPLE]
    half = len(sample) / 2
    row = array("Q", sample).tobytes()
    bits = 0
    for place in range(8):
        column = row[place::8]
        for bit, without in enumerate(_WITHOUT):
            # What is left when the bytes without the bit are deleted has it.
            if len(column.translate(None, without)) > half:
                bits |= 1 << 8 * place + bit
    return bits


def page_simhash(document: Document, url: str) -> int:
    """Return the simhash of the text a reader of ``document`` sees."""
    return page_sketch(document, url).simhash


def near(one: int, other: int) -> bool:
    """Tell whether two simhashes are of nearly the same text."""
    return (one ^ other).bit_count() <= NEAR_BITS
