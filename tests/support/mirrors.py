"""A small web in which one site has three names, and others only look as if they were its mirrors.

``atlas.test`` has two mirrors. ``other.test`` is another site at the same address, with the same
layout, the same paths and a few equal pages. ``turn.test`` is one name with two addresses.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from crawling import Run
from serving import BusyServer

KEPT = "atlas.test"
MIRRORS = ("mirror.test", "www.atlas-copy.test")
OTHER = "other.test"
TURNING = "turn.test"
NAMES = (KEPT, *MIRRORS, OTHER, TURNING)
SECTIONS = 4
PAGES = 8
EQUAL = ("/licence", "/legal/privacy", "/legal/terms", "/legal/cookies", "/help/contact")
"""Pages that are the same on the mirrors and on the other site."""
NOWHERE = "/nowhere"
_LICENCE = "Permission is granted to copy and to change this text. " * 12


class Asked(NamedTuple):
    """One request."""

    host: str
    path: str
    address: str


def paths() -> list[str]:
    """Return the pages of each site."""
    inner = [f"/s{section}/p{page}" for section in range(SECTIONS) for page in range(PAGES)]
    return ["/", *(f"/s{section}/" for section in range(SECTIONS)), *inner, *EQUAL]


def _page(site: str, path: str, host: str, *, own_address: bool) -> str:
    """Return a page; two sites differ in a few words alone, a site never under its names."""
    if path in EQUAL:
        return f"<title>{path}</title><p>{_LICENCE}{path}"
    links = [f"/s{section}/" for section in range(SECTIONS)]
    if path == "/":
        links += [*EQUAL, NOWHERE]
    elif path.endswith("/"):
        links += [f"{path}p{page}" for page in range(PAGES)]
    hrefs = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    canonical = f'<link rel="canonical" href="http://{host}{path}">' if own_address else ""
    words = f"<p>What {site} has to say about {path}. " + f"{path} is a place of its own. " * 8
    return f"<title>About {path}</title>{canonical}<nav>{hrefs}</nav>{words}"


class MirrorWeb:
    """Serves that web on loopback while its ``with`` block runs."""

    def __init__(self, *, own_address: bool = False) -> None:
        self.asked: list[Asked] = []
        self.own_address = own_address
        self.extra: Callable[[str, str], str | None] = lambda _host, _path: None
        """Further pages: host and path to a body, or to "> URL" for a redirect."""
        first = _Server(("127.0.0.1", 0), _Handler)
        self.port = first.server_port
        second = _Server(("127.0.0.2", self.port), _Handler)
        self._servers = (first, second)
        for server in self._servers:
            server.web = self
        self._threads = [
            threading.Thread(target=server.serve_forever, args=(0.05,)) for server in self._servers
        ]

    @property
    def hosts_file(self) -> str:
        one = " ".join(NAMES)
        return f"127.0.0.1 {one} start.test\n127.0.0.2 {TURNING}\n"

    def key(self, name: str) -> str:
        """Return the host key of a name."""
        return f"{name}:{self.port}"

    def url(self, name: str, path: str = "/") -> str:
        return f"http://{self.key(name)}{path}"

    def urls(self, name: str) -> set[str]:
        """Return the pages that a name has."""
        return {self.url(name, path) for path in paths()}

    def requests(self, name: str) -> Counter[str]:
        """Return how often each page of a name was asked for."""
        return Counter(
            one.path for one in self.asked if one.host == name and one.path != "/robots.txt"
        )

    def body(self, host: str, path: str) -> str | None:
        extra = self.extra(host, path)
        if extra is not None:
            return extra
        if host == "start.test":
            return "".join(f'<a href="{self.url(name)}">{name}</a>' for name in NAMES)
        if path not in paths():
            return None
        site = KEPT if host in MIRRORS else host
        return _page(site, path, self.key(host), own_address=self.own_address)

    def run(self, directory: Path, *flags: str, entries: Iterable[str] | None = None) -> Run:
        """Return a crawl of the whole web."""
        directory.mkdir(exist_ok=True, parents=True)
        (directory / "hosts").write_text(self.hosts_file)
        reach = ["--hosts", str(directory / "hosts"), "--allow-private", "--sitemaps", "no"]
        names = [self.url(name) for name in NAMES] if entries is None else list(entries)
        return Run(directory, names, [*reach, *flags])

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()


class _Server(BusyServer):
    web: MirrorWeb
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        host = self.headers.get("Host", "").partition(":")[0]
        address = str(self.connection.getsockname()[0])
        server.web.asked.append(Asked(host, self.path, address))
        body = server.web.body(host, self.path)
        if body is not None and body.startswith("> "):
            self.send_response(302)
            self.send_header("Location", body[2:])
            body = ""
        else:
            self.send_response(404 if body is None else 200)
        data = ("nothing is here, nor was it ever" if body is None else body).encode()
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the library has it
        """Say nothing."""
