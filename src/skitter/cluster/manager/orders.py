"""Nodes from afar: how they stand, and the orders they can be given. Every verb is here.

An order is left in the store and answered there, so whoever gives it needs to reach the store and
nothing else. It is carried out once: one that is left again because its answer was lost keeps its
id, and a node remembers what it has answered.
"""

import asyncio
import random
import secrets
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import PurePath
from typing import Final

import msgspec

from skitter.clock import Clock
from skitter.cluster.manager.logs import Piece
from skitter.cluster.manager.notices import (
    AWAY_MS,
    BOXES,
    LIST,
    VERSION,
    Answer,
    Deed,
    Order,
    Pulse,
    ReadLogs,
    Report,
    Start,
    Stop,
    answer_mark,
    bell_mark,
    decode_answer,
    decode_order,
    decode_pulse,
    decode_report,
    encode,
    list_mark,
    order_mark,
    pulse_mark,
)
from skitter.cluster.manager.roster import (
    ALL_KINDS,
    DEFAULT_PRIORITY,
    ListedWorker,
    checked_kind,
    checked_priority,
)
from skitter.errors import ConfigError, FrontierError, NotFound
from skitter.frontier.base import Frontier, FrontierReader

PATIENCE_S: Final = 15.0
"""How long a node may take to answer."""
LOOK_S: Final = 0.1
"""Between looks for its answer."""


class NodeState(msgspec.Struct, frozen=True):
    """One node, as it was heard of last."""

    report: Report
    silent_ms: int | None
    """How long ago its last sign of life was; None when there was none."""
    pulse: Pulse

    @property
    def name(self) -> str:
        """What it is called."""
        return self.report.name

    @property
    def is_there(self) -> bool:
        """Whether it can be given orders."""
        alive = self.silent_ms is not None and self.silent_ms < AWAY_MS
        return alive and not self.report.stopped and self.report.version == VERSION

    @property
    def health(self) -> str:
        """Return how it is, in a word or two."""
        if self.report.version != VERSION:
            return f"speaks version {self.report.version}"
        if self.report.stopped:
            return "stopped"
        return "ok" if self.is_there else "away"


class NodeOrders:
    """Everything that can be asked of nodes, through the store they work for."""

    def __init__(
        self,
        frontier: Frontier,
        reader: FrontierReader,
        clock: Clock,
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._frontier = frontier
        self._reader = reader
        self._clock = clock
        """The store's."""
        self._patience_s = patience_s

    async def nodes(self) -> list[NodeState]:
        """Return every node that was ever heard of, by name."""
        found = await self._reader.marks(LIST)
        return [
            await self._state(_report(name.removeprefix(LIST), found[name]))
            for name in sorted(found)
            if found[name]
        ]

    async def refresh(self, names: Iterable[str]) -> list[NodeState]:
        """Return nodes that are known by name; cheaper than to look for all."""
        return [state for name in names if (state := await self._find(name)) is not None]

    async def node(self, name: str) -> NodeState:
        """Return one node; raises ``ConfigError`` when there is none of that name."""
        found = await self._find(name)
        if found is not None:
            return found
        known = sorted(
            name.removeprefix(LIST)
            for name, text in (await self._reader.marks(LIST)).items()
            if text
        )
        near = get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
        raise NotFound(f"node {name}: there is none of that name; {hint}")

    async def start(
        self,
        node: str,
        *,
        kind: str = ALL_KINDS,
        priority: int = DEFAULT_PRIORITY,
        count: int = 1,
    ) -> tuple[ListedWorker, ...]:
        """Let a node start workers; those beyond its limit of processes wait there for room."""
        checked_kind(kind)
        checked_priority(priority)
        if count < 1:
            raise ConfigError(f"count {count}; wanted 1 or more")
        return (await self._give(node, Start(kind=kind, priority=priority, count=count))).workers

    async def stop(self, node: str, worker: int) -> ListedWorker:
        """Let a worker finish its requests and end; raises ``ConfigError`` for one that is gone."""
        [stopped] = (await self._give(node, Stop(worker=worker))).workers
        return stopped

    async def logs(self, node: str, wanted: ReadLogs) -> dict[int, Piece]:
        """Return lines of a worker's log, or of all at work, by their numbers."""
        state = await self.node(node)
        if not state.is_there:
            raise FrontierError(f"node {node}: {_where_logs_are(state)}")
        return (await self._give(node, wanted)).logs

    async def _find(self, name: str) -> NodeState | None:
        text = await self._reader.mark(list_mark(name))
        return await self._state(_report(name, text)) if text else None

    async def _state(self, report: Report) -> NodeState:
        text = await self._reader.mark(pulse_mark(report.name))
        pulse = _pulse(text or b"")
        if pulse is None or pulse.session != report.session:
            return NodeState(report, None, Pulse(session=report.session, at_ms=0))
        return NodeState(report, max(0, self._clock.now_ms() - pulse.at_ms), pulse)

    # The way of an order

    async def _give(self, node: str, deed: Deed) -> Answer:
        state = await self.node(node)
        if not state.is_there:
            raise FrontierError(f"node {node}: {_absence(state)}; nothing was changed")
        order = Order(
            id=secrets.token_hex(8),
            deadline_ms=self._clock.now_ms() + round(self._patience_s * 1000),
            deed=deed,
        )
        answer = None
        while answer is None:
            box = await self._leave(node, order)
            answer = await self._await_answer(node, box, order)
        await self._frontier.ack(
            (), marks={order_mark(node, box): b"", answer_mark(node, box): b""}
        )
        if answer.refused:
            raise ConfigError(f"node {node}: {answer.refused}")
        return answer

    async def _leave(self, node: str, order: Order) -> int:
        """Put an order into a box that nobody waits for, and ring; answer which."""
        boxes = random.sample(range(BOXES), BOXES)
        box = boxes[0]
        for one in boxes:
            if await self._is_free(node, one):
                box = one
                break
        # No ring is like another: a node that has heard this order ring before looks again.
        ring = secrets.token_hex(8).encode()
        marks = {order_mark(node, box): encode(order), bell_mark(node): ring}
        await self._frontier.ack((), marks=marks)
        return box

    async def _is_free(self, node: str, box: int) -> bool:
        left = await self._order_in(node, box)
        return left is None or left.deadline_ms < self._clock.now_ms()

    async def _order_in(self, node: str, box: int) -> Order | None:
        text = await self._reader.mark(order_mark(node, box))
        try:
            return decode_order(text) if text else None
        except msgspec.MsgspecError:
            return None

    async def _await_answer(self, node: str, box: int, order: Order) -> Answer | None:
        """Wait for the answer; None when somebody else has put another order into the box."""
        while True:
            text = await self._reader.mark(answer_mark(node, box))
            answer = _answer(text or b"")
            if answer is not None and answer.id == order.id:
                return answer
            if self._clock.now_ms() > order.deadline_ms:
                raise FrontierError(
                    f"node {node}: no answer within {self._patience_s:g} s;"
                    f" see how it stands with: skitter nodes show {node}"
                )
            left = await self._order_in(node, box)
            if left is None or left.id != order.id:
                return None
            await asyncio.sleep(LOOK_S)


def _report(name: str, text: bytes) -> Report:
    try:
        return decode_report(text)
    except msgspec.MsgspecError:
        # Written by a release that has another form for it.
        return Report(version=0, name=name, session="")


def _pulse(text: bytes) -> Pulse | None:
    try:
        return decode_pulse(text) if text else None
    except msgspec.MsgspecError:
        return None


def _answer(text: bytes) -> Answer | None:
    try:
        return decode_answer(text) if text else None
    except msgspec.MsgspecError:
        return None


def _where_logs_are(state: NodeState) -> str:
    """Say of a node that cannot be asked why, and where its logs can be read."""
    why = _absence(state).partition("; ")[0]
    folders = {str(PurePath(worker.log).parent) for worker in state.report.workers if worker.log}
    place = f"in {folders.pop()}" if folders else "in its data directory"
    machine = state.report.machine or "its machine"
    return f"{why}; its logs are on {machine}, {place}"


def _absence(state: NodeState) -> str:
    if state.report.version != VERSION:
        return "it is of another release of Skitter and does not understand orders of this one"
    if state.report.stopped:
        return "it was stopped; start it there with: skitter node"
    if state.silent_ms is None:
        return "it is away"
    return f"it is away, and was heard of {state.silent_ms / 1000:,.0f} s ago"
