"""The store of one process, opened: where URLs wait, and what this process owns of it."""

from dataclasses import dataclass

from skitter.clock import Clock
from skitter.crawl.rights import Holdings, Rights
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """One frontier with everything around it that a crawl needs."""

    frontier: Frontier
    reader: FrontierReader
    control: FrontierControl
    secret: bytes
    """Key of the store's fingerprints."""
    clock: Clock
    """Tells the store's time, whatever this machine's says."""
    holdings: Holdings
    lease_ms: int
    member: str = ""
    """What tells this process from others on the same store; empty where there are none."""
    rights: Rights | None = None
    """Set where a lease may pass to another process."""
