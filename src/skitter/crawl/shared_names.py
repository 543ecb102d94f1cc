"""Addresses of hosts, shared by all who use a store.

Whoever resolves a name tells the others: those who have its host next after a move, who work on
another job, or whom a redirect leads there. The store is asked for many names at once, it is told
of many at once, and nobody waits for one that does not answer. Only public addresses are told: what
a name means inside a private network is nobody else's business.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from skitter.clock import Clock
from skitter.errors import FrontierError
from skitter.fetch.dns import Aged, DnsOptions, Lookup, ThreadedLookup
from skitter.fetch.guard import special_kind

PATIENCE_S: Final = 0.25
"""How long the store is waited for; asking a name server may be quicker."""
GATHER_S: Final = 0.1
"""How long answers are gathered before the store is told of them."""
TTL_S: Final = DnsOptions().ttl_s
MARK: Final = "dns:"
MOST_ADDRESSES: Final = 16


class SharedValues(Protocol):
    """The part of a frontier in which values are shared for a while."""

    @property
    def trouble(self) -> str:
        """Why the verbs wait; "" while the store answers."""

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let everyone have named values for a while."""

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of those names that somebody shares."""


class SharedNames:
    """Looks names up in the store first. A ``Lookup`` for all resolvers of a process."""

    def __init__(
        self,
        frontier: SharedValues,
        clock: Clock,
        *,
        lookup: Lookup | None = None,
        ttl_s: float = TTL_S,
    ) -> None:
        self._frontier = frontier
        self._clock = clock
        self._system = ThreadedLookup()
        self._lookup = lookup or self._system
        self._ttl_s = ttl_s
        self._asked: dict[str, asyncio.Future[bytes | None]] = {}
        self._found: dict[str, bytes] = {}
        self._asking: asyncio.Task[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self.spared = 0
        """Questions to name servers that others had asked before."""

    async def __call__(self, host: str) -> Sequence[str] | Aged:
        """Return the addresses of ``host``, as the system's resolver would."""
        known = None if self._frontier.trouble else await self._ask(host)
        aged = None if known is None else _read(known, self._clock.now_ms())
        if aged is not None:
            self.spared += 1
            return aged
        addresses = await self._lookup(host)
        found = list(addresses.addresses if isinstance(addresses, Aged) else addresses)
        if found and all(special_kind(address) is None for address in found):
            self._tell(host, found[:MOST_ADDRESSES])
        return found

    async def close(self) -> None:
        """Give up what is under way; idempotent."""
        tasks = [task for task in (self._asking, self._telling) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._system.close()

    async def _ask(self, host: str) -> bytes | None:
        """Ask the store, together with whoever asks meanwhile."""
        loop = asyncio.get_running_loop()
        answer = self._asked.get(host)
        if answer is None:
            answer = self._asked[host] = loop.create_future()
        if self._asking is None or self._asking.done():
            self._asking = loop.create_task(self._ask_all())
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                return await asyncio.shield(answer)
        return None

    async def _ask_all(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, {}
            try:
                values = await self._frontier.shared([MARK + host for host in asked])
            except FrontierError:
                values = [None] * len(asked)
            for answer, value in zip(asked.values(), values, strict=True):
                if not answer.done():
                    answer.set_result(value)

    def _tell(self, host: str, addresses: Sequence[str]) -> None:
        until_ms = self._clock.now_ms() + round(self._ttl_s * 1000)
        self._found[MARK + host] = " ".join([str(until_ms), *addresses]).encode()
        if self._telling is None or self._telling.done():
            self._telling = asyncio.get_running_loop().create_task(self._tell_all())

    async def _tell_all(self) -> None:
        while self._found:
            await asyncio.sleep(GATHER_S)
            found: Mapping[str, bytes]
            found, self._found = self._found, {}
            with suppress(FrontierError):
                await self._frontier.share(found, round(self._ttl_s * 1000))


def _read(value: bytes, now_ms: int) -> Aged | None:
    """Read what another has told; None when it is over, or nothing that can be read."""
    try:
        until, *addresses = value.decode("ascii").split(" ")
        left_s = (int(until) - now_ms) / 1000
    except ValueError:
        return None
    public = all(special_kind(address) is None for address in addresses)
    return Aged(tuple(addresses), left_s) if addresses and public and left_s > 0 else None
