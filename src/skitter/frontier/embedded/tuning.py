"""Changes the gates of known hosts when an operator says so."""

import asyncio
from collections.abc import Sequence

from skitter.frontier.embedded.agenda import Host
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.layout import due_key, due_parts
from skitter.frontier.embedded.registry import UNSET
from skitter.frontier.model import JobEntry
from skitter.frontier.tuning import DRAIN_MS, Tuning

HOSTS_AT_ONCE = 10_000
"""Hosts looked at before others get their turn."""


class Tuner:
    """Walks over the hosts; rare, so it may."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def tune(self, tuning: Tuning) -> int:
        """Change the gates a tuning concerns; answers of how many hosts."""
        registry = self._core.registry
        names = [*registry.hosts, *registry.asleep]
        known = 0
        for at in range(0, len(names), HOSTS_AT_ONCE):
            await tuning.refresh()
            covered = filter(tuning.covers, names[at : at + HOSTS_AT_ONCE])
            some = [host for name in covered if (host := registry.awake(name)) is not None]
            known += len(some)
            self._tune(some, tuning)
            await asyncio.sleep(0)
        return known

    def _tune(self, hosts: Sequence[Host], tuning: Tuning) -> None:
        core = self._core
        change = core.change()
        drained: set[int] = set()
        for host in hosts:
            rule = tuning.rule(host.name)
            entry = self._entry(host)
            if tuning.delays:
                self._set_delay(host, rule.delay_ms, entry)
            if tuning.per_hosts and (rule.per_host or entry):
                host.per_host = rule.per_host or (entry.per_host if entry else UNSET)
            if tuning.drains:
                host.drained_until_ms = core.now_ms() + DRAIN_MS if rule.drains else 0
                drained |= {queue.id for queue in host.queues} if rule.drains else set()
            change.save_host(host)
        if drained:
            self._hurry(change, drained)
        core.commit(change)
        core.enlist(hosts)

    def _entry(self, host: Host) -> JobEntry | None:
        """Return the job that a host goes by where nothing is set for it."""
        return self._core.registry.jobs[host.queues[0].job] if host.queues else None

    def _set_delay(self, host: Host, delay_ms: int | None, entry: JobEntry | None) -> None:
        if delay_ms is None and entry is not None:
            delay_ms = entry.delay_ms
        if delay_ms is not None:
            set_delay(host, max(delay_ms, host.floor_ms))

    def _hurry(self, change: Change, queues: set[int]) -> None:
        """Let scheduled URLs come at once: nobody has to wait before they are ended."""
        core = self._core
        now_ms = core.now_ms()
        for key, value in core.rocks.scan("due", b""):
            at_ms, number, fp = due_parts(key)
            if number in queues and at_ms > now_ms:
                change.delete("due", key)
                early = due_key(now_ms, number, fp)
                core.due_floor = min(core.due_floor, early)
                change.put("due", early, value)
                change.earliest_due_ms = now_ms


def set_delay(host: Host, delay_ms: int) -> None:
    """Change a host's delay, and with it the rest that the old one made."""
    host.next_at_ms = max(host.held_until_ms, host.asked_ms + delay_ms)
    host.delay_ms = delay_ms
