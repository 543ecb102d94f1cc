"""What redirects take under a lease: the gates of other hosts, and the URLs that they lead to."""

from skitter.frontier.model import LEASE_MS, Lease
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.core import Core
from skitter.frontier.redis.keys import signed
from skitter.frontier.redis.owning import Owning
from skitter.frontier.redis.wire import NEVER, Hint
from skitter.types import Fingerprint, HostKey
from skitter.url.partition import TAGS

LOST_WAIT_MS = 1000
"""Whoever lost the lease has no right to ask; its ack will be stale."""


class Gates:
    """Gates and targets."""

    def __init__(self, core: Core, owning: Owning, agenda: Agenda) -> None:
        self._core = core
        self._owning = owning
        self._agenda = agenda

    async def enter(
        self, lease: Lease, host: HostKey, at_most_ms: int | None, target: Fingerprint | None
    ) -> int:
        """Take another host's gate under a lease."""
        core = self._core
        left_ms = await self._left_ms(lease)
        if left_ms < 0:
            return LOST_WAIT_MS
        place = core.host(host)
        tag = place.slot % TAGS
        # Noted before: a call that is broken off may have taken the gate all the same.
        entered = core.entered_by(lease)
        entered.hosts.add(host)
        gate_ms = self._owning.gate_ms(left_ms)
        wait_ms: int = await core.call(
            tag,
            "enter",
            lease.id,
            lease.job,
            host,
            place.slot,
            place.domain,
            -1 if at_most_ms is None else at_most_ms,
            "" if target is None else signed(target),
            gate_ms,
        )
        self._expect(tag, gate_ms)
        if wait_ms < 0 or (at_most_ms is not None and wait_ms > at_most_ms):
            entered.let_go(host)
        elif target is not None:
            entered.targets.add(host)
        return wait_ms

    async def reserve(self, lease: Lease, host: HostKey, target: Fingerprint) -> int:
        """Keep a URL from being handed out."""
        core = self._core
        tag = core.keys.tag_of_host(host)
        # Most are in the tag of the lease, where the script sees for itself that it is live.
        fence: int | str = lease.fence
        left_ms = LEASE_MS
        if tag != lease.slot % TAGS:
            fence, left_ms = "", await self._left_ms(lease)
        if left_ms < 0:
            return LOST_WAIT_MS
        entered = core.entered_by(lease)
        entered.hosts.add(host)
        entered.targets.add(host)
        gate_ms = self._owning.gate_ms(left_ms)
        words = (lease.id, fence, lease.job, host, signed(target), gate_ms)
        wait_ms: int = await core.call(tag, "reserve", *words)
        self._expect(tag, gate_ms)
        return wait_ms

    async def _left_ms(self, lease: Lease) -> int:
        """Return how long a lease lasts; less than 0 when it is gone."""
        left_ms: int = await self._core.call(lease.slot % TAGS, "left", lease.id, lease.fence)
        return left_ms

    def _expect(self, tag: int, after_ms: int) -> None:
        """Look at a tag again when something in it may be over."""
        self._agenda.improve(tag, Hint(self._core.clock.now_ms() + after_ms, NEVER))
