"""The README says what is so: its commands are run, its record, outcomes and exit codes looked up.

It speaks of https://example.com, which a test cannot reach. Its commands are run as they
stand, but for that address, which becomes the home page of the demo web; the environment says
where that web is (``SKITTER_HOSTS``, ``SKITTER_ALLOW_PRIVATE``) and that it needs no rest
(``SKITTER_DELAY``). Nor can it reach 10.0.0.5: a Redis server and a free port of this machine take
its place. Commands that run until they are stopped run beside those that follow, as in another
terminal, and are stopped with Ctrl-C at the end. ``make run`` is run without setting up the
environment again, the other targets of make are only looked at.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from crawling import lines_in
from documents import README, ROOT, blocks
from outputs import read_output
from stores import HOST, RedisServer, free_port, start_redis, wait_until

from skitter.cli import report
from skitter.demo.child import DemoProcess
from skitter.job.identity import derived_id
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome
from skitter.url.partition import TAGS

EXAMPLE = "https://example.com"
MACHINE = "10.0.0.5"
CLUSTER = ROOT / "docs" / "cluster.md"
STAYS = re.compile(r"(?:\w+=\S+ )?skitter (?:up|node) ")
"""Commands that run until they are stopped."""
STOP_S = 40
MASTERS = "state/out/example.jsonl"
"""Where the README says that the records of its master are."""
CHANGING = frozenset(
    {"job", "url", "final_url", "fetched_at", "elapsed_ms", "bytes", "digest", "etag"}
)
"""Fields of a record that a port or a clock decides."""


def commands() -> list[str]:
    lines = "".join(blocks(README, "sh", "console")).splitlines()
    return [line.removeprefix("$ ") for line in lines if line.strip()]


def made_targets() -> list[str]:
    """Return what the README has make do, except for ``make run``."""
    words = [shlex.split(line) for line in commands() if line.startswith("make ")]
    return [line[1] for line in words if line[1] != "run"]


class Beside:
    """A command in a terminal of its own."""

    def __init__(self, line: str, directory: Path, environment: Mapping[str, str]) -> None:
        self.line = line
        self._told = directory / f"beside-{free_port()}"
        with self._told.open("wb") as told:
            self._process = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "bash",
                    "-c",
                    line.replace("skitter", "exec skitter", 1),
                ],
                cwd=directory,
                env=environment,
                stderr=told,
                start_new_session=True,
            )

    @property
    def told(self) -> str:
        return self._told.read_text(errors="replace")

    def until(self, what: str, check: Callable[[], bool]) -> None:
        def looked() -> bool:
            assert self._process.poll() is None, (self.line, self.told)
            return check()

        wait_until(f"{what} of {self.line}", looked)

    def stop(self) -> int:
        """Type Ctrl-C; answers the exit code."""
        self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(STOP_S)
        finally:
            self._process.kill()


@dataclass
class Reader:
    """Someone who types what the README says."""

    directory: Path
    home: str
    environment: dict[str, str]
    ended: list[subprocess.CompletedProcess[str]] = field(default_factory=list)
    beside: list[Beside] = field(default_factory=list)
    stopped: list[tuple[Beside, int]] = field(default_factory=list)
    store: RedisServer | None = None
    port: int = 0
    """Where a master listens here."""

    def there(self, line: str) -> str:
        """Return a command with the addresses of what is here."""
        line = line.replace(EXAMPLE, self.home)
        if self.store is not None:
            line = line.replace(f"{MACHINE}:6379", f"{HOST}:{self.store.port}")
        line = line.replace(f"{MACHINE}:8440", f"{HOST}:{self.port}")
        return line.replace(f"--host {MACHINE}", f"--host {HOST} --port {self.port}")

    def type(self, line: str) -> None:
        if STAYS.match(line):
            self.leave_running(self.there(line))
        else:
            self.run(["bash", "-c", f"set -euo pipefail; {self.there(line)}"])

    def leave_running(self, line: str) -> None:
        """Start a command, and wait until it is at work."""
        one = Beside(line, self.directory, self.environment)
        self.beside.append(one)
        if "skitter up" in line:
            one.until("the address", lambda: "listening on" in one.told)
        elif "--store" in line:
            one.until("the joining", lambda: self.members() > 0)

    def members(self) -> int:
        assert self.store is not None
        return int(self.store.cli("HLEN", "{skitter}:members"))

    def stop_all(self) -> None:
        """Type Ctrl-C in all other terminals, the last one first."""
        while self.beside:
            one = self.beside.pop()
            self.stopped.append((one, one.stop()))

    def make_run(self, arguments: str, **places: Path) -> None:
        command = ["make", "--no-print-directory", "-C", str(ROOT), "-o", "install", "run"]
        if arguments:
            command.append(f"ARGS={self.there(arguments)}")
        self.run(command, {f"SKITTER_{name.upper()}": str(path) for name, path in places.items()})

    def run(self, command: list[str], more: Mapping[str, str] | None = None) -> None:
        self.ended.append(
            subprocess.run(
                command,
                cwd=self.directory,
                env={**self.environment, **(more or {})},
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        )

    def records(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.directory / name).read_bytes().splitlines()]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Type every command of the README that is not for make, in order, in one directory."""
    directory = tmp_path_factory.mktemp("reader")
    (directory / ".venv").symlink_to(sys.prefix)
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SKITTER_", "MAKE", "MFLAGS"))
    }
    with ExitStack() as stack:
        demo = stack.enter_context(DemoProcess(pages=200))
        store = start_redis(directory / "redis", options={"appendonly": "yes"})
        stack.enter_context(store)
        hosts = directory / "hosts"
        hosts.write_text(demo.hosts)
        home = demo.web.entry.rstrip("/")
        environment = {
            **kept,
            "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(directory),
            "SKITTER_HOSTS": str(hosts),
            "SKITTER_ALLOW_PRIVATE": "true",
            "SKITTER_DELAY": "0",
        }
        person = Reader(directory, home, environment, store=store, port=free_port())
        stack.callback(person.stop_all)
        for text in blocks(README, "toml"):
            name = text.partition("\n")[0].removeprefix("# ")
            (directory / name).write_text(text.replace(EXAMPLE, home))
        for line in commands():
            if not line.startswith("make "):
                person.type(line)
        wanted = len(person.records("example.jsonl"))
        person.beside[-1].until("the records", lambda: lines_in(directory / MASTERS) == wanted)
        person.stop_all()
        yield person


def test_every_command_of_the_readme_does_its_work(reader: Reader) -> None:
    assert len(reader.ended) >= 10
    for ended in reader.ended:
        assert ended.returncode == 0, (ended.args, ended.stderr)


def test_commands_that_stay_end_when_they_are_told_to(reader: Reader) -> None:
    assert len(reader.stopped) == 3
    for one, code in reader.stopped:
        assert code == report.INTERRUPTED, (one.line, one.told)
        if "skitter node" in one.line:
            assert "left the cluster: interrupted" in one.told


def test_many_machines_bring_the_pages_of_one(reader: Reader) -> None:
    alone = sorted(record.url for record in read_output(reader.directory / "kept.csv"))
    for name in ("busy.jsonl", "shared.jsonl"):
        assert sorted(record["url"] for record in reader.records(name)) == alone, name
    by_nodes, by_one = (
        {record["url"]: record["labels"] for record in reader.records(name)}
        for name in (MASTERS, "example.jsonl")
    )
    assert by_nodes == by_one
    assert f"`{MASTERS}`" in README.read_text(encoding="utf-8")
    [told] = [
        ended.stdout
        for ended in reader.ended
        if "page" in ended.args[-1] and "--store" in ended.args[-1]
    ]
    assert f"{reader.home}/about" in told


def test_a_crawl_is_frozen_and_thawed_as_the_page_about_clusters_says(reader: Reader) -> None:
    freeze, thaw = [
        line for line in "".join(blocks(CLUSTER, "sh")).splitlines() if "for tag" in line
    ]
    assert reader.store is not None
    for line, found in ((freeze, b"1"), (thaw, None)):
        command = line.replace(f"-h {MACHINE}", f"-h {HOST} -p {reader.store.port}")
        subprocess.run(["bash", "-c", command], check=True, capture_output=True)
        for tag in range(TAGS):
            anchor = f"{{skitter:{tag:03}}}:a"
            assert reader.store.cli("HGET", anchor, "v") == b"1"
            assert reader.store.cli("HGET", anchor, "frozen") == found


def test_the_crawls_of_the_readme_bring_pages(reader: Reader) -> None:
    for name in ("wide.jsonl", "subject.jsonl", "listed.jsonl", "example.jsonl", "stdin.jsonl"):
        assert any(record["outcome"] == "ok" for record in reader.records(name)), name
    assert len(reader.records("wide.jsonl")) == 50
    assert {record["labels"]["desk"] for record in reader.records("example.jsonl")} == {"ports"}


def test_the_formats_and_the_archive_of_the_readme_hold_the_same_pages(reader: Reader) -> None:
    outputs = [reader.directory / f"kept.{ending}" for ending in ("parquet", "sqlite", "csv")]
    found = [sorted(record.url for record in read_output(path)) for path in outputs]
    assert found[0] == found[1] == found[2]
    assert f"{reader.home}/about" in found[0]
    assert "About Demo Harbour" in (reader.directory / "about.html").read_text()
    [headers] = [ended.stdout for ended in reader.ended if "--headers" in ended.args[-1]]
    assert headers.startswith("HTTP/1.1 200 OK")
    assert f"{reader.home}/" in (reader.directory / "seeds.txt").read_text().splitlines()


def test_the_record_in_the_readme_is_what_comes_out(reader: Reader) -> None:
    [text] = blocks(README, "json")
    shown = json.loads(text)
    [first, *_] = reader.records("wide.jsonl")
    assert list(shown) == list(first) == list(PageRecord.__struct_fields__)
    assert {k: v for k, v in shown.items() if k not in CHANGING} == {
        k: v for k, v in first.items() if k not in CHANGING
    }
    assert {k: type(v) for k, v in shown.items()} == {k: type(v) for k, v in first.items()}
    assert shown["job"] == derived_id((shown["url"],))


def test_the_readme_names_the_files_of_its_first_crawl() -> None:
    job = derived_id((f"{EXAMPLE}/",))
    text = README.read_text(encoding="utf-8")
    assert f"`{job}.jsonl`" in text
    assert f"`.skitter/{job}`" in text


def test_make_run_crawls_the_demo_web_and_says_what_to_try_next(
    reader: Reader, tmp_path: Path
) -> None:
    assert "make run" in commands()
    assert "skitter demo" in planned("run")
    person = Reader(tmp_path, reader.home, reader.environment)
    person.make_run(f"demo --dir {tmp_path / 'demo'}")
    [ended] = person.ended
    assert ended.returncode == 0, ended.stderr
    assert "Finished" in ended.stdout
    assert str(tmp_path / "demo" / "pages.jsonl") in ended.stdout
    assert "A tour of what is there." in ended.stdout
    assert "Try next" in ended.stdout


def test_make_run_with_arguments_crawls_what_they_name(reader: Reader, tmp_path: Path) -> None:
    [line] = [line for line in commands() if line.startswith("make run ")]
    [arguments] = shlex.split(line)[2:]
    person = Reader(tmp_path, reader.home, reader.environment)
    person.make_run(
        arguments.removeprefix("ARGS="), data=tmp_path / "state", out=tmp_path / "pages.jsonl"
    )
    [ended] = person.ended
    assert ended.returncode == 0, ended.stderr
    assert person.records("pages.jsonl")


def planned(target: str) -> str:
    """Return what make would do for a target."""
    ended = subprocess.run(
        ["make", "-n", "--no-print-directory", "-C", str(ROOT), "-o", "install", target],
        capture_output=True,
        text=True,
        check=True,
    )
    return "" if "Nothing to be done" in ended.stdout else ended.stdout


@pytest.mark.parametrize("target", sorted({*made_targets(), "check", "docs", "bench", "soak"}))
def test_the_other_targets_of_make_do_something(target: str) -> None:
    assert planned(target)


def test_the_generated_pages_are_up_to_date() -> None:
    ended = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "make_docs.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


def test_the_readme_explains_every_outcome() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(rows) - {"outcome"} == set(Outcome)


def test_the_exit_codes_of_the_readme_are_those_of_the_program() -> None:
    section = README.read_text(encoding="utf-8").partition("## Exit codes")[2].partition("##")[0]
    codes = [int(code) for code in re.findall(r"(?:^|· *\n?)(\d+) ", section, re.MULTILINE)]
    assert codes == [
        report.OK,
        report.INTERNAL_ERROR,
        report.BAD_INPUT,
        report.ENVIRONMENT,
        report.INTERRUPTED,
    ]
