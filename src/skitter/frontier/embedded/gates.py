"""The gates of hosts: let go when a response arrives, taken by a redirect on its way there."""

from collections.abc import Sequence

from skitter.frontier.base import KNOWN
from skitter.frontier.embedded.agenda import Host
from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.layout import seen_key
from skitter.frontier.embedded.leases import Held
from skitter.frontier.embedded.tuning import set_delay
from skitter.frontier.model import Freed, Lease
from skitter.frontier.tuning import DRAIN_MS
from skitter.types import Fingerprint, HostKey

GATE_POLL_MS = 20
LOST_WAIT_MS = 1000
HELD_WAIT_MS = 250


class Gates:
    """Who may ask which host now."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def let_go(self, freed: Sequence[Freed], now_ms: int) -> None:
        """Let hosts be asked again; a back-off is stored at once, before its page is acked."""
        core = self._core
        change = core.change()
        for item in freed:
            host = core.registry.awake(item.host)
            if host is not None:
                if item.per_host is not None and item.per_host != host.per_host:
                    host.per_host = item.per_host
                    change.save_host(host)
                self._free(item, host, now_ms)
                core.save_gate(change, host)
        if change.saves_hosts:
            core.commit(change)

    def _free(self, item: Freed, host: Host, now_ms: int) -> None:
        core = self._core
        # Without a delay it is a back-off and nothing else.
        rests_ms = item.not_before_ms if item.delay_ms is None and not item.unasked else 0
        host.held_until_ms = max(host.held_until_ms, item.held_until_ms, rests_ms)
        if item.delay_ms is not None:
            if item.retuned:
                set_delay(host, item.delay_ms)
            host.delay_ms, host.floor_ms = item.delay_ms, item.floor_ms
        host.next_at_ms = max(host.next_at_ms, item.not_before_ms)
        if item.drains:
            host.drained_until_ms = now_ms + DRAIN_MS
        held = core.leases.by_id.get(item.lease_id)
        if held is not None and host in held.gates:
            held.gates.remove(host)
            core.let_go(host, now_ms, unasked=item.unasked and held.rests_until_ms)
        else:
            core.agenda.enlist(host, now_ms)

    def enter(
        self, lease: Lease, name: HostKey, at_most_ms: int | None, target: Fingerprint | None
    ) -> int:
        """Take another host's gate under a lease; 0, how long to wait, or ``KNOWN``."""
        core = self._core
        held = core.leases.by_id.get(lease.id)
        if held is None:
            # Whoever lost the lease has no right to ask; its ack will be stale.
            return LOST_WAIT_MS
        now_ms = core.now_ms()
        host = core.registry.host(name, core.registry.jobs[held.queue.job])
        if host not in held.enters_at or host not in held.gates:
            wait_ms = self._take(held, host, at_most_ms, target)
            if wait_ms:
                return wait_ms
        wait_ms = held.enters_at[host] - now_ms
        if wait_ms < 0:
            # It comes late for its turn: the next request keeps its distance from this one.
            held.enters_at[host] = now_ms
            host.asked_ms = now_ms
            host.next_at_ms = max(host.next_at_ms, now_ms + host.delay_ms)
            core.agenda.enlist(host, now_ms)
        return max(0, wait_ms)

    def reserve(self, lease: Lease, name: HostKey, target: Fingerprint) -> int:
        """Keep a URL from being handed out; 0, how long to wait, or ``KNOWN``."""
        held = self._core.leases.by_id.get(lease.id)
        return LOST_WAIT_MS if held is None else self._reserve(held, name, target)

    def turn(self, lease: Lease, name: HostKey, delay_ms: int, at_most_ms: int | None) -> int:
        """Ask a host once more under the gate that a lease holds."""
        core = self._core
        held = core.leases.by_id.get(lease.id)
        host = core.registry.hosts.get(name)
        if held is None or host is None or host not in held.gates:
            return LOST_WAIT_MS
        now_ms = core.now_ms()
        at_ms = max(host.next_at_ms, now_ms + delay_ms)
        if at_most_ms is not None and at_ms - now_ms > at_most_ms:
            return at_ms - now_ms
        host.delay_ms = delay_ms
        host.asked_ms, host.next_at_ms = at_ms, at_ms + delay_ms
        if host in held.enters_at:
            held.enters_at[host] = at_ms
        core.agenda.enlist(host, now_ms)
        return at_ms - now_ms

    def _take(
        self, held: Held, host: Host, at_most_ms: int | None, target: Fingerprint | None
    ) -> int:
        """Take a gate, or a place in line for it; answers 0 when the gate is taken."""
        core = self._core
        now_ms = core.now_ms()
        rest_ms = host.next_at_ms - now_ms
        if at_most_ms is not None and rest_ms > at_most_ms:
            return rest_ms
        if target is not None:
            refused = self._reserve(held, host.name, target)
            if refused:
                return refused
        lease_id = held.lease.id
        if host.in_flight >= host.per_host:
            if lease_id not in host.waiters:
                host.waiters.append(lease_id)
            return max(GATE_POLL_MS, rest_ms)
        if lease_id in host.waiters:
            host.waiters.remove(lease_id)
        core.take_gate(held, host, now_ms)
        core.agenda.enlist(host, now_ms)
        return 0

    def _reserve(self, held: Held, name: HostKey, target: Fingerprint) -> int:
        """Keep a URL from being handed out; 0 when that is done, ``KNOWN``, or a time to wait.

        While another redirect leads to it nobody knows what will come of it.
        """
        core = self._core
        job = held.queue.job
        if core.targets.get((job, target)) == held.lease.id:
            return 0
        number = core.registry.known_number(job, name)
        if number is not None and core.seen.known([seen_key(number, target)])[0]:
            return KNOWN
        if (job, target) in core.targets:
            return HELD_WAIT_MS
        core.targets[job, target] = held.lease.id
        held.targets.add(target)
        return 0
