"""A process that asks many hosts at one address as fast as their gate allows, until it is ended.

Arguments: the URL of the store, the port of the server, a letter for the names of its hosts, and
how many there are. Loopback counts here, as any other address does elsewhere.
"""

import asyncio
import sys

from skitter.crawl.address_gate import AddressGate, JobGate
from skitter.crawl.windows import PutOff
from skitter.fetch.base import Request
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.http import HttpFetcher
from skitter.fetch.pool import PoolOptions
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes

MOST = 8


class Counting(JobGate):
    """A gate that minds every address."""

    def minds(self, address: str) -> bool:
        return True


async def ask(fetcher: HttpFetcher, frontier: RedisFrontier, url: str) -> None:
    while True:
        try:
            await fetcher.fetch(Request(url=url))
        except PutOff as put_off:
            await asyncio.sleep((put_off.at_ms - frontier.clock.now_ms()) / 1000)


async def lookup(host: str) -> list[str]:
    return ["127.0.0.1"]


async def main(store: str, port: str, letter: str, hosts: str) -> None:
    nodes = Nodes(StoreAddress.parse(store))
    await nodes.open()
    frontier = RedisFrontier(nodes)
    await frontier.open()
    gate = Counting(AddressGate(frontier.clock, frontier, letter), MOST)
    resolver = Resolver(AddressGuard(allow_private=True), lookup=lookup)
    fetcher = HttpFetcher(resolver=resolver, pool=PoolOptions(gate=gate))
    urls = [f"http://{letter}{n}.gate.test:{port}/{n}" for n in range(int(hosts))]
    await asyncio.gather(*(ask(fetcher, frontier, url) for url in urls))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
