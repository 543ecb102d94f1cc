"""Where a store keeps its page index: in Redis itself, or in a database that its members name.

The first process that names a database decides; that is in the store, for all who come later. What
the page index had in Redis is moved then. There is no way back.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Final, NamedTuple

from skitter.errors import ConfigError, FrontierError
from skitter.frontier.pages.base import Content, Note, PageStore
from skitter.frontier.redis.keys import Keys, unsigned
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.notes import unpack_note
from skitter.types import JobNumber
from skitter.url.partition import TAGS

_IDENTITY, _AT, _WHOLE = "index", "index_at", "index_whole"
MOVED_AT_ONCE: Final = 500

log = logging.getLogger(__name__)


class Home(NamedTuple):
    """A page index that is not in Redis."""

    identity: str
    shown: str


async def index_home(nodes: Nodes, keys: Keys) -> Home | None:
    """Return where the page index is; None for Redis itself."""
    identity, shown = await nodes.run(keys.meta, "HMGET", keys.meta, _IDENTITY, _AT)
    if identity is None:
        return None
    return Home(identity.decode(), (shown or b"").decode())


def refuse_other(home: Home, store: PageStore) -> None:
    """Raise when the page index is not in ``store``."""
    if home.identity != store.identity:
        there = f", {home.shown}" if home.shown not in {"", store.shown} else ""
        raise ConfigError(f"--index: this store has its page index in another database{there}")


async def settle_index(nodes: Nodes, keys: Keys, store: PageStore) -> None:
    """Let the page index be in ``store``, or raise when it is elsewhere.

    The anchors know of it, too: a member that began before can put no more notes into Redis. Then
    what is there can be moved, by any number of processes at once, and over any number of starts.
    """
    meta = keys.meta
    if await index_home(nodes, keys) is None:
        await nodes.run(meta, "HSETNX", meta, _IDENTITY, store.identity)
    home = await index_home(nodes, keys)
    assert home is not None
    refuse_other(home, store)
    await nodes.run(meta, "HSET", meta, _AT, store.shown)
    if await nodes.run(meta, "HEXISTS", meta, _WHOLE):
        return
    anchors = [keys.anchor(tag) for tag in range(TAGS)]
    await nodes.run_many([(name, ("HSET", name, _IDENTITY, 1)) for name in anchors])
    if moved := await _move(nodes, keys, store):
        log.warning("page index: %d notes moved from Redis to %s", moved, store.shown)
    await nodes.run(meta, "HSET", meta, _WHOLE, 1)


async def _move(nodes: Nodes, keys: Keys, store: PageStore) -> int:
    """Move every note and content hash into ``store``, behind whatever is there already."""
    moved = 0
    for word in await nodes.run(keys.jobs, "HKEYS", keys.jobs):
        job = JobNumber(int(word))
        async for name, found in _scan(nodes, [keys.notes(tag, job) for tag in range(TAGS)]):
            await store.put(
                [Note(job, unsigned(fp), 0, unpack_note(note)) for fp, note in found.items()]
            )
            await nodes.run(name, "HDEL", name, *found)
            moved += len(found)
        async for name, found in _scan(nodes, [keys.contents(tag, job) for tag in range(TAGS)]):
            await store.put([], [Content(job, of, url.decode()) for of, url in found.items()])
            await nodes.run(name, "HDEL", name, *found)
    return moved


async def _scan(
    nodes: Nodes, names: Sequence[str]
) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    """Yield the fields of hashes, some at a time; those that are deleted meanwhile are no harm."""
    sizes = await nodes.run_many([(name, ("HLEN", name)) for name in names])
    for name in (name for name, size in zip(names, sizes, strict=True) if size):
        cursor = b"0"
        while True:
            cursor, words = await nodes.run(name, "HSCAN", name, cursor, "COUNT", MOVED_AT_ONCE)
            if words:
                yield name, dict(zip(words[::2], words[1::2], strict=True))
            if cursor == b"0":
                break


async def told_home(nodes: Nodes, keys: Keys) -> str:
    """Return in a line where the page index is, and what keeps it."""
    home = await index_home(nodes, keys)
    if home is not None:
        return f"page index: in PostgreSQL, {home.shown}"
    return f"page index: in Redis itself, kept as Redis keeps its data ({await _kept(nodes, keys)})"


async def _kept(nodes: Nodes, keys: Keys) -> str:
    """Return how a server keeps what it has, in the words of its configuration."""
    told: bytes = await nodes.run(keys.meta, "INFO", "persistence")
    appends = b"aof_enabled:1" in told.split()
    try:
        found = await nodes.run(keys.meta, "CONFIG", "GET", "appendfsync")
    except FrontierError:
        found = []
    if not appends:
        return "appendonly no: as good as its last snapshot"
    return f"appendonly yes{f', appendfsync {found[1].decode()}' if len(found) > 1 else ''}"
