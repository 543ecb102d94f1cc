"""Which server has a key: the only one there is, or the master of its hash slot in a Cluster."""

import asyncio
import binascii
import random
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from redis.exceptions import MovedError

from skitter.frontier.redis.address import Place, StoreAddress
from skitter.frontier.redis.line import Line, pack

HASH_SLOTS = 16_384
_MAP = pack(["CLUSTER", "SLOTS"])
_MAP_S = 1.0


def hash_slot(key: str) -> int:
    """Return the hash slot of a key: that of the part in braces, where there is one."""
    opened = key.find("{") + 1
    closed = key.find("}", opened) if opened else -1
    return _slot_of_tag(key[opened:closed] if closed > opened else key)


@lru_cache(1 << 12)
def _slot_of_tag(tag: str) -> int:
    return binascii.crc_hqx(tag.encode(), 0) % HASH_SLOTS


class Routes:
    """The lines to all servers, and which of them a key is asked of."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        self._lines: dict[Place, Line] = {}
        self._masters: list[Line | None] = []
        self._known: set[Place] = set(address.places)
        self._refreshing = asyncio.Lock()
        self._rounds = 0
        self.breaks = 0
        """How often a connection broke, or keys were found elsewhere than before."""
        self._only: Line | None = self.line(address.places[0])

    @property
    def cluster(self) -> bool:
        """Whether the store is a Cluster."""
        return self._only is None

    def line(self, place: Place) -> Line:
        """Return the line to a server."""
        line = self._lines.get(place)
        if line is None:
            line = self._lines[place] = Line(place, self._address, self._count_break)
        return line

    def _count_break(self) -> None:
        self.breaks += 1

    def line_for(self, key: str) -> Line | None:
        """Return the line to the server that has a key; None while no server has it."""
        return self._only or self._masters[hash_slot(key)]

    def masters(self) -> list[Line]:
        """Return the lines to all servers that have keys."""
        if self._only is not None:
            return [self._only]
        return list(dict.fromkeys(line for line in self._masters if line is not None))

    def whole(self) -> bool:
        """Tell whether every key has a server."""
        return self._only is not None or None not in self._masters

    def become_cluster(self) -> None:
        """Go by the map of a Cluster from now on; it is empty until it is refreshed."""
        self._only = None
        self._masters = [None] * HASH_SLOTS

    def follow(self, moved: MovedError, line: Line) -> Place:
        """Take a server's word that another one has a hash slot; return where that is."""
        place = Place(moved.host or line.place.host, moved.port)
        if self.cluster:
            self._masters[moved.slot_id] = self.line(place)
            self._known.add(place)
        return place

    async def refresh(self, first: Place | None = None) -> bool:
        """Ask for the map: one server first, then any; False when none has one.

        Many who ask at the same time are answered together.
        """
        if not self.cluster:
            return True
        begun = self._rounds
        async with self._refreshing:
            if begun != self._rounds:
                return self.whole()
            self._rounds += 1
            places = list(self._known.union(self._address.places))
            random.shuffle(places)
            places.sort(key=lambda place: place != first)
            for place in places:
                ranges = await self._ask(place)
                if ranges:
                    await self._learn(ranges, place)
                    return True
        return False

    async def _ask(self, place: Place) -> list[Any]:
        [question] = self.line(place).post([_MAP])
        [answer] = await question.within(_MAP_S)
        return answer if isinstance(answer, list) else []

    async def _learn(self, ranges: list[Any], asked: Place) -> None:
        masters: list[Line | None] = [None] * HASH_SLOTS
        known: set[Place] = set()
        for first, last, *servers in ranges:
            places = [place for server in servers if (place := _place(server, asked))]
            known.update(places)
            if _place(servers[0], asked):
                line = self.line(places[0])
                line.copies = len(places) - 1
                masters[first : last + 1] = [line] * (last + 1 - first)
        if masters != self._masters:
            self.breaks += 1
        self._masters, self._known = masters, known
        kept = known | set(self._address.places)
        await self._close([place for place in self._lines if place not in kept])

    async def close(self) -> None:
        """Close all lines."""
        await self._close(list(self._lines))

    async def _close(self, places: Iterable[Place]) -> None:
        for place in places:
            await self._lines.pop(place).close()


def _place(server: list[Any], asked: Place) -> Place | None:
    """Return where a server of the map is; one without a host is where the map came from."""
    host, port = server[0], server[1]
    if host == b"?":
        return None
    return Place(host.decode() if host else asked.host, port)
