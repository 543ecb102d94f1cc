"""The text of an article, by the way that serves its page best.

The tree is right on nearly every page that has one. Line blocks know no tree, and the library
reads what is left; each is asked only where what came before has brought next to nothing.
"""

import re
from dataclasses import dataclass

from turbohtml import Document, parse_fragment

from skitter.parse.article.blocks import Block, Survey, measure
from skitter.parse.article.content import article_blocks, text_of
from skitter.parse.article.lineblock import densest
from skitter.parse.article.region import Region, find_region
from skitter.parse.article.stated import Stated

_LINES_RATIO = 5.0
"""How many times the prose of the tree that of the line blocks must be to be preferred."""
_LITTLE = 200
"""Text below this size is next to nothing."""
_STATED_RATIO = 2.0
_MAX_NAME_CHARS = 200_000
"""The library takes long over longer names."""
_MAX_STATED = 100_000
_TAG = re.compile(r"<[a-zA-Z/]")


@dataclass(slots=True, frozen=True)
class Choice:
    """The text, how it was found, and the blocks it is in."""

    text: str
    method: str
    ranges: tuple[tuple[int, int], ...] = ()


def choose_text(document: Document, found: Survey, stated: Stated, title: int) -> Choice:
    """Return the text of the article; empty where there is none."""
    choice = _from_blocks(found, title)
    size = measure(choice.text)
    if size < _LITTLE and not found.is_cut and found.name_chars <= _MAX_NAME_CHARS:
        library = document.main_text().strip()
        if measure(library) > _STATED_RATIO * max(size, _LITTLE / 2):
            choice = Choice(library, "library", choice.ranges)
            size = measure(library)
    body = stated.text("articleBody")
    if body and measure(body[:_MAX_STATED]) > _STATED_RATIO * size:
        return Choice(_plain(body[:_MAX_STATED]), "stated", choice.ranges)
    return choice


def _from_blocks(found: Survey, title: int) -> Choice:
    """Choose between the tree and the line blocks."""
    heading = found.blocks[title].text if title >= 0 else ""
    region = find_region(found, title)
    tree = article_blocks(found, region, heading) if region else []
    lined = _lines(found, region)
    lines = article_blocks(found, lined, heading)
    if _prose(lines) > _LINES_RATIO * _prose(tree):
        return Choice(text_of(lines), "lines", lined.ranges)
    return Choice(text_of(tree), "tree", region.ranges if region else ())


def _lines(found: Survey, region: Region | None) -> Region:
    """Return the region of the line-block distribution, in the lines that are not blocked."""
    blocked = region.blocked if region else [False] * len(found.containers)
    lengths = [
        0 if blocked[block.container] else block.size - block.linked for block in found.blocks
    ]
    return Region((densest(lengths),), blocked)


def _prose(blocks: list[Block]) -> float:
    return sum(block.prose for block in blocks)


def _plain(text: str) -> str:
    """Return a stated text without the markup that some have."""
    if _TAG.search(text):
        text = parse_fragment(text, positions=False).to_text()
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    return "\n\n".join(filter(None, lines))
