"""The crawlers that are compared: how each is installed and started."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.paths import ROOT, VENVS

CONCURRENCY = 64
SCRAPY = ("scrapy==2.19.0", "uvloop==0.23.0")
_RECORDS = "records.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One run to be made."""

    url: str
    many_hosts: bool
    folder: Path
    """Where the crawler works and leaves its records."""

    @property
    def records(self) -> Path:
        """Where records go."""
        return self.folder / _RECORDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawler:
    """A program to measure."""

    name: str
    note: str
    command: Callable[[Start], list[str]]
    prepare: Callable[[], None]
    keeps_records: bool
    good_exits: frozenset[int] = frozenset({0})
    most_pages: int | None = None
    """The largest web it is given, where a larger one would take too long."""


def _skitter(start: Start, *more: str) -> list[str]:
    limits = [f"--per-host={CONCURRENCY}", f"--concurrency={CONCURRENCY}", "--delay=0"]
    scope = "--scope=any" if start.many_hosts else "--scope=host"
    places = [f"--out={start.records}", f"--data={start.folder / 'data'}"]
    skitter = str(ROOT / ".venv" / "bin" / "skitter")
    said = ["--allow-private", "--quiet", "--json"]
    return [skitter, "crawl", start.url, *limits, scope, *places, *said, *more]


def _with_warc(start: Start) -> list[str]:
    return _skitter(start, f"--warc={start.folder / 'warc'}")


def _without_traps(start: Start) -> list[str]:
    return _skitter(start, "--no-traps")


def _scrapy(start: Start) -> list[str]:
    python = str(VENVS / "scrapy" / "bin" / "python")
    spider = str(ROOT / "bench" / "scrapy_spider.py")
    return [python, spider, start.url, str(start.records), str(CONCURRENCY)]


def _wget2(start: Start) -> list[str]:
    span = ["--span-hosts"] if start.many_hosts else []
    threads = f"--max-threads={CONCURRENCY}"
    place = f"--directory-prefix={start.folder / 'mirror'}"
    return ["wget2", "--recursive", "--level=0", "--quiet", threads, *span, place, start.url]


def need_packages(**programs: str) -> None:
    """Install Debian packages, given as program=package, whose program is missing."""
    missing = [package for program, package in programs.items() if not shutil.which(program)]
    if missing:
        install = ROOT / "scripts" / "apt-install.sh"
        subprocess.run(["bash", str(install), *missing], check=True)


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


CRAWLERS = (
    Crawler(
        name="skitter",
        note="durable frontier, fsync, JSONL records, robots",
        command=_skitter,
        prepare=lambda: None,
        keeps_records=True,
    ),
    Crawler(
        name="skitter-warc",
        note="the same with every response archived",
        command=_with_warc,
        prepare=lambda: None,
        keeps_records=True,
    ),
    Crawler(
        name="skitter-no-traps",
        note="the same without the trap guard",
        command=_without_traps,
        prepare=lambda: None,
        keeps_records=True,
    ),
    Crawler(
        name="wget2",
        note="files, no records, nothing durable",
        command=_wget2,
        prepare=lambda: need_packages(wget2="wget2"),
        keeps_records=False,
        # 8: some answers were errors, which a web with dead links always gives.
        good_exits=frozenset({0, 8}),
    ),
    Crawler(
        name="scrapy",
        note="tuned: uvloop, own seen set in front, few middlewares",
        command=_scrapy,
        prepare=_need_scrapy,
        keeps_records=True,
        most_pages=2_000,
    ),
)
