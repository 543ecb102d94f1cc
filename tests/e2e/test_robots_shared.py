"""Members on one store ask a site for its robots.txt once, and count that as a request."""

import json
import threading
import time
from collections import Counter
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import pytest
from clusters import node
from crawling import Run, summary
from serving import BusyServer
from stores import members_in, own_store

pytestmark = pytest.mark.e2e

DELAY_S = 0.8
HOSTS = 8
PAGES = 4
SLACK_S = 0.6
"""How much a request may be late on its way, and the next one not, on a busy machine."""


class Ring:
    """Hosts whose pages all redirect to the next host, served by one small server.

    ``/h<n>/<page>`` of a host leads to ``/from<n>/<page>`` of the next one, which nobody links to.
    """

    def __init__(self, robots_s: float) -> None:
        self.asked: list[tuple[float, str, str]] = []
        """When each request came, to which host, for what."""
        ring = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host = self.headers["Host"].split(":")[0]
                ring.asked.append((time.monotonic(), host, self.path))
                if self.path == "/robots.txt":
                    time.sleep(robots_s)
                status, body, headers = ring.answer(host, self.path)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = BusyServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.names = [f"h{n}.ring.test" for n in range(HOSTS)]

    def url(self, host: str, path: str) -> str:
        return f"http://{host}:{self._server.server_port}{path}"

    def answer(self, host: str, path: str) -> tuple[int, bytes, dict[str, str]]:
        html = {"Content-Type": "text/html"}
        if path == "/robots.txt":
            return 200, b"User-agent: *\nDisallow: /no", {"Content-Type": "text/plain"}
        if path == "/":
            links = [self.url(name, f"/page/{n}") for name in self.names for n in range(PAGES)]
            return 200, "".join(f'<a href="{link}">x</a>' for link in links).encode(), html
        if path.startswith("/page/"):
            after = self.names[(self.names.index(host) + 1) % HOSTS]
            return 302, b"", {"Location": self.url(after, f"/from/{host}{path}")}
        return 200, f"<title>{path}</title>".encode(), html

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def run(self, directory: Path, *flags: str) -> Run:
        directory.mkdir(exist_ok=True, parents=True)
        hosts = directory / "hosts"
        hosts.write_text(f"127.0.0.1 ring.test {' '.join(self.names)}\n")
        reach = ["--hosts", str(hosts), "--allow-private", "--sitemaps", "no"]
        polite = ["--scope", "domain", "--delay", str(DELAY_S), "--per-host", "3"]
        return Run(directory, [self.url("ring.test", "/")], [*reach, *polite, *flags])

    def robots_asked(self) -> Counter[str]:
        return Counter(host for _, host, path in self.asked if path == "/robots.txt")

    def gaps(self) -> list[tuple[float, str, str, str]]:
        """Return the time between two requests to a host, the shortest first."""
        found = []
        for name in ["ring.test", *self.names]:
            mine = [(at, path) for at, host, path in sorted(self.asked) if host == name]
            found += [
                (after[0] - before[0], name, before[1], after[1])
                for before, after in pairwise(mine)
            ]
        return sorted(found)


@pytest.mark.parametrize("kind", ["redis", "master"])
def test_robots_txt_is_asked_for_once_and_counts_toward_the_delay(
    kind: str, tmp_path: Path
) -> None:
    with Ring(robots_s=0.9) as ring, ExitStack() as stack:
        if kind == "redis":
            url = own_store()
            run = ring.run(tmp_path, "--store", url)
            helper = stack.enter_context(
                node(tmp_path / "node", run, "--store", url, "--workers", "2")
            )
            helper.until("two members", lambda: members_in(url) == 2)
        else:
            run = ring.run(tmp_path, "--workers", "2")
        ended = summary(run.finish())
        assert ended["queued"] == 0
    titles = [json.loads(line)["title"] for line in run.out.read_text().splitlines()]
    assert len([title for title in titles if title and title.startswith("/from/")]) == HOSTS * PAGES
    assert set(ring.robots_asked().values()) == {1}, ring.robots_asked()
    tight = [gap for gap in ring.gaps() if gap[0] < DELAY_S - SLACK_S]
    assert not tight, tight
