"""What is known of one origin's robots.txt, and its form in the store.

Only the rules for one agent are kept, compiled, not the file: most files are written for a
hundred other crawlers.
"""

from dataclasses import dataclass
from typing import Self

import msgspec

from skitter.politeness.decision import ALLOWED, Code, Decision
from skitter.politeness.robots import AgentRules, RobotsDecision
from skitter.politeness.robots_pattern import Rule, path_of
from skitter.politeness.sealed import seal, unseal

DAY_MS = 86_400_000
_VERSION = 1
_CLOSED = RobotsDecision(allowed=False)
_OPEN = RobotsDecision(allowed=True)
NO_RULES = AgentRules()
"""Shared by every origin without rules."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRobots:
    """The answer of one origin, for one agent, until ``expires_at_ms``."""

    rules: AgentRules
    status: int | None
    fetched_at_ms: int
    expires_at_ms: int
    """Until then the answer is used; a refused URL of an unavailable site may retry then."""
    unavailable: bool = False
    """The site could not be asked: everything is refused for a while, nothing for ever."""
    failures: int = 0
    """Times in a row the site could not be asked."""
    error: str = ""

    @property
    def crawl_delay(self) -> float | None:
        """Seconds the site asks to leave between requests, as written, not capped."""
        return self.rules.crawl_delay

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """What the Sitemap lines name."""
        return self.rules.sitemaps

    def decide(self, url: str) -> RobotsDecision:
        """Decide about a URL of this origin."""
        path = path_of(url)
        if self.unavailable:
            return _OPEN if path == "/robots.txt" else _CLOSED
        return self.rules.decide(path)

    def judge(self, url: str) -> Decision:
        """Decide about a URL of this origin, in words."""
        found = self.decide(url)
        if found.allowed:
            return ALLOWED
        if self.unavailable:
            why = self.error or f"status {self.status}"
            return Decision.refuse(
                Code.ROBOTS_UNAVAILABLE,
                f"robots.txt could not be read ({why}); the site is left alone for a while",
                retry_at_ms=self.expires_at_ms,
            )
        return Decision.refuse(
            Code.ROBOTS,
            f'robots.txt line {found.line} forbids it to "{found.group}": {found.rule}',
        )

    @property
    def cost(self) -> int:
        """Rules and sitemaps held, plus one: what the entry weighs in memory."""
        return 1 + len(self.rules.rules) + len(self.rules.sitemaps)

    def encode(self, token: str) -> bytes:
        """Return the form for the store; ``token`` says whose rules these are."""
        rules = self.rules
        return seal(
            _VERSION,
            _ENCODER.encode(
                _Stored(
                    token=token,
                    rules=[(rule.allow, rule.pattern, rule.line) for rule in rules.rules],
                    group=rules.group,
                    crawl_delay=rules.crawl_delay,
                    sitemaps=rules.sitemaps,
                    status=self.status,
                    fetched_at_ms=self.fetched_at_ms,
                    expires_at_ms=self.expires_at_ms,
                    unavailable=self.unavailable,
                    failures=self.failures,
                    error=self.error,
                )
            ),
        )

    @classmethod
    def decode(cls, data: bytes, token: str) -> Self | None:
        """Read the stored form; None when it is damaged, of another version or agent."""
        payload = unseal(_VERSION, data)
        if payload is None:
            return None
        try:
            stored = _DECODER.decode(payload)
        except msgspec.DecodeError:
            return None
        if stored.token != token:
            return None
        return cls(
            rules=stored.compile(),
            status=stored.status,
            fetched_at_ms=stored.fetched_at_ms,
            expires_at_ms=stored.expires_at_ms,
            unavailable=stored.unavailable,
            failures=stored.failures,
            error=stored.error,
        )


def is_stale(data: bytes, now_ms: int) -> bool:
    """Tell of a stored form whether nobody will use it again: it was good until a day ago."""
    payload = unseal(_VERSION, data)
    try:
        return payload is None or _DECODER.decode(payload).expires_at_ms + DAY_MS < now_ms
    except msgspec.DecodeError:
        return True


class _Stored(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    token: str
    rules: list[tuple[bool, str, int]]
    group: str
    crawl_delay: float | None
    sitemaps: tuple[str, ...]
    status: int | None
    fetched_at_ms: int
    expires_at_ms: int
    unavailable: bool
    failures: int
    error: str

    def compile(self) -> AgentRules:
        if not (self.rules or self.group or self.sitemaps):
            return NO_RULES
        return AgentRules(
            [Rule(*fields) for fields in self.rules],
            group=self.group,
            crawl_delay=self.crawl_delay,
            sitemaps=self.sitemaps,
        )


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(_Stored)
