"""A ``skitter up`` of its own process for a bench, and the address it serves."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.paths import ROOT

TOKEN = "a-token-for-benches"
_SKITTER = ROOT / ".venv" / "bin" / "skitter"
_START_WITHIN_S = 60.0
_STOP_WITHIN_S = 30.0


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@contextmanager
def upped(data: Path, *flags: str, cores: Sequence[int] = ()) -> Iterator[str]:
    """Run a service on a directory; gives its address."""
    port = free_port()
    pinned = ["taskset", "-c", ",".join(map(str, cores))] if cores else []
    command = [*pinned, str(_SKITTER), "up", "--data", str(data), "--port", str(port)]
    log = data.parent / "up.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [*command, "--token", TOKEN, "--quiet", "--allow-private", *flags],
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _await_start(url, process, log)
        yield url
    finally:
        process.terminate()
        process.wait(_STOP_WITHIN_S)


def _await_start(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"skitter up ended: {log.read_text()}")
        try:
            asked(url, "/healthz")
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"skitter up does not answer: {log.read_text()}")


def asked(url: str, path: str, body: object = None, method: str | None = None) -> Any:
    """Ask a service; returns what its answer says."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")
