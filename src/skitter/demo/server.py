"""The demo web on loopback: every host on one port, real faults, a ledger of every request."""

import argparse
import asyncio
import json
import signal
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self, TextIO

import uvloop

from skitter.demo.build import DEFAULT_PAGES, demo_web
from skitter.demo.model import Target
from skitter.demo.web import Web, missing_page
from skitter.demo.wire import Asked, End, Reply, reply_to, robots_page
from skitter.errors import ConfigError

_RESET_ON_CLOSE = struct.pack("ii", 1, 0)
_NOT_ALLOWED = Reply(
    status=405,
    pieces=(b"HTTP/1.1 405 Method Not Allowed\r\nConnection: close\r\n\r\n",),
    end=End.CLOSE,
)
_HEAD_LIMIT_BYTES = 64 * 1024


class Hit(NamedTuple):
    """One request as the server saw it."""

    host: str
    """The Host header."""
    path: str
    """With query, exactly as it was asked."""
    status: int
    """0 where the connection ended without a status line."""
    time: float
    """Seconds since the epoch."""


class DemoServer:
    """Serves a web while its ``async with`` block runs.

    ``log`` holds every request in the order of arrival; ``peak`` the most requests that were
    under way at once, by host key.
    """

    def __init__(
        self, web: Web | None = None, *, port: int = 0, address: str = "127.0.0.1"
    ) -> None:
        self.web = web or demo_web()
        self.log: list[Hit] = []
        self.peak: Counter[str] = Counter()
        self.ledger: TextIO | None = None
        """Where every hit is written as a JSON line, too."""
        self._address = address
        self._port = port
        self._asked: Counter[Target] = Counter()
        self._under_way: Counter[str] = Counter()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        try:
            self._server = await asyncio.start_server(
                self._connected, self._address, self._port, limit=_HEAD_LIMIT_BYTES, backlog=1024
            )
        except OSError as exc:
            where = f"{self._address}:{self._port}"
            raise ConfigError(f"the demo web cannot listen on {where}: {exc.strerror}") from exc
        self.web = self.web.at_port(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        """The port that every host is served on."""
        return self.web.port

    def hosts_file(self) -> str:
        """Return a hosts file that sends every name of the web here."""
        return self.web.hosts_file(self._address)

    def forget(self) -> None:
        """Empty the ledger and let passing faults start over, as for a first visitor."""
        self.log.clear()
        self.peak.clear()
        self._asked.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            # A client may leave at any moment; there is nobody to tell.
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while await self._serve_one(reader, writer):
                    pass
        finally:
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; False when the connection is to be closed."""
        head = await reader.readuntil(b"\r\n\r\n")
        arrived = time.time()
        request_line, *lines = head.decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines if line)
        }
        method, _, rest = request_line.partition(" ")
        path = rest.rpartition(" ")[0]
        host = headers.get("host", "")
        reply = self._reply(method, host, path, headers)
        self._note(Hit(host, path, reply.status, arrived))
        self._under_way[host] += 1
        self.peak[host] = max(self.peak[host], self._under_way[host])
        try:
            await _send(writer, reply)
        finally:
            self._under_way[host] -= 1
        return reply.end is End.KEEP and headers.get("connection", "").lower() != "close"

    def _reply(self, method: str, host: str, path: str, headers: dict[str, str]) -> Reply:
        if method not in {"GET", "HEAD"}:
            return _NOT_ALLOWED
        target = self.web.find(host, path)
        asked = Asked(
            attempt=self._count(target),
            accept_encoding=headers.get("accept-encoding", ""),
            if_none_match=headers.get("if-none-match", ""),
            head_only=method == "HEAD",
        )
        if target is None:
            return reply_to(self.web, missing_page(self.web.home), asked)
        return reply_to(self.web, robots_page(self.web, target) or self.web.page(target), asked)

    def _count(self, target: Target | None) -> int:
        if target is None:
            return 1
        self._asked[target] += 1
        return self._asked[target]

    def _note(self, hit: Hit) -> None:
        self.log.append(hit)
        if self.ledger is not None:
            self.ledger.write(json.dumps(hit) + "\n")


async def _send(writer: asyncio.StreamWriter, reply: Reply) -> None:
    if reply.wait_s:
        await asyncio.sleep(reply.wait_s)
    if reply.gap_s:
        for piece in reply.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(reply.gap_s)
    else:
        writer.write(b"".join(reply.pieces))
        await writer.drain()
    if reply.end is End.RESET:
        writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE
        )
        writer.transport.abort()


async def serve(options: argparse.Namespace) -> None:
    """Serve until the process is told to stop."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if options.with_parent:
        loop.add_reader(sys.stdin.fileno(), stopped.set)
    web = demo_web(
        seed=options.seed, pages=options.pages, domain=options.domain, with_traps=options.traps
    )
    async with DemoServer(web, port=options.port) as server:
        if options.hosts_out:
            options.hosts_out.write_text(server.hosts_file())
        if options.log:
            server.ledger = options.log.open("a", buffering=1, encoding="utf-8")
        facts = {"port": server.port, "entry": server.web.entry, "hosts": server.hosts_file()}
        sys.stdout.write(json.dumps(facts) + "\n")
        if options.print_entries:
            sys.stdout.writelines(f"{name}\t{url}\n" for name, url in server.web.entries.items())
        sys.stdout.flush()
        await stopped.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve the demo web and say where, as one JSON line on standard output."""
    parser = argparse.ArgumentParser(prog="python -m skitter.demo", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--pages",
        type=int,
        default=DEFAULT_PAGES,
        help="about how many on the ordinary sites; those of sitemaps, topics and traps grow along",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--domain", default="demo.test", help='"demo.localhost" suits a browser')
    parser.add_argument("--log", type=Path, help="append every request here, a JSON line each")
    parser.add_argument("--hosts-out", type=Path, help="write a hosts file for --hosts")
    parser.add_argument(
        "--traps", action="store_true", help="link the site of endless traps from the home page"
    )
    parser.add_argument(
        "--print-entries",
        action="store_true",
        help="also print a line for every site: its name, a tab, the URL to crawl it from",
    )
    parser.add_argument(
        "--with-parent", action="store_true", help="stop when standard input is closed"
    )
    options = parser.parse_args(arguments)
    try:
        uvloop.run(serve(options))
    except (ConfigError, OSError) as exc:
        sys.stderr.write(f"demo: {exc}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
