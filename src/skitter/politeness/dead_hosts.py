"""Remembers hosts that do not answer, so that their URLs do not each wait for a timeout."""

from collections import OrderedDict
from dataclasses import dataclass

import msgspec

from skitter.clock import Clock
from skitter.politeness.sealed import seal, unseal

_VERSION = 1
_MAX_DOUBLINGS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadHostOptions:
    """When a host counts as dead, and for how long."""

    threshold: int = 5
    """Faults of the host in a row, without a success, that make it dead."""
    skip_s: float = 300.0
    """How long it is skipped the first time; doubles each time it is still dead after that."""
    max_skip_s: float = 24 * 3600.0
    forget_s: float = 7 * 24 * 3600.0
    """A host that has not failed for this long starts anew."""
    max_hosts: int = 100_000
    """Hosts remembered; beyond that the ones that failed longest ago are forgotten."""


class _Host(msgspec.Struct, array_like=True):
    """One host that failed since its last success."""

    failures: int = 0
    deaths: int = 0
    dead_until_ms: int = 0
    failed_at_ms: int = 0


class DeadHosts:
    """The hosts that failed of late. A host never heard of is alive."""

    def __init__(self, clock: Clock, options: DeadHostOptions | None = None) -> None:
        self._clock = clock
        self._options = options or DeadHostOptions()
        self._hosts: OrderedDict[str, _Host] = OrderedDict()
        self.evicted = 0
        """Hosts forgotten for want of room since the start."""

    def __len__(self) -> int:
        return len(self._hosts)

    def is_dead(self, host: str) -> int | None:
        """Return when a dead host may be tried again, or None when it may be tried."""
        known = self._hosts.get(host)
        if known is None or known.dead_until_ms <= self._clock.now_ms():
            return None
        return known.dead_until_ms

    def failed(self, host: str) -> int | None:
        """Count a fault of the whole host; returns when to try again if it is dead by that."""
        now = self._clock.now_ms()
        known = self._hosts.pop(host, None)
        if known is None or now - known.failed_at_ms > self._options.forget_s * 1000:
            known = _Host()
        self._hosts[host] = known
        known.failed_at_ms = now
        # Faults of requests sent before the host was found dead tell nothing more about it.
        if known.dead_until_ms <= now:
            self._count(known, now)
        self._trim()
        return known.dead_until_ms if known.dead_until_ms > now else None

    def succeeded(self, host: str) -> None:
        """Forget every fault of a host that answered."""
        self._hosts.pop(host, None)

    def encode(self) -> bytes:
        """Return everything remembered, for the store."""
        return seal(_VERSION, msgspec.msgpack.encode(dict(self._hosts)))

    def load(self, data: bytes) -> bool:
        """Replace what is remembered by ``encode``'s bytes; False, and no change, if damaged."""
        payload = unseal(_VERSION, data)
        if payload is None:
            return False
        try:
            hosts = msgspec.msgpack.decode(payload, type=dict[str, _Host])
        except msgspec.DecodeError:
            return False
        self._hosts = OrderedDict(hosts)
        self._trim()
        return True

    def _count(self, known: _Host, now: int) -> None:
        known.failures += 1
        # After its rest a dead host gets one chance, not another whole row of timeouts.
        if known.failures < self._options.threshold and known.deaths == 0:
            return
        skip_s = self._options.skip_s * 2 ** min(known.deaths, _MAX_DOUBLINGS)
        known.dead_until_ms = now + round(min(self._options.max_skip_s, skip_s) * 1000)
        known.deaths += 1

    def _trim(self) -> None:
        while len(self._hosts) > self._options.max_hosts:
            self._hosts.popitem(last=False)
            self.evicted += 1
