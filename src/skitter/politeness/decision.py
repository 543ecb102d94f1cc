"""Why a URL is or is not fetched, as a value that can be stored, counted and shown."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self


class Code(StrEnum):
    """The closed set of reasons, in the words used for counters and records."""

    ALLOWED = "allowed"
    ROBOTS = "robots"
    ROBOTS_UNAVAILABLE = "robots_unavailable"
    NOFOLLOW = "nofollow"
    SCOPE = "scope"
    INCLUDE = "include"
    EXCLUDE = "exclude"
    RULE = "rule"
    """No link rule of the job fits, or one that says not to follow."""
    DEPTH = "depth"
    SCHEME = "scheme"
    LENGTH = "length"
    SUFFIX = "suffix"
    TYPE = "type"
    ADDRESS = "address"
    DEAD_HOST = "dead_host"
    THROTTLED = "throttled"
    TRAP = "trap"
    BLACKLIST = "blacklist"
    CROWD = "crowd"
    """Beyond the number of links of one page, or of sitemaps of one site, that are taken."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One answer to "why was this URL not fetched?"."""

    allowed: bool
    code: Code
    sentence: str
    """For a person: names the rule and what it was compared with."""
    retry_at_ms: int | None = None
    """When asking again makes sense; None when the answer is final."""

    @classmethod
    def refuse(cls, code: Code, sentence: str, *, retry_at_ms: int | None = None) -> Self:
        """Make a refusal."""
        return cls(allowed=False, code=code, sentence=sentence, retry_at_ms=retry_at_ms)


ALLOWED = Decision(allowed=True, code=Code.ALLOWED, sentence="nothing forbids it")
"""The one answer most URLs get, shared."""
