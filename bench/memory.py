"""The memory of a worker that knows many URLs: ``python -m bench.memory``.

One process offers the URLs to an embedded frontier, a second one opens what the first left
behind and works on it: it claims pages and acks them with fifty links each, most of them known.
Both load the whole program. The bar is on the larger of the two peaks. With ``--seen bloom`` the
known URLs are in a Bloom filter, and there is a bar on what it takes of the second process.
"""

import argparse
import asyncio
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import skitter.wiring.crawl  # noqa: F401  (a worker has all of the program in memory)
from bench.paths import OUT, ROOT
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.embedded.seen.choice import FILE
from skitter.frontier.model import Ack, Freed, JobEntry, Link, Result, SeenOptions
from skitter.types import HostKey, JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.partition import slot_of

BAR_MB = 500
SEEN_BAR_MB = 60
_OFFER = 2_000
_CLAIM = 64
_LINKS, _NEW_LINKS = 50, 10
_JOB = JobEntry(id="memory", delay_ms=0, queue_bound=1 << 40)


class Urls:
    """URLs by number: number ``n`` is page ``n // hosts`` of host ``n % hosts``."""

    def __init__(self, hosts: int, secret: bytes, job: JobNumber) -> None:
        self._hosts = hosts
        self._fingerprint = Fingerprinter(secret)
        self._job = job

    def link(self, number: int) -> Link:
        """Return URL ``number`` as a link on offer."""
        page, place = divmod(number, self._hosts)
        host = HostKey(f"www.site-{place:06d}.example")
        url = f"http://{host}/archive/{page % 12 + 1:02d}/story-of-the-day-{number:08d}.html"
        return Link(url, self._fingerprint(url), host, self._job, slot_of(host))


async def load(home: Path, urls: int, hosts: int, seen: SeenOptions) -> dict[str, float]:
    """Make ``urls`` URLs known to a new frontier."""
    frontier = EmbeddedFrontier(home, durable=False, seen=seen)
    await frontier.open()
    job = await frontier.put_job(_JOB)
    known = Urls(hosts, frontier.secret, job)
    began, cpu = time.monotonic(), time.process_time()
    for first in range(0, urls, _OFFER):
        await frontier.offer([known.link(n) for n in range(first, min(urls, first + _OFFER))])
    seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu
    counts = await frontier.counts(job)
    resident = _resident_mb()
    await frontier.close()
    return {
        "known": counts.offered,
        "seconds": seconds,
        "us_per_url": cpu_s * 1e6 / urls,
        "rss_mb": resident,
        "peak_mb": _peak_mb(),
        "wrong": urls - counts.offered,
    }


async def work(home: Path, urls: int, hosts: int, pages: int) -> dict[str, float]:
    """Open the frontier again and do the frontier's share of crawling ``pages`` pages."""
    frontier = EmbeddedFrontier(home)
    began = time.monotonic()
    await frontier.open()
    opened_s = time.monotonic() - began
    job = await frontier.put_job(_JOB)
    known = Urls(hosts, frontier.secret, job)
    grants = await frontier.own("bench", [0])
    began, cpu, done, freed = time.monotonic(), time.process_time(), 0, list[Freed]()
    links = _page_links(known, urls)
    while done < pages:
        claim = await frontier.claim(grants, _CLAIM, freed=freed)
        if not claim.leases:
            raise RuntimeError(f"nothing to claim after {done} pages")
        freed = [Freed(lease.id, lease.host) for lease in claim.leases]
        acks = [Ack(lease, Result.DONE, links=next(links)) for lease in claim.leases]
        await frontier.ack(acks)
        done += len(acks)
    seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu
    resident, mapped = _resident_mb(), _mapped_mb(home / FILE)
    await frontier.close()
    return {
        "seen_mb": mapped,
        "open_s": opened_s,
        "pages_per_s": done / seconds,
        "ms_per_page": cpu_s * 1000 / done,
        "rss_mb": resident,
        "peak_mb": _peak_mb(),
    }


def _page_links(known: Urls, urls: int) -> Iterator[list[Link]]:
    """Yield the links of one page after the other: old ones from all over, and some new."""
    fresh, step = urls, 7_919
    page = 0
    while True:
        page += 1
        old = ((page * _LINKS + n) * step % urls for n in range(_LINKS - _NEW_LINKS))
        new = range(fresh, fresh + _NEW_LINKS)
        fresh += _NEW_LINKS
        yield [known.link(number) for number in (*old, *new)]


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _mapped_mb(file: Path) -> float:
    """Return how much of a mapped file is in memory."""
    lines = iter(Path("/proc/self/smaps").read_text().splitlines())
    held = 0
    for line in lines:
        if line.endswith(str(file)):
            held += next(int(row.split()[1]) for row in lines if row.startswith("Rss:"))
    return held * 1024 / 1e6


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def _disk_bytes(home: Path) -> int:
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


def _phase(options: argparse.Namespace) -> int:
    if options.phase == "load":
        seen = SeenOptions(options.seen, expected=options.urls)
        facts = asyncio.run(load(options.home, options.urls, options.hosts, seen))
    else:
        facts = asyncio.run(work(options.home, options.urls, options.hosts, options.pages))
    print(json.dumps(facts))
    return 0


def _child(phase: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.memory", "--phase", phase]
    for name in ("home", "urls", "hosts", "pages", "seen"):
        command += [f"--{name}", str(getattr(options, name))]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    facts: dict[str, float] = json.loads(ended.stdout)
    return facts


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; 1 when the bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--urls", type=int, default=10_000_000)
    parser.add_argument("--hosts", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=20_000, help="pages worked on at the end")
    parser.add_argument("--seen", choices=("exact", "bloom"), default="exact")
    # Two measurements at once must not share a store.
    own = OUT / f"memory-{os.getpid()}"
    parser.add_argument("--home", type=Path, default=own, help=argparse.SUPPRESS)
    parser.add_argument("--phase", choices=("load", "work"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.phase:
        return _phase(options)
    OUT.mkdir(parents=True, exist_ok=True)
    try:
        loaded = _child("load", options)
        disk = _disk_bytes(options.home) / loaded["known"]
        worked = _child("work", options)
    finally:
        shutil.rmtree(options.home, ignore_errors=True)
    peak = max(loaded["peak_mb"], worked["peak_mb"])
    wrong = f", {loaded['wrong']:,.0f} passed over" if options.seen == "bloom" else ""
    print(f"{loaded['known']:,.0f} known URLs on {options.hosts:,} hosts{wrong}")
    print(
        f"load: {loaded['seconds']:.0f} s, {loaded['us_per_url']:.1f} µs CPU per URL, "
        f"{loaded['rss_mb']:.0f} MB resident, {loaded['peak_mb']:.0f} MB at most"
    )
    print(f"disk: {disk:.1f} bytes per URL")
    print(
        f"open again: {worked['open_s']:.1f} s; work: {worked['pages_per_s']:,.0f} pages/s, "
        f"{worked['ms_per_page']:.2f} ms CPU per page, {worked['rss_mb']:.0f} MB resident, "
        f"{worked['peak_mb']:.0f} MB at most"
    )
    met = peak <= BAR_MB
    print(f"memory: {peak:.0f} MB at most (bar ≤ {BAR_MB}) {'met' if met else 'MISSED'}")
    if options.seen == "bloom":
        small = worked["seen_mb"] <= SEEN_BAR_MB
        verdict = "met" if small else "MISSED"
        print(f"seen-set: {worked['seen_mb']:.1f} MB (bar ≤ {SEEN_BAR_MB}) {verdict}")
        met = met and small
    name = "memory.json" if options.seen == "exact" else "memory-bloom.json"
    (OUT / name).write_text(json.dumps({"load": loaded, "work": worked, "disk": disk}))
    return int(not met)


if __name__ == "__main__":
    sys.exit(main())
