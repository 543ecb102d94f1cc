"""How long ``:has()`` of a CSS selector would take on a page, judged before it is asked.

The engine cannot be interrupted. Of the elements that are looked for, ``:has()`` is asked quickly:
what was found below one is remembered for those above it. Of any other part of a selector
(``main:has(.ad) p``) it is asked anew for each element that is looked for, and walks through what
is below each time. One within another is no CSS, and is not evaluated.
"""

import re
from typing import Final, NamedTuple

from turbohtml import Element, Node

_PIECE: Final = re.compile(
    r"(?P<text>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<call>::?-?[A-Za-z_][\w-]*\()"
    r"|(?P<name>(?<![\w.#:\\-])(?:-?[A-Za-z_][\w-]*|\*))"
    r"|(?P<joint>\s*[>+~]\s*|\s+)"
    r"|(?P<sign>[][(),])"
    r"|(?P<other>\\.|.)",
    re.DOTALL,
)
ANY: Final = "*"
_HAS: Final = ":has("
_ASKS: Final = frozenset({":is(", ":where(", ":not(", ":matches(", ":any("})
_MOST_NESTED: Final = 20


class TooDeep(Exception):
    """A selector with ``:has()`` within ``:has()``, or that cannot be taken apart."""


class Asked(NamedTuple):
    """A part of a selector of which ``:has()`` is asked again and again."""

    of: str
    """The elements it is asked of, as a selector."""
    wanted: str
    """The elements that are looked for: it is asked once for each of them, or more often."""
    between: int
    """How many other parts are between both."""
    beside: bool
    """Whether those are beside it, not below it."""


class _Part:
    """What a selector says of one element."""

    def __init__(self, joint: str) -> None:
        self.joint = joint
        self.simple = ""
        """Names, classes and attributes; what is asked in brackets is left out."""
        self.has = False


def asked_again(selector: str) -> tuple[Asked, ...]:
    """Return where ``:has()`` is asked again and again; raises ``TooDeep``."""
    if _HAS not in selector.lower():
        return ()
    reader = _Reader(selector)
    found = reader.listed(within=False, depth=0)
    if reader.is_behind:
        raise TooDeep(selector)
    return tuple(found)


def weigh(asked: Asked, root: Node) -> float:
    """Return how many elements would be visited on a page."""
    order, parents, many = [root], [-1], list[int]()
    for at, node in enumerate(order):
        children = [child for child in node.children if isinstance(child, Element)]
        many.append(len(children))
        order += children
        parents += [at] * len(children)
    size, wanted, level = [1] * len(order), [0] * len(order), [0] * len(order)
    those, looked_for = _fitting(root, asked.of), _fitting(root, asked.wanted)
    for at, node in enumerate(order):
        level[at] = level[parents[at]] + 1 if at else 0
        wanted[at] = int(node in looked_for)
    total, again = 0.0, float(max(level)) ** asked.between
    for at in range(len(order) - 1, 0, -1):
        over = parents[at]
        beside = many[over]
        if order[at] in those:
            often = beside if asked.beside else wanted[at]
            total += max(size[at], beside if asked.beside else 0) * often * again
        size[over] += size[at]
        wanted[over] += wanted[at]
    return total


def _fitting(root: Node, simple: str) -> set[Node]:
    """Return the elements that a part of a selector fits, or all where that cannot be told."""
    try:
        return set(root.select(simple))
    except ValueError:
        return set(root.select(ANY))


class _Reader:
    """Reads a selector from left to right."""

    def __init__(self, selector: str) -> None:
        self._pieces = list(_PIECE.finditer(selector))
        self._at = 0
        self._selector = selector

    @property
    def is_behind(self) -> bool:
        """Whether something is left that was not read."""
        return self._at < len(self._pieces)

    def listed(self, *, within: bool, depth: int) -> list[Asked]:
        """Read a list up to its end, or the bracket that closes it; ``within`` another's."""
        if depth > _MOST_NESTED:
            raise TooDeep(self._selector)
        found = self._whole(within=within, depth=depth)
        while self._take(","):
            found += self._whole(within=within, depth=depth)
        return found

    def _whole(self, *, within: bool, depth: int) -> list[Asked]:
        parts, found = [_Part(self._joint() or " ")], list[Asked]()
        while (piece := self._piece()) is not None and piece["sign"] not in {",", ")"}:
            if (joint := self._joint()) is not None:
                parts.append(_Part(joint))
                continue
            self._at += 1
            found += self._read(piece, parts[-1], within=within, depth=depth)
        if len(parts) > 1 and self._pieces[self._at - 1]["joint"] is not None:
            # The space before a bracket or a comma.
            parts.pop()
        return found + _again(parts)

    def _read(self, piece: re.Match[str], part: _Part, *, within: bool, depth: int) -> list[Asked]:
        if call := piece["call"]:
            return self._called(call.lower(), part, within=within, depth=depth)
        if piece["sign"] in {"[", "("}:
            self._skip(piece["sign"])
        end = self._pieces[self._at - 1].end()
        part.simple += self._selector[piece.start() : end]
        return []

    def _called(self, call: str, part: _Part, *, within: bool, depth: int) -> list[Asked]:
        if call not in _ASKS and call != _HAS:
            self._skip("(")
            return []
        if call == _HAS and within:
            raise TooDeep(self._selector)
        begin = self._at
        found = self.listed(within=within or call == _HAS, depth=depth + 1)
        inner = (one["call"] for one in self._pieces[begin : self._at])
        part.has = part.has or call == _HAS or any((one or "").lower() == _HAS for one in inner)
        if not self._take(")"):
            raise TooDeep(self._selector)
        return found

    def _joint(self) -> str | None:
        piece = self._piece()
        if piece is None or piece["joint"] is None:
            return None
        self._at += 1
        return piece["joint"].strip() or " "

    def _piece(self) -> re.Match[str] | None:
        return self._pieces[self._at] if self.is_behind else None

    def _take(self, sign: str) -> bool:
        piece = self._piece()
        found = piece is not None and piece["sign"] == sign
        self._at += found
        return found

    def _skip(self, opens: str) -> None:
        """Go on behind the bracket that closes the one before this place."""
        closes, depth = {"[": "]", "(": ")"}[opens], 1
        while depth:
            piece = self._piece()
            if piece is None:
                raise TooDeep(self._selector)
            self._at += 1
            opened = piece["sign"] == opens or (opens == "(" and piece["call"] is not None)
            depth += opened - (piece["sign"] == closes)


def _again(parts: list[_Part]) -> list[Asked]:
    wanted, last = parts[-1].simple or ANY, len(parts) - 1
    return [
        Asked(part.simple or ANY, wanted, last - at - 1, parts[at + 1].joint in {"+", "~"})
        for at, part in enumerate(parts[:-1])
        if part.has
    ]
