"""Skitter beside other crawlers: the same web, the same core, in turns, judged by the server.

nginx has one core, the crawler another. Every round runs every crawler once, so that a machine
that slows down slows all of them down; the tables show medians. Where a crawler keeps its state in
Redis, that has a core of its own where there are four, else it shares nginx's; two members have a
core each where there are three.
"""

import argparse
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Self, TextIO

from rich.console import Console

from bench.crawlers import CRAWLERS, Crawler, Start, need_packages
from bench.judge import Records, judge_log, judge_records
from bench.measure import measured
from bench.nginx import served
from bench.paths import OUT, RESULTS, RUNS
from bench.redis_server import redis_running
from bench.render import Manifest, rendered
from bench.report import as_json, bars, faults, show
from bench.results import Run

MANY_HOSTS = 100
FULL_PAGES = 20_000
_LAST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Which core is whose."""

    server: int
    store: int
    members: tuple[int, ...]
    """The first member's, the second member's."""

    @classmethod
    def on(cls, cores: Sequence[int]) -> Self:
        """Share out cores: the server one, each member one, the store one, as far as they go."""
        first = cores[0]
        members = tuple(cores[1:3]) or (first,)
        return cls(server=first, store=cores[3] if len(cores) > 3 else first, members=members)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the comparison; 1 when a bar is missed or a crawl of Skitter's was not exact."""
    options = _options(arguments)
    OUT.mkdir(parents=True, exist_ok=True)
    # What was started is stopped by unwinding, also when the bench itself is told to end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with (OUT / "lock").open("w") as lock:
        try:
            _wait_for(lock)
            return _compare(options)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            return 130


def _wait_for(lock: TextIO) -> None:
    """Wait until no other comparison runs: two at once would measure each other."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("another comparison is running; waiting for it", file=sys.stderr)
        fcntl.flock(lock, fcntl.LOCK_EX)


def _compare(options: argparse.Namespace) -> int:
    console = Console(width=None if sys.stdout.isatty() else 110)
    chosen = [crawler for crawler in CRAWLERS if crawler.name in options.only]
    need_packages(nginx="nginx-light", taskset="util-linux")
    for crawler in chosen:
        crawler.prepare()
    cores = sorted(os.sched_getaffinity(0))
    places = Places.on(cores)
    # The bench itself stays on the server's core, out of the way of what is measured.
    os.sched_setaffinity(0, {places.server})
    if len(cores) == 1:
        console.print("Only one core: server and crawler share it, speeds are not comparable.")
    runs: list[Run] = []
    for number in range(1, options.rounds + 1):
        for hosts in options.hosts:
            for crawler in (crawler for crawler in chosen if crawler.fits(hosts)):
                run = _one(crawler, hosts, number, options, places)
                runs.append(run)
                _tell(console, run)
    if options.pages < FULL_PAGES:
        console.print(
            f"The bars are meant for {FULL_PAGES:,} pages: start-up weighs more on fewer."
        )
    show(console, runs, [crawler.name for crawler in chosen], options.rounds)
    for crawler in chosen:
        console.print(f"{crawler.name}: {crawler.note}", style="dim", highlight=False)
    RESULTS.write_text(json.dumps(as_json(runs), indent=1))
    console.print(f"everything measured is in {RESULTS}", highlight=False, soft_wrap=True)
    return int(bool(faults(runs)) or not all(bar.met for bar in bars(runs)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    names = [crawler.name for crawler in CRAWLERS]
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=names, default=names, help="these crawlers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pages", type=int, default=FULL_PAGES, help="size of the web")
    parser.add_argument(
        "--hosts", nargs="+", type=int, choices=(1, MANY_HOSTS), default=[1, MANY_HOSTS]
    )
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one crawl")
    parser.add_argument("--keep", action="store_true", help="keep what the crawlers wrote")
    return parser.parse_args(arguments)


def _one(
    crawler: Crawler, hosts: int, number: int, options: argparse.Namespace, places: Places
) -> Run:
    """Make one run and judge it."""
    pages = min(options.pages, crawler.most_pages or options.pages)
    manifest = rendered(pages, hosts)
    folder = RUNS / f"{crawler.name}-{hosts}-{number}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    start = Start(url=manifest.start, many_hosts=hosts > 1, folder=folder)
    store_cpu_s = None
    with ExitStack() as stack:
        log = stack.enter_context(served(manifest, folder / "nginx", core=places.server))
        store = None
        if crawler.wants_store:
            store = stack.enter_context(redis_running(folder / "redis", core=places.store))
            start = replace(start, store=store.url)
        cost = measured(
            crawler.programs(start),
            cores=places.members,
            folder=folder,
            timeout_s=options.timeout,
        )
        if store is not None:
            store_cpu_s = store.cpu_s()
    with log.open() as lines:
        requests = judge_log(manifest, lines)
    run = Run(
        crawler=crawler.name,
        hosts=hosts,
        web_pages=pages,
        round=number,
        cost=cost,
        requests=requests,
        records=_records(crawler, manifest, start),
        last_words=_last_words(folder),
        members=crawler.members,
        members_have_cores=len(set(places.members)) >= crawler.members,
        store_cpu_s=store_cpu_s,
    )
    if not options.keep and run.finished:
        # A mirror or a store of 20,000 pages is large; deleting it must not disturb the next run.
        shutil.rmtree(folder)
        subprocess.run(["sync"], check=True)
    return run


def _records(crawler: Crawler, manifest: Manifest, start: Start) -> Records | None:
    if not crawler.keeps_records or not start.records:
        return None
    with ExitStack() as stack:
        files = [stack.enter_context(file.open("rb")) for file in start.records]
        return judge_records(manifest, chain.from_iterable(files))


def _last_words(folder: Path) -> str:
    said = [file.read_text(errors="replace").strip() for file in folder.glob("output*.txt")]
    return " | ".join(words[-_LAST_WORDS:] for words in said if words)


def _tell(console: Console, run: Run) -> None:
    state = "exact" if run.exact else "finished" if run.finished else "FAILED"
    console.print(
        f"round {run.round} · {run.hosts:>3} host(s) · {run.crawler:<16}"
        f" {run.pages_per_s:8,.0f} pages/s {run.cpu_ms_per_page:7.2f} ms/page"
        f" {run.cost.peak_rss_mb:6,.0f} MB  {state}",
        highlight=False,
        soft_wrap=True,
    )


if __name__ == "__main__":
    sys.exit(main())
