"""The settings of sites: asked for and changed, in whatever store they are.

The rows are marks in the store, written as news: every member reads them again within a second.
The gates of hosts are changed by whoever changes a row, because a host that rests for an hour
would not hear of a shorter delay before.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial

from skitter.clock import Clock
from skitter.crawl.happenings import tell_setting
from skitter.crawl.inspect import Answer, Question, error_facts
from skitter.errors import ConfigError, SkitterError
from skitter.frontier.tuning import OpenStore, Tuning
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.patterns import covers, glob_of, parse_pattern
from skitter.politeness.settings.table import MARKS, STAMP, Row, Table
from skitter.politeness.settings.values import check_key, parse_changes, plain_value
from skitter.types import HostKey
from skitter.wiring.host_rules import HostRules
from skitter.wiring.store import Store

LOCK = "settings"
LOCK_MS = 20_000
"""How long one operator keeps others out: half of it to read and think, half to write."""
POLL_MS = 100
Facts = dict[str, object]


class SettingsKeeper:
    """Reads and changes the settings of an open store."""

    def __init__(self, store: OpenStore, clock: Clock, live: LiveSettings) -> None:
        self._store = store
        self._clock = clock
        self._live = live

    async def open(self) -> None:
        """Let the store go by its settings, also by what was said while nobody had it open."""
        await self._live.refresh(self._store)
        self._store.rules = HostRules(self._live)
        for row in self._live.table.in_force:
            if row.values.get("blacklist"):
                await self._tune(row.pattern, {"blacklist"})

    async def set(self, pattern: str, words: Iterable[str], by: str) -> Facts:
        """Set values for a pattern; those that are not named stay."""
        pattern, changes = parse_pattern(pattern), parse_changes(words)
        at_ms = self._clock.now_ms()
        return await self._change(
            lambda table: table.changed(pattern, changes, by, at_ms), changes.keys()
        )

    async def unset(self, pattern: str, keys: Iterable[str], by: str) -> Facts:
        """Take values of a pattern back, all of them if none is named."""
        pattern, gone = parse_pattern(pattern), {check_key(key) for key in keys}
        at_ms = self._clock.now_ms()
        return await self._change(lambda table: table.without(pattern, gone, by, at_ms), gone)

    async def _change(self, make: Callable[[Table], Row], keys: Iterable[str]) -> Facts:
        before, row = await self._write(make)
        await self._live.refresh(self._store)
        named = set(keys) or set(before.rows[row.pattern].values)
        known = await self._tune(row.pattern, named)
        what = "set" if row.values else "unset"
        said = f"{what} by {row.by}" if row.by else what
        await tell_setting(self._store, self._clock, row.pattern, said)
        return {**_row_facts(row, before.with_row(row)), "known_hosts": known}

    async def _write(self, make: Callable[[Table], Row]) -> tuple[Table, Row]:
        """Write a row; answers the table before as well."""
        while True:
            async with self._alone() as until:
                before = await self._table()
                row = make(before)
                if self._clock.boot() < until:
                    stamp = secrets.token_bytes(8)
                    await self._store.ack([], news={row.mark: row.encode(), STAMP: stamp})
                    return before, row

    async def _tune(self, pattern: str, keys: Collection[str]) -> int:
        """Bring gates in line with the table, also if others change it while they are walked over.

        A part of the walk may have gone by what was read before such a change, and come after it.
        """
        while True:
            version = self._live.table.version
            known = await self._store.tune(self._tuning(pattern, keys))
            await self._live.refresh(self._store)
            if self._live.table.version == version:
                return known

    def _tuning(self, pattern: str, keys: Collection[str]) -> Tuning:
        return Tuning(
            covers=partial(covers, pattern),
            rule=HostRules(self._live),
            delays="delay" in keys,
            per_hosts="per_host" in keys,
            drains="blacklist" in keys,
            glob=glob_of(pattern),
            host=None if pattern[0] in "*." else HostKey(pattern),
            refresh=partial(self._live.refresh, self._store),
        )

    async def _table(self) -> Table:
        return Table.read(await self._store.marks(MARKS))

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[float]:
        """Let no other operator change a row meanwhile: neither is to lose what the other set.

        The time that is given, by the boot clock, is the last moment to write at: a store may be
        slow.
        """
        lock, holder = self._store.lock, secrets.randbits(48)
        asked_at = self._clock.boot()
        while wait_ms := await lock(LOCK, holder, LOCK_MS):
            await asyncio.sleep(min(wait_ms, POLL_MS) / 1000)
            asked_at = self._clock.boot()
        try:
            yield asked_at + LOCK_MS / 2000
        finally:
            await lock(LOCK, holder, 0)

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer about settings."""
        try:
            for facts in await self._answer(question):
                yield _line(facts)
            yield _line({"complete": True})
        except SkitterError as error:
            yield _line(error_facts(error))

    async def _answer(self, question: Question) -> list[Facts]:
        by = str(question.get("by", ""))
        match question:
            case {"settings": "list"}:
                return rows_of(await self._table())
            case {"settings": "get", "pattern": str(pattern)}:
                return [values_of(await self._table(), pattern)]
            case {"settings": "set", "pattern": str(pattern), "words": list(words)}:
                return [await self.set(pattern, map(str, words), by)]
            case {"settings": "unset", "pattern": str(pattern), "words": list(words)}:
                return [await self.unset(pattern, map(str, words), by)]
            case _:
                raise ConfigError("not a question about settings that this version knows")


async def answering(store: Store, other: Answer) -> Answer:
    """Return who answers questions about the settings of a store, and leaves others to ``other``.

    A store that is a master's is left to the master.
    """
    if store.own is None:
        return other
    keeper = SettingsKeeper(store.own, store.clock, store.settings)
    await keeper.open()

    async def answer(question: Question) -> AsyncIterator[bytes]:
        lines = keeper.answer(question) if "settings" in question else other(question)
        async for line in lines:
            yield line

    return answer


def rows_of(table: Table) -> list[Facts]:
    """Return every row that says something."""
    return [_row_facts(row, table) for row in table.in_force]


def values_of(table: Table, pattern: str) -> Facts:
    """Return what counts for a host, or for all hosts of a pattern, and where it is said."""
    pattern = parse_pattern(pattern)
    found = table.effective(pattern).items()
    settings = {key: {"value": plain_value(one.value), "from": one.pattern} for key, one in found}
    return {"pattern": pattern, "settings": settings, "version": table.version}


def _row_facts(row: Row, table: Table) -> Facts:
    at = datetime.fromtimestamp(row.at_ms / 1000, UTC).isoformat(timespec="seconds")
    return {
        "pattern": row.pattern,
        "settings": {key: plain_value(value) for key, value in row.values.items()},
        "changed_by": row.by,
        "changed_at": at.replace("+00:00", "Z"),
        "revision": row.revision,
        "version": table.version,
    }


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"
