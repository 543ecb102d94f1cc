"""How many nodes an XPath expression would visit on a page, without evaluating it.

What multiplies are paths in conditions: they are walked once for each node they are asked of. A
path from the root then visits the whole page each time, one to what is below visits each node as
often as it is deep, and one to brothers and sisters as often as it has such.
"""

from collections import Counter
from functools import cached_property
from typing import NamedTuple

from turbohtml import Node, XPath

from skitter.parse.rules.steps import Path, Step

_ALL = XPath("count(//node()) + count(//@*)")
_ANCESTOR = 0.3
"""Ancestors are compared with those found before, which is quicker than to visit a node."""
_BELOW = 0.2
"""What is below is visited in one go, and less often than by the power of the depth."""
_WHOLE = ("following", "preceding")
_NEAR = ("parent", "following-sibling", "preceding-sibling")
_UP = ("ancestor", "ancestor-or-self")
_FORTH = ("following", "preceding", "following-sibling", "preceding-sibling")
_DOWN = ("descendant", "descendant-or-self")


class Page:
    """What is counted on a page, each thing once and when it is first wanted."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self._named: dict[str, float] = {}
        self._families: dict[str, Counter[int]] = {}

    @cached_property
    def nodes(self) -> float:
        """All nodes and attributes."""
        return max(1.0, _number(_ALL, self.root))

    def named(self, test: str) -> float:
        """How many nodes fit the test of a step."""
        if test not in self._named:
            try:
                self._named[test] = _number(XPath(f"count(//{test})"), self.root)
            except (ValueError, TypeError):
                self._named[test] = self.nodes
        return self._named[test]

    @cached_property
    def depths(self) -> dict[int, int]:
        """How many nodes there are at each depth."""
        depths: dict[int, int] = {}
        level: list[Node] = [self.root]
        while level:
            depths[len(depths)] = len(level)
            level = [child for node in level for child in node.children]
        return depths

    def families(self, place: str) -> dict[int, int]:
        """How many nodes of a place have a parent with so many children, by that number."""
        if place not in self._families:
            parents = Counter(one.parent for one in self._at(place))
            found = self._families[place] = Counter({1: 1})
            for parent, many in parents.items():
                found[1 if parent is None else len(parent.children)] += many
        return self._families[place]

    def _at(self, place: str) -> list[Node]:
        try:
            found = XPath(f"//{place}")(self.root)
        except (ValueError, TypeError):
            found = XPath("//node()")(self.root)
        return [one for one in found if isinstance(one, Node)] if isinstance(found, list) else []


class _Flow(NamedTuple):
    """The nodes that a path has come to, over all the times it is walked."""

    nodes: float
    often: float
    """How often one node is among them."""
    down: int = 0
    """How many times the path has gone down, and to relatives, since it was at the root."""
    near: int = 0
    place: str = "node()"
    """What nodes these are, as a step says it."""


def visits(paths: tuple[Path, ...], page: Page) -> float:
    """Return how many nodes the paths of an expression would visit, begun once."""
    return sum(_walk(path, _Flow(1.0, 1.0), page)[0] for path in paths)


def _walk(path: Path, start: _Flow, page: Page) -> tuple[float, _Flow]:
    """Return what a path visits, and where it ends, begun once at each node of ``start``."""
    seen, flow = 0.0, start
    if path.call is not None:
        seen, flow = _called(path, start, page)
    elif path.absolute:
        flow = _Flow(start.nodes, start.nodes)
        # The text of the root is that of the page.
        seen = 0.0 if path.steps else start.nodes * page.nodes
    seen += _asked(path.conditions, flow, page)
    for number, step in enumerate(path.steps):
        from_root = path.absolute and number == 0
        more, flow = _stepped(step, flow, start.nodes, page, from_root=from_root)
        seen += more + _asked(step.conditions, flow, page)
    return seen, flow


def _called(path: Path, start: _Flow, page: Page) -> tuple[float, _Flow]:
    walked = [_walk(one, start, page) for one in path.inner]
    seen = sum(one for one, _ in walked)
    if path.call == "id":
        return seen + start.nodes * page.nodes, _Flow(start.nodes, start.nodes)
    ends = [flow for _, flow in walked]
    nodes = sum(flow.nodes for flow in ends) or start.nodes
    often = max((flow.often for flow in ends), default=start.often)
    down = max((flow.down for flow in ends), default=start.down)
    near = max((flow.near for flow in ends), default=start.near)
    return seen, _Flow(nodes, often, down, near)


def _asked(conditions: tuple[Path, ...], flow: _Flow, page: Page) -> float:
    return sum(_walk(path, flow, page)[0] for path in conditions)


def _stepped(
    step: Step, flow: _Flow, walks: float, page: Page, *, from_root: bool
) -> tuple[float, _Flow]:
    """Return what one step visits, and where it leads; ``walks`` is how often the path begins."""
    every = page.nodes
    if step.axis == "self" or (step.first and step.axis in _FORTH):
        often = flow.often if step.axis == "self" else walks
        seen, reached = flow.nodes, flow._replace(often=often)
    elif step.axis in _WHOLE or (from_root and step.axis in _DOWN):
        seen = flow.nodes * every
        reached = _Flow(seen, walks)
    elif step.axis in _DOWN:
        often = flow.often * _again(page.depths, flow.down)
        below = min(flow.nodes * every, every * often)
        seen = below * _BELOW
        reached = flow._replace(nodes=below, often=often, down=flow.down + 1)
    elif step.axis in _UP:
        seen, reached = _up(flow, walks, page)
    elif step.axis in _NEAR:
        seen, reached = _near(step, flow, page)
    else:
        seen = _below(step, flow, page)
        reached = flow._replace(nodes=seen)
    # Within one walk each node is found once.
    often = min(reached.often, walks)
    place = _place(step, flow)
    nodes = min(reached.nodes, often * page.named(place))
    return seen, reached._replace(nodes=nodes, often=often, place=place)


def _place(step: Step, flow: _Flow) -> str:
    if step.axis == "parent":
        return f"{flow.place}/.."
    return flow.place if step.axis == "self" and step.test == "node()" else step.test


def _up(flow: _Flow, walks: float, page: Page) -> tuple[float, _Flow]:
    deepest = len(page.depths)
    compared = min(flow.nodes * deepest**2, page.nodes * flow.often * _mean(page.depths, 2))
    return compared * _ANCESTOR, _Flow(flow.nodes * deepest, walks)


def _near(step: Step, flow: _Flow, page: Page) -> tuple[float, _Flow]:
    families = page.families(flow.place)
    again = _again(families, flow.near)
    nodes = flow.nodes
    if step.axis != "parent":
        nodes = min(nodes * max(families), page.named(flow.place) * flow.often * again)
    return nodes, flow._replace(nodes=nodes, often=flow.often * again, near=flow.near + 1)


def _below(step: Step, flow: _Flow, page: Page) -> float:
    """Return how many children or attributes there are."""
    if step.axis == "attribute" and step.test.startswith("@") and "*" not in step.test:
        return flow.nodes
    return min(flow.nodes * page.nodes, page.nodes * flow.often)


def _again(numbers: dict[int, int], times: int) -> float:
    """Return by how much the mean of a power grows with the next power."""
    return _mean(numbers, times + 1) / _mean(numbers, times)


def _mean(numbers: dict[int, int], power: int) -> float:
    total = sum(numbers.values())
    return max(1.0, sum(float(n) ** power * many for n, many in numbers.items()) / total)


def _number(counting: XPath, node: Node) -> float:
    found = counting(node)
    return found if isinstance(found, float) else 0.0
