"""Hosts at one address share a gate: so many requests in flight, whoever makes them.

One process alone counts for itself. Where several share a store they hold tokens of it, which end
by themselves: a process takes them when it has requests for an address, uses them for as many
requests as it likes one after the other, and says every two seconds how many it needs. So a page
costs no question to the store as long as there are others for its address.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Final, Protocol

from skitter.clock import Clock
from skitter.crawl.windows import PutOff
from skitter.errors import FrontierError
from skitter.fetch.guard import special_kind
from skitter.frontier.limits import TokenWish

TTL_MS: Final = 6_000
"""After how long others get the tokens of a process that has died."""
SAFE_SHARE: Final = 0.9
RENEW_S: Final = 2.0
IDLE_S: Final = 3.0
"""For how long tokens are kept that nobody uses."""
POLL_S: Final = 0.25
"""How long those who got too few tokens wait before they ask again."""
WAIT_S: Final = 1.0
"""How long a request waits at the gate; then its host has to come again."""
REST_MS: Final = 1_000
ADDRESSES_KEPT: Final = 4_096

log = logging.getLogger(__name__)


class TokenSource(Protocol):
    """The part of a frontier that has tokens."""

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Say how many tokens ``holder`` uses and would like; answers how many it may use."""


class _Address:
    """One address, as this process sees it."""

    __slots__ = ("allowed", "idle_since", "most", "most_by", "renew_at", "until", "used", "waiters")

    def __init__(self) -> None:
        self.used = 0
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.allowed = 0
        """Tokens this process may use, up to ``until`` on the boot clock."""
        self.until = 0.0
        self.renew_at = 0.0
        self.idle_since = 0.0
        self.most = 0
        self.most_by = 0.0
        """The least limit that a job has named of late, and since when."""

    @property
    def wanted(self) -> int:
        return min(self.most, self.used + len(self.waiters))

    def limit(self, most: int, boot: float) -> None:
        """Take note of a job's limit; where jobs differ the smallest counts while it is used."""
        if most <= self.most or not self.most or boot - self.most_by > TTL_MS / 1000:
            self.most, self.most_by = most, boot


class AddressGate:
    """Counts the requests of this process by address."""

    def __init__(self, clock: Clock, frontier: TokenSource | None = None, holder: str = "") -> None:
        self._clock = clock
        self._frontier = frontier
        """Where tokens come from; None where nobody else sends requests."""
        self._holder = holder
        self._rng = random.Random()  # noqa: S311  jitter, not secrets
        self._addresses: dict[str, _Address] = {}
        self._urgent: set[str] = set()
        self._wake = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None

    async def enter(self, address: str, most: int) -> None:
        """Wait until a request may go to ``address``; raises ``PutOff`` when that takes long."""
        boot = self._clock.boot()
        here = self._addresses.get(address)
        if here is None:
            here = self._addresses[address] = _Address()
        here.limit(most, boot)
        if not here.waiters and here.used < self._room(here, boot):
            here.used += 1
            if here.renew_at <= boot:
                self._ask(address)
            return
        if len(here.waiters) >= here.most:
            raise self._put_off()
        place = asyncio.get_running_loop().create_future()
        here.waiters.append(place)
        self._ask(address)
        try:
            async with asyncio.timeout(WAIT_S):
                await place
        except BaseException as fault:
            if place.done() and not place.cancelled():
                # It was let in at the same moment.
                self.leave(address)
            else:
                with suppress(ValueError):
                    here.waiters.remove(place)
            if isinstance(fault, TimeoutError):
                raise self._put_off() from None
            raise

    def leave(self, address: str) -> None:
        """Let the next one in: a request has ended."""
        here = self._addresses[address]
        here.used -= 1
        gives_back = here.used >= here.allowed
        self._admit(here)
        here.idle_since = self._clock.boot()
        if self._frontier is None:
            if not here.used and not here.waiters:
                del self._addresses[address]
        elif gives_back:
            # Others wait for it.
            self._ask(address)

    def _room(self, here: _Address, boot: float) -> int:
        if self._frontier is None:
            return here.most
        return min(here.most, here.allowed) if boot < here.until else 0

    def _admit(self, here: _Address) -> None:
        room = self._room(here, self._clock.boot())
        while here.waiters and here.used < room:
            place = here.waiters.popleft()
            if not place.done():
                here.used += 1
                place.set_result(None)

    def _put_off(self) -> PutOff:
        return PutOff(self._clock.now_ms() + round(REST_MS * self._rng.uniform(0.5, 1.5)))

    # Tokens

    def _ask(self, address: str) -> None:
        """Let the store be asked about an address at once."""
        if self._frontier is None:
            return
        self._urgent.add(address)
        self._wake.set()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._tend(self._frontier))

    async def close(self) -> None:
        """Ask no more; tokens end by themselves."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait([self._asking])

    async def _tend(self, frontier: TokenSource) -> None:
        """Keep tokens as long as there are addresses in use."""
        while self._addresses:
            self._wake.clear()
            boot = self._clock.boot()
            due = self._urgent | self._due(boot)
            self._urgent = set()
            try:
                await self._renew(frontier, [name for name in due if name in self._addresses], boot)
            except FrontierError as error:
                log.warning("requests to shared addresses have to wait: %s", error)
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._wake.wait()

    def _due(self, boot: float) -> set[str]:
        """Return the addresses whose tokens are to be kept, and forget those nobody asks for."""
        due: set[str] = set()
        for name, here in list(self._addresses.items()):
            if here.used or here.waiters:
                if boot >= here.renew_at:
                    due.add(name)
            elif boot >= here.until:
                del self._addresses[name]
            elif boot - here.idle_since >= IDLE_S:
                due.add(name)
        return due

    async def _renew(self, frontier: TokenSource, names: list[str], boot: float) -> None:
        if not names:
            return
        asked = [(self._addresses[name], name) for name in names]
        wishes = [TokenWish(name, here.most, here.used, here.wanted) for here, name in asked]
        for here, _ in asked:
            # Until the answer is there, only what the store is told of is certain.
            here.allowed = min(here.allowed, here.used)
        answers = await frontier.tokens(self._holder, wishes, TTL_MS)
        for (here, _), allowed in zip(asked, answers, strict=True):
            here.allowed = allowed
            here.until = boot + TTL_MS * SAFE_SHARE / 1000 if allowed else 0.0
            self._admit(here)
            waits = here.waiters or here.used > allowed
            here.renew_at = boot + (POLL_S if waits else RENEW_S)


class JobGate:
    """The gate as the requests of one job pass it."""

    def __init__(
        self, gate: AddressGate, most: int, exempt: Iterable[IPv4Network | IPv6Network] = ()
    ) -> None:
        self._gate = gate
        self._most = most
        self._exempt = tuple(exempt)
        self._known: dict[str, bool] = {}

    def minds(self, address: str) -> bool:
        """Tell whether requests to an address are counted; loopback and exempt ones are not."""
        found = self._known.get(address)
        if found is None:
            if len(self._known) >= ADDRESSES_KEPT:
                self._known.clear()
            found = self._known[address] = self._judge(address)
        return found

    def _judge(self, address: str) -> bool:
        if special_kind(address) in ("loopback", "malformed"):
            return False
        parsed = ip_address(address)
        return not any(parsed in network for network in self._exempt)

    async def enter(self, address: str) -> None:
        """Wait until a request may go to ``address``."""
        await self._gate.enter(address, self._most)

    def leave(self, address: str) -> None:
        """Take note that a request has ended."""
        self._gate.leave(address)
