"""Crawls by several processes on one store, for whole-crawl tests."""

import json
import secrets
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from crawling import SKITTER, Record, Run
from killable import Command
from serving import Answer, SmallSite
from stores import PATIENCE_S, wait_until


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


def urls_in(path: Path) -> Counter[str]:
    """Return how often a file has a record of each URL."""
    return Counter(json.loads(line)["url"] for line in path.read_bytes().splitlines())


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


def each_once(site: ManyHosts, path: Path) -> None:
    """Check that a file has every page of the site exactly once."""
    found = urls_in(path)
    assert set(found.values()) == {1}
    assert set(found) == {*site.urls, site.entry}


class Background(Command):
    """A command that runs beside the test, and ends with it."""

    def __init__(
        self, folder: Path, *words: str | Path, env: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"beside-{secrets.token_hex(3)}", folder, [SKITTER, *words], env)
        self.start()

    def until(self, what: str, is_so: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        """Wait for something to become true while this runs."""

        def looked() -> bool:
            assert self.up, f"ended ({self.code}) before {what}: {self.told}{self.output}"
            return is_so()

        try:
            wait_until(what, looked, seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.told}") from None

    def until_told(self, text: str) -> None:
        self.until(f"word of {text!r}", lambda: text in self.told)

    def ended(self, seconds: float = 120.0) -> int:
        """Wait for the end; return the exit code."""
        return self.wait(seconds)

    def interrupted(self, seconds: float = 60.0) -> int:
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
        self.kill()


def node(
    folder: Path, run: Run, *words: str | Path, env: Mapping[str, str] | None = None
) -> Background:
    """Start a node that can reach what a crawl can reach."""
    file = run.directory / "hosts"
    hosts: list[str | Path] = ["--hosts", file] if file.exists() else []
    return Background(
        folder, "node", *words, "--allow-private", *hosts, "--data", folder / "data", env=env
    )


def command_line(pid: int) -> str:
    """Return what a list of processes shows of one."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()


def environment(pid: int) -> dict[str, str]:
    """Return the environment a process was started with."""
    words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    pairs = (word.decode().partition("=") for word in words if word)
    return {name: value for name, _, value in pairs}


def gone(pids: Sequence[int], seconds: float = 30.0) -> bool:
    """Tell whether processes end within some time."""
    try:
        wait_until("their end", lambda: not any(_runs(pid) for pid in pids), seconds)
    except TimeoutError:
        return False
    return True


def _runs(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
