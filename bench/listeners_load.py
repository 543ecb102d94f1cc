"""What many people do to a service at once: ``python -m bench.listeners_load``, by bench.listeners.

So many listeners, and so many requests of every kind a second; at the end one line of JSON says
what was heard and what went wrong.
"""

import argparse
import asyncio
import itertools
import json
import os
import re
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

import aiohttp
import uvloop

RAMP = 100
"""Listeners that come in a second."""
_ID = re.compile(rb"^id: (\d+)\n", re.MULTILINE)
_DROPPED = re.compile(rb'"dropped":(\d+)')


@dataclass(slots=True)
class Totals:
    """What everybody together has heard and met."""

    errors: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    dropped: int = 0
    bytes: int = 0
    gaps: int = 0
    rate: float = 0.0
    """The most messages that one listener got in one second."""
    took: list[float] = field(default_factory=list)


class Ears(asyncio.Protocol):
    """One listener; it reads no more than it must, for there are many on this machine."""

    def __init__(self, totals: Totals, head: bytes, *, whole: bool) -> None:
        self._totals = totals
        self._head = head
        self._whole = whole
        """Whether it hears of everything, so that ids have no gap but for what is counted."""
        self._rest = b""
        self._last = 0
        self._second, self._in_second = 0, 0
        self.ends = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for events."""
        # Those of uvloop are not of the class.
        self.transport = cast("asyncio.Transport", transport)
        self.transport.write(self._head)

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        totals = self._totals
        totals.bytes += len(data)
        if (
            not self._rest
            and not self._last
            and data.startswith(b"HTTP/1.1 ")
            and data[9:12] != b"200"
        ):
            totals.errors[f"listener got {data[9:12].decode()}"] += 1
        *messages, self._rest = (self._rest + data).split(b"\n\n")
        for message in messages:
            found = _ID.search(message)
            if found is not None:
                self._heard(int(found[1]), message)

    def _heard(self, number: int, message: bytes) -> None:
        said = _DROPPED.search(message)
        dropped = int(said[1]) if said else 0
        self._totals.messages += 1
        self._totals.dropped += dropped
        if self._last and self._whole and number != self._last + 1 + dropped:
            self._totals.gaps += 1
        self._last = number
        second = int(time.monotonic())
        self._in_second = self._in_second + 1 if second == self._second else 1
        self._second = second
        self._totals.rate = max(self._totals.rate, self._in_second)

    def connection_lost(self, exc: Exception | None) -> None:
        """Count it as an error, unless it is the end of all."""
        if not self.ends:
            self._totals.errors["listener was hung up on"] += 1


def head(token: str, query: str) -> bytes:
    """Return the request of a listener."""
    lines = [f"GET /v1/events{query} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {token}"]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def requests(job: str, page: str) -> "itertools.cycle[tuple[str, str, object]]":
    """Return every kind of request, one after the other, for ever."""
    return itertools.cycle(
        [
            ("GET", "/v1/stats", None),
            ("GET", "/v1/jobs", None),
            ("GET", f"/v1/jobs/{job}", None),
            ("GET", "/v1/stats/series?name=pages&name=status&step=10s", None),
            ("POST", "/v1/pages/lookup", {"urls": [page]}),
            ("GET", "/v1/nodes", None),
            ("GET", "/v1/me", None),
            ("GET", "/v1/webhooks", None),
            ("POST", "/v1/pages/lookup", {"urls": [f"{page}{n}" for n in range(20)]}),
            ("GET", "/metrics", None),
        ]
    )


async def ask(http: aiohttp.ClientSession, totals: Totals, what: tuple[str, str, object]) -> None:
    """Make one request."""
    method, path, body = what
    began = time.perf_counter()
    try:
        async with http.request(method, path, json=body) as answer:
            await answer.read()
            if answer.status >= 400 and answer.status != 404:
                totals.errors[f"{method} {path.partition('?')[0]} got {answer.status}"] += 1
    except (aiohttp.ClientError, TimeoutError) as error:
        totals.errors[f"{method} {path.partition('?')[0]}: {type(error).__name__}"] += 1
    totals.took.append(time.perf_counter() - began)


async def load(given: argparse.Namespace, token: str) -> Totals:
    """Let everybody come, ask for so long, and go."""
    totals = Totals()
    loop = asyncio.get_running_loop()
    everybody: list[Ears] = []
    for n in range(given.listeners):
        whole = n % 10 < 7
        query = "" if whole else f"?types=page&job={given.job}" if n % 10 < 9 else f"?host=h{n}"
        ears = Ears(totals, head(token, query), whole=whole)
        await loop.create_connection(lambda ears=ears: ears, "127.0.0.1", given.port)  # type: ignore[misc]
        everybody.append(ears)
        await asyncio.sleep(1 / RAMP)
    print("ready", flush=True)
    await asyncio.gather(asking(given, token, totals), asyncio.sleep(given.seconds))
    for ears in everybody:
        ears.ends = True
        ears.transport.abort()
    return totals


async def asking(given: argparse.Namespace, token: str, totals: Totals) -> None:
    """Make so many requests a second."""
    loop = asyncio.get_running_loop()
    until, n = loop.time() + given.seconds, 0
    began = loop.time()
    headers = {"Authorization": f"Bearer {token}"}
    kinds = requests(given.job, given.page)
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{given.port}", headers=headers) as http,
        asyncio.TaskGroup() as group,
    ):
        while given.rate and loop.time() < until:
            group.create_task(ask(http, totals, next(kinds)))
            n += 1
            await asyncio.sleep(max(0.0, began + n / given.rate - loop.time()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--job", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--listeners", type=int, required=True)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    given = parser.parse_args()
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (8_192, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    totals = uvloop.run(load(given, os.environ["SKITTER_TOKEN"]))
    took = sorted(totals.took) or [0.0]
    told = {
        "errors": dict(totals.errors),
        "messages": totals.messages,
        "dropped": totals.dropped,
        "gaps": totals.gaps,
        "most_in_a_second": totals.rate,
        "bytes": totals.bytes,
        "requests": len(totals.took),
        "median_ms": round(took[len(took) // 2] * 1000, 1),
        "p99_ms": round(took[int(len(took) * 0.99)] * 1000, 1),
        "cpu_s": round(time.process_time(), 1),
    }
    json.dump(told, sys.stdout)
    print(flush=True)


if __name__ == "__main__":
    main()
