"""How the requests of one process reach the web: where they leave, and what they are counted by."""

import secrets
from contextlib import AsyncExitStack
from dataclasses import dataclass
from ipaddress import ip_network

from skitter.clock import Clock
from skitter.crawl.address_gate import AddressGate, JobGate
from skitter.crawl.rates import JobRates
from skitter.crawl.shared_names import SharedNames
from skitter.crawl.windows import JobWindows, Windows
from skitter.fetch.pool import PoolOptions
from skitter.frontier.base import Frontier
from skitter.job.spec import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReach:
    """How the requests of one job go."""

    windows: JobWindows
    pool: PoolOptions
    names: SharedNames | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What all jobs of a process share on their way out."""

    windows: Windows
    gate: AddressGate
    names: SharedNames | None = None
    """None where nobody else looks names up."""
    egress: str = ""
    """The address of this machine that requests leave from; empty lets the system choose."""

    def of(self, job: Job, rates: JobRates | None = None) -> JobReach:
        """Return how the requests of one job go."""
        polite = job.polite
        gate = None
        if polite.per_ip:
            # Who lets a host have more at once means it, though it is alone at its address.
            most = max(polite.per_ip, polite.per_host)
            gate = JobGate(self.gate, most, map(ip_network, polite.ip_exempt))
        return JobReach(
            windows=JobWindows(self.windows, job.kind.value, rates or JobRates(job)),
            pool=PoolOptions(egress=self.egress, gate=gate),
            names=self.names,
        )


def make_reach(
    stack: AsyncExitStack, frontier: Frontier, clock: Clock, *, shared: bool, egress: str = ""
) -> Reach:
    """Return the way out of a process; the stack closes it.

    Where nobody else uses the store, requests are counted in memory and names kept by whoever
    looks them up.
    """
    gate = AddressGate(clock, frontier if shared else None, secrets.token_hex(8))
    stack.push_async_callback(gate.close)
    names = None
    if shared:
        names = SharedNames(frontier, clock)
        stack.push_async_callback(names.close)
    return Reach(windows=Windows(frontier, clock, egress), gate=gate, names=names, egress=egress)
