"""The demo's bulk web on many names, with answers that take their time.

``python -m bench.slow_web`` prints its port when it serves. Each answer is begun 50 to 500 ms after
its request, robots.txt included; a ledger says when each request came and how long it was to take.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, TextIO

import uvloop

from skitter.demo.bulk import BulkPlan, bulk_web
from skitter.demo.server import DemoServer, Hit
from skitter.demo.web import Web
from skitter.demo.wire import Reply

LEAST_S, MOST_S = 0.05, 0.5
DOMAIN = "slow.test"


class Served(NamedTuple):
    """One request: when it came, and when its answer was sent."""

    host: str
    path: str
    came: float
    answered: float


def slow_web(pages: int, hosts: int, domain: str = DOMAIN, port: int = 80) -> Web:
    """Return the web."""
    plan = BulkPlan(pages=pages, hosts=hosts)
    return bulk_web(plan, [f"h{n}.{domain}" for n in range(hosts)], port)


def urls_of(pages: int, hosts: int, port: int, domain: str = DOMAIN) -> list[str]:
    """Return the URLs of all pages."""
    plan, web = BulkPlan(pages=pages, hosts=hosts), slow_web(pages, hosts, domain, port)
    return [web.url(plan.target(number)) for number in range(pages)]


class SlowServer(DemoServer):
    """Serves a web, slowly."""

    def __init__(self, web: Web, port: int, ledger: TextIO) -> None:
        super().__init__(web, port=port)
        self._book = ledger
        self._rng = random.Random(7)
        self._wait_s = 0.0

    def _reply(self, method: str, host: str, path: str, headers: dict[str, str]) -> Reply:
        self._wait_s = self._rng.uniform(LEAST_S, MOST_S)
        return replace(super()._reply(method, host, path, headers), wait_s=self._wait_s)

    def _note(self, hit: Hit) -> None:
        end = hit.time + self._wait_s
        self._book.write(json.dumps(Served(hit.host, hit.path, hit.time, end)) + "\n")
        self._book.flush()


def read_ledger(path: Path) -> list[Served]:
    """Return every request, in the order of arrival."""
    return [Served(*json.loads(line)) for line in path.read_text().splitlines()]


async def serve(options: argparse.Namespace) -> None:
    """Serve until told to stop, or until the parent has gone."""
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopped.set)
    loop.add_reader(sys.stdin.fileno(), stopped.set)
    with options.ledger.open("w") as ledger:
        web = slow_web(options.pages, options.hosts, options.domain)
        async with SlowServer(web, 0, ledger) as server:
            options.hosts_out.write_text(server.hosts_file())
            print(server.port, flush=True)
            await stopped.wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pages", type=int, required=True)
    parser.add_argument("--hosts", type=int, required=True)
    parser.add_argument("--domain", default=DOMAIN)
    parser.add_argument("--ledger", type=Path, required=True)
    parser.add_argument("--hosts-out", type=Path, required=True)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
