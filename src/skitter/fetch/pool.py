"""Open connections: made through resolver and guard, kept while idle, ended when due.

How many connections a host gets is decided above, by how many requests are sent at once. Idle
ones are bounded here in number and age, so that a crawl of many hosts does not hold a socket for
each. One coarse timer watches all deadlines; a timer per request would cost more than the parsing.
"""

import asyncio
import contextlib
import resource
import socket
import ssl
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohappyeyeballs import AddrInfoType, start_connection

from skitter.errors import AddressRefused, ConnectError, ConnectTimeout
from skitter.fetch.base import Gate
from skitter.fetch.connection import HttpConnection
from skitter.fetch.dns import Resolved, Resolver
from skitter.fetch.faults import connect_fault, is_out_of_files
from skitter.fetch.wire import Origin

_STAGGER_S: Final = 0.25
_CLOSING_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """How connections are made, and bounds on those that wait for work."""

    keepalive_s: float = 30.0
    """An idle connection is closed after this time."""
    max_idle: int = 512
    """Above this the connection that is idle longest is closed; never more than a quarter of the
    files this process may open."""
    tick_s: float = 0.25
    """How late a deadline may be noticed."""
    egress: str = ""
    """The address of this machine that connections are made from; empty lets the system choose."""
    gate: Gate | None = None
    """Counts the requests to an address, those to hosts that the hosts table names excepted."""


class ConnectionPool:
    """Gives out connections and takes them back."""

    def __init__(
        self,
        resolver: Resolver,
        tls: Callable[[], ssl.SSLContext],
        *,
        options: PoolOptions,
        now: Callable[[], float],
    ) -> None:
        self._resolver = resolver
        self._tls = tls
        self._options = options
        self._gate = options.gate
        self._now = now
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._max_idle = max(1, min(options.max_idle, files // 4)) if files > 0 else 1
        self._idle: OrderedDict[HttpConnection, None] = OrderedDict()
        self._stacks: dict[Origin, list[HttpConnection]] = {}
        self._active: set[HttpConnection] = set()
        self._open: set[HttpConnection] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Event | None = None

    @property
    def idle_count(self) -> int:
        """How many connections wait for work."""
        return len(self._idle)

    @property
    def open_count(self) -> int:
        """How many connections there are."""
        return len(self._open)

    def take(self, origin: Origin) -> HttpConnection | None:
        """Return an idle connection to ``origin``, the last used first, or None."""
        stack = self._stacks.get(origin)
        while stack:
            connection = stack.pop()
            del self._idle[connection]
            if not stack:
                del self._stacks[origin]
            if connection.is_open:
                return connection
        return None

    def give_back(self, connection: HttpConnection) -> None:
        """Keep ``connection`` for the next request to its origin, if it is still open."""
        if not connection.is_open:
            return
        connection.idle_since = self._now()
        self._stacks.setdefault(connection.origin, []).append(connection)
        self._idle[connection] = None
        if len(self._idle) > self._max_idle:
            self._drop(next(iter(self._idle)))

    def watch(self, connection: HttpConnection) -> None:
        """Watch the deadline of ``connection`` until it is unwatched."""
        self._active.add(connection)
        if self._timer is None:
            self._arm()

    def unwatch(self, connection: HttpConnection) -> None:
        """Stop watching ``connection``."""
        self._active.discard(connection)

    async def open(self, origin: Origin, url: str, timeout_s: float) -> HttpConnection:
        """Connect to ``origin`` for ``url`` or raise a ``FetchError``.

        The connection has been let in at the gate of its address; the time that took does not
        count.
        """
        doing = "resolving the name"
        try:
            async with asyncio.timeout(timeout_s) as limit:
                resolved = await self._resolver.resolve(origin.host, url=url)
                doing = "connecting"
                if self._gate is None or resolved.trusted:
                    return await self._connect(origin, url, resolved)
                return await self._connect_counted(origin, url, resolved, limit)
        except TimeoutError as exc:
            raise ConnectTimeout(url, f"{doing} took more than {timeout_s:g} s") from exc
        except (OSError, RuntimeError, ValueError) as exc:
            raise connect_fault(url, exc) from exc

    async def close(self) -> None:
        """End every connection, also those at work; idempotent."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._idle.clear()
        self._stacks.clear()
        for connection in list(self._open):
            connection.abort()
        if self._open:
            # The loop reports the end of a transport in a later turn.
            self._all_gone = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_gone.wait(), _CLOSING_S)

    async def enter(self, connection: HttpConnection) -> None:
        """Wait at the gate of a connection's address, if it is counted."""
        if connection.counted and self._gate is not None:
            try:
                await self._gate.enter(connection.address)
            except BaseException:
                self.give_back(connection)
                raise
            connection.place = connection.address

    def leave(self, connection: HttpConnection) -> None:
        """Let others in at the gate: the request of a connection has ended."""
        if connection.place and self._gate is not None:
            self._gate.leave(connection.place)
            connection.place = ""

    async def _connect_counted(
        self, origin: Origin, url: str, resolved: Resolved, limit: asyncio.Timeout
    ) -> HttpConnection:
        """Connect when the gate of the address lets it; which one answers is known only then."""
        gate, planned = self._gate, resolved.addresses[0]
        assert gate is not None
        place, waited_s = planned if gate.minds(planned) else "", 0.0
        if place:
            due, began = limit.when(), self._now()
            limit.reschedule(None)
            await gate.enter(place)
            waited_s = self._now() - began
            limit.reschedule(None if due is None else due + waited_s)
        try:
            connection = await self._connect(origin, url, resolved)
        except BaseException:
            if place:
                gate.leave(place)
            raise
        connection.counted, connection.waited_s = gate.minds(connection.address), waited_s
        if connection.address == planned:
            connection.place = place
            return connection
        if place:
            gate.leave(place)
        await self.enter(connection)
        return connection

    async def _connect(self, origin: Origin, url: str, resolved: Resolved) -> HttpConnection:
        try:
            sock = await self._socket(origin, url, resolved)
        except OSError as exc:
            if not (is_out_of_files(exc) and self._idle):
                raise
            for connection in list(self._idle):
                self._drop(connection)
            # The sockets are closed in the loop's next turn.
            await asyncio.sleep(0)
            sock = await self._socket(origin, url, resolved)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(
            lambda: HttpConnection(origin, self._forget),
            sock=sock,
            ssl=self._tls() if origin.tls else None,
            server_hostname=origin.host.rstrip(".") if origin.tls else None,
        )
        self._open.add(connection)
        return connection

    async def _socket(self, origin: Origin, url: str, resolved: Resolved) -> socket.socket:
        def guarded(info: AddrInfoType) -> socket.socket:
            family, kind, protocol, _, address = info
            why = self._resolver.guard.why_not(str(address[0]), named=resolved.trusted)
            if why is not None:
                raise AddressRefused(url, why)
            return socket.socket(family, kind, protocol)

        egress = self._options.egress
        addresses = resolved.addresses
        if egress:
            addresses = tuple(one for one in addresses if (":" in one) is (":" in egress))
            if not addresses:
                raise ConnectError(url, f"{origin.host} cannot be reached from {egress}")
        return await start_connection(
            [_address_info(address, origin.port) for address in addresses],
            local_addr_infos=[_address_info(egress, 0)] if egress else None,
            happy_eyeballs_delay=_STAGGER_S,
            socket_factory=guarded,
        )

    def _forget(self, connection: HttpConnection) -> None:
        self._open.discard(connection)
        self._leave_idle(connection)
        if self._all_gone is not None and not self._open:
            self._all_gone.set()

    def _drop(self, connection: HttpConnection) -> None:
        self._leave_idle(connection)
        connection.abort()

    def _leave_idle(self, connection: HttpConnection) -> None:
        if connection in self._idle:
            del self._idle[connection]
            stack = self._stacks[connection.origin]
            stack.remove(connection)
            if not stack:
                del self._stacks[connection.origin]

    def _arm(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._options.tick_s, self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._now()
        for connection in [c for c in self._active if c.due <= now]:
            connection.expire()
        oldest = now - self._options.keepalive_s
        while self._idle:
            connection = next(iter(self._idle))
            if connection.idle_since > oldest:
                break
            self._drop(connection)
        if self._active or self._idle:
            self._arm()


def _address_info(address: str, port: int) -> AddrInfoType:
    if ":" in address:
        return (socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0))
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))
