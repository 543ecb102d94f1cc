"""A redis-server of the bench's own: on a free port, on one core, with an append-only file."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
DESCRIPTION = "redis-server, appendonly yes, appendfsync everysec"
_START_WITHIN_S = 10.0
_STOP_WITHIN_S = 20.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class RedisServer:
    """A server that runs."""

    def __init__(self, port: int, pid: int) -> None:
        self.port = port
        self._stat = Path(f"/proc/{pid}/stat")

    @property
    def url(self) -> str:
        """Its address."""
        return f"redis://127.0.0.1:{self.port}"

    def cpu_s(self) -> float:
        """Return the user and system time of all its threads so far."""
        # The name of the program, in brackets, may hold anything.
        fields = self._stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


@contextmanager
def redis_running(
    home: Path, *, core: int, settings: tuple[str, ...] = SETTINGS
) -> Iterator[RedisServer]:
    """Run a server that keeps its files in ``home``, empty at first."""
    home.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    place = ("--bind", "127.0.0.1", "--port", str(port), "--dir", str(home))
    command = ["taskset", "-c", str(core), "redis-server", *place, *settings]
    with (home / "redis.txt").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        _await_listening(process, port)
        yield RedisServer(port, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(_STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_listening(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"redis-server did not start on port {port}; see its redis.txt")
