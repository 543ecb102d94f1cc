"""A document as blocks of text and the containers that hold them.

A block is what a reader sees as one paragraph. Blocks stand in document order and a container
covers a range of them, so every question about a container is one about sums over a range.
"""

import re
from dataclasses import dataclass, field

from turbohtml import Element

from skitter.parse.article.names import Name

_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_MIN_PROSE = 25
_FULL_SIZE = 80
"""A text of this size counts in full."""


@dataclass(slots=True, eq=False)
class Container:
    """An element that holds blocks ``first`` to ``last``, the last one not included."""

    tag: str
    name: str
    """Its class, id and role."""
    parent: int
    """Number of the container around it; -1 for none."""
    first: int
    judged: Name
    article: int
    """Number of the nearest article element, itself included; -1 for none."""
    last: int = 0


@dataclass(slots=True, eq=False)
class Block:
    """One paragraph, heading, list item or cell."""

    text: str
    kind: str
    """Tag of the nearest element that makes blocks."""
    container: int
    listing: int
    """Number of the list it is an item of; -1 for none."""
    row: int
    """Number of the table row it is a cell of; -1 for none."""
    size: int
    """Its length as ``measure`` tells it."""
    linked: int
    """How much of ``size`` is the text of links."""
    link_share: float
    prose: float
    """How much of ``size`` is prose."""


@dataclass(slots=True)
class Survey:
    """The blocks and containers of one document, in document order."""

    blocks: list[Block] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
    pictures: list[tuple[int, Element]] = field(default_factory=list)
    """Images, each with the number of the block that follows it."""
    remarks: list[tuple[int, str]] = field(default_factory=list)
    """Short lines set into others that by their name are no text, with the number of the block."""
    name_chars: int = 0
    """Length of all names of elements."""
    is_cut: bool = False
    """Whether the document was too large to be looked at as a whole."""


def measure(text: str) -> int:
    """Return the length of ``text``, where the characters of East Asian scripts count double."""
    if text.isascii():
        return len(text)
    return len(text) + len(_WIDE.findall(text))


def weigh(size: int, linked: int) -> float:
    """Return how much of a text is prose: short lines count less, links and lists of them not."""
    if size < _MIN_PROSE or 2 * linked > size:
        return 0.0
    return (size - linked) * min(1.0, size / _FULL_SIZE)
