"""A member of a known speed, on a real store: a child of ``bench.shares``.

Arguments: the URL of the store, the member's name, and the seconds over which speeds are measured.
It claims URLs and acks them, as many a second as the last line on its standard input says; no page
is fetched. On its standard output it tells in JSON lines how it stands.
"""

import asyncio
import json
import math
import sys
import time

from skitter.cluster.effort import Effort
from skitter.cluster.tenure import Tenure
from skitter.errors import Fenced
from skitter.frontier.model import Ack, Freed, Lease, Result
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.members import RedisMembers
from skitter.frontier.redis.nodes import Nodes

STEP_S = 0.1
TELL_S = 0.25
MOST_BEHIND_S = 2.0


class Worker:
    """Works at the speed it is told."""

    def __init__(self, frontier: RedisFrontier, tenure: Tenure) -> None:
        self._frontier = frontier
        self._tenure = tenure
        self._effort = Effort(frontier.clock)
        self._freed: list[Freed] = []
        self.speed = 0.0
        """Pages a second."""
        self.pages = 0
        tenure.counted = lambda: self._effort.counted(self.pages, 0)

    async def run(self) -> None:
        """Claim what is worked on for a moment, and ack it then, until cancelled."""
        ready = time.monotonic()
        while True:
            wanted = math.ceil(self.speed * STEP_S)
            leases = await self._claim(wanted)
            self._effort.look(busy=0 < wanted == len(leases))
            # A processor that others had for a moment is made up for: the speed is what is set.
            ready = max(ready, time.monotonic() - MOST_BEHIND_S)
            ready += len(leases) / self.speed if leases else STEP_S
            await asyncio.sleep(max(0.0, ready - time.monotonic()))
            if leases:
                await self._frontier.ack([Ack(lease, Result.DONE) for lease in leases])
                self._effort.ended(len(leases))
                self.pages += len(leases)

    async def _claim(self, wanted: int) -> tuple[Lease, ...]:
        try:
            claim = await self._frontier.claim(self._tenure.grants, wanted, freed=self._freed)
        except Fenced:
            await self._tenure.refresh()
            return ()
        self._freed = [Freed(lease.id, lease.host) for lease in claim.leases]
        return claim.leases

    async def tell(self) -> None:
        """Say again and again how it stands."""
        while True:
            facts = {"pages": self.pages, "slots": len(self._tenure.grants)}
            sys.stdout.write(json.dumps(facts) + "\n")
            sys.stdout.flush()
            await asyncio.sleep(TELL_S)

    async def listen(self) -> None:
        """Take speeds, until there is nobody to give them."""
        lines = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        while line := await lines.readline():
            self.speed = float(line)


async def main(url: str, name: str, window_s: float) -> None:
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    frontier = RedisFrontier(nodes)
    await frontier.open()
    tenure = Tenure(frontier, RedisMembers(nodes, frontier.keys), name=name, clock=frontier.clock)
    tenure.window_s = window_s
    worker = Worker(frontier, tenure)
    await tenure.open()
    works = (tenure.run(), worker.run(), worker.tell())
    tasks = [asyncio.create_task(work) for work in works]
    await worker.listen()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await tenure.close()
    await frontier.close()
    await nodes.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
