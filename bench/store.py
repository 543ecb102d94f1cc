"""What URLs cost in Redis: ``python -m bench.store``.

URLs are offered to a frontier on a redis-server of the bench's own, for every kind of seen-set and
for few and many hosts; all of them are known and queued then. The growth of the server's memory is
shared out by what the keys hold. After that some pages are claimed, and then acked with sixty links
each, ten of them new: the CPU of the server is what its scripts cost. Records are kept in the page
index, which ``--index URL`` has in PostgreSQL; the stream to the files is left out. A URL is 72
characters long, 42 of them its path, and names the page it was found on, which is on the same host.
"""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from typing import cast, get_args

import msgspec
import redis
from rich.console import Console
from rich.table import Table

from bench.crawlers import need_packages
from bench.memory import Urls
from bench.paths import OUT, STORE_RESULTS
from bench.redis_server import DESCRIPTION, RedisServer, redis_running
from skitter.crawl.ordering import LINK_RANK
from skitter.frontier.model import Ack, Freed, JobEntry, Lease, Link, Result, SeenKind, SeenOptions
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.types import JobNumber
from skitter.url.partition import SLOTS
from skitter.wiring.connect import connect_redis

KNOWN_BAR = 70
"""Bytes of a known URL, seen = exact, where there are enough URLs to fill the sets."""
WAITING = 0.3
"""The share of known URLs that wait, in the middle of a large crawl."""
FULL_URLS = 1_000_000
_OFFER = 2_000
_CLAIM, _ACK = 64, 32
_LINKS, _NEW_LINKS = 60, 10
_OWN_MS = 3_600_000
_KEYS_AT_ONCE = 2_000
_NOTE_BYTES = 850
_JOB = JobEntry(id="store", delay_ms=0, queue_bound=1 << 40)
_PARTS = {"S": "known", "B": "known", "q": "queued", "b": "queued", "h": "hosts", "r": "hosts",
          "y": "hosts", "R": "hosts", "Y": "hosts", "m": "hosts", "c": "hosts"}  # fmt: skip
"""First letter of a key behind its tag to what it holds; domains are counted in ``c``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kind of seen-set with one number of hosts; bytes are per URL unless said otherwise."""

    seen: str
    urls: int
    hosts: int
    passed_over: int
    """URLs that were new and taken for known."""
    offer_us: float
    """CPU of the server per URL offered."""
    total: float
    """By the growth of the server's memory."""
    known: float
    """By its keys, as the others below."""
    queued: float
    per_host: float
    """Per host."""
    claim_s: float
    """CPU of the server for 1,000 pages."""
    ack_s: float
    """The same."""
    client_ms: float
    """CPU of the member for one page, claim and ack."""

    @property
    def mixed(self) -> float:
        """Bytes of a URL, hosts and all, when not all of them wait."""
        return self.total - (1 - WAITING) * self.queued


class Found:
    """URLs as a crawl offers them: found on a page of the same host, breadth first."""

    def __init__(self, hosts: int, secret: bytes, job: JobNumber) -> None:
        self._urls = Urls(hosts, secret, job)
        self._hosts = hosts

    def link(self, number: int) -> Link:
        """Return URL ``number`` as a link on offer."""
        link = self._urls.link(number)
        page = self._urls.link(number % self._hosts)
        return msgspec.structs.replace(link, rank=LINK_RANK, referrer=page.url, depth=3)


@asynccontextmanager
async def _frontier(
    server: RedisServer, seen: SeenOptions, index: str | None
) -> AsyncIterator[RedisFrontier]:
    async with AsyncExitStack() as stack:
        yield (await connect_redis(stack, server.url, seen, index=index)).frontier


async def measure(
    server: RedisServer, seen: SeenOptions, hosts: int, pages: int, index: str | None
) -> Measured:
    """Fill an empty server and work on it."""
    urls = seen.expected
    async with _frontier(server, seen, index) as frontier:
        job = await frontier.put_job(_JOB)
        source = Found(hosts, frontier.secret, job)
        empty = _used_bytes(server)
        before = server.cpu_s()
        for first in range(0, urls, _OFFER):
            await frontier.offer([source.link(n) for n in range(first, min(urls, first + _OFFER))])
        offered_s = server.cpu_s() - before
        total = _used_bytes(server) - empty
        parts = _parts(server)
        counts = await frontier.counts(job)
        claim_s, ack_s, client_s = await _work(frontier, server, source, urls, pages)
    return Measured(
        seen=seen.kind,
        urls=urls,
        hosts=hosts,
        passed_over=urls - counts.offered,
        offer_us=offered_s * 1e6 / urls,
        total=total / urls,
        known=parts["known"] / urls,
        queued=parts["queued"] / urls,
        per_host=parts["hosts"] / hosts,
        claim_s=claim_s * 1000 / pages,
        ack_s=ack_s * 1000 / pages,
        client_ms=client_s * 1000 / pages,
    )


async def _work(
    frontier: RedisFrontier, server: RedisServer, source: Found, urls: int, pages: int
) -> tuple[float, float, float]:
    """Claim pages, then ack them; answers the server's CPU for each, and the client's for both."""
    grants = await frontier.own("bench", range(SLOTS), _OWN_MS)
    began, spent = server.cpu_s(), time.process_time()
    leases: list[Lease] = []
    freed: list[Freed] = []
    while len(leases) < pages:
        claim = await frontier.claim(grants, min(_CLAIM, pages - len(leases)), freed=freed)
        if not claim.leases:
            raise RuntimeError(f"nothing to claim after {len(leases)} pages")
        # Answered at once: the hosts may be asked again.
        freed = [Freed(lease.id, lease.host) for lease in claim.leases]
        leases += claim.leases
    claimed = server.cpu_s()
    links = _page_links(source, urls)
    for first in range(0, pages, _ACK):
        acks = [
            Ack(lease, Result.DONE, links=next(links), note=_note(lease))
            for lease in leases[first : first + _ACK]
        ]
        await frontier.ack(acks)
    return claimed - began, server.cpu_s() - claimed, time.process_time() - spent


def _page_links(source: Found, urls: int) -> Iterator[list[Link]]:
    """Yield the links of one page after the other: old ones from all over, and some new."""
    old, fresh = 0, urls
    while True:
        known = [(old + n) * 7_919 % urls for n in range(_LINKS - _NEW_LINKS)]
        yield [source.link(n) for n in (*known, *range(fresh, fresh + _NEW_LINKS))]
        old += len(known)
        fresh += _NEW_LINKS


def _note(lease: Lease) -> bytes:
    """Return something as long as a record, and about as hard to compress."""
    facts = {"url": lease.url, "status": 200, "title": f"Story {lease.fp}", "id": f"{lease.fp:x}"}
    line = json.dumps(facts).encode()
    return line + os.urandom((_NOTE_BYTES - len(line)) // 4).hex().encode()


def _used_bytes(server: RedisServer) -> int:
    """Return what the data takes, without connections and what waits for the disk."""
    with redis.Redis(port=server.port) as client:
        facts = cast("dict[str, int]", client.info("memory"))
    return facts["used_memory"] - facts["mem_clients_normal"] - facts["mem_aof_buffer"]


def _parts(server: RedisServer) -> dict[str, int]:
    """Return the bytes of all keys by what they hold; Redis tells how much a key takes."""
    found = dict.fromkeys(("known", "queued", "hosts", "rest"), 0)
    cursor = 0
    with redis.Redis(port=server.port) as client:
        while True:
            cursor, names = client.scan(cursor, count=_KEYS_AT_ONCE)
            pipe = client.pipeline(transaction=False)
            for name in names:
                pipe.memory_usage(name, samples=0)
            for name, size in zip(names, pipe.execute(), strict=True):
                letter = name.decode().partition("}:")[2].partition(":")[0]
                found[_PARTS.get(letter, "rest")] += size or 0
            if not cursor:
                return found


def _one(kind: SeenKind, options: argparse.Namespace, hosts: int, cores: list[int]) -> Measured:
    home = OUT / f"store-{os.getpid()}"
    seen = SeenOptions(kind, expected=options.urls)
    try:
        with redis_running(home, core=cores[0]) as server:
            return asyncio.run(measure(server, seen, hosts, options.pages, options.index))
    finally:
        shutil.rmtree(home, ignore_errors=True)


def table(found: Sequence[Measured], pages: int) -> Table:
    """Return what was measured."""
    title = f"{found[0].urls:,} URLs in Redis, {pages:,} pages worked on; {DESCRIPTION}"
    grid = Table(title=title, title_justify="left")
    heads = ("hosts", "missed", "B/known", "B/queued", "B/host", "all B/URL", f"{WAITING:.0%} wait",
             "offer µs", "claims s", "acks s", "member ms")  # fmt: skip
    grid.add_column("seen")
    for head in heads:
        grid.add_column(head, justify="right")
    for row in found:
        grid.add_row(
            row.seen,
            f"{row.hosts:,}",
            str(row.passed_over),
            f"{row.known:.1f}",
            f"{row.queued:.1f}",
            f"{row.per_host:.0f}",
            f"{row.total:.1f}",
            f"{row.mixed:.1f}",
            f"{row.offer_us:.1f}",
            f"{row.claim_s:.3f}",
            f"{row.ack_s:.3f}",
            f"{row.client_ms:.2f}",
        )
    return grid


def verdict(found: Sequence[Measured]) -> tuple[list[str], bool]:
    """Return what is to be said of the bar, and whether it is met.

    It is for a URL that is known and no more; what one takes that waits, too, is told beside it.
    """
    exact = [row for row in found if row.seen == "exact"]
    if not exact:
        return [], True
    worst = max(row.known for row in exact)
    met = worst <= KNOWN_BAR
    word = "met" if met else "MISSED"
    lines = [f"bytes per known URL, exact: {worst:.1f} (bar ≤ {KNOWN_BAR}) {word}"]
    for row in exact:
        for share, size in ((1, row.total), (WAITING, row.mixed)):
            place = "above" if size > KNOWN_BAR else "within"
            lines.append(
                f"with its host and {share:.0%} of them waiting, {row.hosts:,} hosts: {size:.1f},"
                f" {place} {KNOWN_BAR}"
            )
    return lines, met


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 when the bar is missed."""
    kinds: tuple[SeenKind, ...] = get_args(SeenKind)
    parser = argparse.ArgumentParser(prog="python -m bench.store", description=__doc__)
    parser.add_argument("--urls", type=int, default=FULL_URLS)
    parser.add_argument("--hosts", nargs="+", type=int, default=[1_000, 100_000])
    parser.add_argument("--pages", type=int, default=5_000, help="pages worked on at the end")
    parser.add_argument("--seen", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--index", metavar="URL", help="PostgreSQL for the page index")
    options = parser.parse_args(arguments)
    need_packages(**{"redis-server": "redis-server", "taskset": "util-linux"})
    OUT.mkdir(parents=True, exist_ok=True)
    # The server is stopped by unwinding, also when the bench itself is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cores = sorted(os.sched_getaffinity(0))
    # The server has the first core, as in the comparison, and the member another.
    os.sched_setaffinity(0, set(cores[1:2] or cores))
    console = Console(width=None if sys.stdout.isatty() else 130)
    found = []
    for hosts in options.hosts:
        for kind in options.seen:
            found.append(_one(kind, options, hosts, cores))
            print(found[-1], file=sys.stderr)
    console.print(table(found, options.pages))
    print(
        "B: bytes; missed: new URLs taken for known; offer µs, claims s, acks s: CPU of the server"
    )
    print("for one URL and for 1,000 pages; member ms: CPU of the member for one page")
    lines, met = verdict(found)
    print(*lines, sep="\n")
    STORE_RESULTS.write_text(json.dumps([asdict(row) for row in found], indent=1))
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
