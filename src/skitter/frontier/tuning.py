"""How what an operator says of hosts reaches their gates.

A gate holds a delay, how many requests may be under way, when its host was asked last and when it
may be asked next. When the delay changes, the rest that the old one made changes with it; what the
site asks for itself and a back-off stay as they are.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from skitter.frontier.base import Frontier, FrontierReader
from skitter.types import HostKey

DRAIN_MS = 10_000
"""How long the URLs of a host of which nothing is asked are handed out without its gate; whoever
ends one of them unasked prolongs it."""


class HostRule(NamedTuple):
    """How one host is to be asked; None leaves it to its jobs."""

    delay_ms: int | None = None
    per_host: int | None = None
    drains: bool = False
    """Nothing is asked of it any more: its URLs are handed out only to be ended."""


NO_RULE = HostRule()


class Rules(Protocol):
    """What an operator wants of hosts, at any moment."""

    def __bool__(self) -> bool:
        """Tell whether there is a rule for any host at all."""

    def __call__(self, host: HostKey) -> HostRule:
        """Return the rule of a host."""


class NoRules:
    """Leaves every host to its jobs."""

    def __bool__(self) -> bool:
        return False

    def __call__(self, host: HostKey) -> HostRule:
        """Return the rule that says nothing."""
        del host
        return NO_RULE


async def _stay() -> None:
    """Leave rules as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """A change of rules for some hosts."""

    covers: Callable[[HostKey], bool]
    rule: Callable[[HostKey], HostRule]
    delays: bool = False
    """Whether it concerns delays."""
    per_hosts: bool = False
    """Whether it concerns how many requests may be under way."""
    drains: bool = False
    """Whether it concerns hosts of which nothing is asked."""
    glob: str = "*"
    """Every host it covers is like this, as Redis compares texts."""
    host: HostKey | None = None
    """A host it surely covers: the only one, or the most important."""
    refresh: Callable[[], Awaitable[object]] = _stay
    """Called before some hosts are changed: their rules may not be what they were at the start."""


class Tunable(Protocol):
    """A store whose gates can be changed in the process that has it open."""

    rules: Rules
    """Asked for hosts that are met for the first time, and when their job changes."""

    async def tune(self, tuning: Tuning) -> int:
        """Change the gates of known hosts; answers how many hosts it concerned."""


class OpenStore(Frontier, FrontierReader, Tunable, Protocol):
    """A store that this process has open itself, as no child of a master has."""
