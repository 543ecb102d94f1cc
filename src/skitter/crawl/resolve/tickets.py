"""Tickets: what was asked for and when, kept in the store for a day, or less where many are.

A ticket holds no answers. Whether a page has come is read from the page index, so any process can
answer for a ticket, also after a restart.
"""

import re
import secrets
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

import msgspec

from skitter.crawl.room import Room
from skitter.frontier.base import Frontier

FORMAT: Final = 1
_NAME: Final = "ticket:"
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{16}")

Stopped = Literal["", "blocked", "invalid"]


class Item(msgspec.Struct, frozen=True, array_like=True):
    """One URL as it was given; what stops it, if something did at once."""

    url: str
    stopped: Stopped = ""
    why: str = ""
    cached: bool = False
    """Whether it was known and young enough when it was submitted."""


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """What one call asked for."""

    format: int = FORMAT
    at_ms: int
    """When it was submitted, by the store's clock."""
    max_age_ms: int
    media: str = ""
    items: list[Item]
    left_out: int = 0

    @property
    def since_ms(self) -> int:
        """When a page has to have been fetched to be an answer."""
        return self.at_ms - self.max_age_ms


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Ticket).decode


class Written(NamedTuple):
    """A ticket as it is kept, under a key that nobody can guess."""

    key: str
    value: bytes
    stay_ms: int


class Tickets:
    """The tickets of a store."""

    def __init__(self, frontier: Frontier, room: Room) -> None:
        self._frontier = frontier
        self._room = room

    async def write(self, ticket: Ticket) -> Written:
        """Return a ticket as it is to be kept; raises ``NoRoom`` when it cannot be."""
        value = _encode(ticket)
        return Written(secrets.token_urlsafe(12), value, await self._room.stay_ms(len(value)))

    async def put(self, tickets: Sequence[Written]) -> None:
        """Keep tickets, all of them as long as the first that ends."""
        stay_ms = min(ticket.stay_ms for ticket in tickets)
        await self._frontier.share({_NAME + one.key: one.value for one in tickets}, stay_ms)

    async def get(self, key: str) -> Ticket | None:
        """Return a ticket; None when there is none, or its time is over."""
        if not _KEY.fullmatch(key):
            return None
        [kept] = await self._frontier.shared([_NAME + key])
        return None if kept is None else _decode(kept)
