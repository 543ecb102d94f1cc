"""Runs the real command line against the demo web, for whole-crawl tests."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skitter.demo.child import DemoProcess

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
        places = ["--out", str(self.out), "--data", str(self.data)]
        return [
            str(SKITTER), "crawl", *self.arguments, *places, *self.flags, "--quiet", "--json", *more
        ]  # fmt: skip

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def finish(self, *more: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*more), capture_output=True, text=True, timeout=timeout, check=False
        )

    def records(self) -> list[Record]:
        return [json.loads(line) for line in self.out.read_bytes().splitlines()]


def demo_run(directory: Path, demo: DemoProcess, *flags: str) -> Run:
    """Return a crawl of the whole demo web from its home page."""
    hosts = directory / "hosts"
    hosts.write_text(demo.hosts)
    reach = ["--hosts", str(hosts), "--allow-private", "--scope", "domain"]
    return Run(directory, [demo.web.entry], [*reach, *flags])


def summary(finished: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the JSON summary a crawl ended with."""
    assert finished.returncode == 0, finished.stderr
    last: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return last
