"""robots.txt by RFC 9309, read as Google's reference matcher reads it.

Groups that name an agent are merged; without one the ``*`` groups apply. In a group the longest
matching pattern decides, and Allow wins a tie. Only Allow and Disallow lines close a group's
list of agents: a Sitemap or an unknown line between two User-agent lines does not.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from skitter.politeness.robots_lines import Field, Line, read_lines
from skitter.politeness.robots_pattern import Rule, RuleTable, escape, path_of, spellings

_ROBOTS_PATH = "/robots.txt"
_LONE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(rb"[A-Za-z_-]*")
_HEADER_MARKS = re.compile(r"[/(]")
_FIRST_PRODUCT = re.compile(r"[^\s/(]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsDecision:
    """Whether robots.txt lets an agent fetch a URL, and which line says so."""

    allowed: bool
    rule: str = ""
    """The deciding line; empty when no rule matches."""
    line: int = 0
    """Its number in the file, counted from 1; 0 when no rule matches."""
    group: str = ""
    """The agent named by the group that applies, ``*``, or empty when no group does."""


def product_token(agent: str) -> str:
    """Return the part of a User-Agent header that robots.txt groups are named after.

    A name without version or comment is taken whole: "Foo Bar" is no product token and is
    obeyed under ``*``, whereas "Foo Bar/1.0" is a header whose first product is "Foo".
    """
    name = agent.strip()
    if _HEADER_MARKS.search(name) is None:
        return name
    found = _FIRST_PRODUCT.match(name)
    return found[0] if found is not None else ""


class AgentRules:
    """The part of a robots.txt file that applies to one agent, compiled for many questions."""

    __slots__ = (
        "_allow",
        "_disallow",
        "_free",
        "_made",
        "crawl_delay",
        "group",
        "rules",
        "sitemaps",
    )

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        group: str = "",
        crawl_delay: float | None = None,
        sitemaps: tuple[str, ...] = (),
    ) -> None:
        self.rules = tuple(rules)
        self.group = group
        self.crawl_delay = crawl_delay
        self.sitemaps = sitemaps
        self._free = RobotsDecision(allowed=True, group=group)
        self._made: dict[int, RobotsDecision] = {}
        self._allow = RuleTable(_allow_patterns(rules), wide=False)
        self._disallow = RuleTable(((r.pattern, r) for r in rules if not r.allow), wide=True)

    def decide(self, path_and_query: str) -> RobotsDecision:
        """Decide about a path with its query, as ``path_of`` returns it."""
        wide, narrow = spellings(path_and_query)
        allow = self._allow.best(narrow) if self._allow else None
        disallow = self._disallow.best(wide)
        if disallow is None:
            return self._free if allow is None else self._decision(allow[1])
        if allow is not None and allow[0] >= disallow[0]:
            return self._decision(allow[1])
        # RFC 9309 §2.2.2: the file that holds the rules is never subject to them.
        return self._free if path_and_query == _ROBOTS_PATH else self._decision(disallow[1])

    def _decision(self, rule: Rule) -> RobotsDecision:
        made = self._made.get(rule.line)
        if made is None:
            made = RobotsDecision(
                allowed=rule.allow, rule=str(rule), line=rule.line, group=self.group
            )
            self._made[rule.line] = made
        return made


def _allow_patterns(rules: Sequence[Rule]) -> Iterator[tuple[str, Rule]]:
    """Yield the Allow patterns; one for a directory's index page allows the directory too."""
    for rule in rules:
        if rule.allow:
            yield rule.pattern, rule
            directory, slash, page = rule.pattern.rpartition("/")
            if slash and page.startswith("index.htm"):
                yield f"{directory}/$", rule


@dataclass(frozen=True, slots=True)
class RobotsRules:
    """One robots.txt file, for any agent."""

    lines: tuple[Line, ...]
    sitemaps: tuple[str, ...]
    """What the Sitemap lines name, in order, each once; not checked and not resolved."""

    @classmethod
    def parse(cls, body: bytes | str) -> Self:
        """Read a file; nothing in it is an error, what is not understood is left out."""
        # Half a surrogate pair is no character: it must not turn into a rule some URL can match.
        raw = _LONE.sub("\ufffd", body).encode() if isinstance(body, str) else body
        lines = tuple(read_lines(raw))
        named = (line.value for line in lines if line.field is Field.SITEMAP and line.value)
        return cls(lines, tuple(dict.fromkeys(v.decode("utf-8", "replace") for v in named)))

    def for_agent(self, agent: str) -> AgentRules:
        """Compile the rules for ``agent``, a product token or a whole User-Agent header."""
        chosen = _Selection(product_token(agent))
        for line in self.lines:
            chosen.read(line)
        return chosen.compile(self.sitemaps)

    def decide(self, agent: str, url: str) -> RobotsDecision:
        """Decide about one URL; for many questions keep what ``for_agent`` returns."""
        return self.for_agent(agent).decide(path_of(url))

    def crawl_delay(self, agent: str) -> float | None:
        """Return the seconds ``agent`` is asked to leave between requests, if it is asked."""
        return self.for_agent(agent).crawl_delay


class _Group:
    """What was gathered for one of the two kinds of group: the agent's own, or ``*``."""

    __slots__ = ("delay", "open", "open_for_delay", "rules", "seen")

    def __init__(self) -> None:
        self.rules: list[Rule] = []
        self.delay: float | None = None
        self.seen = False
        self.open = False
        self.open_for_delay = False


class _Selection:
    """Walks the lines of a file and keeps what concerns one agent."""

    def __init__(self, token: str) -> None:
        self._token = token.lower().encode("utf-8", "surrogatepass")
        self._name = token
        self._own = _Group()
        self._any = _Group()
        self._rules_follow = False
        self._delay_follows = False

    def read(self, line: Line) -> None:
        match line.field:
            case Field.AGENT:
                self._agent(line.value)
            case Field.DELAY:
                self._delay(line.value)
            case Field.ALLOW | Field.DISALLOW:
                self._rule(line)

    def compile(self, sitemaps: tuple[str, ...]) -> AgentRules:
        group = self._own if self._own.seen else self._any
        name = self._name if self._own.seen else "*"
        return AgentRules(
            group.rules,
            group=name if group.seen else "",
            crawl_delay=group.delay,
            sitemaps=sitemaps,
        )

    def _agent(self, value: bytes) -> None:
        if self._rules_follow:
            self._own.open = self._any.open = False
        # Crawl-delay is no rule and closes no group, but people write one per agent: a delay
        # must not spread to the agents named before the last one.
        if self._rules_follow or self._delay_follows:
            self._own.open_for_delay = self._any.open_for_delay = False
        self._rules_follow = self._delay_follows = False
        if value.split(maxsplit=1)[:1] == [b"*"]:
            group = self._any
        elif self._is_own(value):
            group = self._own
        else:
            return
        group.seen = group.open = group.open_for_delay = True

    def _is_own(self, value: bytes) -> bool:
        """Tell whether a User-agent value means us.

        RFC 9309 §2.2.1: a product token has letters, "_" and "-" only, and what follows it in
        the value does not count. A token of ours with other characters is still ours when the
        file spells it out.
        """
        if not self._token:
            return False
        found = _TOKEN.match(value)
        if found is not None and found[0].lower() == self._token:
            return True
        word = value.split(maxsplit=1)[:1]
        return bool(word) and word[0].partition(b"/")[0].lower() == self._token

    def _delay(self, value: bytes) -> None:
        self._delay_follows = True
        delay = _seconds(value)
        if delay is None:
            return
        for group in (self._own, self._any):
            if group.open_for_delay:
                group.delay = delay if group.delay is None else max(group.delay, delay)

    def _rule(self, line: Line) -> None:
        self._rules_follow = True
        if not line.value:
            return
        rule = Rule(line.field is Field.ALLOW, escape(line.value), line.number)
        # A group for both us and "*" is ours alone; "*" counts only where we are not named.
        for group in (self._own, self._any):
            if group.open:
                group.rules.append(rule)


_SECONDS = re.compile(rb"\d{1,9}(?:\.\d*)?|\.\d+")


def _seconds(value: bytes) -> float | None:
    return float(value) if _SECONDS.fullmatch(value) else None
