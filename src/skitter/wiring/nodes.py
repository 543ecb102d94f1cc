"""Nodes, looked at and given orders: through their store, or what has it open."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from skitter.clock import Clock, StoreClock
from skitter.cluster.manager.ledger import Kept, folders_in, log_in, read_kept
from skitter.cluster.manager.logs import Piece, pieces
from skitter.cluster.manager.notices import MANAGER, Pulse, ReadLogs, Report
from skitter.cluster.manager.orders import NodeOrders, NodeState
from skitter.cluster.manager.processes import is_alive
from skitter.cluster.manager.roster import State
from skitter.crawl.inspect import Answer, Question, ask_running, error_facts
from skitter.errors import ConfigError, DataDirError, FrontierError, SkitterError
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.vultures import Buried
from skitter.wiring.api_access import answer, open_api
from skitter.wiring.connect import PATIENCE_S, require_redis
from skitter.wiring.look import Where
from skitter.wiring.nodes_view import (
    Everyone,
    Facts,
    KnownMember,
    as_json,
    facts_of,
    members_by_name,
    rows_of,
    worker_facts,
)

if TYPE_CHECKING:
    from skitter.frontier.redis.keys import Keys
    from skitter.frontier.redis.nodes import Nodes
    from skitter.frontier.remote.server import RemoteServer

BACKLOG_S = 5.0
"""Between looks at what waits in each slot, which is dearer than the rest."""

Look = Callable[[], Awaitable[list[KnownMember]]]
Ask = Callable[[Question], Awaitable[list[Facts]]]


class NodesKeeper:
    """Answers questions about nodes and passes orders on, for whoever has the store open."""

    def __init__(
        self,
        frontier: Frontier,
        reader: FrontierReader,
        clock: Clock,
        look: Look,
        buried: Callable[[], Awaitable[Buried]],
        *,
        has_table: bool,
    ) -> None:
        self._frontier = frontier
        self._orders = NodeOrders(frontier, reader, clock)
        self._clock = clock
        self._look = look
        self._buried = buried
        self._has_table = has_table

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of an answer, the last of which says that it is complete."""
        try:
            for facts in await self._answer(question):
                yield as_json(facts)
        except SkitterError as error:
            away = not isinstance(error, ConfigError)
            yield as_json({**error_facts(error), "is_away": away})
            return
        yield as_json({"complete": True})

    def before(self, others: Answer) -> Answer:
        """Return who answers questions about nodes here, and all others as ``others`` do."""
        return lambda question: (self.answer if "nodes" in question else others)(question)

    async def _answer(self, question: Question) -> list[Facts]:
        match question:
            case {"nodes": "list"}:
                return rows_of(await self._everyone(await self._orders.nodes()))
            case {"nodes": "buried"}:
                return [dict((await self._buried())._asdict())]
            case {"nodes": "show", "node": str(name)}:
                node = await self._orders.node(name)
                return [facts_of(node, await self._everyone([node]))]
            case {
                "nodes": "start",
                "node": str(name),
                "kind": str(kind),
                "priority": int(priority),
                "count": int(count),
            }:
                started = await self._orders.start(name, kind=kind, priority=priority, count=count)
                await self._tell(name, f"started {len(started)} for {kind}")
                return [{"node": name, **worker_facts(worker)} for worker in started]
            case {"nodes": "stop", "node": str(name), "worker": int(number)}:
                stopped = await self._orders.stop(name, number)
                await self._tell(name, f"stopped worker {number}")
                return [{"node": name, **worker_facts(stopped)}]
            case {"nodes": "logs", "node": str(name)}:
                return _told(await self._orders.logs(name, _wanted(question)))
            case _:
                raise ConfigError(f"no question about nodes: {sorted(question)}")

    async def _tell(self, node: str, what: str) -> None:
        from skitter.crawl.happenings import tell_node  # noqa: PLC0415  not for every command

        await tell_node(self._frontier, self._clock, node, what)

    async def _everyone(self, nodes: list[NodeState]) -> Everyone:
        return Everyone(
            now_ms=self._clock.now_ms(),
            nodes=nodes,
            members=members_by_name(await self._look()),
            has_table=self._has_table,
        )


@asynccontextmanager
async def open_nodes(where: Where) -> AsyncIterator[Ask]:
    """Open the way to the nodes of a store or a directory."""
    async with AsyncExitStack() as stack:
        if where.api is not None:
            client = await stack.enter_async_context(open_api(where.api, where.token))
            yield lambda question: answer(client, question)
        elif where.store is not None:
            keeper = await _redis_keeper(stack, where.store)

            async def ask_store(question: Question) -> list[Facts]:
                if keeper is None:
                    return _no_store(question)
                return await _collected(where, keeper.answer(question))

            yield ask_store
        else:
            yield lambda question: _ask_directory(where, question)


async def _collected(where: Where, lines: AsyncIterator[bytes]) -> list[Facts]:
    found = [dict(json.loads(line)) async for line in lines]
    for facts in found:
        if "error" in facts:
            kind = FrontierError if facts.get("is_away") else ConfigError
            raise kind(str(facts["error"]))
    if not found or "complete" not in found[-1]:
        raise DataDirError(f"{where}: what runs there ended before it had answered; ask again")
    return found[:-1]


def _no_store(question: Question) -> list[Facts]:
    if question.get("nodes") in ("list", "buried"):
        return []
    raise ConfigError(f"node {question.get('node')}: there is none; nobody has used this store yet")


def _wanted(question: Question) -> ReadLogs:
    worker, after, lines = question.get("worker"), question.get("after"), question.get("lines")
    places = after if isinstance(after, Mapping) else {}
    return ReadLogs(
        worker=worker if isinstance(worker, int) else None,
        lines=lines if isinstance(lines, int) else 0,
        after={int(number): str(place) for number, place in places.items()},
    )


def _told(logs: Mapping[int, Piece]) -> list[Facts]:
    return [
        {"worker": number, "text": piece.text, "cursor": piece.cursor, "more": piece.more}
        for number, piece in logs.items()
    ]


# On Redis


async def _redis_keeper(stack: AsyncExitStack, url: str) -> NodesKeeper | None:
    """Open a store for questions and orders; None when nobody has used it yet."""
    require_redis()
    from skitter.frontier.redis.address import StoreAddress  # noqa: PLC0415  brings a client
    from skitter.frontier.redis.frontier import RedisFrontier  # noqa: PLC0415
    from skitter.frontier.redis.nodes import Nodes  # noqa: PLC0415

    nodes = Nodes(StoreAddress.parse(url), patience_s=PATIENCE_S)
    await nodes.open(to_read=True)
    stack.push_async_callback(nodes.close)
    frontier = RedisFrontier(nodes)
    stack.push_async_callback(frontier.close)
    if not await frontier.open_to_read():
        return None
    seconds, micros = await nodes.run(frontier.keys.meta, "TIME")
    clock = StoreClock()
    clock.set(int(seconds) * 1000 + int(micros) // 1000)
    look = RedisLook(nodes, frontier.keys, clock)
    buried = frontier.vultures(lambda _: False).total
    return NodesKeeper(frontier, frontier, clock, look, buried, has_table=True)


class RedisLook:
    """Looks at the table of members, their slots and what waits in them."""

    def __init__(self, nodes: "Nodes", keys: "Keys", clock: Clock) -> None:
        self._nodes = nodes
        self._keys = keys
        self._clock = clock
        """The store's."""
        self._hosts: Mapping[int, int] = {}
        self._looked = float("-inf")

    async def __call__(self) -> list[KnownMember]:
        """Return every member that is alive."""
        from skitter.frontier.redis import roll  # noqa: PLC0415  brings a client
        from skitter.frontier.redis.members import RedisMembers  # noqa: PLC0415

        members = await roll.members(self._nodes, self._keys, self._clock)
        plan = await RedisMembers(self._nodes, self._keys).plan()
        if self._clock.boot() - self._looked > BACKLOG_S:
            self._hosts = await roll.hosts_by_slot(self._nodes, self._keys)
            self._looked = self._clock.boot()
        slots = dict.fromkeys(plan.members, 0)
        hosts = dict.fromkeys(plan.members, 0)
        for slot, owner in enumerate(plan.owners()):
            slots[owner] += 1
            hosts[owner] += self._hosts.get(slot, 0)
        return [
            KnownMember(
                name=member.beat.name,
                node=member.beat.node,
                silent_ms=member.silent_ms,
                since_ms=member.beat.started_ms,
                pages=member.beat.pages,
                in_flight=member.beat.leases,
                slots=slots.get(member.beat.name, 0),
                hosts=hosts.get(member.beat.name, 0),
                draining=member.beat.draining,
            )
            for member in members
        ]


# In a directory of this machine


def children(server: "RemoteServer") -> Look:
    """Return a look at the children of a master, who share everything."""

    async def look() -> list[KnownMember]:
        return [
            KnownMember(
                name=child.name,
                silent_ms=round(child.silent_s * 1000),
                pages=child.acked,
                in_flight=child.leases,
            )
            for child in server.sessions()
        ]

    return look


async def _ask_directory(where: Where, question: Question) -> list[Facts]:
    """Ask what runs on a directory; without that, read what a manager left there."""
    assert where.data is not None
    async with aclosing(ask_running(where.data, question)) as answer:
        lines = [line async for line in answer]
    if lines:
        return await _collected(where, _again(lines))
    folders = folders_in(where.data)
    if not folders:
        raise DataDirError(f"{where}: no node has run there; wanted its directory, or --store URL")
    return _from_disk(where, folders, question)


async def _again(lines: Iterable[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line


def _from_disk(where: Where, folders: list[Path], question: Question) -> list[Facts]:
    nodes = {kept.name: (folder, kept) for folder in folders if (kept := read_kept(folder))}
    if question.get("nodes") == "list":
        states = [_state(kept) for _, kept in nodes.values()]
        return rows_of(Everyone(now_ms=0, nodes=states))
    if question.get("nodes") == "buried":
        return []
    name = str(question.get("node"))
    if name not in nodes:
        raise ConfigError(f"node {name}: there is none of that name; known: {', '.join(nodes)}")
    folder, kept = nodes[name]
    match question.get("nodes"):
        case "show":
            return [facts_of(_state(kept), Everyone(now_ms=0))]
        case "logs":
            return _told(_logs_in(folder, kept, _wanted(question)))
        case _ if is_alive(kept):
            raise DataDirError(f"{where}: this node takes orders through its store; wanted --store")
        case _:
            raise FrontierError(f"node {name}: it does not run; nothing was changed")


def _state(kept: Kept) -> NodeState:
    there = is_alive(kept)
    report = Report(
        name=kept.name,
        session=kept.session,
        machine=kept.machine,
        pid=kept.pid,
        limit=kept.limit,
        since_ms=kept.since_ms,
        stopped=not there,
        workers=kept.roster.workers,
    )
    return NodeState(report, 0 if there else None, Pulse(session=kept.session, at_ms=0))


def _logs_in(folder: Path, kept: Kept, wanted: ReadLogs) -> dict[int, Piece]:
    if wanted.worker is None:
        open_ones = [one.id for one in kept.roster.workers if one.state is not State.FINISHED]
        numbers = [MANAGER, *open_ones]
    else:
        numbers = [wanted.worker]
        known = {MANAGER, *(worker.id for worker in kept.roster.workers)}
        if wanted.worker not in known:
            raise ConfigError(
                f"node {kept.name}: worker {wanted.worker}: there is none of that number"
            )
    return pieces(partial(log_in, folder), numbers, wanted.lines, wanted.after)
