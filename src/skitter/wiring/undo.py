"""Undoes an alias in whatever holds the crawl: a running process, its directory, a shared store."""

import json
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from skitter.clock import Clock, SystemClock
from skitter.crawl.aliases.undo import HEARD_S, AliasDesk
from skitter.crawl.discover import LinkFinder
from skitter.crawl.inspect import ask_running
from skitter.errors import ConfigError
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.remote.wire import Store as AnyFrontier
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.wiring.api_access import ask_api
from skitter.wiring.connect import PATIENCE_S, connect_redis
from skitter.wiring.look import Where, make_explainer

if TYPE_CHECKING:
    from skitter.frontier.redis.frontier import RedisFrontier


async def undo_alias(where: Where, host: str, cold: str | None = None) -> dict[str, object]:
    """Take back that ``host`` is an alias; answers what came of it."""
    question = {"undo_alias": host, **({"job": where.job} if where.job is not None else {})}
    if where.api is not None:
        [undone] = await ask_api(where.api, where.token, question)
        return undone
    if where.store is not None:
        return await _undo_in_store(where, host, cold)
    assert where.data is not None
    async with aclosing(ask_running(where.data, question)) as lines:
        async for line in lines:
            found: dict[str, object] = json.loads(line)
            if "error" in found:
                raise ConfigError(str(found["error"]))
            return found
    return await _undo_in_directory(where, where.data, host)


async def _undo_in_directory(where: Where, data: Path, host: str) -> dict[str, object]:
    directory = DataDir(data)
    directory.require()
    await directory.acquire_when_free()
    frontier = EmbeddedFrontier(directory.frontier, seen=None)
    try:
        await frontier.open()
        # Nobody else has to hear of it.
        desk = await _desk(frontier, frontier.secret, SystemClock(), where, heard_s=0.0)
        return await desk.undo(host)
    finally:
        await frontier.close()
        directory.release()


async def _undo_in_store(where: Where, host: str, cold: str | None) -> dict[str, object]:
    assert where.store is not None
    async with AsyncExitStack() as stack:
        _, frontier = await connect_redis(
            stack, where.store, cold=cold, patience_s=PATIENCE_S, index=where.index
        )
        return await undo_in(frontier, host, where)


async def undo_in(frontier: "RedisFrontier", host: str, where: Where) -> dict[str, object]:
    """Take it back in a store that is open already."""
    desk = await _desk(frontier, frontier.secret, frontier.clock, where, heard_s=HEARD_S)
    return await desk.undo(host)


async def _desk(
    frontier: AnyFrontier, secret: bytes, clock: Clock, where: Where, *, heard_s: float
) -> AliasDesk:
    number, job = await _job(frontier, where)
    explainer = await make_explainer(frontier, secret, number, job, where.data or Path())
    return AliasDesk(
        job=job.id,
        number=number,
        reader=frontier,
        frontier=frontier,
        control=frontier,
        normaliser=explainer.normaliser,
        judge=explainer.judge,
        finder=LinkFinder(job, number, explainer.judge, explainer.normaliser),
        clock=clock,
        heard_s=heard_s,
    )


async def _job(frontier: AnyFrontier, where: Where) -> tuple[JobNumber, Job]:
    jobs = await frontier.jobs()
    found = [number for number, entry in jobs.items() if where.job in (None, entry.id)]
    if len(found) != 1:
        known = ", ".join(sorted(entry.id for entry in jobs.values())) or "none"
        raise ConfigError(f"{where}: jobs there: {known}; name one with --job ID")
    [number] = found
    return number, Job.from_json(jobs[number].spec)
