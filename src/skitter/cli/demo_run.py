"""The demo: where it keeps things, and what it crawls."""

import fcntl
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from skitter.cli.run import finish, run_crawl
from skitter.cli.tour import (
    ARCHIVE,
    BEST_OUT,
    BEST_STATE,
    OUTPUTS,
    STATE,
    SUBJECT,
    read_results,
    show_tour,
    stops,
)
from skitter.cli.watched import Running
from skitter.config import RunOptions
from skitter.crawl.summary import Summary
from skitter.demo import library
from skitter.demo.build import demo_web
from skitter.demo.server import DemoServer
from skitter.errors import ConfigError
from skitter.job.parts import Http, Limits, Polite, Seen, SeenKind
from skitter.job.spec import Job
from skitter.url.scope import ScopeKind
from skitter.wiring.crawl import open_crawl

MARKER = ".made-by-skitter-demo"
HOSTS = "hosts"
BEST_PAGES = 47
"""A fifth of the library: enough to see what comes first."""
BEST_EXPECTED = 100_000


def run_demo(directory: Path, *, quiet: bool, json: bool) -> int:
    """Serve the demo web, crawl it into ``directory`` and show around; return the exit code."""
    with demo_directory(directory):
        talks = not quiet and not json
        demo_run = DemoRun(directory / HOSTS)
        options = demo_options(directory, quiet=quiet, json=json)
        _say(f"Crawling a demo web on this machine into {directory}\n", talks=talks)
        summary, code = run_crawl(demo_run.open, demo_job(), options)
        finish(summary, options, "skitter demo   (from the start)")
        if summary is None or summary.stopped_by == "interrupted":
            return code
        _say(f'\nA second, small crawl: the library, "{SUBJECT}" first', talks=talks)
        best = best_options(directory, quiet=not talks)
        ended, code = run_crawl(demo_run.open, best_job(), best)
        if talks:
            whole = ended is not None and ended.stopped_by != "interrupted"
            expected = BEST_EXPECTED if whole else 0
            show_tour(stops(read_results(directory, demo_run.web, summary, expected)))
    return code


def _say(line: str, *, talks: bool) -> None:
    if talks:
        print(line, flush=True)


@contextmanager
def demo_directory(directory: Path) -> Iterator[None]:
    """Empty the demo's directory and hold it; one that is not the demo's own is left alone."""
    marker = directory / MARKER
    if directory.exists() and not marker.is_file():
        raise ConfigError(f"{directory}: not made by the demo; wanted a new directory with --dir")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with marker.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for path in directory.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                elif path != marker:
                    path.unlink()
            yield
    except BlockingIOError as error:
        raise ConfigError(f"{directory}: another demo is running there") from error


def demo_job() -> Job:
    """Return the demo's job: brisk, because it asks only this machine."""
    return Job(
        id="demo",
        scope=ScopeKind.DOMAIN,
        polite=Polite(delay=0.01, per_host=4),
        http=Http(timeout=5.0, first_byte_timeout=3.0, tries=2),
    )


def best_job() -> Job:
    """Return the job of the second crawl: one site, best first, its URLs in a Bloom filter."""
    return Job(
        id="best",
        keywords=(SUBJECT,),
        limits=Limits(pages=BEST_PAGES),
        polite=Polite(delay=0.02),
        seen=Seen(kind=SeenKind.BLOOM, expected=BEST_EXPECTED),
    )


def demo_options(directory: Path, *, quiet: bool, json: bool) -> RunOptions:
    """Return where the demo keeps things, and that it may ask this machine."""
    return RunOptions(
        data=directory / STATE,
        out=tuple(directory / name for name in OUTPUTS),
        warc=directory / ARCHIVE,
        hosts=directory / HOSTS,
        allow_private=True,
        quiet=quiet,
        json=json,
    )


def best_options(directory: Path, *, quiet: bool) -> RunOptions:
    """Return where the second crawl keeps things."""
    return RunOptions(
        data=directory / BEST_STATE,
        out=(directory / BEST_OUT,),
        hosts=directory / HOSTS,
        allow_private=True,
        quiet=quiet,
    )


class DemoRun:
    """Crawls with the web they crawl around them, at the same addresses every time."""

    def __init__(self, hosts: Path) -> None:
        self._hosts = hosts
        self._port = 0
        self.web = demo_web(with_traps=True)

    @asynccontextmanager
    async def open(
        self, job: Job, options: RunOptions, seeds: Iterator[str] | None
    ) -> AsyncIterator[Running[Summary]]:
        """Start the web, then open the crawl of it: all of it, or of the library by subject."""
        async with DemoServer(self.web, port=self._port) as server:
            self.web, self._port = server.web, server.port
            self._hosts.write_text(server.hosts_file(), encoding="utf-8")
            entry = self.web.entry_of(library.NAME) if job.keywords else self.web.entry
            entered = job.model_copy(update={"entries": (entry,)})
            async with open_crawl(entered, options, seeds) as crawl:
                yield crawl
