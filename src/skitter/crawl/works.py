"""What an engine works with, and how far it may go."""

from dataclasses import dataclass

from skitter.clock import Clock
from skitter.crawl.desk import Desks, FreedHosts
from skitter.crawl.rights import Holdings, Rights
from skitter.crawl.windows import Windows
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.model import LEASE_MS

PATIENCE_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Bounds of one run."""

    concurrency: int = 64
    pages: int | None = None
    """Visits after which the run ends."""
    time_s: float | None = None
    """Seconds after which the run ends."""
    bytes: int | None = None
    """Bytes of pages after which the run ends, counted over all runs of the job."""
    best_first: bool = False
    """Let what is under way not outrun what is known: the best link may be on a page to come."""
    patience_s: float = PATIENCE_S
    """When nothing can be fetched for longer than this, the run ends and leaves the rest queued."""
    drain_s: float = 4.0
    """How long a stopped run lets requests finish."""
    lease_ms: int = LEASE_MS
    idle_exit: int | None = None
    """Claims in a row that bring nothing after which the run ends; None waits on."""

    @property
    def ahead(self) -> int:
        """What part of the workers has a lease claimed ahead: a half, or a quarter best first."""
        return 4 if self.best_first else 2


class Patience:
    """How long something that must not last has lasted."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._since: float | None = None

    def is_over(self, *, lasts: bool) -> bool:
        """Take a look: tell whether it has lasted for too long by now."""
        if not lasts:
            self._since = None
            return False
        if self._since is None:
            self._since = self._clock.boot()
        return self._clock.boot() - self._since > self._seconds


class Idleness:
    """How often in a row a member that serves every job has found nothing to do."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._times = 0

    def end(self) -> None:
        """Take note that there is something to do."""
        self._times = 0

    def one_more(self) -> str:
        """Count one more time; answers why the run ends, if it has been long enough."""
        self._times += 1
        return "" if self._most is None or self._times < self._most else "idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Works:
    """What an engine works with."""

    frontier: Frontier
    reader: FrontierReader
    clock: Clock
    desks: Desks
    holdings: Holdings
    freed: FreedHosts
    rights: Rights | None = None
    """None where nobody else could take a lease over."""
    windows: Windows | None = None
    """The grants of this process under rate windows."""

    @property
    def trouble(self) -> str:
        """Why everything waits, in words; "" while it does not."""
        return self.frontier.trouble or self.desks.trouble
