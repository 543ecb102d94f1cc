"""Crawls by several processes on one store, for whole-crawl tests."""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import stores
from crawling import SKITTER, Record, Run
from serving import Answer, SmallSite

STORES: Mapping[str, Callable[[], str]] = {
    "redis": lambda: stores.shared_redis().url,
    "valkey": lambda: stores.shared_redis("valkey").url,
    "cluster": lambda: stores.shared_cluster().url,
}


def own_store(kind: str = "redis") -> str:
    """Return the URL of a namespace nobody else uses, on a server that all tests share."""
    return f"{STORES[kind]()}?namespace=e{secrets.token_hex(6)}"


def essence(records: Sequence[Record]) -> dict[str, tuple[Any, ...]]:
    """Return what must not depend on who fetched a page, by where it was found in the end.

    Of several ways to one page the first makes its record, and which that is, is chance.
    """
    own = [record for record in records if record["outcome"] != "duplicate"]
    found = {
        record["final_url"] or record["url"]: (
            record["outcome"],
            record["status"],
            record["title"],
            record["digest"],
            record["n_links"],
        )
        for record in own
    }
    assert len(found) == len(own), "a page has two records"
    return found


class ManyHosts:
    """A site of many hosts, all served by one small server: ``/`` leads to each of them.

    The hosts are ``h0.many.test`` and so on; each has a list of ``pages`` pages.
    """

    def __init__(self, hosts: int, pages: int) -> None:
        self._site = SmallSite({})
        self.port = int(self._site.url().rsplit(":", 1)[1].strip("/"))
        self.names = [f"h{n}.many.test" for n in range(hosts)]
        self.urls = {self.url(name, f"/{name}/") for name in self.names} | {
            self.url(name, f"/{name}/{page}") for name in self.names for page in range(pages)
        }
        links = "".join(
            f'<a href="{self.url(name, f"/{name}/")}">{name}</a>' for name in self.names
        )
        texts = {"/": f"<title>home</title>{links}"}
        for name in self.names:
            inside = "".join(f'<a href="/{name}/{page}">{page}</a>' for page in range(pages))
            texts[f"/{name}/"] = f"<title>{name}</title>{inside}"
            for page in range(pages):
                texts[f"/{name}/{page}"] = f"<title>{name} {page}</title><p>text of {name} {page}"
        self._site.answers |= {path: Answer(text.encode()) for path, text in texts.items()}

    @property
    def asked(self) -> list[str]:
        """The paths of all requests so far, but for those of robots.txt."""
        return [path for path in self._site.asked if path != "/robots.txt"]

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self.port}{path}"

    @property
    def entry(self) -> str:
        return self.url("many.test", "/")

    @property
    def hosts_file(self) -> str:
        return f"127.0.0.1 many.test {' '.join(self.names)}\n"

    def run(self, directory: Path, *flags: str, entry: str = "") -> Run:
        """Return a crawl of all hosts."""
        directory.mkdir(exist_ok=True, parents=True)
        (directory / "hosts").write_text(self.hosts_file)
        reach = ["--hosts", str(directory / "hosts"), "--allow-private", "--sitemaps", "no"]
        flags = ("--scope", "domain", "--delay", "0", *flags)
        return Run(directory, [entry or self.entry], [*reach, *flags])

    def __enter__(self) -> Self:
        self._site.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._site.__exit__(kind, error, trace)


class Background:
    """A command that runs beside the test, and ends with it."""

    def __init__(
        self, folder: Path, *words: str | Path, env: Mapping[str, str] | None = None
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._told = folder / f"stderr-{secrets.token_hex(3)}"
        with self._told.open("wb") as told:
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", str(SKITTER), *map(str, words)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=told,
                cwd=folder,
                env={**os.environ, **(env or {})},
                text=True,
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def told(self) -> str:
        """What it has said on standard error so far."""
        return self._told.read_text(errors="replace")

    def until(self, what: str, is_so: Callable[[], bool], seconds: float = 40.0) -> None:
        """Wait for something to become true while this runs."""
        deadline = time.monotonic() + seconds
        while not is_so():
            assert self.process.poll() is None, f"ended before {what}: {self.told}"
            assert time.monotonic() < deadline, f"no {what}: {self.told}"
            time.sleep(0.02)

    def until_told(self, text: str) -> None:
        self.until(f"word of {text!r}", lambda: text in self.told)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ended(self, seconds: float = 60.0) -> int:
        """Wait for the end; return the exit code."""
        self.output = self.process.communicate(timeout=seconds)[0]
        return self.process.returncode

    def interrupted(self, seconds: float = 25.0) -> int:
        """Press Ctrl-C; return the exit code."""
        self.send(signal.SIGINT)
        return self.ended(seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


def node(
    folder: Path, run: Run, *words: str | Path, env: Mapping[str, str] | None = None
) -> Background:
    """Start a node that can reach what a crawl can reach."""
    file = run.directory / "hosts"
    hosts: list[str | Path] = ["--hosts", file] if file.exists() else []
    return Background(
        folder, "node", *words, "--allow-private", *hosts, "--data", folder / "data", env=env
    )


def members(url: str) -> int:
    """Return how many processes have joined a namespace of a shared server."""
    key = f"{{{url.partition('namespace=')[2]}}}:members"
    for program in ("redis", "valkey"):
        server = stores.shared_redis(program)
        if url.startswith(server.url):
            return int(server.cli("HLEN", key))
    return int(stores.shared_cluster().master_of(key).cli("HLEN", key))


def family(pid: int) -> list[int]:
    """Return a process and everything it has started, directly or not."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            found += [int(word) for word in children.read_text(encoding="ascii").split()]
    return found


def command_line(pid: int) -> str:
    """Return what a list of processes shows of one."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def environment(pid: int) -> dict[str, str]:
    """Return the environment a process was started with."""
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    pairs = (word.decode().partition("=") for word in words if word)
    return {name: value for name, _, value in pairs}


def gone(pids: Sequence[int], seconds: float = 10.0) -> bool:
    """Tell whether processes end within some time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not any(_runs(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def _runs(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
