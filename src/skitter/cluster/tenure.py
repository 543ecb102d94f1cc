"""What one member owns, kept up by two loops: one follows the plan, one keeps the slots.

The right to a slot is counted on this machine's own clock, from before the call that gave it, and
ends before the store lets anybody else have the slot. So ``holds`` is true only while it is safe to
ask a server, also in a process that was stopped and has just gone on.
"""

import asyncio
import logging
import math
import secrets
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from skitter.clock import Clock
from skitter.cluster.balance import WINDOW_S
from skitter.cluster.control import Control, settled
from skitter.cluster.effort import Counted
from skitter.cluster.holdings import Holdings
from skitter.cluster.names import checked_name
from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.base import OWNER_TTL_MS, Frontier
from skitter.frontier.members import Beat, MemberTable, Plan, View
from skitter.frontier.model import Grant
from skitter.url.partition import SLOTS

BEAT_S = 1.0
LEAST_BEATS = 40
"""In the time over which speed is measured."""
HASTE_S = 0.5
"""Between beats while somebody is missing, or the plan is not for those who are there."""
WORRY_MS = 1_500
"""A member that has been silent for this long is missing."""
RENEW_S = 1.5
ASK_S = 0.3
"""Between questions for slots that another member still holds."""
DRAIN_S = 10.0
LEAVE_S = 3.0
"""How long the store may take to hear that a member leaves."""
SAFE_SHARE = 0.9
"""The part of the time in the store that counts here: the clocks of two machines differ."""
CLOCK_STEP_S = 0.02
"""A timer may fire a moment before the clock says so."""
EVERYTHING = range(SLOTS)
_ALL = frozenset({0})
"""Where one owner grants everything, one grant stands for it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How a member stands, for people."""

    members: int
    """Alive, itself included."""
    slots: int
    """Held, those that are leaving included."""
    waiting: bool
    """Whether slots that the plan gives it are still held by others."""
    leads: bool
    """Whether it has control."""


class Tenure:
    """The slots of one member. Without a table, one owner grants everything at once.

    ``busy`` tells the slots of leases that are being worked on, ``counted`` what was counted of the
    work.
    """

    def __init__(
        self,
        frontier: Frontier,
        table: MemberTable | None,
        *,
        name: str,
        clock: Clock,
        node: str = "",
        busy: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self.name = checked_name(name)
        self.ttl_ms = OWNER_TTL_MS
        self.drain_s = DRAIN_S
        self.on_lost: Callable[[Collection[int]], None] = lambda lost: None
        """Called with slots whose ownership lapsed or was taken, before it may begin anew."""
        self.counted: Callable[[], Counted] = Counted
        self.window_s = WINDOW_S
        """The time over which control measures how fast members are; to be set before ``open``."""
        self._frontier = frontier
        self._table = table
        self._node = node
        self._clock = clock
        self._busy = busy
        self._session = secrets.token_hex(8)
        self._started_ms = clock.now_ms()
        self._control: Control | None = None
        self._holdings = Holdings()
        self._view = View((), 0)
        self._plan = Plan(0)
        self._followed: Plan | None = None
        self._leaving = False
        self._not_before = 0.0
        """An earlier process of this name may believe until then that it holds its slots."""
        self._renewed = 0.0
        self._watch: asyncio.TimerHandle | None = None
        self._beat_now = asyncio.Event()
        self._ask_now = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        if table is None:
            self._holdings.want(_ALL, clock.boot())

    @property
    def grants(self) -> Sequence[Grant]:
        """What may be claimed from; the same object as long as ``version`` is the same."""
        holdings = self._holdings
        return holdings.grants if self._clock.boot() < holdings.until else ()

    @property
    def complete(self) -> bool:
        """Whether claims go to every slot; those that are to be given back are not among them."""
        return len(self.grants) == (SLOTS if self._table is not None else 1)

    @property
    def version(self) -> int:
        """A number that grows whenever slots or fences in ``grants`` change."""
        return self._holdings.version

    @property
    def leads(self) -> bool:
        """Whether this member has control."""
        return self._control is not None and self._control.leads

    @property
    def view(self) -> View:
        """Who is there; whole where this member has control."""
        return self._view

    @property
    def plan(self) -> Plan:
        """Who is to own what."""
        return self._plan

    @property
    def status(self) -> Standing:
        """How this member stands."""
        alone = self._table is None
        others = self._view.members if self._view.whole else self._plan.members
        return Standing(
            members=1 if alone else len(others),
            slots=len(self._holdings) * (SLOTS if alone else 1),
            waiting=self._holdings.missing,
            leads=self.leads,
        )

    def holds(self, slot: int, fence: int | None = None, asked_at: float = math.inf) -> bool:
        """Tell whether a request may be made in a slot now, under the fence of a lease if given.

        ``asked_at`` is when that lease was asked for, or prolonged.
        """
        place = slot if self._table is not None else 0
        return self._holdings.holds(self._clock.boot(), place, fence, asked_at)

    async def open(self) -> None:
        """Join, and own what can be had at once; raises ``ConfigError`` for a name in use."""
        if self._table is not None:
            self._control = Control(self._table, self._session, self._clock, self.window_s)
            view = await self._meet(self._table)
            if view.inherited_ms is not None:
                wait_s = (self.ttl_ms - view.inherited_ms) / 1000 + BEAT_S
                self._not_before = self._clock.boot() + wait_s
        await self.refresh()

    async def run(self) -> None:
        """Keep what is owned in step with plan and store, until cancelled.

        Raises ``ConfigError`` when another process took the name while this one was silent.
        """
        try:
            async with asyncio.TaskGroup() as loops:
                loops.create_task(self._keep())
                if self._table is not None:
                    loops.create_task(self._follow(self._table))
        except ExceptionGroup as group:
            self._tell(self._holdings.drop(self._busy()))
            raise group.exceptions[0] from None

    def retire(self) -> None:
        """Claim nothing more: others are to take over what is not worked on any longer.

        Ownership of the rest is kept while ``run`` runs. A single owner has nobody to give to.
        """
        if self._table is not None and not self._leaving:
            self._leaving = True
            self._want(())
            self._beat_now.set()

    async def refresh(self) -> None:
        """Own anew what is wanted; for a claim that was refused as ``Fenced``."""
        async with self._one_at_a_time:
            await self._own()

    async def close(self) -> None:
        """Give everything back and leave; call it when ``run`` has ended.

        What is still worked on gets ``drain_s``. A store that does not answer is not waited for:
        what is owned lapses there by itself.
        """
        self.retire()
        try:
            # First: while the store does not answer, nothing could be drained.
            async with asyncio.timeout(LEAVE_S):
                await self._say_goodbye()
            async with asyncio.timeout(LEAVE_S + (self.drain_s if self._busy() else 0)):
                await self._wind_up()
        except TimeoutError:
            log.warning("the store does not answer: what this member owns lapses by itself")
        finally:
            self._let_go()

    async def _say_goodbye(self) -> None:
        if self._table is not None:
            try:
                await self._meet(self._table)
            except ConfigError:
                log.warning("another process has taken the name %s", self.name)

    async def _wind_up(self) -> None:
        deadline = self._clock.boot() + self.drain_s
        while self._busy() and self._clock.boot() < deadline:
            async with self._one_at_a_time:
                await self._tend()
            await asyncio.sleep(ASK_S)
        await self._frontier.disown(self._let_go())
        if self._table is not None:
            await self._table.leave(self.name, self._session)

    def _let_go(self) -> Sequence[Grant]:
        """Hold nothing any more; answer what was held."""
        grants = self._holdings.held
        busy = set(self._busy())
        lost = self._holdings.drop(busy)
        self._tell(lost & busy if self._table is not None else busy and lost)
        if self._watch is not None:
            self._watch.cancel()
        return grants

    async def _follow(self, table: MemberTable) -> None:
        """Beat, and take in what the answers say."""
        while True:
            beat_s = min(BEAT_S if self._is_calm() else HASTE_S, self.window_s / LEAST_BEATS)
            await _pause(self._beat_now, beat_s)
            try:
                await self._meet(table)
            except StoreUnavailable as error:
                log.warning("no word of the other members: %s", error)

    def _is_calm(self) -> bool:
        """Tell whether everybody is where the plan has them, as far as can be seen from here."""
        view = self._view
        if not view.whole:
            return self._leaving or self.name in self._plan.members
        missing = any(member.silent_ms > WORRY_MS for member in view.members)
        return settled(view, self._plan) and not missing

    async def _meet(self, table: MemberTable) -> View:
        assert self._control is not None
        counted = self.counted()
        view = await table.beat(
            Beat(
                name=self.name,
                session=self._session,
                started_ms=self._started_ms,
                node=self._node,
                draining=self._leaving,
                **counted._asdict(),
            )
        )
        self._view = view
        if view.plan_epoch != self._plan.epoch:
            self._plan = await table.plan()
        self._plan = await self._control.step(view, self._plan) or self._plan
        if not self._leaving and self._plan is not self._followed:
            self._followed = self._plan
            self._want(self._plan.slots_of(self.name))
        return view

    def _want(self, slots: Iterable[int]) -> None:
        before = self._holdings.version
        self._holdings.want(slots, self._clock.boot())
        if self._holdings.missing or self._holdings.version != before:
            self._ask_now.set()

    async def _keep(self) -> None:
        """Renew what is held, ask for what is missing, give back what is leaving."""
        while True:
            restless = self._holdings.missing or self._holdings.leaving
            await _pause(self._ask_now, ASK_S if restless else RENEW_S)
            try:
                async with self._one_at_a_time:
                    await self._tend()
            except StoreUnavailable as error:
                log.warning("slots could not be renewed: %s", error)

    async def _tend(self) -> None:
        self._lapse()
        if self._holdings.leaving:
            now = self._clock.boot()
            returned, cut = self._holdings.give_back(now, self._busy(), self.drain_s)
            self._tell(cut)
            if returned:
                await self._frontier.disown(returned)
        due = self._clock.boot() - self._renewed > RENEW_S - ASK_S
        if due or self._holdings.missing:
            await self._own()

    async def _own(self) -> None:
        """Ask for everything in one call, so that one time says until when all of it is good."""
        asked = self._holdings.asked()
        before = self._clock.boot()
        if not asked or before < self._not_before:
            return
        grants = await self._frontier.own(self.name, asked, self.ttl_ms)
        self._renewed = before
        until = before + self.ttl_ms / 1000 * SAFE_SHARE
        self._tell(self._holdings.renew(grants, until, self._clock.boot(), self._busy()))
        # A store that does not answer must not keep anyone from noticing that the time is over.
        if self._watch is not None:
            self._watch.cancel()
        left_s = max(0.0, until - self._clock.boot())
        self._watch = asyncio.get_running_loop().call_later(left_s + CLOCK_STEP_S, self._lapse)

    def _lapse(self) -> None:
        self._tell(self._holdings.lapse(self._clock.boot(), self._busy()))

    def _tell(self, lost: Collection[int]) -> None:
        if lost:
            self.on_lost(lost if self._table is not None else EVERYTHING)


async def _pause(event: asyncio.Event, seconds: float) -> None:
    """Wait for some seconds, or until the event, which is then over."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return
    event.clear()
