"""One claim in the making: what it is for, and what it has brought so far."""

from collections.abc import Mapping, Sequence

from skitter.errors import Fenced
from skitter.frontier.model import Lease
from skitter.frontier.redis.limits import NEAR
from skitter.types import JobNumber


class Claiming:
    """One claim in the making."""

    __slots__ = (
        "cold",
        "fenced",
        "fences",
        "freed",
        "k",
        "lease_ms",
        "leases",
        "refused",
        "rooms",
        "version",
    )

    def __init__(
        self,
        fences: Mapping[int, bytes],
        k: int,
        lease_ms: int,
        freed: dict[int, list[bytes]],
    ) -> None:
        self.fences = fences
        self.k = k
        self.lease_ms = lease_ms
        self.freed = freed
        self.leases: list[Lease] = []
        self.fenced = False
        self.refused: dict[int, list[bytes]] = {}
        """Freed hosts of tags that refused."""
        self.version: int | None = None
        self.rooms: dict[JobNumber, int] = {}
        self.cold: list[int] = []
        """Tags that could have given more, had it been there."""

    @property
    def is_near(self) -> bool:
        """Whether the room under a page limit is short."""
        return any(0 < room < NEAR for room in self.rooms.values())

    def limits(self) -> str:
        """Write how many more URLs of which job may be leased."""
        return ",".join(f"{job}:{max(0, room)}" for job, room in self.rooms.items())

    def take(self, leases: Sequence[Lease]) -> None:
        """Add what a tag leased."""
        self.leases += leases
        if self.rooms:
            for lease in leases:
                if lease.job in self.rooms:
                    self.rooms[lease.job] -= 1

    def check(self) -> None:
        """Raise ``Fenced`` when a tag refused."""
        if self.fenced:
            raise Fenced("a slot has another owner, or its time was over")
