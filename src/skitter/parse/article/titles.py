"""The title of an article, without the name of the site."""

import re

from skitter.parse.article.blocks import Block, Survey
from skitter.parse.article.stated import Stated
from skitter.parse.metadata import collapse

_WORD = re.compile(r"\w+")
_LONGEST = 300
_SHORTEST = 4
_RANKS = {"h1": 1, "h2": 2, "h3": 3}
_NO_HEADING = 4
_SEPARATOR = re.compile(
    r"\s+[-–—|·•»«:/]+\s+|\s*(?:\||::|»|_|--)\s*|(?<=[\u3400-\u9fff])[-–—](?=\S)"
)
_SITE_WORDS = 5
_MAX_PARTS = 6


def find_title(found: Survey, stated: Stated) -> int:
    """Return the number of the block that is the title, -1 for none.

    It says what the document's own titles say; of several the highest heading, then the first.
    """
    wanted = [plain for text in _statements(stated) if len(plain := _plain(text)) >= _SHORTEST]
    best, best_rank = -1, _NO_HEADING + 1
    for number, block in enumerate(found.blocks if wanted else ()):
        rank = _RANKS.get(block.kind, _NO_HEADING)
        if rank < best_rank and _SHORTEST <= len(block.text) <= _LONGEST:
            plain = _plain(block.text)
            if any(_says(plain, text) for text in wanted):
                best, best_rank = number, rank
    return best if best >= 0 else _only_heading(found.blocks)


def article_title(stated: Stated, heading: str | None) -> str | None:
    """Return the title: the heading that repeats what is stated, else the statement."""
    if heading:
        return collapse(heading)
    site = stated.meta("og:site_name", "application-name") or ""
    for text in _statements(stated):
        if title := without_site(text, site):
            return title
    return None


def without_site(title: str, site: str) -> str | None:
    """Return ``title`` without the site's name and sections at its end or beginning."""
    title = collapse(title) or ""
    parts = _SEPARATOR.split(title)
    marks = _SEPARATOR.findall(title)
    name = _plain(site)
    for _ in range(_MAX_PARTS):
        if len(parts) == 1:
            break
        if _is_site(parts[-1], parts[:-1], name):
            parts.pop()
            marks.pop()
        elif name and _plain(parts[0]) == name:
            parts.pop(0)
            marks.pop(0)
        else:
            break
    kept = parts[0] + "".join(map("".join, zip(marks, parts[1:], strict=False)))
    return kept.strip() or None


def _is_site(part: str, others: list[str], site: str) -> bool:
    """Tell whether the last part is a site's: its name, or short beside a longer title."""
    if site and _plain(part) == site:
        return True
    rest = sum(map(len, others))
    return len(part.split()) <= _SITE_WORDS and rest >= 2 * _SHORTEST and len(part) * 2 <= rest


def _statements(stated: Stated) -> list[str]:
    texts = (
        stated.meta("og:title"),
        stated.text("headline"),
        stated.meta("twitter:title", "dc.title"),
        stated.head.title,
    )
    return [text for text in texts if text]


def _says(plain: str, wanted: str) -> bool:
    """Tell whether a line is the statement, or the most of it: the rest names the site."""
    return len(plain) >= _SHORTEST and len(plain) * 3 > len(wanted) and plain in wanted


def _only_heading(blocks: list[Block]) -> int:
    tops = [number for number, block in enumerate(blocks) if block.kind == "h1"]
    return tops[0] if len(tops) == 1 else -1


def _plain(text: str) -> str:
    return "".join(_WORD.findall(text[:_LONGEST].lower()))
