"""A member that owns slots and does nothing with them, until it is ended one way or another.

Arguments: the URL of the store, the member's name, the file for its log. The log is JSON lines with
the boot time, which all processes of a machine share: ``owned`` (an answer of the store, with the
time before the question), ``disowned`` (slots that the store has back), ``claims`` (what may be
claimed from, when that changes), ``held`` (what a thread beside the event loop found to be held,
when that changes), ``still`` (the same as before) and ``lost``. SIGTERM lets it leave in order.
"""

import asyncio
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterable

from skitter.cluster.tenure import Tenure
from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.model import Grant
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.members import RedisMembers
from skitter.frontier.redis.nodes import Nodes
from skitter.url.partition import SLOTS

SAMPLED = range(5, SLOTS, 16)
SAMPLE_S = 0.03


class Log:
    """Lines that survive a kill."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def write(self, **facts: object) -> None:
        line = json.dumps({"t": time.clock_gettime(time.CLOCK_BOOTTIME), **facts})
        os.write(self._file, line.encode() + b"\n")


class Watched(RedisFrontier):
    """A frontier whose answers are logged."""

    log: Log

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        before = self.clock.boot()
        grants = await super().own(member, slots, ttl_ms)
        fences = [[grant.slot, grant.fence] for grant in grants if grant.slot in SAMPLED]
        self.log.write(owned=fences, before=before)
        return grants

    async def disown(self, grants: Iterable[Grant]) -> None:
        given_back = list(grants)
        await super().disown(given_back)
        self.log.write(disowned=[grant.slot for grant in given_back])


def sample(tenure: Tenure, log: Log) -> None:
    """Find out again and again what is held, whether the event loop runs or not."""
    fences: list[list[int]] | None = None
    while True:
        t0 = time.clock_gettime(time.CLOCK_BOOTTIME)
        held = [
            [grant.slot, grant.fence]
            for grant in dict(tenure._holdings._held).values()
            if grant.slot in SAMPLED and tenure.holds(grant.slot, grant.fence)
        ]
        if held == fences:
            log.write(still=True, t0=t0)
        else:
            log.write(held=held, t0=t0)
            fences = held
        time.sleep(SAMPLE_S)


async def follow(tenure: Tenure, log: Log) -> None:
    """Log what may be claimed from whenever it changes."""
    shown: Collection[int] = ()
    while True:
        claims = {grant.slot for grant in tenure.grants}
        if claims != shown:
            log.write(claims=sorted(claims), status=repr(tenure.status))
            shown = claims
        await asyncio.sleep(0.02)


async def main(url: str, name: str, path: str) -> None:
    """Join, stay, and leave when told to."""
    log = Log(path)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    frontier = Watched(nodes)
    frontier.log = log
    await frontier.open()
    table = RedisMembers(nodes, frontier.keys)
    tenure = Tenure(frontier, table, name=name, node="here", clock=frontier.clock)
    tenure.on_lost = lambda lost: log.write(lost=len(lost))
    await tenure.open()
    threading.Thread(target=sample, args=(tenure, log), daemon=True).start()
    tasks = [asyncio.create_task(tenure.run()), asyncio.create_task(follow(tenure, log))]
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait([*tasks, waiting], return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    log.write(leaving=True)
    await tenure.close()
    log.write(left=True)
    await frontier.close()
    await nodes.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
