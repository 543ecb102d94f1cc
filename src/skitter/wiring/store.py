"""The store of one process, opened: where URLs wait, and what this process owns of it."""

from dataclasses import dataclass, field

from skitter.clock import Clock
from skitter.crawl.rights import Holdings, Rights
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.tuning import OpenStore
from skitter.politeness.settings.live import LiveSettings
from skitter.wiring.browsers import Browsers
from skitter.wiring.host_rules import HostRules
from skitter.wiring.reach import Reach


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
    reach: Reach | None = None
    """How requests go out; None where none are made."""
    own: OpenStore | None = None
    """The store itself where this process has it open, and not a master for it."""
    members_write: bool = False
    """Whether every member writes the databases of a job itself; else the master does."""
    settings: LiveSettings = field(default_factory=LiveSettings)
    """What is set for sites, as far as this process has heard."""

    browsers: Browsers = field(default_factory=Browsers)
    """What shows pages as a browser does, where a job wants that."""

    def __post_init__(self) -> None:
        if self.own is not None:
            self.own.rules = HostRules(self.settings)
