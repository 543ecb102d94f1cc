"""A site of many hosts that writes down who asked it for what, and when."""

import threading
import time
from collections.abc import Iterable, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, NamedTuple, Self

from crawling import Run
from serving import BusyServer


class _Server(BusyServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing: who asked may have been killed."""


class Asked(NamedTuple):
    """One line of the access log."""

    at: float
    peer: str
    host: str
    path: str


class LoggedSite:
    """Hosts ``h0.<domain>`` and so on, each with pages that lie behind a redirect or not.

    ``/`` of the domain leads to all of them. Every second page redirects to its own place.
    """

    def __init__(self, domain: str, hosts: int, pages: int, takes_s: float = 0.0) -> None:
        self.domain = domain
        self.log: list[Asked] = []
        self.now = self.most = 0
        """Requests in flight at this moment, and the most there ever were."""
        self._pages = pages
        self._takes_s = takes_s
        self._lock = threading.Lock()
        self.names = [f"h{n}.{domain}" for n in range(hosts)]
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host = self.headers["Host"].split(":")[0]
                with site._lock:
                    site.log.append(
                        Asked(time.monotonic(), self.client_address[0], host, self.path)
                    )
                    site.now += 1
                    site.most = max(site.most, site.now)
                time.sleep(site._takes_s)
                status, body, headers = site._answer(host, self.path)
                with site._lock:
                    site.now -= 1
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def pages(self) -> int:
        """How many pages there are, the home page included."""
        return 1 + len(self.names) * self._pages

    @property
    def requests(self) -> int:
        """How many requests it takes to get them all: redirects and robots.txt count."""
        places = [(name, f"/{n}") for name in self.names for n in range(self._pages)]
        moved = sum(self._is_moved(name, path) for name, path in places)
        return self.pages + moved + len(self.names) + 1

    def _is_moved(self, host: str, path: str) -> bool:
        number = path.strip("/")
        return number.isdigit() and (self.names.index(host) + int(number)) % 2 == 1

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self._server.server_port}{path}"

    def _answer(self, host: str, path: str) -> tuple[int, bytes, dict[str, str]]:
        html = {"Content-Type": "text/html"}
        if path == "/robots.txt":
            return 200, b"User-agent: *\nDisallow: /no", {"Content-Type": "text/plain"}
        if path == "/":
            links = [self.url(name, f"/{n}") for name in self.names for n in range(self._pages)]
            return 200, "".join(f'<a href="{link}">x</a>' for link in links).encode(), html
        if host in self.names and self._is_moved(host, path):
            return 301, b"", {"Location": f"/moved{path}"}
        return 200, f"<title>{host} {path}</title>".encode(), html

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def run(self, directory: Path, polite: str, *flags: str) -> Run:
        """Return a crawl of all hosts by a job file."""
        directory.mkdir(exist_ok=True, parents=True)
        hosts, job = directory / "hosts", directory / "job.toml"
        hosts.write_text(f"127.0.0.1 {self.domain} {' '.join(self.names)}\n")
        job.write_text(
            f'entries = ["{self.url(self.domain)}"]\nscope = "domain"\nsitemaps = "no"\n'
            f"[polite]\n{polite}\n"
        )
        return Run(
            directory, ["--job", str(job)], ["--hosts", str(hosts), "--allow-private", *flags]
        )


def most_within(times: Iterable[float], seconds: float) -> int:
    """Return the most requests that came in any stretch of time, both its ends included."""
    ordered: Sequence[float] = sorted(times)
    most = first = 0
    for last, at in enumerate(ordered):
        while at - ordered[first] > seconds:
            first += 1
        most = max(most, last - first + 1)
    return most
