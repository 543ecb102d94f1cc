"""A small web that knows its pages and writes down when every request begins and ends.

As a program it serves a plan on loopback: ``python ledger_web.py PLAN LOG`` prints its port. The
log has a line when a request has arrived and one when its answer has left or its asker is gone.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

ADDRESS = "127.0.0.1"
ROBOTS = "/robots.txt"
_RULES = b"User-agent: *\nDisallow: /closed/\n"


@dataclass(frozen=True)
class WebPlan:
    """How large the web is; host 0 is the large one, the last ones answer slowly."""

    hosts: int = 12
    pages: int = 12
    large: int = 60
    slow: int = 2
    hops: int = 3
    """Redirects of each host to the next one, and as many targets there."""
    fastest_ms: int = 20
    slowest_ms: int = 200

    def host(self, number: int) -> str:
        return f"h{number % self.hosts}.ledger.test"

    def size(self, number: int) -> int:
        return self.pages if number else self.large

    def paths(self, number: int) -> list[str]:
        """Return the pages of a host that nothing but links leads to."""
        return ["/", *(f"/p/{page}" for page in range(1, self.size(number)))]

    def answer_ms(self, number: int, path: str) -> int:
        """Return how long an answer takes; robots.txt and redirects are fast."""
        if path == ROBOTS or path.startswith("/go/"):
            return 5
        spread = self.slowest_ms - self.fastest_ms
        drawn = self.fastest_ms + zlib.crc32(f"{number}{path}".encode()) % max(1, spread)
        return drawn + 300 * (number >= self.hosts - self.slow)

    def linked(self, number: int, path: str, port: int) -> Iterator[str]:
        """Yield what a page links to: a tree inside the host, and its likes elsewhere."""
        if path == "/":
            if number == 0:
                yield from (self.url(other, "/", port) for other in range(1, self.hosts))
            yield from (f"/go/{hop}" for hop in range(self.hops))
            # Every second target is linked as well: whoever comes first brings it.
            yield from (f"/to/{hop}" for hop in range(0, self.hops, 2))
            yield from (f"/p/{page}" for page in range(1, min(4, self.size(number))))
        elif path.startswith("/p/"):
            page = int(path[3:])
            children = range(3 * page + 1, min(3 * page + 4, self.size(number)))
            yield from (f"/p/{child}" for child in children)
            other = number + page
            if page < self.size(other % self.hosts):
                yield self.url(other, f"/p/{page}", port)

    def url(self, number: int, path: str, port: int) -> str:
        return f"http://{self.host(number)}:{port}{path}"

    def hosts_file(self) -> str:
        return "".join(f"{ADDRESS} {self.host(number)}\n" for number in range(self.hosts))


class Asked(NamedTuple):
    """One request as the server saw it; times are in ms, the same clock for all."""

    host: str
    path: str
    begin: float
    end: float
    """Infinite for one that was not over when the log was read."""
    whole: bool
    """Whether the answer was sent to its end."""

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"


class LedgerWeb:
    """Runs the server in a process of its own while its ``with`` block runs."""

    def __init__(self, plan: WebPlan, log: Path) -> None:
        self.plan = plan
        self.port = 0
        self._log = log
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        words = [sys.executable, __file__, json.dumps(asdict(self.plan)), str(self._log)]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        # It ends when nobody holds the other end of its standard input any more.
        self._process.communicate(timeout=60)

    @property
    def entry(self) -> str:
        return self.plan.url(0, "/", self.port)

    def asked(self) -> list[Asked]:
        """Return every request so far, in the order they began."""
        begun: dict[str, tuple[str, str, float]] = {}
        asked: list[Asked] = []
        for line in self._log.read_text().splitlines():
            match line.split():
                case ["B", number, at, host, path]:
                    begun[number] = (host, path, float(at))
                case ["E", number, at, whole]:
                    asked.append(Asked(*begun.pop(number), float(at), whole == "1"))
        asked += [Asked(*start, float("inf"), False) for start in begun.values()]
        return sorted(asked, key=lambda request: request.begin)


class _Server(asyncio.Protocol):
    """One connection; its requests come one after the other."""

    def __init__(self, plan: WebPlan, log: int) -> None:
        self._plan = plan
        self._log = log
        self._buffer = b""
        self._number = ""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end or self._timer is not None:
            return
        self._buffer = rest
        request, *lines = head.decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(":", 1) for line in lines)
        host, _, port = fields["host"].strip().partition(":")
        path = request.split(" ")[1]
        self._number = f"{id(self):x}.{time.monotonic_ns():x}"
        self._write("B", f"{host}:{port} {path}")
        plan = self._plan
        number = int(host[1:].partition(".")[0])
        answer = _answer(plan, number, path, int(port or 80))
        wait_s = plan.answer_ms(number, path) / 1000
        self._timer = asyncio.get_running_loop().call_later(wait_s, self._send, answer)

    def _send(self, answer: bytes) -> None:
        self._timer = None
        # Its asker may have it before this process runs again: the time is taken first.
        at = _now_ms()
        self._transport.write(answer)
        self._write("E", "1", at)
        if self._buffer:
            self.data_received(b"")

    def connection_lost(self, error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._write("E", "0")

    def _write(self, kind: str, words: str, at: float | None = None) -> None:
        at = _now_ms() if at is None else at
        os.write(self._log, f"{kind} {self._number} {at:.3f} {words}\n".encode())


def _now_ms() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


def _answer(plan: WebPlan, number: int, path: str, port: int) -> bytes:
    if path == ROBOTS:
        return _packed("200 OK", _RULES, "text/plain")
    if path.startswith("/go/"):
        target = plan.url(number + 1, path.replace("go", "to"), port)
        return _packed("302 Found", b"", "text/plain", f"Location: {target}\r\n")
    known = path in plan.paths(number) or path.startswith("/to/")
    if not known:
        return _packed("404 Not Found", b"<title>nothing here</title>", "text/html")
    links = "".join(f'<a href="{link}">{link}</a>\n' for link in plan.linked(number, path, port))
    words = f"This is {path} of {plan.host(number)}."
    body = f"<!doctype html><title>{path} of host {number}</title><p>{words}</p>\n{links}"
    return _packed("200 OK", body.encode(), "text/html; charset=utf-8")


def _packed(status: str, body: bytes, kind: str, more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


async def _serve(plan: WebPlan, log: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Server(plan, log), ADDRESS, 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.to_thread(sys.stdin.read)
        os._exit(0)


if __name__ == "__main__":
    _log = os.open(sys.argv[2], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    asyncio.run(_serve(WebPlan(**json.loads(sys.argv[1])), _log))
