"""One field, compiled: from a node of a page to a value, or to the reason why there is none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import re2
from turbohtml import Element, Node, Text, XPath

from skitter.job.rules import FieldRule, Place
from skitter.job.selectors import split_css
from skitter.parse.clean import clean
from skitter.parse.rules.cost import CssGuard, Guard, TooSlow
from skitter.parse.rules.values import read_number, read_time

MOST_FOUND: Final = 10_000
"""Nodes of one place that are looked at."""

TOO_SLOW: Final = "not read, its expression would take too long on this page"

Found = list[Node | str]
Finder = Callable[[Node], Found]
Value = object
"""What JSON can hold."""


@dataclass(slots=True)
class Sight:
    """What the fields of one page go by beside the node they begin at."""

    join: Callable[[str], str | None]
    """Makes a link absolute; None for one that is none."""
    article: Callable[[], str | None]
    """The text of the article on the page, found when it is first wanted."""
    now: float
    """Seconds since 1970; no date is later."""
    spent: Callable[[], float]
    """How long the rules have taken on this page, in seconds."""
    budget_s: float
    """How long they may take."""
    problems: list[str] = field(default_factory=list)
    """What was there and could not be used, in words."""

    def in_time(self) -> bool:
        """Tell whether there is time left for this page."""
        return self.spent() < self.budget_s


def finder(place: Place | FieldRule) -> Finder:
    """Return what finds the nodes and texts of a place; its expression must be valid."""
    if place.xpath is not None:
        return by_xpath(place.xpath)
    assert place.css is not None
    return _by_css(place.css)


def by_xpath(text: str) -> Finder:
    """Return what finds the nodes of an XPath expression; raises ``TooSlow`` on some pages."""
    expression, guard = XPath(text), Guard(text)

    def find(node: Node) -> Found:
        guard.check(node)
        result = expression(node)
        if isinstance(result, list):
            return result[:MOST_FOUND]
        if isinstance(result, float) and result.is_integer():
            return [str(int(result))]
        return [str(result).lower() if isinstance(result, bool) else str(result)]

    return find


def _by_css(selector: str) -> Finder:
    taken = split_css(selector)
    guard = CssGuard(taken.selector)

    def find(node: Node) -> Found:
        guard.check(node)
        elements = node.select(taken.selector)[:MOST_FOUND]
        if taken.attribute:
            return [text for one in elements if (text := _attribute(one, taken.attribute))]
        if taken.text:
            texts: Found = [
                child.data for one in elements for child in one.children if isinstance(child, Text)
            ]
            return texts
        return list(elements)

    return find


def _attribute(element: Element, name: str) -> str:
    value = element.attrs.get(name)
    return " ".join(value) if isinstance(value, list) else value or ""


class Field:
    """One field of a rule set."""

    __slots__ = ("_find", "_inner", "_make", "_regex", "name", "rule")

    def __init__(self, name: str, rule: FieldRule) -> None:
        self.name = name
        self.rule = rule
        self._find = None if rule.article else finder(rule)
        self._regex = None if rule.regex is None else re2.compile(rule.regex)
        self._make = _maker(rule)
        self._inner = None if rule.fields is None else compiled(rule.fields)

    def read(self, node: Node, sight: Sight) -> Value:
        """Return the value; None, or an empty list, where there is none."""
        if self._find is None:
            found: Found = [sight.article() or ""]
        else:
            try:
                found = self._find(node)
            except TooSlow:
                sight.problems.append(f"{self.name}: {TOO_SLOW}")
                return [] if self.rule.all or self._inner is not None else None
        if self._inner is not None:
            rows = [read_all(self._inner, one, sight) for one in found if isinstance(one, Element)]
            return [row for row in rows if any(value not in (None, []) for value in row.values())]
        return self._together([value for one in found for value in self._values(one, sight)])

    def _values(self, one: Node | str, sight: Sight) -> list[Value]:
        text = clean(one if isinstance(one, str) else one.text)
        if self._regex is not None:
            match = self._regex.search(text if self.rule.article else _collapsed(text))
            if match is None:
                return []
            text = (match[1] if self._regex.groups else match[0]) or ""
        if self.rule.strip:
            text = text.strip() if self.rule.article else _collapsed(text)
        if not text:
            return []
        if self._make is None:
            return [text]
        value = self._make(text, sight)
        if value is None:
            sight.problems.append(f"{self.name}: {text[:80]!r} is no {_kind(self.rule)}")
            return []
        return [value]

    def _together(self, values: list[Value]) -> Value:
        if self.rule.all:
            return values
        if self.rule.join is not None:
            return self.rule.join.join(map(str, values)) or None
        return values[0] if values else None


def compiled(fields: Mapping[str, FieldRule]) -> list[Field]:
    """Return fields ready to be read."""
    return [Field(name, rule) for name, rule in fields.items()]


def read_all(fields: list[Field], node: Node, sight: Sight) -> dict[str, Value]:
    """Return the values of fields by name; when the time is over, of none any more."""
    row: dict[str, Value] = {}
    for one in fields:
        if not sight.in_time():
            sight.problems.append(f"{one.name}: not read, the rules took too long on this page")
            row[one.name] = None
            continue
        row[one.name] = one.read(node, sight)
    return row


def _maker(rule: FieldRule) -> Callable[[str, Sight], Value] | None:
    if rule.number:
        return lambda text, _: read_number(text)
    if rule.absolute:
        return lambda text, sight: sight.join(text)
    if rule.date:
        form = rule.date if isinstance(rule.date, str) else None
        return lambda text, sight: read_time(text, form, sight.now)
    return None


def _kind(rule: FieldRule) -> str:
    if rule.number:
        return "number"
    return "link" if rule.absolute else "date"


def _collapsed(text: str) -> str:
    return " ".join(text.split())
