"""A small web server for whole-crawl tests: the bytes of a test, by path, on loopback."""

import socket
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from crawling import Run


class BusyServer(ThreadingHTTPServer):
    """A server that lets many clients wait: one that is turned away tries again a second later."""

    request_queue_size = 128


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent for one path."""

    body: bytes | Iterable[bytes]
    """Pieces are sent as chunks, one after the other."""
    content_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Heard(NamedTuple):
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    """By lower-case name."""
    at: float = 0.0
    """When, by a clock that only grows."""


class SmallSite:
    """Serves a few answers while its ``with`` block runs; every other path is not found.

    ``asked`` holds the paths of all requests, ``heard`` their headers as well, ``sent`` how many
    bytes of bodies have left.
    """

    def __init__(self, answers: Mapping[str, Answer | str], address: str = "127.0.0.1") -> None:
        self.answers = {
            path: Answer(given.encode()) if isinstance(given, str) else given
            for path, given in answers.items()
        }
        self.asked: list[str] = []
        self.heard: list[Heard] = []
        self.sent = 0
        self._address = address
        self._server = _Server((address, 0), _Handler)
        self._server.site = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, path: str = "/") -> str:
        return f"http://{self._address}:{self._server.server_port}{path}"

    def run(self, directory: Path, entry: str = "/", *flags: str) -> Run:
        """Return a crawl of the site."""
        directory.mkdir(exist_ok=True)
        return Run(directory, [self.url(entry)], ["--allow-private", "--delay", "0", *flags])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _Server(BusyServer):
    site: SmallSite
    daemon_threads = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Answer what has been asked, but wait for no further question."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        site = server.site
        site.asked.append(self.path)
        said = {name.lower(): value for name, value in self.headers.items()}
        site.heard.append(Heard(self.path, said, time.monotonic()))
        answer = site.answers.get(self.path, Answer(b"not here", status=404))
        self.send_response(answer.status)
        if answer.content_type is not None:
            self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        try:
            site.sent += self._send_body(answer.body)
        except ConnectionError:
            self.close_connection = True

    def _send_body(self, body: bytes | Iterable[bytes]) -> int:
        if isinstance(body, bytes):
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            return self.wfile.write(body)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        sent = 0
        for piece in body:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent += len(piece)
        self.wfile.write(b"0\r\n\r\n")
        return sent

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the library has it
        """Say nothing."""
