"""How many URLs a second the page index answers for: ``python -m bench.lookups``.

Makes a store of a million pages, starts ``skitter up`` on it with everything bound to one core, and
asks over HTTP from the other, in batches of 20 and of 300. A tenth of the URLs is not there, and a
tenth is asked for by where a redirect led. Told are URLs in a second of the clock, and in a second
of the core's time, which counts where others use it too. ``--data DIR`` keeps the store for later.
``--store URL`` takes a Redis instead, and ``--index URL`` a PostgreSQL for its page index; the time
of those servers is not counted.
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import uvloop

from bench.lookup_store import final_url_of, make_shared_store, make_store, url_of
from bench.upped import TOKEN, upped

PAGES = 1_000_000
SERVER_CORE, CLIENT_CORE = 0, 1
WANTED_PER_S, WANTED_S = 10_000, 0.05
SIZES = {20: 4, 300: 2}
"""URLs of a batch, and how many are asked for at the same time."""
QUESTIONS = 500
_TICKS = os.sysconf("SC_CLK_TCK")


def question(rng: random.Random, pages: int, size: int) -> tuple[bytes, int]:
    """Return a batch of URLs drawn at random, and how many of them are there."""
    urls, there = [], 0
    for _ in range(size):
        page, kind = rng.randrange(pages), rng.random()
        there += kind >= 0.1
        if kind < 0.1:
            urls.append(f"https://www.site-{page % 97}.example/nowhere/{page}")
        else:
            urls.append(final_url_of(page, pages) if kind < 0.2 else url_of(page, pages))
    return json.dumps({"urls": urls}).encode(), there


@dataclass(frozen=True, slots=True)
class Run:
    """What was measured of one size of batches."""

    size: int
    urls: int
    seconds: float
    cpu_s: float
    latencies: Sequence[float]

    def tell(self) -> bool:
        """Print it; answers whether it is fast enough for a core of its own."""
        ordered = sorted(self.latencies)
        median, most = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
        per_s, per_cpu_s = self.urls / self.seconds, self.urls / self.cpu_s
        print(
            f"batches of {self.size}: {per_s:,.0f} URLs/s, {per_cpu_s:,.0f} in a second of the"
            f" core's time; median {median * 1000:.1f} ms, 99 % {most * 1000:.1f} ms"
        )
        return per_s >= WANTED_PER_S and most < WANTED_S


class Asker:
    """Asks with batches of one size."""

    def __init__(self, http: aiohttp.ClientSession, url: str, pages: int, size: int) -> None:
        self._http = http
        self._url = f"{url}/v1/pages/lookup"
        self._size = size
        rng = random.Random(size)
        self._questions = [question(rng, pages, size) for _ in range(QUESTIONS)]
        self._latencies: list[float] = []

    async def run(self, seconds: float) -> Run:
        """Ask for a while, by several at a time."""
        await self._ask(0, time.monotonic() + 1)
        self._latencies.clear()
        begun, cpu = time.monotonic(), cpu_seconds()
        async with asyncio.TaskGroup() as group:
            for number in range(SIZES[self._size]):
                group.create_task(self._ask(number, begun + seconds))
        took, used = time.monotonic() - begun, cpu_seconds() - cpu
        return Run(self._size, len(self._latencies) * self._size, took, used, self._latencies)

    async def _ask(self, number: int, until: float) -> None:
        while time.monotonic() < until:
            body, there = self._questions[number % QUESTIONS]
            begun = time.perf_counter()
            async with self._http.post(self._url, data=body) as answer:
                told = await answer.read()
            self._latencies.append(time.perf_counter() - begun)
            assert answer.status == 200, told
            assert told.count(b'"found":true') == there, "pages are missing"
            number += SIZES[self._size]


def cpu_seconds() -> float:
    """Return the processor time of everything that descends from this process."""
    return sum(_ticks(pid) for pid in _descendants(os.getpid())) / _TICKS


def _ticks(pid: int) -> int:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(words[11]) + int(words[12])


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            yield child
            yield from _descendants(child)


async def measure(url: str, pages: int, seconds: float) -> list[Run]:
    """Return what was measured, for each size of batches."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as http:
        return [await Asker(http, url, pages, size).run(seconds) for size in SIZES]


@contextmanager
def store(data: Path | None, pages: int) -> Iterator[Path]:
    """Give the directory of a store with so many pages, made if it is not there."""
    with tempfile.TemporaryDirectory() as folder:
        place = data or Path(folder) / "state"
        if not place.exists():
            begun = time.monotonic()
            uvloop.run(make_store(place, pages))
            print(f"{pages:,} pages stored in {time.monotonic() - begun:.0f} s")
        yield place


@contextmanager
def shared_store(given: argparse.Namespace) -> Iterator[Path]:
    """Fill a store in Redis; gives a directory for what a machine has for itself."""
    with tempfile.TemporaryDirectory() as folder:
        if not given.filled:
            begun = time.monotonic()
            uvloop.run(make_shared_store(given.store, given.index, given.pages))
            print(f"{given.pages:,} pages stored in {time.monotonic() - begun:.0f} s")
        yield Path(folder) / "node"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--store")
    parser.add_argument("--index")
    parser.add_argument("--filled", action="store_true", help="the store has the pages already")
    given = parser.parse_args()
    shared = [f"--store={given.store}"] if given.store else []
    shared += [f"--index={given.index}"] if given.index else []
    with (
        shared_store(given) if given.store else store(given.data, given.pages) as data,
        upped(data, "--workers", "0", *shared, cores=[SERVER_CORE]) as url,
    ):
        os.sched_setaffinity(0, {CLIENT_CORE})
        runs = uvloop.run(measure(url, given.pages, given.seconds))
    good = [run.tell() for run in runs]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
