"""Control: the role of the one member that shares the slots out.

Every member is ready to take it; a lease in the table decides who has it. It can do no harm by
coming late: a plan of an earlier control is refused, and a plan is only ever advice on what to own.
"""

import asyncio
import logging
from collections.abc import Sequence

from skitter.clock import Clock
from skitter.cluster.balance import WINDOW_S, Balance, Sharing
from skitter.frontier.members import MemberTable, Plan, View
from skitter.url.partition import SLOTS

LEAD_TTL_MS = 3_000
HOLE_S = 2.0
GRACE_S = 4.0
"""After a hole of that length in what was heard from the store, nobody is taken for dead that long.

Others heard nothing either, and were not heard: they get the time to come back.
"""

log = logging.getLogger(__name__)


def settled(view: View, plan: Plan) -> bool:
    """Tell whether a plan is for exactly those that are there to stay."""
    return plan.members == _staying(view)


class Control:
    """The part that one member has in control."""

    def __init__(
        self, table: MemberTable, session: str, clock: Clock, window_s: float = WINDOW_S
    ) -> None:
        self._table = table
        self._session = session
        self._clock = clock
        self._looked = clock.boot()
        self._patient_until = 0.0
        self._window_s = window_s
        self._balance: Balance | None = None
        self._epoch = 0

    @property
    def leads(self) -> bool:
        """Whether this member had control when it last looked."""
        return self._epoch > 0

    async def step(self, view: View, plan: Plan) -> Plan | None:
        """Keep control, or take it when nobody has it; answer a plan that was put in force.

        ``view`` is of the beat just made, ``plan`` the plan in force then.
        """
        now = self._clock.boot()
        if now - self._looked > HOLE_S:
            self._patient_until = now + GRACE_S
        self._looked = now
        if view.control not in ("", self._session):
            self._epoch = 0
            return None
        sharing = await self._share(view, plan, now)
        if sharing is None:
            return None
        # The time makes the number new also for a store that has lost its latest plan.
        number = max(plan.epoch + 1, self._clock.now_ms())
        new = Plan.of(number, sharing.owners, sharing.weights.keys(), sharing.weights)
        if not await self._table.publish(new, self._epoch):
            self._epoch = 0
            return None
        log.info("plan %d moves %d slots, for %d members", number, sharing.moved, len(new.members))
        return new

    async def _share(self, view: View, plan: Plan, now: float) -> Sharing | None:
        """Decide whether slots are to move."""
        balance = await self._take(plan, now)
        if balance is None:
            return None
        balance.observe([item.beat for item in view.members])
        names = _staying(view)
        if not names:
            return None
        if settled(view, plan):
            due = balance.is_due(now)
            return await asyncio.to_thread(balance.follow_speeds, plan, now) if due else None
        if now < self._patient_until and not set(plan.members) <= set(names):
            return None
        return await asyncio.to_thread(balance.share_anew, plan, names, now)

    async def _take(self, plan: Plan, now: float) -> Balance | None:
        """Take or keep control, with what is remembered unless another had it in between."""
        before = self._epoch
        self._epoch = await self._table.lead(self._session, LEAD_TTL_MS)
        if not self.leads:
            self._balance = None
        elif self._balance is None or not before or self._epoch > before + 1:
            self._balance = Balance(SLOTS, plan, now, self._window_s)
        return self._balance


def _staying(view: View) -> Sequence[str]:
    return tuple(sorted(item.beat.name for item in view.members if not item.beat.draining))
