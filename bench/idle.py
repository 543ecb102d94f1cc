"""What members that have nothing to do cost their store: ``python -m bench.idle``.

Members run in one process on a redis-server of the bench's own. Each owns its share of the slots,
renews it, and looks for work as often as a member of a crawl without work does. The CPU of the
server is told for each member, and how often its scripts were called.
"""

import argparse
import asyncio
import shutil
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import redis

from bench.crawlers import need_packages
from bench.paths import OUT
from bench.redis_server import RedisServer, redis_running
from skitter.cluster.tenure import Tenure
from skitter.errors import Fenced
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.members import RedisMembers
from skitter.frontier.redis.nodes import Nodes
from skitter.url.partition import SLOTS, TAGS

LOOK_S = 1.0
"""How often a member without work looks for some."""
CALM_S = 3.0
WITHIN_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What was measured, for one member and second."""

    members: int
    tags: float
    """In which a member owns slots, in the mean."""
    calls: float
    cpu_ms: float

    def __str__(self) -> str:
        return (
            f"{self.members} members: {self.tags:.1f} tags, {self.calls:.0f} scripts a second and"
            f" {self.cpu_ms / 10:.2f} % of a core for each, {self.cpu_ms * self.members / 10:.1f} %"
            " for all"
        )


async def join(stack: AsyncExitStack, url: str, name: str) -> Tenure:
    """Become a member, and look for work until the stack is left."""
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    stack.push_async_callback(nodes.close)
    frontier = RedisFrontier(nodes)
    await frontier.open()
    stack.push_async_callback(frontier.close)
    tenure = Tenure(frontier, RedisMembers(nodes, frontier.keys), name=name, clock=frontier.clock)
    await tenure.open()
    tasks = [asyncio.create_task(tenure.run()), asyncio.create_task(look(frontier, tenure))]

    async def end() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    stack.push_async_callback(end)
    return tenure


async def look(frontier: RedisFrontier, tenure: Tenure) -> None:
    """Ask for work again and again."""
    while True:
        try:
            await frontier.claim(tenure.grants, 16)
        except Fenced:
            await tenure.refresh()
        await asyncio.sleep(LOOK_S)


async def settle(tenures: Sequence[Tenure]) -> None:
    """Wait until every slot has one owner."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        owned = [len(tenure.grants) for tenure in tenures]
        if all(owned) and sum(owned) == SLOTS:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"the slots are not shared out: {owned}")
        await asyncio.sleep(0.2)


def calls_of(server: RedisServer) -> int:
    """Return how many scripts were called so far."""
    with redis.Redis(host="127.0.0.1", port=server.port) as client:
        stats = client.info("commandstats")
    return sum(int(stats[name]["calls"]) for name in stats if name.startswith("cmdstat_fcall"))


async def measure(server: RedisServer, members: int, seconds: float) -> Cost:
    """Let some members do nothing for a while."""
    async with AsyncExitStack() as stack:
        tenures = [await join(stack, server.url, f"idle-{n:04}") for n in range(members)]
        await settle(tenures)
        await asyncio.sleep(CALM_S)
        began, calls, cpu_s = time.monotonic(), calls_of(server), server.cpu_s()
        await asyncio.sleep(seconds)
        took = (time.monotonic() - began) * members
        calls, cpu_s = calls_of(server) - calls, server.cpu_s() - cpu_s
        tags = [len({grant.slot % TAGS for grant in tenure.grants}) for tenure in tenures]
        return Cost(
            members=members,
            tags=sum(tags) / members,
            calls=calls / took,
            cpu_ms=cpu_s / took * 1000,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[8])
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    need_packages(**{"redis-server": "redis-server"})
    for members in given.members:
        home = OUT / "idle"
        shutil.rmtree(home, ignore_errors=True)
        with redis_running(home, core=0) as server:
            print(asyncio.run(measure(server, members, given.seconds)))


if __name__ == "__main__":
    main()
