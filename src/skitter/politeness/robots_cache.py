"""Keeps each origin's robots.txt for a day and asks for it once, however many callers wait.

An origin is ``scheme://host`` with the port where it is not the scheme's own: RFC 9309 §2.3
gives each its own file.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from skitter.clock import Clock
from skitter.errors import FetchError
from skitter.politeness.robots import RobotsRules, product_token
from skitter.politeness.robots_entry import NO_RULES, AgentRobots
from skitter.politeness.robots_reply import Access, FetchRobots, RobotsReply

_SKEW_MS = 5 * 60 * 1000
"""Stored times further ahead than this come from a wrong clock."""

_MAX_ERROR = 300

Lead = Callable[[str], Awaitable[AgentRobots]]
"""How the first of several callers comes by the answer of an origin, for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsOptions:
    """How long answers are kept, and how many."""

    ttl_s: float = 24 * 3600.0
    """Life of an answer; RFC 9309 §2.4 allows a day."""
    unavailable_first_s: float = 60.0
    """How long a site is left alone after its robots.txt could not be read; then it doubles."""
    unavailable_s: float = 3600.0
    """Where the doubling ends."""
    stale_s: float = 7 * 24 * 3600.0
    """Age to which rules stay in force while their site cannot be asked again."""
    max_origins: int = 20_000
    max_rules: int = 250_000
    """Bound over all origins, so that a few huge files cannot fill the memory."""


class _Flight:
    """One request under way, and the callers waiting for what it brings."""

    __slots__ = ("entry", "landed")

    def __init__(self) -> None:
        self.landed = asyncio.Event()
        self.entry: AgentRobots | None = None


class RobotsCache:
    """The robots.txt answers of many origins for one agent. For one event loop."""

    def __init__(
        self, fetch: FetchRobots, agent: str, clock: Clock, options: RobotsOptions | None = None
    ) -> None:
        self._fetch = fetch
        self.token = product_token(agent)
        """The name by which robots.txt files speak of the agent."""
        self._clock = clock
        self._options = options or RobotsOptions()
        self._entries: OrderedDict[str, AgentRobots] = OrderedDict()
        self._cost = 0
        self._flights: dict[str, _Flight] = {}
        self.evicted = 0
        """Entries pushed out by newer ones since the start."""

    def __len__(self) -> int:
        return len(self._entries)

    def peek(self, origin: str) -> AgentRobots | None:
        """Return the live answer of ``origin``, or None when it must be asked with ``get``."""
        entry = self._entries.get(origin)
        if entry is None or self._clock.now_ms() >= entry.expires_at_ms:
            return None
        self._entries.move_to_end(origin)
        return entry

    async def get(self, origin: str, lead: Lead | None = None) -> AgentRobots:
        """Return the answer of ``origin``, asking for it when none is live.

        ``lead`` may find it elsewhere, or ask with ``request`` when it is this process's turn.
        """
        while True:
            entry = self.peek(origin)
            if entry is not None:
                return entry
            flight = self._flights.get(origin)
            if flight is None:
                return await self._lead(origin, lead or self.request)
            await flight.landed.wait()
            # No entry means that the caller who asked was cancelled: someone else asks.
            if flight.entry is not None:
                return flight.entry

    def export(self, origin: str) -> bytes | None:
        """Return the entry of ``origin`` for the store, or None when there is none."""
        entry = self._entries.get(origin)
        return None if entry is None else entry.encode(self.token)

    def load(self, origin: str, data: bytes) -> bool:
        """Take an exported entry; False when it is damaged, of another agent or not newer."""
        entry = AgentRobots.decode(data, self.token)
        if entry is None or entry.fetched_at_ms > self._clock.now_ms() + _SKEW_MS:
            return False
        held = self._entries.get(origin)
        if held is not None and held.fetched_at_ms >= entry.fetched_at_ms:
            return False
        self._keep(origin, entry)
        return True

    async def request(self, origin: str, fetch: FetchRobots | None = None) -> AgentRobots:
        """Ask the site itself, whatever is known; callers of ``get`` do not wait for it."""
        reply = await self._ask(origin, fetch or self._fetch)
        entry = self._read(reply, self._entries.get(origin))
        self._keep(origin, entry)
        return entry

    async def _lead(self, origin: str, lead: Lead) -> AgentRobots:
        flight = self._flights[origin] = _Flight()
        try:
            flight.entry = await lead(origin)
            return flight.entry
        finally:
            del self._flights[origin]
            flight.landed.set()

    async def _ask(self, origin: str, fetch: FetchRobots) -> RobotsReply:
        try:
            return await fetch(f"{origin}/robots.txt")
        except FetchError as fault:
            return RobotsReply.unreachable(fault.why)

    def _read(self, reply: RobotsReply, old: AgentRobots | None) -> AgentRobots:
        now = self._clock.now_ms()
        access = reply.access
        if access is Access.CLOSED:
            return self._closed(reply, old, now)
        rules = NO_RULES
        if access is Access.BY_RULES:
            rules = RobotsRules.parse(reply.body).for_agent(self.token)
        return AgentRobots(
            rules=rules,
            status=reply.status,
            fetched_at_ms=now,
            expires_at_ms=now + round(self._options.ttl_s * 1000),
        )

    def _closed(self, reply: RobotsReply, old: AgentRobots | None, now: int) -> AgentRobots:
        options = self._options
        failures = old.failures if old is not None else 0
        hold_s = min(options.unavailable_s, options.unavailable_first_s * 2 ** min(failures, 30))
        until = now + round(hold_s * 1000)
        # RFC 9309 §2.4: rules may outlive their day while the file is unreachable.
        if (
            old is not None
            and not old.unavailable
            and now - old.fetched_at_ms < options.stale_s * 1000
        ):
            return replace(old, expires_at_ms=until, failures=failures + 1)
        return AgentRobots(
            rules=NO_RULES,
            status=reply.status,
            fetched_at_ms=now,
            expires_at_ms=until,
            unavailable=True,
            failures=failures + 1,
            error=_printable(reply.error),
        )

    def _keep(self, origin: str, entry: AgentRobots) -> None:
        old = self._entries.pop(origin, None)
        self._cost += entry.cost - (old.cost if old is not None else 0)
        self._entries[origin] = entry
        options = self._options
        while len(self._entries) > 1 and (
            len(self._entries) > options.max_origins or self._cost > options.max_rules
        ):
            _, dropped = self._entries.popitem(last=False)
            self._cost -= dropped.cost
            self.evicted += 1


def _printable(error: str) -> str:
    """Cut a message short and drop what cannot be stored as text."""
    return error[:_MAX_ERROR].encode("utf-8", "replace").decode()
