"""The link rules of a job: which links are followed, and as what. The first that fits counts.

All patterns of all rules are matched in one pass. A rule that is restricted to parts of a page fits
only links that were found there; where a URL comes from elsewhere (a sitemap, a question), that
part of a rule is taken as met.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import re2
from turbohtml import Document, Element, Node, XPath

from skitter.job.rules import LinkRule
from skitter.job.selectors import split_css
from skitter.parse.follow import stripped
from skitter.parse.rules.cost import CssGuard, Guard, TooSlow
from skitter.types import HostKey, PageClass
from skitter.url.host import host_name

_SET_MEMORY_BYTES = 64 * 1024 * 1024
log = logging.getLogger(__name__)
_FRAMES = ("frame", "iframe")
_LINKS = "a[href],area[href],link[href],frame[src],iframe[src]"

_WITHIN = ", taking the link to stand in the parts of a page that the rule is restricted to"

Areas = Sequence[frozenset[str] | None]
"""Of each rule the raw targets in the parts of a page it is restricted to; None for any."""


class Ruling(NamedTuple):
    """What the rules say of one link."""

    number: int | None
    """Of the rule that fits, from 0; None when none does."""
    follow: bool
    page_class: PageClass | None = None
    """None for what the job's kind says."""
    extract: str | None = None
    """What is taken of the page; None for what its class says."""
    priority: int | None = None
    render: bool | None = None
    """Whether the page is read as a browser shows it; None for what the job says."""
    restricted: bool = False
    """Whether the rule is for links in some parts of a page alone."""

    @property
    def sentence(self) -> str:
        """The ruling in words."""
        return self._words("")

    @property
    def sentence_of_url(self) -> str:
        """The ruling on a URL in words, wherever it is linked."""
        return self._words(_WITHIN if self.restricted else "")

    def _words(self, where: str) -> str:
        if self.number is None:
            return "no link rule fits"
        words = f"links[{self.number}] fits{where}"
        if not self.follow:
            return f"{words}, which says not to follow"
        said = {
            "class": self.page_class.name.lower() if self.page_class is not None else None,
            "extract": self.extract,
            "priority": self.priority,
            "render": None if self.render is None else str(self.render).lower(),
        }
        more = [f"{name} {value}" for name, value in said.items() if value is not None]
        return f"{words}: {', '.join(more)}" if more else words


class Carried(msgspec.Struct, omit_defaults=True):
    """What a page is told by the one that links to it."""

    fields: dict[str, Any] = {}
    """Those of the item in a list that it belongs to."""
    required: list[str] = []
    """Those of them that must not be empty."""
    items: str = ""
    """Of the next page of a list: a digest of the items on the page before."""
    rule: str | None = None
    """The rule set that the link rule has named, where that cannot be told by the URL alone; ""
    for what the class of the page says."""
    render: bool | None = None
    """What that rule says of a browser."""


class RuledLink(NamedTuple):
    """A link that rules for fields have taken of a page."""

    url: str
    page_class: PageClass
    data: bytes = b""
    """What goes with it to its own page."""
    deeper: int = 1
    """How much further from the start it is."""


encode_carried = msgspec.json.Encoder().encode
decode_carried = msgspec.json.Decoder(Carried).decode
NO_RULE: Final = Ruling(None, follow=False)


class LinkRules:
    """The rules of one job, compiled."""

    def __init__(self, rules: Sequence[LinkRule]) -> None:
        self._rules = [_Rule(rule, number) for number, rule in enumerate(rules)]
        self._patterns = _Patterns()
        for rule in self._rules:
            rule.allow = self._patterns.add(rule.said.allow)
            rule.deny = self._patterns.add(rule.said.deny)
        self._patterns.compile()
        self.restricted = any(rule.finders for rule in self._rules)
        """Whether it matters where on a page a link is."""
        self.renders = any(rule.said.render for rule in self._rules)
        """Whether some rule asks for a browser."""
        self._told: dict[tuple[str, bool | None], bytes] = {}

    def told(self, ruling: Ruling) -> bytes:
        """Return what a page is told of the rule that led to it; b"" where its URL says it."""
        if not self.restricted:
            return b""
        rule = (ruling.extract or "", ruling.render)
        known = self._told.get(rule)
        if known is None:
            said = Carried(rule=rule[0], render=rule[1])
            known = self._told[rule] = encode_carried(said)
        return known

    def renders_page(self, url: str, host: HostKey, data: bytes) -> bool | None:
        """Return what the rules say of a browser for a page with its data; None for nothing."""
        carried = decode_carried(data) if data else Carried()
        if carried.rule is not None:
            return carried.render
        return self.decide(url, host).render

    def decide(
        self, url: str, host: HostKey, href: str | None = None, areas: Areas | None = None
    ) -> Ruling:
        """Return what the first rule that fits says of a link, written as ``href`` on its page."""
        hits = self._patterns.hits(url)
        name = host_name(host)
        for rule in self._rules:
            if rule.fits(hits, name) and _is_within(rule, href, areas):
                return rule.ruling
        return NO_RULE

    def areas(self, document: Document | None) -> Areas | None:
        """Return where on a page the rules look for links; None where that does not matter."""
        if document is None or not self.restricted:
            return None
        links = document.select(_LINKS)
        return [rule.targets(document, links) for rule in self._rules]


class _Rule:
    """One rule."""

    __slots__ = ("allow", "deny", "finders", "ruling", "said")

    def __init__(self, said: LinkRule, number: int) -> None:
        self.said = said
        self.allow: frozenset[int] = frozenset()
        self.deny: frozenset[int] = frozenset()
        self.finders: list[Callable[[Document], Iterable[Node | str]]] = [
            *(_by_xpath(text) for text in said.restrict_xpaths),
            *(_by_css(text) for text in said.restrict_css),
        ]
        page_class = None if said.class_ is None else PageClass[said.class_.name]
        self.ruling = Ruling(
            number,
            said.follow,
            page_class,
            said.extract,
            said.priority,
            said.render,
            restricted=bool(self.finders),
        )

    def fits(self, hits: frozenset[int], name: str) -> bool:
        said = self.said
        if self.allow and self.allow.isdisjoint(hits):
            return False
        if not self.deny.isdisjoint(hits):
            return False
        if said.allow_domains and not _is_under(name, said.allow_domains):
            return False
        return not _is_under(name, said.deny_domains)

    def targets(self, document: Document, links: Sequence[Element]) -> frozenset[str] | None:
        """Return the targets of ``links``, those of the page, that are in the rule's parts."""
        if not self.finders:
            return None
        found: set[str] = set()
        parts: dict[Node, bool] = {}
        for find in self.finders:
            for node in find(document):
                if isinstance(node, str):
                    found.add(stripped(node))
                else:
                    parts[node] = True
        found.update(_target(link) for link in links if _is_inside(link, parts))
        return frozenset(found)


def _target(link: Element) -> str:
    """Return where a link leads, as the links of a page are written."""
    return stripped(link.attr("src" if link.tag in _FRAMES else "href") or "")


def _is_inside(node: Node, parts: dict[Node, bool]) -> bool:
    """Tell whether a node lies in one of the parts of a page; takes note of what is around it."""
    passed: list[Node] = []
    at: Node | None = node
    while at is not None and at not in parts:
        passed.append(at)
        at = at.parent
    inside = at is not None and parts[at]
    parts.update(dict.fromkeys(passed, inside))
    return inside


def _is_within(rule: _Rule, href: str | None, areas: Areas | None) -> bool:
    if href is None or areas is None:
        return True
    area = areas[rule.ruling.number or 0]
    return area is None or href in area


def _is_under(name: str, domains: Iterable[str]) -> bool:
    return any(name == domain or name.endswith(f".{domain}") for domain in domains)


def _by_xpath(text: str) -> Callable[[Document], Iterable[Node | str]]:
    expression, guard = XPath(text), Guard(text)

    def find(document: Document) -> Iterable[Node | str]:
        try:
            guard.check(document)
        except TooSlow:
            log.warning("restrict_xpaths: %s would take too long on a page", text)
            return ()
        result = expression(document)
        return result if isinstance(result, list) else ()

    return find


def _by_css(selector: str) -> Callable[[Document], Iterable[Node | str]]:
    plain = split_css(selector).selector
    guard = CssGuard(plain)

    def find(document: Document) -> Iterable[Node | str]:
        try:
            guard.check(document)
        except TooSlow:
            log.warning("restrict_css: %s would take too long on a page", selector)
            return ()
        return document.select(plain)

    return find


class _Patterns:
    """The patterns of all rules, matched together."""

    def __init__(self) -> None:
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _SET_MEMORY_BYTES
        self._set = re2.Set.SearchSet(options)
        self._count = 0

    def add(self, patterns: Iterable[str]) -> frozenset[int]:
        numbers = []
        for pattern in patterns:
            self._set.Add(pattern)
            numbers.append(self._count)
            self._count += 1
        return frozenset(numbers)

    def compile(self) -> None:
        self._set.Compile()

    def hits(self, url: str) -> frozenset[int]:
        return frozenset(self._set.Match(url) or ()) if self._count else frozenset()
