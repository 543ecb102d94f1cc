"""Runs the real command line against the demo web, for whole-crawl tests."""

import io
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from skitter.cli.main import run as run_command
from skitter.demo.child import DemoProcess
from skitter.demo.model import Target

SKITTER = Path(sys.executable).with_name("skitter")
Record = dict[str, Any]


@dataclass
class Run:
    """One crawl's directory and command."""

    directory: Path
    arguments: list[str]
    flags: list[str] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.directory / "pages.jsonl"

    @property
    def data(self) -> Path:
        return self.directory / "state"

    def command(self, *more: str) -> list[str]:
        return [*self._words(), "--quiet", "--json", *more]

    def _words(self) -> list[str]:
        places = ["--out", str(self.out), "--data", str(self.data)]
        return [str(SKITTER), "crawl", *self.arguments, *places, *self.flags]

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, *more: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*more), capture_output=True, text=True, timeout=timeout, check=False
        )

    def told(self, *more: str) -> str:
        """Crawl to the end and return the summary for people."""
        done = subprocess.run(
            [*self._words(), *more], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def records(self) -> list[Record]:
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]

    def records_so_far(self) -> list[Record]:
        """Return the records of a crawl that may be writing one at this moment."""
        return records_so_far(self.out)


def records_so_far(path: Path) -> list[Record]:
    """Return the records of a file that somebody may be writing to at this moment."""
    written = path.read_bytes() if path.exists() else b""
    return [json.loads(line) for line in written[: written.rfind(b"\n") + 1].splitlines()]


def demo_run(directory: Path, demo: DemoProcess, *flags: str, tries: int | None = None) -> Run:
    """Return a crawl of the whole demo web from its home page.

    Some of its pages never come: the fourth try, which is the last one unless ``tries`` says
    otherwise, is made a quarter of a minute after the first.
    """
    hosts, job = directory / "hosts", directory / "job.toml"
    hosts.write_text(demo.hosts)
    entries = [demo.web.entry]
    if tries is not None:
        job.write_text(f"entries = {entries}\n[http]\ntries = {tries}\n")
    reach = ["--hosts", str(hosts), "--allow-private", "--scope", "domain"]
    return Run(directory, entries if tries is None else ["--job", str(job)], [*reach, *flags])


def summary(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the JSON summary a crawl ended with."""
    assert finished.returncode == 0, finished.stderr
    last: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return last


def site_run(directory: Path, demo: DemoProcess, sites: list[str], *flags: str) -> Run:
    """Return a fast crawl that stays on some sites of the demo web."""
    directory.mkdir(exist_ok=True)
    (directory / "hosts").write_text(demo.hosts)
    reach = ["--hosts", str(directory / "hosts"), "--allow-private", "--delay", "0"]
    entries = [demo.web.url(Target(site, "/")) for site in sites]
    return Run(directory, entries, [*reach, "--timeout", "5", *flags])


class Ended(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


def command(*words: str | Path) -> Ended:
    """Run a command line in this process, which saves the time to start another."""
    code, out, err = _run(words)
    return Ended(code, out.decode(), err.decode())


def command_bytes(*words: str | Path) -> bytes:
    """Run a command line in this process to its good end; return what it writes."""
    code, out, err = _run(words)
    assert code == 0, err
    return out


def _run(words: Sequence[str | Path]) -> tuple[int, bytes, bytes]:
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        code = run_command([str(word) for word in words])
    written = []
    for stream in streams:
        stream.flush()
        stream.buffer.seek(0)
        written.append(stream.buffer.read())
        stream.close()
    out, err = written
    return code, out, err


def hurry(*place: str | Path) -> None:
    """Let a crawl, slow so that a test comes in time, go on as fast as it can."""
    ended = command("settings", "set", "*", "delay=0", *place)
    assert ended.code == 0, ended


def facts(data: Path, url: str) -> dict[str, Any]:
    """Return what ``skitter page`` tells of a URL."""
    ended = command("page", url, "--data", data, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def refusal(run: Run, *more: str) -> str:
    """Run a crawl that must be refused as bad input; return the one line it says."""
    ended = command(*run.command(*more)[1:])
    assert (ended.code, ended.out) == (2, ""), ended
    [line] = ended.err.splitlines()
    assert line.startswith("skitter: ")
    return line


def lines_in(path: Path) -> int:
    """Return how many lines a file has so far."""
    return path.read_bytes().count(b"\n") if path.exists() else 0


def wait_until(process: subprocess.Popen[str], is_so: Callable[[], bool]) -> None:
    """Wait for something to become true while ``process`` runs."""
    deadline = time.monotonic() + 90
    while not is_so():
        assert process.poll() is None, f"ended too soon: {process.communicate()}"
        assert time.monotonic() < deadline
        time.sleep(0.01)


def kill_after(run: Run, records: int, *more: str) -> None:
    """Start a crawl and kill it without warning when it has written ``records`` more records."""
    goal = lines_in(run.out) + records
    process = run.start(*more)
    try:
        wait_until(process, lambda: lines_in(run.out) >= goal)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == -signal.SIGKILL


def kill_at_random(run: Run, rng: random.Random, seconds: float) -> bool:
    """Start a crawl and kill it without warning; False when it ended by itself first.

    Most kills come within ``seconds`` after everything was opened, some before that.
    """
    begun = run.data / "skitter.sock"
    begun.unlink(missing_ok=True)
    process = run.start()
    early = rng.random() < 0.2
    while not early and process.poll() is None and not begun.exists():
        time.sleep(0.01)
    try:
        _, errors = process.communicate(timeout=rng.random() * seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    assert process.returncode == 0, errors
    return False
