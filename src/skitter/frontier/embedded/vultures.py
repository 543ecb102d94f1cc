"""Vultures: what nobody has needed for long leaves memory and store, a little at a time.

Hosts without work leave memory, with their queues; their rows stay, and they come back when they
are needed. Rules of robots.txt files that are out of date leave the store, and addresses of hosts
whose time is over leave memory. How much has gone is counted in the store.
"""

from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from skitter.frontier.embedded.agenda import Host
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.intake import MARK
from skitter.frontier.embedded.tokens import Shared
from skitter.frontier.vultures import IDLE_MS, Buried
from skitter.types import HostKey

LOOKS_AT_ONCE: Final = 5_000
HOSTS_AT_ONCE: Final = 500
MARKS_AT_ONCE: Final = 250
"""Hosts looked at and put to sleep, and rules looked at, in one step: a few milliseconds each, in
which nothing else is done."""
PAUSE_MS: Final = 300_000
"""Between the ends and beginnings of rounds."""
ROBOTS: Final = MARK + b"robots:"
ROW: Final = b"buried"

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, int]).decode


class Vultures:
    """Walks over hosts and rules again and again; every call of ``step`` is one step of that."""

    def __init__(
        self,
        core: Core,
        shared: Shared,
        is_stale: Callable[[bytes], bool],
        *,
        idle_ms: int = IDLE_MS,
        pause_ms: int = PAUSE_MS,
    ) -> None:
        self._core = core
        self._shared = shared
        self._is_stale = is_stale
        """Whether the rules of a robots.txt file, as stored, are out of date."""
        self._idle_ms = idle_ms
        self._pause_ms = pause_ms
        self._hosts: list[HostKey] = []
        """Those that are still to be looked at in this round."""
        self._next_rules = b""
        """Where the rules go on; empty when all were looked at."""
        self._gone = 0
        """Hosts that fell asleep in this round."""
        self._rests_until = float("-inf")
        stored = core.rocks.get(ROW)
        self._total = Buried(**_decode(stored)) if stored else Buried()

    async def step(self) -> Buried:
        """Look at some hosts and at some rules; between two rounds at nothing."""
        core = self._core
        names = 0
        if not self.walking:
            if core.clock.boot() < self._rests_until:
                return Buried()
            self._hosts = list(core.registry.hosts)
            self._next_rules = ROBOTS
            names = self._shared.bury()
        idle = self._idle_hosts()
        stale = self._stale_rules()
        buried = Buried(len(idle), len(stale), names=names)
        if any(buried):
            self._bury(idle, stale, buried)
        if not self.walking:
            self._end_round()
        return buried

    def _end_round(self) -> None:
        self._rests_until = self._core.clock.boot() + self._pause_ms / 1000
        if self._gone > len(self._core.registry.hosts):
            self._core.registry.shrink()
        self._gone = 0

    @property
    def walking(self) -> bool:
        """Whether a round has been begun and not ended."""
        return bool(self._hosts or self._next_rules)

    async def total(self) -> Buried:
        """Return how much has gone since the store was made."""
        return self._total

    def _bury(self, idle: list[Host], stale: list[bytes], buried: Buried) -> None:
        core = self._core
        total = Buried(*map(sum, zip(self._total, buried, strict=True)))
        change = core.change()
        for host in idle:
            # Only their rows tell of them from here on, so all are written as they are now.
            change.save_host(host)
            for queue in host.queues:
                change.delta(queue)
        for key in stale:
            change.delete_meta(key)
        change.put_meta(ROW, _encode(total._asdict()))
        core.commit(change)
        core.registry.put_to_sleep(idle)
        self._gone += len(idle)
        self._total = total

    def _idle_hosts(self) -> list[Host]:
        now_ms = self._core.now_ms()
        awake = self._core.registry.hosts
        idle: list[Host] = []
        for _ in range(min(LOOKS_AT_ONCE, len(self._hosts))):
            host = awake.get(self._hosts.pop())
            if host is not None and self._is_idle(host, now_ms):
                idle.append(host)
                if len(idle) == HOSTS_AT_ONCE:
                    break
        return idle

    def _is_idle(self, host: Host, now_ms: int) -> bool:
        registry = self._core.registry
        rests_until = max(
            host.next_at_ms + self._idle_ms,
            host.asked_ms + self._idle_ms,
            host.held_until_ms,
            host.drained_until_ms,
            # Who is woken rests as after a restart, which must be over.
            registry.opened_ms + host.delay_ms,
        )
        if rests_until > now_ms or host.in_flight or host.waiters:
            return False
        return all(queue.is_idle and queue.job not in registry.dropping for queue in host.queues)

    def _stale_rules(self) -> list[bytes]:
        if not self._next_rules:
            return []
        rules = self._core.rocks.scan_meta(ROBOTS, self._next_rules)
        some = list(islice(rules, MARKS_AT_ONCE))
        # Behind the last key, or at the end.
        self._next_rules = some[-1][0] + b"\0" if len(some) == MARKS_AT_ONCE else b""
        return [key for key, value in some if self._is_stale(value)]
