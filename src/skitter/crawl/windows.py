"""Grants under rate windows: asked for all leases of a claim together, used one by one.

A request is counted in the windows of its registered domain: that of its job's kind and that of the
address it leaves from. A grant is good for a moment only. One that comes too late is asked for anew
in place of the old one, which costs a round trip and nothing of the rate.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, Protocol

from skitter.clock import Clock
from skitter.frontier.limits import Permit, Window, Wish
from skitter.frontier.model import Lease
from skitter.politeness.windows import NO_RATES, Rates, shortest_use_ms, windows_of
from skitter.types import HostKey
from skitter.url.partition import domain_key

LEAST_REST_MS: Final = 1_500
"""How long a host that was refused rests at most, so that a change of its rate is noticed."""
REST_PER_HOST_MS: Final = 10
"""Where very many hosts wait they rest for longer: looking at them again costs time."""
MOST_GRANTS: Final = 4_096
"""Grants beyond which those of leases that ended without a word are forgotten."""
_TRIES = 3


class Grants(Protocol):
    """The part of a frontier that grants requests."""

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant requests that the rate windows they count in allow now."""


class PutOff(Exception):
    """A request may not be made now, through no fault of anybody."""

    def __init__(self, at_ms: int) -> None:
        super().__init__(f"not before {at_ms} ms")
        self.at_ms = at_ms
        """When it may be, in milliseconds of the store's clock."""


class Asked(NamedTuple):
    """What one request has to be granted."""

    domain: str
    windows: tuple[Window, ...]
    usable_s: float


class _Grant(NamedTuple):
    asked: Asked
    at_ms: int
    until: float
    """Up to when it may be used, on the boot clock."""

    def fits(self, asked: Asked) -> bool:
        """Tell whether it was given under the windows of a request."""
        return _key(self.asked) == _key(asked)


class Windows:
    """The grants that one process has and has not used."""

    def __init__(self, frontier: Grants, clock: Clock, egress: str = "") -> None:
        self._frontier = frontier
        self._clock = clock
        self.egress = egress
        """The address that requests leave from; empty where nobody has said."""
        self._grants: dict[int, _Grant] = {}
        self._spare: dict[tuple[str, ...], list[int]] = {}
        self._resting: dict[HostKey, int] = {}

    async def take(self, wanted: Sequence[tuple[Lease, Asked]]) -> dict[int, int]:
        """Ask for grants for leases; answers until when those rest that got none, by lease."""
        permits = await self._permit([(lease.id, asked) for lease, asked in wanted])
        refused: dict[int, int] = {}
        for (lease, _), permit in zip(wanted, permits, strict=True):
            if permit.granted:
                self._resting.pop(lease.host, None)
            else:
                refused[lease.id] = self.rest_until_ms(lease.host, permit.at_ms)
        return refused

    async def _permit(self, wanted: Sequence[tuple[int, Asked]]) -> list[Permit]:
        """Ask the store, in place of grants that were not used where there are some."""
        wishes = [
            Wish(asked.domain, asked.windows, self._unused(lease_id, asked))
            for lease_id, asked in wanted
        ]
        boot = self._clock.boot()
        permits = await self._frontier.permit(wishes)
        if len(self._grants) > MOST_GRANTS:
            self._grants = {id_: kept for id_, kept in self._grants.items() if kept.until > boot}
        for (lease_id, asked), permit in zip(wanted, permits, strict=True):
            if permit.granted:
                self._grants[lease_id] = _Grant(asked, permit.at_ms, boot + asked.usable_s)
        return permits

    def _unused(self, lease_id: int, asked: Asked) -> int:
        own = self._grants.pop(lease_id, None)
        if own is not None and own.fits(asked):
            return own.at_ms
        spare = self._spare.get(_key(asked))
        if not spare:
            return 0
        at_ms = spare.pop()
        if not spare:
            del self._spare[_key(asked)]
        return at_ms

    async def use(self, lease_id: int, asked: Asked) -> None:
        """Use up the grant of a lease for a request that is made now; raises ``PutOff``."""
        for _ in range(_TRIES):
            own = self._grants.get(lease_id)
            if own is not None and own.fits(asked) and self._clock.boot() < own.until:
                del self._grants[lease_id]
                return
            [permit] = await self._permit([(lease_id, asked)])
            if not permit.granted:
                raise PutOff(permit.at_ms)
        # The store takes longer to answer than a grant is good for.
        raise PutOff(self._clock.now_ms() + round(asked.usable_s * 1000))

    async def wait(self, lease_id: int, asked: Asked, at_most_ms: int) -> None:
        """Wait for a grant; raises ``PutOff`` when none comes in time."""
        own = self._grants.get(lease_id)
        if own is not None and own.fits(asked):
            return
        deadline = self._clock.boot() + at_most_ms / 1000
        while True:
            [permit] = await self._permit([(lease_id, asked)])
            if permit.granted:
                return
            wait_s = max(0.001, (permit.at_ms - self._clock.now_ms()) / 1000)
            if self._clock.boot() + wait_s > deadline:
                raise PutOff(permit.at_ms)
            await asyncio.sleep(wait_s)

    def end(self, lease_id: int) -> None:
        """Keep what a lease has not used for another request to the same domain."""
        own = self._grants.pop(lease_id, None)
        if own is None:
            return
        oldest_ms = self._clock.now_ms() - max(window.span_ms for window in own.asked.windows)
        spare = [at_ms for at_ms in self._spare.pop(_key(own.asked), []) if at_ms > oldest_ms]
        if own.at_ms > oldest_ms:
            spare.append(own.at_ms)
        if spare:
            self._spare[_key(own.asked)] = spare
        if len(self._spare) > MOST_GRANTS:
            self._spare.clear()

    def rest_until_ms(self, host: HostKey, at_ms: int) -> int:
        """Return until when a host rests that may be asked at ``at_ms``: sooner, if that is far.

        What is set for it may change, and hosts that rest do not notice.
        """
        now_ms = self._clock.now_ms()
        self._resting[host] = at_ms
        if len(self._resting) * REST_PER_HOST_MS > LEAST_REST_MS:
            self._resting = {one: at for one, at in self._resting.items() if at > now_ms}
        most_ms = max(LEAST_REST_MS, len(self._resting) * REST_PER_HOST_MS)
        return min(at_ms, now_ms + most_ms)


def _key(asked: Asked) -> tuple[str, ...]:
    return (asked.domain, *(window.name for window in asked.windows))


class JobWindows:
    """The windows of one job's requests."""

    def __init__(
        self, windows: Windows, kind: str, rates: Callable[[HostKey], Rates] = lambda _: NO_RATES
    ) -> None:
        self._windows = windows
        self._kind = kind
        self._rates = rates
        self._known: dict[tuple[HostKey, Rates], Asked] = {}

    def asked(self, host: HostKey) -> Asked | None:
        """Return what a request to a host has to be granted; None where there is no rate."""
        rates = self._rates(host)
        if rates is NO_RATES or rates == NO_RATES:
            return None
        found = self._known.get((host, rates))
        if found is None:
            if len(self._known) > MOST_GRANTS:
                self._known.clear()
            counted = windows_of(rates, kind=self._kind, egress=self._windows.egress)
            found = Asked(
                domain_key(host),
                tuple(Window(*one) for one in counted),
                shortest_use_ms(rates) / 1000,
            )
            self._known[host, rates] = found
        return found

    def ready(self, lease: Lease, host: HostKey) -> Callable[[], Awaitable[None]] | None:
        """Return what to await right before a request is written; None where there is no rate."""
        asked = self.asked(host)
        if asked is None:
            return None
        return partial(self._windows.use, lease.id, asked)

    async def wait(self, lease: Lease, host: HostKey, at_most_ms: int) -> None:
        """Wait for a grant for another request of a visit; raises ``PutOff``."""
        asked = self.asked(host)
        if asked is not None:
            await self._windows.wait(lease.id, asked, at_most_ms)

    def rest_until_ms(self, host: HostKey, put_off: PutOff) -> int:
        """Return until when a host rests whose request was put off."""
        return self._windows.rest_until_ms(host, put_off.at_ms)


def wanted_by(
    leases: Iterable[Lease], windows_of_job: Callable[[Lease], JobWindows | None]
) -> list[tuple[Lease, Asked]]:
    """Return the leases that have to be granted, each with what it has to be granted."""
    found: list[tuple[Lease, Asked]] = []
    for lease in leases:
        windows = windows_of_job(lease)
        asked = None if windows is None else windows.asked(lease.host)
        if asked is not None:
            found.append((lease, asked))
    return found
