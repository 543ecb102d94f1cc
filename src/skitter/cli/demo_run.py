"""The demo: where it keeps things, what it crawls, and what to try after it."""

import fcntl
import shlex
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from skitter.cli.run import Crawl, finish, run_crawl
from skitter.cli.wording import program
from skitter.config import RunOptions
from skitter.demo.server import DemoServer
from skitter.errors import ConfigError
from skitter.job.parts import Http, Polite
from skitter.job.spec import Job
from skitter.url.scope import ScopeKind
from skitter.wiring.crawl import open_crawl

MARKER = ".made-by-skitter-demo"


def run_demo(directory: Path, *, quiet: bool, json: bool) -> int:
    """Serve the demo web and crawl it into ``directory``; return the exit code."""
    with demo_directory(directory):
        demo_run = DemoRun(directory)
        options = demo_options(directory, quiet=quiet, json=json)
        if not quiet and not json:
            print(f"Crawling a demo web on this machine into {directory}\n", flush=True)
        summary, code = run_crawl(demo_run.open, demo_job(), options)
        finish(summary, options, "skitter demo   (from the start)")
        if summary is not None and not quiet and not json:
            print("\n".join(["", *demo_run.next_steps()]))
    return code


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
        polite=Polite(delay=0.02, per_host=4),
        http=Http(timeout=5.0, first_byte_timeout=3.0, tries=2),
    )


def demo_options(directory: Path, *, quiet: bool, json: bool) -> RunOptions:
    """Return where the demo keeps things, and that it may ask this machine."""
    return RunOptions(
        data=directory / "state",
        out=(directory / "pages.jsonl",),
        hosts=directory / "hosts",
        allow_private=True,
        quiet=quiet,
        json=json,
    )


class DemoRun:
    """A crawl with the web it crawls around it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.entry = ""

    @asynccontextmanager
    async def open(
        self, job: Job, options: RunOptions, seeds: Iterator[str] | None
    ) -> AsyncIterator[Crawl]:
        """Start the web, then open the crawl of it."""
        async with DemoServer() as server:
            self.entry = server.web.entry
            assert options.hosts is not None
            options.hosts.write_text(server.hosts_file(), encoding="utf-8")
            entered = job.model_copy(update={"entries": (self.entry,)})
            async with open_crawl(entered, options, seeds) as crawl:
                yield crawl

    def next_steps(self) -> list[str]:
        """Return what a person might try next."""
        where = shlex.quote(str(self._directory))
        skitter = program()
        rows = [
            ("read a record", f"head -n 1 {where}/pages.jsonl | python3 -m json.tool"),
            ("ask about a page", f"{skitter} page {self.entry} --data {where}/state"),
            ("crawl a real site", f"{skitter} crawl https://example.com --pages 100"),
            ("see all the flags", f"{skitter} crawl --help"),
        ]
        return ["Try next:", *(f"  {what:<18} {command}" for what, command in rows)]
