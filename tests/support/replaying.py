"""The replay tool pywb, in an environment of its own, serving an archive on loopback."""

import http.client
import queue
import re
import subprocess
import threading
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".venv" / "pywb"


def install() -> None:
    """Make the environment; at once when it is there."""
    subprocess.run(["bash", ROOT / "scripts" / "setup-pywb.sh"], check=True, capture_output=True)


def run_in_pywb(*command: str | Path, given: str = "") -> str:
    """Run a command of the environment and return what it prints."""
    done = subprocess.run(
        [HOME / "bin" / command[0], *command[1:]],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Shown(NamedTuple):
    """What was answered."""

    status: int
    location: str
    body: bytes


def ask(port: int, path: str) -> Shown:
    """Return the answer to one request; follows nothing."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with closing(connection):
        connection.request("GET", path)
        response = connection.getresponse()
        return Shown(response.status, response.headers.get("Location", ""), response.read())


class Replay:
    """A running ``wayback`` that serves the WARC files and indexes of one directory as "c"."""

    def __init__(self, archive: Path, work: Path) -> None:
        paths = f"index_paths: {archive}/\n    archive_paths: {archive}/"
        (work / "config.yaml").write_text(f"collections:\n  c:\n    {paths}\n")
        # Port 0 finds a free one; only the debug log says which.
        self._process = subprocess.Popen(
            [HOME / "bin" / "wayback", "-b", "127.0.0.1", "-p", "0", "--debug", "-d", work],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        [self._port] = (one for one in self._wait_for_ports() if ask(one, "/c/").status == 200)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.put(line)
        self._said.put("")

    def _wait_for_ports(self) -> list[int]:
        """Return the ports of the pages and of the inner server they are made by, in any order."""
        log, ports = "", list[int]()
        while len(ports) < 2:
            line = self._said.get(timeout=60)
            assert line, f"wayback has ended: {log}"
            log += line
            ports += map(int, re.findall(r"starting server on ([0-9]+)", line))
        return ports

    def get(self, path: str) -> Shown:
        """Return the answer to a request for a page of the collection."""
        return ask(self._port, f"/c/{path}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        if self._process.stderr is not None:
            self._process.stderr.close()
