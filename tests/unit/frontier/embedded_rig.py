"""An embedded frontier on a clock that tests move, with short words for what they do with it."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Claim, Freed, JobEntry, Lease, Link, Receipt, Result
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber

HOST = HostKey("a.test")
FAR = HostKey("b.test")
LEASE_MS = 10_000


def fp_of(number: int) -> Fingerprint:
    return Fingerprint(1000 + number)


class EmbeddedRig:
    """A store with one job whose hosts take many requests at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._generation = 0
        self.clock = VirtualClock()

    async def open(self, **entry: Any) -> None:
        """Open the store and make its job."""
        await self._open()
        self.job = await self.add_job("job", **entry)

    async def _open(self) -> None:
        self.frontier = EmbeddedFrontier(self._folder, clock=self.clock, durable=False)
        await self.frontier.open()
        self.grants = await self.frontier.own("member", range(1))

    @property
    def _folder(self) -> Path:
        return self._root / f"store-{self._generation}"

    async def add_job(self, name: str, **entry: Any) -> JobNumber:
        return await self.frontier.put_job(
            JobEntry(id=name, **{"delay_ms": 0, "per_host": 100, **entry})
        )

    async def crash(self) -> None:
        """Go on with what a kill at this moment would leave."""
        await self.keep()
        await self.go_back()

    async def keep(self) -> None:
        """Keep what a kill at this moment would leave."""
        shutil.copytree(self._folder, self._root / f"store-{self._generation + 1}")

    async def go_back(self) -> None:
        """Go on with what was kept."""
        await self.frontier.close()
        self._generation += 1
        await self._open()

    def link(self, number: int, host: HostKey = HOST, job: JobNumber | None = None) -> Link:
        return Link(f"https://{host}/{number}", fp_of(number), host, job or self.job)

    async def claim(self, k: int = 100, freed: Iterable[Freed] = ()) -> Claim:
        return await self.frontier.claim(self.grants, k, lease_ms=LEASE_MS, freed=list(freed))

    async def leases(
        self, *numbers: int, host: HostKey = HOST, job: JobNumber | None = None
    ) -> list[Lease]:
        """Offer URLs and lease what is ready."""
        await self.frontier.offer([self.link(number, host, job) for number in numbers])
        return list((await self.claim()).leases)

    async def end(self, *leases: Lease, result: Result = Result.DONE, **fields: Any) -> Receipt:
        """Ack leases, all alike."""
        return await self.frontier.ack([Ack(lease, result, **fields) for lease in leases])
