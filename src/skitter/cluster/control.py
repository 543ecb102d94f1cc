"""Control: the role of the one member that shares the slots out.

Every member is ready to take it; a lease in the table decides who has it. It can do no harm by
coming late: a plan of an earlier control is refused, and a plan is only ever advice on what to own.
"""

import asyncio
import logging
from collections.abc import Sequence

from skitter.clock import Clock
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

    def __init__(self, table: MemberTable, session: str, clock: Clock) -> None:
        self._table = table
        self._session = session
        self._clock = clock
        self._looked = clock.boot()
        self._patient_until = 0.0
        self.leads = False
        """Whether this member had control when it last looked."""

    async def step(self, view: View, plan: Plan) -> Plan | None:
        """Keep control, or take it when nobody has it; answer a plan that was put in force.

        ``view`` is of the beat just made, ``plan`` the plan in force then.
        """
        now = self._clock.boot()
        if now - self._looked > HOLE_S:
            self._patient_until = now + GRACE_S
        self._looked = now
        if view.control not in ("", self._session):
            self.leads = False
            return None
        epoch = await self._table.lead(self._session, LEAD_TTL_MS)
        self.leads = epoch > 0
        names = _staying(view)
        if not self.leads or not names or settled(view, plan):
            return None
        if now < self._patient_until and not set(plan.members) <= set(names):
            return None
        # The time makes the number new also for a store that has lost its latest plan.
        number = max(plan.epoch + 1, self._clock.now_ms())
        new = await asyncio.to_thread(_make_plan, number, names)
        if not await self._table.publish(new, epoch):
            self.leads = False
            return None
        log.info("plan %d shares the slots out among %d members", new.epoch, len(names))
        return new


def _staying(view: View) -> tuple[str, ...]:
    return tuple(sorted(item.beat.name for item in view.members if not item.beat.draining))


def _make_plan(epoch: int, names: Sequence[str]) -> Plan:
    # numpy takes a while to load, and only the one in control needs it.
    from skitter.cluster.assignment import share_out  # noqa: PLC0415

    return Plan.of(epoch, share_out(SLOTS, names), names)
