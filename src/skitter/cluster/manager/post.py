"""The post of one node: says in the store how the node stands, and brings it orders from there."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final, Protocol

import msgspec

from skitter.clock import Clock
from skitter.cluster.manager.notices import (
    AWAY_MS,
    BOXES,
    PULSE_S,
    Answer,
    Order,
    Pulse,
    Report,
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
from skitter.errors import ConfigError, SkitterError
from skitter.frontier.base import Frontier, FrontierReader

BELL_S: Final = 0.5
"""Between looks for orders."""
PULSES: Final = 15
"""Signs of life between two reports of a node on which nothing changes."""
NAME_LOOKS: Final = 8
"""How often a node that has begun looks whether another has its name."""
TROUBLE_S: Final = 2.0
"""Before the store is asked again that could not answer."""
GOODBYE_S: Final = 2.0

log = logging.getLogger(__name__)


class Subject(Protocol):
    """The manager whose post it is."""

    changed: asyncio.Event
    """Set when its report has changed."""

    def report(self, *, stopped: bool = False) -> Report:
        """Return what the node is, and its list of workers."""

    def pulse(self, at_ms: int) -> Pulse:
        """Return how its workers stand."""

    async def obey(self, order: Order) -> Answer:
        """Carry out an order, unless it was before."""


class Post:
    """Carries what one node has to say and what it is told."""

    def __init__(self, frontier: Frontier, reader: FrontierReader, clock: Clock) -> None:
        self._frontier = frontier
        self._reader = reader
        self._clock = clock
        """The store's."""
        self._rung: bytes | None = None
        self._has_told = False
        self._name_looks = 0
        self._met_other = False

    async def check_name(self, name: str, earlier: str) -> None:
        """Raise ``ConfigError`` when another node uses a name.

        ``earlier`` is the session that had this node's folder before: that one is surely gone.
        """
        first = await self._heard(name)
        while (pulse := await self._heard(name)) is not None:
            report = await self._report(name)
            is_past = self._clock.now_ms() - pulse.at_ms >= AWAY_MS
            if pulse.session == earlier or is_past or report is None or report.stopped:
                return
            if pulse != first:
                raise _taken(report)
            # One that was killed a moment ago is not heard of again.
            await asyncio.sleep(BELL_S)

    async def _heard(self, name: str) -> Pulse | None:
        text = await self._reader.mark(pulse_mark(name))
        with suppress(msgspec.MsgspecError):
            return decode_pulse(text) if text else None
        return None

    async def _report(self, name: str) -> Report | None:
        text = await self._reader.mark(list_mark(name))
        with suppress(msgspec.MsgspecError):
            return decode_report(text) if text else None
        return None

    async def run(self, subject: Subject) -> None:
        """Keep the store informed and carry orders, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_keep_on(lambda: self._tell(subject), 0.0))
            group.create_task(_keep_on(lambda: self._fetch(subject), BELL_S))

    async def say_goodbye(self, subject: Subject) -> None:
        """Say that the node has ended, if the store can be told so soon."""
        report = subject.report(stopped=True)
        with suppress(SkitterError, TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await self._put({list_mark(report.name): encode(report)})

    async def _tell(self, subject: Subject) -> None:
        subject.changed.clear()
        report = subject.report()
        pulse = encode(subject.pulse(self._clock.now_ms()))
        await self._put({list_mark(report.name): encode(report), pulse_mark(report.name): pulse})
        self._has_told = True
        # After some time all of it is told anew: a store may have lost its last moments.
        for _ in range(PULSES):
            if await _within(PULSE_S, subject.changed.wait()):
                return
            pulse = encode(subject.pulse(self._clock.now_ms()))
            await self._put({pulse_mark(report.name): pulse})

    async def _fetch(self, subject: Subject) -> None:
        """Look whether somebody has rung; then look into every box."""
        own = subject.report()
        await self._mind_name(own, subject)
        node = own.name
        rung = await self._reader.mark(bell_mark(node)) or b""
        if rung == self._rung:
            return
        for box in range(BOXES):
            order = await self._order_in(node, box)
            if order is not None:
                answer = await subject.obey(order)
                await self._put({answer_mark(node, box): encode(answer)})
        self._rung = rung

    async def _mind_name(self, own: Report, subject: Subject) -> None:
        """Give way to a node of the same name that began at the same moment, unless it is later.

        Neither of them could find the other before its first report.
        """
        if not self._has_told or self._name_looks >= NAME_LOOKS:
            return
        self._name_looks += 1
        found = await self._report(own.name)
        if found is None or found.session == own.session or found.stopped:
            return
        is_later = (found.since_ms, found.session) < (own.since_ms, own.session)
        if is_later and self._met_other:
            raise _taken(found)
        # Told anew, for the other to see it. One that was killed says nothing in return.
        self._met_other = True
        subject.changed.set()

    async def _order_in(self, node: str, box: int) -> Order | None:
        """Return an order that is to be carried out."""
        text = await self._reader.mark(order_mark(node, box))
        if not text:
            return None
        try:
            order = decode_order(text)
        except msgspec.MsgspecError as error:
            log.warning("an order that cannot be read was left for this node: %s", error)
            return None
        if order.deadline_ms < self._clock.now_ms():
            return None
        answered = await self._reader.mark(answer_mark(node, box))
        with suppress(msgspec.MsgspecError):
            if answered and decode_answer(answered).id == order.id:
                return None
        return order

    async def _put(self, marks: dict[str, bytes]) -> None:
        await self._frontier.ack((), marks=marks)


def _taken(other: Report) -> ConfigError:
    return ConfigError(
        f"node name {other.name!r}: another one on {other.machine} uses it;"
        " wanted a name of its own for each"
    )


async def _keep_on(step: Callable[[], Awaitable[None]], pause_s: float) -> None:
    """Do something again and again; a store in trouble is asked again later."""
    while True:
        try:
            await step()
        except ConfigError:
            raise
        except SkitterError as error:
            log.debug("the store cannot be told how this node stands: %s", error)
            await asyncio.sleep(TROUBLE_S)
        await asyncio.sleep(pause_s)


async def _within(seconds: float, event: Awaitable[object]) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await event
    except TimeoutError:
        return False
    return True
