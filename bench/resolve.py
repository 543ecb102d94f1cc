"""How long it takes from a URL to what is behind it: ``python -m bench.resolve``.

Submits URLs of the demo's bulk web, whose answers take 50 to 500 ms, to a ``skitter up`` at a
steady rate, whatever becomes of those before, and waits for each. Sites are asked with the usual
manners: one request at a time, a second apart, robots.txt first. What the program itself adds is
what is left when the time of the server and the rest that each site is given are taken off.
``--crawl`` lets a crawl of a web of its own run meanwhile, as fast as that answers.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
import uvloop

from bench.paths import ROOT
from bench.slow_web import DOMAIN, Served, read_ledger, urls_of
from bench.upped import TOKEN, asked, upped

DELAY_S = 1.0
"""The rest of a site between two requests, which is the default."""
WAIT_S = 30.0
CRAWLED, CRAWLED_PAGES, CRAWLED_DOMAIN = 8, 20_000, "crawled.test"
"""The web that a crawl has to itself: its hosts, and more pages than it can fetch meanwhile."""


@dataclass(frozen=True, slots=True)
class Came:
    """One URL: when it was submitted and when it was readable, and what was told of it."""

    url: str
    submitted: float
    readable: float
    state: str
    title: str | None


@contextmanager
def slow_web(pages: int, hosts: int, folder: Path, domain: str = DOMAIN) -> Iterator[int]:
    """Serve a web in a process of its own; gives its port."""
    command = [sys.executable, "-m", "bench.slow_web", "--pages", str(pages), "--hosts", str(hosts)]
    command += ["--domain", domain, "--ledger", str(folder / f"{domain}.ledger")]
    command += ["--hosts-out", str(folder / f"{domain}.hosts")]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.terminate()


class Submitter:
    """Submits URLs one by one at a rate and waits for all of them."""

    def __init__(self, api: str, http: aiohttp.ClientSession) -> None:
        self._api = api
        self._http = http
        self.came: list[Came] = []
        self.refused = 0

    async def run(self, urls: Sequence[str], rate: float) -> None:
        """Submit all URLs, each at its time."""
        begun = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for number, url in enumerate(urls):
                await asyncio.sleep(begun + number / rate - time.monotonic())
                group.create_task(self._one(url))

    async def _one(self, url: str) -> None:
        submitted = time.time()
        body = {"urls": [url], "wait": WAIT_S}
        async with self._http.post(f"{self._api}/v1/resolve", json=body) as answer:
            told = await answer.json()
            readable = time.time()
        if answer.status != 200:
            self.refused += 1
            print("refused:", answer.status, told, file=sys.stderr)
            return
        [result] = told["results"]
        self.came.append(Came(url, submitted, readable, result["state"], result["title"]))


async def submit(api: str, urls: Sequence[str], rate: float) -> Submitter:
    """Return what came of URLs that were submitted at a rate."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=2 * WAIT_S)
    async with aiohttp.ClientSession(headers=headers, connector=connector, timeout=timeout) as http:
        submitter = Submitter(api, http)
        await submitter.run(urls, rate)
        return submitter


class Own(NamedTuple):
    """Seconds that were neither the server's nor the rest of the site."""

    before: float
    """From the submission, or the end of a rest, to the requests for robots.txt and the page."""
    after: float
    """From the answer to when it was readable."""


def own_time(came: Came, asked_of: Mapping[str, Sequence[Served]]) -> Own | None:
    """Return what the program itself took; None for a page that was known already."""
    parts = urlsplit(came.url)
    before, free = 0.0, came.submitted
    for one in asked_of[parts.netloc]:
        if one.came >= came.submitted and one.path in ("/robots.txt", parts.path):
            before += max(0.0, one.came - free)
        free = max(free, one.answered + DELAY_S)
        if one.came >= came.submitted and one.path == parts.path:
            return Own(before, came.readable - one.answered)
    return None


def share(values: Sequence[float], part: float) -> float:
    """Return the value that a part of all stays below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def tell(submitter: Submitter, ledger: Sequence[Served], wanted: int) -> bool:
    """Print what was found; answers whether it is good enough."""
    asked_of: dict[str, list[Served]] = defaultdict(list)
    for one in ledger:
        asked_of[one.host].append(one)
    done = [one for one in submitter.came if one.state == "done" and one.title]
    total = [one.readable - one.submitted for one in done]
    own = [found for one in done if (found := own_time(one, asked_of)) is not None]
    added = [sum(one) for one in own]
    median, most, worst = share(total, 0.5), share(total, 0.99), share(added, 0.99)
    print(f"submitted {wanted}, readable {len(done)}, refused {submitter.refused}")
    print(f"submit to readable: median {median:.2f} s, 99 % {most:.2f} s, max {max(total):.2f} s")
    print(f"own time: {shares(added)}")
    print(f"  before requests: {shares([one.before for one in own])}")
    print(f"  after answers: {shares([one.after for one in own])}")
    return len(done) == wanted and median < 2 and most < 5 and worst < 0.2


def shares(seconds: Sequence[float]) -> str:
    """Return what half, most and nearly all stay below, in words."""
    parts = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}
    return ", ".join(f"{name} {share(seconds, part) * 1000:.0f} ms" for name, part in parts.items())


def crawl_job(port: int) -> dict[str, object]:
    """Return a crawl that asks its sites as fast as they answer."""
    return {
        "id": "beside",
        "entries": urls_of(CRAWLED_PAGES, CRAWLED, port, CRAWLED_DOMAIN)[:1],
        "scope": "domain",
        "polite": {"delay": 0, "per_host": 4},
    }


def hosts_file(folder: Path) -> Path:
    """Return a file with the names of all webs that are served."""
    names = "".join(path.read_text() for path in sorted(folder.glob("*.hosts")))
    (folder / "hosts").write_text(names)
    return folder / "hosts"


def crawled(api: str) -> int:
    """Return how many pages the crawl has fetched."""
    pages: int = asked(api, "/v1/jobs/beside")["pages"]
    return pages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--crawl", action="store_true")
    given = parser.parse_args()
    wanted = int(given.rate * given.seconds)
    pages = wanted + 10 * given.hosts
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = stack.enter_context(slow_web(pages, given.hosts, folder))
        if given.crawl:
            other = slow_web(CRAWLED_PAGES, CRAWLED, folder, CRAWLED_DOMAIN)
            crawled_port = stack.enter_context(other)
        urls = urls_of(pages, given.hosts, port)
        flags = ("--workers", str(given.workers), "--hosts", str(hosts_file(folder)))
        api = stack.enter_context(upped(folder / "state", *flags, "--concurrency", "512"))
        if given.crawl:
            asked(api, "/v1/jobs", crawl_job(crawled_port))
        # The first URL of all waits for workers to start.
        uvloop.run(submit(api, [urls[-1]], 1))
        begun, before = time.monotonic(), crawled(api) if given.crawl else 0
        found = uvloop.run(submit(api, urls[:wanted], given.rate))
        good = tell(found, read_ledger(folder / f"{DOMAIN}.ledger"), wanted)
        if given.crawl:
            per_s = (crawled(api) - before) / (time.monotonic() - begun)
            print(f"pages of the crawl meanwhile: {per_s:.0f} a second")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
