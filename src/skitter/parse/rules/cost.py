"""How long an expression would take on a page, judged before it is evaluated: XPath, and CSS.

The engine cannot be interrupted. What takes long there are the axes that look at siblings and at
all that comes before or after, from many elements or backwards: with the third power of their
number. How many they would look at is counted, which is quick. The other thing are paths in
conditions, which are walked anew for each node; how many nodes they would visit is estimated.
"""

import re
from contextlib import suppress
from typing import Final, NamedTuple

from turbohtml import Node, XPath

from skitter.parse.rules.css_has import Asked, TooDeep, asked_again, weigh
from skitter.parse.rules.steps import Path, Unreadable, is_local, paths_of
from skitter.parse.rules.visits import Page, visits

MOST_S: Final = 0.5
"""How long one expression may take."""
_BACK_S: Final = 1.4e-8
"""Seconds for each pair of elements that are looked at backwards from one element, as measured."""
_MERGED_S: Final = 1e-9
"""Seconds for each pair of elements an axis begins at, and each element that both find."""
MOST_VISITS: Final = 1e7
"""Nodes that one expression may visit, each time it is evaluated; a visit takes up to 0.06 us."""

MOST_CSS_VISITS: Final = 5e7
"""Elements that ``:has()`` may visit where it is asked again and again, at 0.006 us each."""

_STRINGS = re.compile(r"\"[^\"]*\"|'[^']*'")
_AXIS = re.compile(r"(preceding|following)(-sibling)?\s*::")
_COUNTED = re.compile(r"[^\[\]()/|]*\[\s*\d+\s*\]")
"""The engine stops at the first ones where a number says how many are wanted."""
_ALL = XPath("count(//*)")


class TooSlow(Exception):
    """An expression would take too long on this page."""


class _Step(NamedTuple):
    """A step that may take long."""

    begins: XPath
    """Counts the elements it begins at."""
    parents: XPath
    siblings: XPath
    back: bool
    near: bool
    """Whether it looks at siblings alone."""
    merged: bool
    """Whether what it finds is put together, not only asked for in a condition."""


class Guard:
    """Judges one expression, page by page."""

    def __init__(self, expression: str) -> None:
        self._steps = [step for step in _steps(expression) if step is not None]
        self._page: Page | None = None
        self._readable = True
        self._paths: tuple[Path, ...] = ()
        try:
            paths = paths_of(expression)
        except Unreadable:
            self._readable = False
        else:
            self._paths = tuple(path for path in paths if _multiplies(path))

    def check(self, node: Node) -> None:
        """Raise ``TooSlow`` where the expression would take too long from ``node``."""
        # First, for the other estimate evaluates the beginning of the expression.
        if not self._readable or self.visits(node) > MOST_VISITS:
            raise TooSlow
        for step in self._steps:
            if _seconds(step, node) > MOST_S:
                raise TooSlow

    def visits(self, node: Node) -> float:
        """Return how many nodes would be visited; 0 where conditions cannot multiply them."""
        if not self._paths:
            return 0.0
        root = _root(node)
        # The rules of a list ask for the same page once an item.
        if self._page is None or self._page.root is not root:
            self._page = Page(root)
        return visits(self._paths, self._page)


class CssGuard:
    """Judges one CSS selector, page by page."""

    def __init__(self, selector: str) -> None:
        self._page: Page | None = None
        self._weights: dict[Asked, float] = {}
        self._asked: tuple[Asked, ...] | None = None
        with suppress(TooDeep):
            self._asked = asked_again(selector)

    def check(self, node: Node) -> None:
        """Raise ``TooSlow`` where the selector would take too long from ``node``."""
        if self._asked is None:
            raise TooSlow
        if self._asked and self.visits(node) > MOST_CSS_VISITS:
            raise TooSlow

    def visits(self, node: Node) -> float:
        """Return how many elements ``:has()`` would visit at most, where it is asked again."""
        root = _root(node)
        if self._page is None or self._page.root is not root:
            self._page, self._weights = Page(root), {}
        page, total = self._page, 0.0
        for asked in self._asked or ():
            # Most pages are too small for it to matter: counting is much quicker than weighing.
            few = page.named("*") ** 2 * len(page.depths) ** asked.between
            if few > MOST_CSS_VISITS:
                if asked not in self._weights:
                    self._weights[asked] = weigh(asked, root)
                few = self._weights[asked]
            total += few
        return total


def _root(node: Node) -> Node:
    while (parent := node.parent) is not None:
        node = parent
    return node


def _multiplies(path: Path) -> bool:
    """Tell whether a path has a condition that may visit a node again and again."""
    if not all(map(is_local, path.conditions)) or any(map(_multiplies, path.inner)):
        return True
    return any(
        one.axis.startswith("ancestor") or not all(map(is_local, one.conditions))
        for one in path.steps
    )


def _seconds(step: _Step, node: Node) -> float:
    begins = _number(step.begins, node)
    if begins == 0:
        return 0.0
    if step.near:
        seen = _number(step.siblings, node) / max(1.0, _number(step.parents, node))
    else:
        seen = _number(_ALL, node)
    back = begins * seen**2 * _BACK_S if step.back else 0.0
    return back + (begins**2 * seen * _MERGED_S if step.merged else 0.0)


def _number(counting: XPath, node: Node) -> float:
    found = counting(node)
    return found if isinstance(found, float) else 0.0


def _steps(expression: str) -> list[_Step | None]:
    bare = _STRINGS.sub(lambda found: "x" * len(found[0]), expression)
    axes = [one for one in _AXIS.finditer(bare) if _COUNTED.match(bare, one.end()) is None]
    return [_step(expression, bare, one) for one in axes]


def _step(expression: str, bare: str, axis: re.Match[str]) -> _Step | None:
    """Return one step; None where it cannot be told where it begins."""
    start, end, merged = 0, axis.start(), True
    for at in range(axis.start()):
        char = bare[at]
        if char == "[" and merged and _is_open(bare, at, axis.start()):
            end, merged = at, False
        elif merged and (char in "|," or (char == "(" and _is_open(bare, at, axis.start()))):
            start = at + 1
    before = expression[start:end].strip()
    before = f"{before}*" if before.endswith("//") else before.rstrip("/") or "."
    try:
        begins, parents, siblings = (
            XPath(f"count(({before}){more})") for more in ("", "/..", "/../*")
        )
    except (ValueError, TypeError):
        return None
    back, near = axis[1] == "preceding", axis[2] is not None
    return _Step(begins, parents, siblings, back=back, near=near, merged=merged)


def _is_open(bare: str, at: int, end: int) -> bool:
    """Tell whether the bracket at a place is not closed before another place."""
    opens = bare[at]
    closes = "]" if opens == "[" else ")"
    depth = 0
    for char in bare[at:end]:
        depth += (char == opens) - (char == closes)
        if depth == 0:
            return False
    return True
