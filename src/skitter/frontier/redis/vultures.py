"""Vultures: what nobody has needed for long leaves the store, a little at a time.

Hosts without work, rules of robots.txt files that are out of date, and the last answers to
processes that are gone. One member at a time walks over the whole store, in steps that no server
takes long for; how much has gone is counted in the store. What was learned of a host goes with it.
Addresses of hosts end by themselves: the server forgets them when their time is over.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Final

from skitter.frontier.redis.core import Ask, Core
from skitter.frontier.redis.line import Line
from skitter.frontier.vultures import IDLE_MS, Buried
from skitter.url.partition import TAGS

MISSED_MS: Final = 600_000
KEYS_AT_ONCE: Final = 500


class Vultures:
    """Walks over the store again and again; every call of ``step`` is one step of that."""

    def __init__(
        self, core: Core, is_stale: Callable[[bytes], bool], *, idle_ms: int = IDLE_MS
    ) -> None:
        self._core = core
        self._is_stale = is_stale
        """Whether the rules of a robots.txt file, as stored, are out of date."""
        self._idle_ms = idle_ms
        self._masters: list[Line] = []
        self._cursor = b"0"
        self._tag = 0

    async def step(self) -> Buried:
        """Look at some hosts of one server, and at the rest of one tag."""
        tag, self._tag = self._tag, (self._tag + 1) % TAGS
        buried = Buried(
            await self._hosts(),
            await self._robots(tag),
            await self._core.call(tag, "bury_sessions", MISSED_MS),
        )
        key = self._core.keys.buried
        counts = [(name, n) for name, n in buried._asdict().items() if n]
        await self._core.nodes.run_many([(key, ("HINCRBY", key, name, n)) for name, n in counts])
        return buried

    async def total(self) -> Buried:
        """Return how much has gone since the store was made."""
        key = self._core.keys.buried
        row = await self._core.nodes.run(key, "HMGET", key, *Buried._fields)
        return Buried(*(int(n or 0) for n in row))

    async def _hosts(self) -> int:
        """Go a step on the way over all keys; each master has its own, one after the other."""
        core = self._core
        if not self._masters:
            self._masters, self._cursor = core.nodes.masters(), b"0"
        names = core.keys.any_host
        words = (self._cursor, "MATCH", names, "COUNT", KEYS_AT_ONCE)
        found = await core.nodes.ask_master(self._masters[-1], "SCAN", *words)
        if found is None:
            # That master is gone; another has its keys and comes in the next round.
            self._masters.pop()
            return 0
        self._cursor, keys = found
        if self._cursor == b"0":
            self._masters.pop()
        by_tag: dict[int, list[str]] = defaultdict(list)
        for key in keys:
            tag, host = core.keys.read_host(key.decode())
            by_tag[tag].append(host)
        asked: list[Ask] = [
            (tag, "bury_hosts", (self._idle_ms, *hosts)) for tag, hosts in by_tag.items()
        ]
        return sum(await core.call_many(asked))

    async def _robots(self, tag: int) -> int:
        key = self._core.keys.robots(tag)
        nodes = self._core.nodes
        cursor, buried = b"0", 0
        while True:
            cursor, words = await nodes.run(key, "HSCAN", key, cursor, "COUNT", KEYS_AT_ONCE)
            pairs = zip(words[::2], words[1::2], strict=True)
            if stale := [name for name, value in pairs if self._is_stale(value)]:
                buried += await nodes.run(key, "HDEL", key, *stale)
            if cursor == b"0":
                return buried
