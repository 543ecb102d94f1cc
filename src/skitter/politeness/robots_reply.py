"""What came of asking a site for its robots.txt; the cache judges it by RFC 9309 §2.3.1."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum
from typing import Self


class Access(Enum):
    """What a reply means for the whole site."""

    BY_RULES = "by rules"
    FREE = "free"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsReply:
    """The last reply after following up to five redirects, as RFC 9309 §2.3.1.2 asks."""

    status: int | None
    """None when no response came: unresolved, unreachable, timed out."""
    body: bytes = b""
    error: str = ""
    """What went wrong, for a person; empty when a response came."""
    redirected: bool = False
    """The body comes from another URL than the one asked for."""

    @classmethod
    def unreachable(cls, error: str) -> Self:
        """Make the reply for a site that did not answer."""
        return cls(status=None, error=error)

    @property
    def access(self) -> Access:
        """What the reply means: rules to read, no rules at all, or a site to leave alone.

        A redirect that was not followed to its end is "unavailable" (§2.3.1.3) like a 4xx. A 429
        is a request to slow down and no statement that there are no rules; it counts with the
        5xx, and so does everything outside the known classes.
        """
        status = self.status
        if status is None or status == 429:
            return Access.CLOSED
        if 200 <= status < 300:
            return Access.BY_RULES
        return Access.FREE if 300 <= status < 500 else Access.CLOSED


FetchRobots = Callable[[str], Awaitable[RobotsReply]]
"""Fetches the robots.txt at the given URL, following up to five redirects."""
