"""All rules of a job for one page: fields, the items of a list and where they lead."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from turbohtml import Document, Element, Node

from skitter.job.rules import FieldRule, ListRules, Place
from skitter.parse.rules.cost import TooSlow
from skitter.parse.rules.field import (
    TOO_SLOW,
    Field,
    Finder,
    Found,
    Sight,
    Value,
    compiled,
    finder,
    read_all,
)
from skitter.url.parse import Base

BUDGET_S: Final = 0.5
"""CPU seconds the rules may take on one page before the rest of them is left out."""
LONGEST_S: Final = 2.0
"""The same before the items of a list that are left are not looked at at all."""
MOST_ITEMS: Final = 5_000
"""Items of one list page."""


@dataclass(slots=True)
class Picked:
    """What the fields of a rule set were on one page."""

    fields: dict[str, Value] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Required fields that are empty."""
    problems: list[str] = field(default_factory=list)
    """What was there and could not be used."""


@dataclass(slots=True)
class Item:
    """One item of a list."""

    picked: Picked
    url: str | None = None
    """Of its own page, absolute."""


@dataclass(slots=True)
class Listed:
    """What a list page holds."""

    items: list[Item] = field(default_factory=list)
    next_urls: list[str] = field(default_factory=list)
    unread: int = 0
    """Items there was no time for, or no room."""
    problems: list[str] = field(default_factory=list)


def make_sight(document: Document, base: Base, *, now: float, budget_s: float = BUDGET_S) -> Sight:
    """Return what the fields of a page go by; ``base`` is what its links are relative to."""
    # Of this thread: a machine that is busy with other things makes no rule slow.
    began = time.thread_time()
    text: list[str | None] = []

    def article() -> str | None:
        if not text:
            from skitter.parse.article.extract import extract_article  # noqa: PLC0415  takes long

            text.append(extract_article(document, base.url, now=now).text)
        return text[0]

    return Sight(base.join, article, now, lambda: time.thread_time() - began, budget_s)


class Fields:
    """The fields of one rule set, compiled once for a job."""

    def __init__(self, rules: Mapping[str, FieldRule]) -> None:
        self._fields = compiled(rules)
        self._placed = [name for name, rule in rules.items() if not rule.article]
        """Those that say where they are: some text is on every page."""
        self.requires = any(rule.required for rule in rules.values())
        """Whether it says what makes a record of a page."""

    def __bool__(self) -> bool:
        return bool(self._fields)

    def read(self, node: Node, sight: Sight) -> Picked:
        """Return the fields of a page, or of an item of a list."""
        before = len(sight.problems)
        row = read_all(self._fields, node, sight)
        missing = [one.name for one in self._fields if one.rule.required and _is_empty(row, one)]
        return Picked(row, missing, sight.problems[before:])

    def has_few(self, found: Collection[str]) -> bool:
        """Tell whether a page had so few of the fields that it may be of another kind."""
        own, wanted = sum(name in found for name in self._placed), len(self._placed)
        return not found or (own < wanted and (own <= 1 or 2 * own < wanted))


class ListPage:
    """The rules for list pages, compiled once for a job."""

    def __init__(self, rules: ListRules) -> None:
        self._items = finder(rules.from_)
        self._detail = _finder(rules.detail_url)
        self._next = _finder(rules.next)
        self._fields = Fields(rules.fields)

    def read(self, document: Document, sight: Sight) -> Listed:
        """Return the items of a list page, and where the list goes on."""
        found = Listed()
        items = _found(self._items, document, "from", sight)
        nodes = [node for node in items if isinstance(node, Element)]
        for node in nodes[:MOST_ITEMS]:
            if sight.spent() > LONGEST_S:
                break
            found.items.append(self._item(node, sight))
        found.unread = len(nodes) - len(found.items)
        if found.unread:
            sight.problems.append(f"from: {found.unread} of {len(nodes)} items were not read")
        if self._next is not None:
            found.next_urls = _links(_found(self._next, document, "next", sight), sight)
        found.problems = sight.problems
        return found

    def _item(self, node: Element, sight: Sight) -> Item:
        links = []
        if self._detail is not None:
            links = _links(_found(self._detail, node, "detail_url", sight), sight)
        return Item(self._fields.read(node, sight), links[0] if links else None)


def _finder(place: Place | None) -> Finder | None:
    return None if place is None else finder(place)


def _found(find: Finder, node: Node, name: str, sight: Sight) -> Found:
    """Return what a place of a list has; nothing, and a problem, where that would take long."""
    try:
        return find(node)
    except TooSlow:
        sight.problems.append(f"{name}: {TOO_SLOW}")
        return []


def _links(found: Sequence[Node | str], sight: Sight) -> list[str]:
    """Return what was found as absolute links, each once."""
    links: dict[str, None] = {}
    for one in found:
        href = one if isinstance(one, str) else _href(one)
        link = sight.join(href.strip()) if href.strip() else None
        if link is not None:
            links[link] = None
    return list(links)


def _href(node: Node) -> str:
    return str(node.attrs.get("href") or "") if isinstance(node, Element) else ""


def _is_empty(row: Mapping[str, Value], one: Field) -> bool:
    return row[one.name] in (None, [], "")
