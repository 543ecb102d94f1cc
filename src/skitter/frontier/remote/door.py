"""The door of a master's address: whoever has not shown the token does not stay.

A connection is a stranger's until a request on it has shown the token, and again from the first
byte of the next one. A stranger has a few seconds for all of a request's head, however slowly it
comes, and there are never more than so many of them at once: the one who has been there longest
makes room for the next.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import cast

STRANGER_S = 5.0
"""How long a connection may take to show the token."""
MOST_STRANGERS = 256


class Door:
    """Makes the connections of one address, each with a protocol of ``make`` behind it."""

    def __init__(
        self,
        make: Callable[[], asyncio.Protocol],
        *,
        patience_s: float = STRANGER_S,
        most: int = MOST_STRANGERS,
    ) -> None:
        self._make = make
        self._patience_s = patience_s
        self._most = most
        self._strangers: OrderedDict[_Visitor, asyncio.TimerHandle] = OrderedDict()
        self._by_transport: dict[asyncio.BaseTransport, _Visitor] = {}

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        return _Visitor(self, self._make())

    @property
    def strangers(self) -> int:
        """How many connections have not shown the token."""
        return len(self._strangers)

    def admit(self, transport: asyncio.BaseTransport | None) -> None:
        """Take note that the request now coming in on a connection has shown the token."""
        visitor = self._known(transport)
        if visitor is not None:
            visitor.admitted = True
            self._settle(visitor)

    def part(self, transport: asyncio.BaseTransport | None) -> None:
        """Take note that a request was answered: the next one has to show the token again."""
        visitor = self._known(transport)
        if visitor is not None:
            visitor.admitted = False

    def _known(self, transport: asyncio.BaseTransport | None) -> "_Visitor | None":
        return None if transport is None else self._by_transport.get(transport)

    def arrive(self, visitor: "_Visitor", transport: asyncio.BaseTransport) -> None:
        """Take note of a new connection."""
        self._by_transport[transport] = visitor
        self.suspect(visitor)

    def suspect(self, visitor: "_Visitor") -> None:
        """Give a connection a few seconds, unless they have begun already."""
        if visitor in self._strangers:
            return
        loop = asyncio.get_running_loop()
        self._strangers[visitor] = loop.call_later(self._patience_s, visitor.drop)
        while len(self._strangers) > self._most:
            oldest = next(iter(self._strangers))
            self._settle(oldest)
            oldest.drop()

    def leave(self, visitor: "_Visitor", transport: asyncio.BaseTransport) -> None:
        """Take note that a connection has ended."""
        self._by_transport.pop(transport, None)
        self._settle(visitor)

    def _settle(self, visitor: "_Visitor") -> None:
        timer = self._strangers.pop(visitor, None)
        if timer is not None:
            timer.cancel()


class _Visitor(asyncio.Protocol):
    """One connection; what it says is passed on to the protocol behind the door."""

    def __init__(self, door: Door, behind: asyncio.Protocol) -> None:
        self._door = door
        self._behind = behind
        self._transport: asyncio.Transport | None = None
        self.admitted = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._door.arrive(self, transport)
        self._behind.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not self.admitted:
            self._door.suspect(self)
        self._behind.data_received(data)

    def eof_received(self) -> bool | None:
        return self._behind.eof_received()

    def pause_writing(self) -> None:
        self._behind.pause_writing()

    def resume_writing(self) -> None:
        self._behind.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._door.leave(self, self._transport)
        self._behind.connection_lost(exc)

    def drop(self) -> None:
        """Hang up at once."""
        if self._transport is not None:
            self._transport.abort()
