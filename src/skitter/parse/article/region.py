"""Which part of a document is the article: the containers where prose is densest.

Every block of prose gives its weight to the containers around it, the less the further up. Names,
tags and the place of the title make a container more or less likely; the best one is joined by
those that go on with the same text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from skitter.parse.article.blocks import Container, Survey
from skitter.parse.article.names import Name

DECAY = 0.6
"""Share of a block's weight that each further container gets."""
ARTICLE_DECAY = 0.45
"""The same for what is around an article element; of several articles it is a list."""
NESTED_DECAY = 0.3
"""The same from one article to another around it."""
_FRAME_SHARE = 0.5
_OTHER_SHARE = 0.95
_BONUS = {Name.BODY: 1.4, Name.NEUTRAL: 1.0, Name.FRAME: 0.5, Name.OTHER: 0.3}
_TAG_BONUS = {"article": 1.25, "main": 1.15}
_BEFORE_TITLE = 0.6
_PEER_SHARE = 0.05
_SIBLING_SHARE = 0.15
_MIN_ARTICLE = 200
_DIGITS = re.compile(r"\d+")


@dataclass(slots=True, frozen=True)
class Region:
    """Where the article is."""

    ranges: tuple[tuple[int, int], ...]
    """First and last block of each part, the last one not included; in order."""
    blocked: Sequence[bool]
    """Of every container, whether it is left out by its name."""


class Field:
    """The prose of a document, with sums over any range of blocks."""

    def __init__(self, found: Survey, title: int) -> None:
        prose = [block.prose for block in found.blocks]
        self.containers = found.containers
        self.title = title
        self.blocked = _blocked(found, list(accumulate(prose, initial=0.0)), title)
        self.weights = [
            0.0 if self.blocked[block.container] else weight
            for block, weight in zip(found.blocks, prose, strict=True)
        ]
        self.sums = list(accumulate(self.weights, initial=0.0))

    def within(self, first: int, last: int) -> float:
        """Return the prose of a range of blocks."""
        return self.sums[last] - self.sums[first]

    def of(self, container: Container) -> float:
        """Return the prose in a container."""
        return self.sums[container.last] - self.sums[container.first]


def find_region(found: Survey, title: int) -> Region | None:
    """Return the region of the article; None in a document without prose.

    ``title`` is the block that is the title, -1 when there is none.
    """
    if not found.blocks:
        return None
    field = Field(found, title)
    scores = _scores(found, field)
    best = max(range(len(scores)), key=scores.__getitem__)
    if scores[best] <= 0:
        return None
    best = _widened(field, _titled(found, field, scores, best))
    return Region(tuple(_joined(found, field, best)), field.blocked)


def _blocked(found: Survey, sums: list[float], title: int) -> list[bool]:
    """Return which containers are left out by their names or those of containers around them.

    The name of one that holds most prose of the page misleads. Comments may well be longer than
    what they are on; they do not hold its title.
    """
    total = sums[-1]
    blocked: list[bool] = []
    for container in found.containers:
        out = container.parent >= 0 and blocked[container.parent]
        if not out and container.judged < 0:
            is_titled = container.first <= title < container.last
            share = (
                _OTHER_SHARE if container.judged is Name.OTHER and not is_titled else _FRAME_SHARE
            )
            out = sums[container.last] - sums[container.first] <= share * total
        blocked.append(out)
    return blocked


def _scores(found: Survey, field: Field) -> list[float]:
    """Return the score of every container; children stand after their parents."""
    containers = found.containers
    scores = [0.0] * len(containers)
    for block, weight in zip(found.blocks, field.weights, strict=True):
        scores[block.container] += weight
    for number in range(len(scores) - 1, 0, -1):
        parent = containers[number].parent
        if parent >= 0:
            scores[parent] += _decay(containers, number, parent) * scores[number]
    return [
        score * _likelihood(field, container)
        for score, container in zip(scores, containers, strict=True)
    ]


def _decay(containers: list[Container], number: int, parent: int) -> float:
    if containers[number].tag != "article":
        return DECAY
    return ARTICLE_DECAY if containers[parent].article < 0 else NESTED_DECAY


def _likelihood(field: Field, container: Container) -> float:
    factor = _BONUS[container.judged] * _TAG_BONUS.get(container.tag, 1.0)
    title = field.title
    if title < 0 or container.first <= title < container.last:
        return factor
    if container.last <= title:
        return factor * _BEFORE_TITLE
    # What stands between the title and the container is more likely the article than it is.
    own = field.of(container)
    return factor * own / (own + field.within(title, container.first) or 1.0)


def _titled(found: Survey, field: Field, scores: list[float], best: int) -> int:
    """Return the best container of the article with the title, where ``best`` lists articles."""
    own = found.containers[best]
    number = (
        found.containers[found.blocks[field.title].container].article if field.title >= 0 else -1
    )
    if number < 0 or own.article >= 0:
        return best
    article = found.containers[number]
    inside = zip(
        found.blocks[own.first : own.last], field.weights[own.first : own.last], strict=True
    )
    loose = sum(weight for block, weight in inside if found.containers[block.container].article < 0)
    if field.of(article) < max(_MIN_ARTICLE, loose):
        return best
    candidates = [
        n
        for n, container in enumerate(found.containers)
        if article.first <= container.first and container.last <= article.last
    ]
    return max(candidates, key=scores.__getitem__)


def _widened(field: Field, best: int) -> int:
    """Go up while the neighbours of ``best`` are of its kind and go on with the text."""
    children: dict[int, list[Container]] = {}
    for container in field.containers:
        children.setdefault(container.parent, []).append(container)
    while True:
        own = field.containers[best]
        if not own.name or own.parent < 0 or field.containers[own.parent].tag in ("body", "html"):
            return best
        weight = field.of(own)
        alike = (
            field.of(other)
            for other in children[own.parent]
            if other is not own and other.tag == own.tag and other.name == own.name
        )
        if sum(alike) < _SIBLING_SHARE * weight:
            return best
        best = own.parent


def _joined(found: Survey, field: Field, best: int) -> list[tuple[int, int]]:
    """Return the range of ``best`` and of the containers of the same name that go on with it.

    A new main heading between them begins another article.
    """
    own = found.containers[best]
    if not own.name:
        return [(own.first, own.last)]
    kind = _kind(found, own)
    least = _PEER_SHARE * field.of(own)
    tops = list(accumulate((block.kind == "h1" for block in found.blocks), initial=0))
    peers = [
        (other.first, other.last)
        for other in found.containers
        if other.tag == own.tag
        and other.article == own.article
        and field.of(other) > least
        and (other.last <= own.first or other.first >= own.last)
        and tops[min(own.last, other.last)] == tops[max(own.first, other.first)]
        and _kind(found, other) == kind
    ]
    return _apart(sorted([(own.first, own.last), *peers]))


def _kind(found: Survey, container: Container) -> str:
    """Return what the container and the one around it are called, without numbers."""
    parent = found.containers[container.parent].name if container.parent >= 0 else ""
    return _DIGITS.sub("", f"{container.name}/{parent}")


def _apart(parts: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Drop what lies within an earlier part."""
    apart: list[tuple[int, int]] = []
    for part in parts:
        if not apart or part[0] >= apart[-1][1]:
            apart.append(part)
    return apart
