"""Questions about settings, put to whoever has the store: a running process, or nobody yet."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing

from skitter.clock import SystemClock
from skitter.crawl.inspect import Question, ask_running
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.table import Table
from skitter.wiring.api_access import ask_api
from skitter.wiring.connect import PATIENCE_S, read_redis, require_redis
from skitter.wiring.look import Where
from skitter.wiring.settings import Facts, SettingsKeeper, rows_of, values_of

READ = frozenset({"list", "get"})


async def ask_settings(where: Where, question: Question) -> list[Facts]:
    """Return the answer of the process that has the store open, or open it to answer."""
    if where.api is not None:
        return await ask_api(where.api, where.token, question)
    async with aclosing(_lines(where, question)) as lines:
        found = [dict(json.loads(line)) async for line in lines]
    for facts in found:
        if "error" in facts:
            raise ConfigError(str(facts["error"]))
    if not found or "complete" not in found[-1]:
        raise DataDirError(f"{where}: what runs there ended before it had answered; ask again")
    return found[:-1]


async def _lines(where: Where, question: Question) -> AsyncGenerator[bytes, None]:
    if where.data is not None:
        answered = False
        async with aclosing(ask_running(where.data, question)) as lines:
            async for line in lines:
                answered = True
                yield line
        if answered:
            return
    async with AsyncExitStack() as stack:
        keeper = await _keeper(stack, where, reads=question.get("settings") in READ)
        answers = _no_answers(question) if keeper is None else keeper.answer(question)
        async for line in answers:
            yield line


async def _no_answers(question: Question) -> AsyncIterator[bytes]:
    """Answer for a store that nobody has used yet."""
    empty = Table()
    pattern = question.get("pattern")
    found = rows_of(empty) if pattern is None else [values_of(empty, str(pattern))]
    for facts in (*found, {"complete": True}):
        yield json.dumps(facts).encode() + b"\n"


async def _keeper(stack: AsyncExitStack, where: Where, *, reads: bool) -> SettingsKeeper | None:
    """Open the store; None when there is nothing in it to read."""
    if where.store is None:
        frontier = await _open_directory(stack, where)
        return SettingsKeeper(frontier, SystemClock(), LiveSettings())
    if reads:
        found = await read_redis(stack, where.store)
        return None if found is None else SettingsKeeper(found, found.clock, LiveSettings())
    require_redis()
    from skitter.frontier.redis.address import StoreAddress  # noqa: PLC0415  brings a client
    from skitter.frontier.redis.frontier import RedisFrontier  # noqa: PLC0415
    from skitter.frontier.redis.nodes import Nodes  # noqa: PLC0415

    nodes = Nodes(StoreAddress.parse(where.store), patience_s=PATIENCE_S)
    await nodes.open()
    stack.push_async_callback(nodes.close)
    # Not its cold store: settings change gates, and nothing is queued for it.
    store = RedisFrontier(nodes)
    await store.open()
    stack.push_async_callback(store.close)
    return SettingsKeeper(store, store.clock, LiveSettings())


async def _open_directory(stack: AsyncExitStack, where: Where) -> EmbeddedFrontier:
    assert where.data is not None
    directory = DataDir(where.data)
    directory.require()
    await directory.acquire_when_free()
    stack.callback(directory.release)
    if not directory.frontier.exists():
        # A crawl with --store has its state there; an empty store here would be in its way.
        raise DataDirError(f"{where}: no crawl has begun there; wanted its directory, or --store")
    frontier = EmbeddedFrontier(directory.frontier)
    await frontier.open()
    stack.push_async_callback(frontier.close)
    return frontier
