"""The crawlers that are compared: how each is installed and started."""

import compileall
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Program
from bench.paths import ROOT, VENVS
from bench.redis_server import DESCRIPTION as REDIS

CONCURRENCY = 64
SMALL_WEB = 2_000
SCRAPY = ("scrapy==2.19.0", "uvloop==0.23.0", "scrapy-redis==0.9.1", "redis[hiredis]==8.1.0")
_SKITTER = str(ROOT / ".venv" / "bin" / "skitter")
_INTERRUPTED = 130
"""How a member ends that was told to leave."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One run to be made."""

    url: str
    many_hosts: bool
    folder: Path
    """Where the crawler works and leaves its records."""
    store: str = ""
    """Address of an empty Redis, for crawlers that want one."""

    def records_of(self, worker: int) -> Path:
        """Return where the records of one worker go."""
        return self.folder / f"records-{worker}.jsonl"

    @property
    def records(self) -> list[Path]:
        """All files with records."""
        return sorted(self.folder.glob("records-*.jsonl"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """A program to measure."""

    name: str
    note: str
    programs: Callable[[Start], list[Program]]
    prepare: Callable[[], None]
    keeps_records: bool
    most_pages: int | None = None
    """The largest web it is given, where a larger one would take too long."""
    wants_store: bool = False
    members: int = 1

    def fits(self, hosts: int) -> bool:
        """Tell whether it runs on a web: a host belongs to one member, so two need many."""
        return hosts >= self.members


def _skitter(start: Start, *more: str) -> list[Program]:
    limits = [f"--per-host={CONCURRENCY}", f"--concurrency={CONCURRENCY}", "--delay=0"]
    scope = "--scope=any" if start.many_hosts else "--scope=host"
    places = [f"--out={start.records_of(1)}", f"--data={start.folder / 'data'}"]
    said = ["--allow-private", "--quiet", "--json"]
    command = [_SKITTER, "crawl", start.url, *limits, scope, *places, *said, *more]
    return [Program(command=command)]


def _with_warc(start: Start) -> list[Program]:
    return _skitter(start, f"--warc={start.folder / 'warc'}")


def _without_traps(start: Start) -> list[Program]:
    return _skitter(start, "--no-traps")


def _on_redis(start: Start) -> list[Program]:
    return _skitter(start, f"--store={start.store}", "--workers=0")


def _two_on_redis(start: Start) -> list[Program]:
    limits = ["--workers=1", f"--concurrency={CONCURRENCY}", "--allow-private", "--quiet"]
    place = f"--data={start.folder / 'node'}"
    command = [_SKITTER, "node", f"--store={start.store}", *limits, place]
    exits = frozenset({0, _INTERRUPTED})
    return [*_on_redis(start), Program(command=command, good_exits=exits, stays=True)]


def _python(spider: str, start: Start, worker: int, *more: str) -> Program:
    python = str(VENVS / "scrapy" / "bin" / "python")
    file = str(ROOT / "bench" / spider)
    said = [start.url, str(start.records_of(worker)), str(CONCURRENCY)]
    return Program(command=[python, file, *said, *more])


def _scrapy(start: Start) -> list[Program]:
    return [_python("scrapy_spider.py", start, 1)]


def _scrapy_redis(workers: int) -> Callable[[Start], list[Program]]:
    def programs(start: Start) -> list[Program]:
        return [
            _python("scrapy_redis_spider.py", start, number, start.store, str(number))
            for number in range(1, workers + 1)
        ]

    return programs


def _wget2(start: Start) -> list[Program]:
    span = ["--span-hosts"] if start.many_hosts else []
    threads = f"--max-threads={CONCURRENCY}"
    place = f"--directory-prefix={start.folder / 'mirror'}"
    flags = ["--recursive", "--level=0", "--quiet", threads, *span, place]
    # 8: some answers were errors, which a web with dead links always gives.
    return [Program(command=["wget2", *flags, start.url], good_exits=frozenset({0, 8}))]


def need_packages(**programs: str) -> None:
    """Install Debian packages, given as program=package, whose program is missing."""
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    if missing:
        install = ROOT / "scripts" / "apt-install.sh"
        subprocess.run(["bash", str(install), *missing], check=True)


def _need_skitter() -> None:
    # As pip does for what it installs: a start is not to be a compiler's work, which some
    # environments would let it be every time.
    compileall.compile_dir(ROOT / "src", quiet=1)


def _need_redis() -> None:
    need_packages(**{"redis-server": "redis-server"})


def _need_skitter_redis() -> None:
    _need_skitter()
    _need_redis()


def _need_scrapy() -> None:
    venv = VENVS / "scrapy"
    stamp = venv / "installed.txt"
    wanted = " ".join(SCRAPY)
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {wanted} into {venv}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(venv)], check=True)
    pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *SCRAPY], check=True)
    stamp.write_text(wanted)


def _need_scrapy_redis() -> None:
    _need_redis()
    _need_scrapy()


CRAWLERS = (
    Crawler(
        name="skitter",
        note="durable frontier, fsync, JSONL records, robots",
        programs=_skitter,
        prepare=_need_skitter,
        keeps_records=True,
    ),
    Crawler(
        name="skitter-warc",
        note="the same with every response archived",
        programs=_with_warc,
        prepare=_need_skitter,
        keeps_records=True,
    ),
    Crawler(
        name="skitter-no-traps",
        note="the same without the trap guard",
        programs=_without_traps,
        prepare=_need_skitter,
        keeps_records=True,
    ),
    Crawler(
        name="wget2",
        note="files, no records, nothing durable",
        programs=_wget2,
        prepare=lambda: need_packages(wget2="wget2"),
        keeps_records=False,
    ),
    Crawler(
        name="scrapy",
        note="tuned: uvloop, own seen set in front, few middlewares",
        programs=_scrapy,
        prepare=_need_scrapy,
        keeps_records=True,
        most_pages=SMALL_WEB,
    ),
    Crawler(
        name="skitter-redis-1",
        note=f"one member, its state in Redis ({REDIS})",
        programs=_on_redis,
        prepare=_need_skitter_redis,
        keeps_records=True,
        wants_store=True,
    ),
    Crawler(
        name="skitter-redis-2",
        note="the same and `skitter node --workers 1`; a host belongs to one member, so many hosts",
        programs=_two_on_redis,
        prepare=_need_skitter_redis,
        keeps_records=True,
        wants_store=True,
        members=2,
    ),
    Crawler(
        name="scrapy-redis-1",
        note="tuned as Scrapy is, on the same Redis; a small web, so that it ends",
        programs=_scrapy_redis(1),
        prepare=_need_scrapy_redis,
        keeps_records=True,
        most_pages=SMALL_WEB,
        wants_store=True,
    ),
    Crawler(
        name="scrapy-redis-2",
        note="two such workers",
        programs=_scrapy_redis(2),
        prepare=_need_scrapy_redis,
        keeps_records=True,
        most_pages=SMALL_WEB,
        wants_store=True,
        members=2,
    ),
)
