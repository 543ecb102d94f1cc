"""Which members fetch what: hosts that share a slot, and jobs that are not bound to hosts."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from clusters import node
from crawling import Run, summary
from serving import BusyServer
from stores import members_in, own_store

from skitter.url.partition import slot_of

pytestmark = pytest.mark.e2e

PAGES = 320
ANSWER_S = 0.025
"""Slow enough that most pages are left when a host is moved, however fast the machine is."""


class LargeHosts:
    """Hosts with many pages each, and a note of when each request was under way."""

    def __init__(self) -> None:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Say nothing."""

        self._server = BusyServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self.spans: list[tuple[float, float, str]] = []
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, asked: BaseHTTPRequestHandler) -> None:
        began = time.monotonic()
        known = asked.path == "/" or asked.path[1:].isdigit()
        numbers = range(PAGES) if asked.path == "/" else ()
        links = "".join(f'<a href="/{n}">{n}</a>' for n in numbers)
        host = asked.headers["Host"].partition(":")[0]
        body = f"<title>{host} {asked.path}</title>{links}".encode()
        if known:
            time.sleep(ANSWER_S)
            self.spans.append((began, time.monotonic(), host))
        asked.send_response(200 if known else 404)
        asked.send_header("Content-Type", "text/html")
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        asked.wfile.write(body)

    def at_once(self) -> Counter[int]:
        """Count the requests by how many others were under way when they began."""
        return Counter(
            sum(1 for began, ended, _ in self.spans if began < start < ended)
            for start, _, _ in self.spans
        )

    def run(self, directory: Path, hosts: list[str], *flags: str) -> Run:
        directory.mkdir(exist_ok=True)
        (directory / "hosts").write_text(f"127.0.0.1 {' '.join(hosts)}\n")
        reach = ["--hosts", str(directory / "hosts"), "--allow-private", "--sitemaps", "no"]
        urls = [f"http://{host}:{self.port}/" for host in hosts]
        return Run(directory, urls, [*reach, "--delay", "0", *flags])

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def site() -> Iterator[LargeHosts]:
    site = LargeHosts()
    yield site
    site.stop()


def neighbours(port: int) -> list[str]:
    """Return two hosts of one slot."""
    seen: dict[int, str] = {}
    for number in range(100_000):
        host = f"n{number}.large.test"
        other = seen.setdefault(slot_of(f"{host}:{port}"), host)
        if other != host:
            return [other, host]
    raise AssertionError


def crawl_with_two_nodes(run: Run, store: str, tmp_path: Path, *flags: str) -> None:
    with ExitStack() as stack:
        words = ("--store", store, "--workers", "1", "--concurrency", "1", *flags)
        helpers = [stack.enter_context(node(tmp_path / f"n{n}", run, *words)) for n in range(2)]
        helpers[0].until("two members", lambda: members_in(store) == 2)
        summary(run.finish("--store", store, "--concurrency", "1", *flags))
        for helper in helpers:
            assert helper.interrupted() == 130


def pages_of(run: Run) -> Counter[str]:
    return Counter(record["url"] for record in run.records())


@pytest.mark.parametrize("picker", ["hash", "advanced"])
def test_two_large_hosts_of_one_slot_wait_in_line_or_run_side_by_side(
    site: LargeHosts, tmp_path: Path, picker: str
) -> None:
    hosts = neighbours(site.port)
    run = site.run(tmp_path / "crawl", hosts)
    crawl_with_two_nodes(run, own_store(), tmp_path, "--picker", picker)

    paths = ["/", *(f"/{n}" for n in range(PAGES))]
    urls = {f"http://{host}:{site.port}{path}" for host in hosts for path in paths}
    assert pages_of(run) == Counter(urls), "every page once"
    at_once = site.at_once()
    beside = sum(n for others, n in at_once.items() if others)
    if picker == "hash":
        assert beside <= 0.02 * len(urls), at_once
    else:
        assert beside >= 0.08 * len(urls), at_once


@pytest.mark.parametrize("partition", ["url", "shared"])
def test_one_host_is_fetched_by_all_members_where_the_job_says_so(
    site: LargeHosts, tmp_path: Path, partition: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f"""
        id = "wide"
        kind = "site"
        entries = ["http://one.large.test:{site.port}/"]
        partition = "{partition}"
        [polite]
        delay = 0
        per_host = 12
        """
    )
    run = site.run(tmp_path / "crawl", ["one.large.test"])
    run.arguments = ["--job", str(job)]
    run.flags = run.flags[: run.flags.index("--sitemaps")]
    crawl_with_two_nodes(run, own_store(), tmp_path)

    assert len(pages_of(run)) == PAGES + 1
    assert set(pages_of(run).values()) == {1}
    at_once = site.at_once()
    assert max(at_once) <= 2, "three members, one request each"
    assert at_once[1] + at_once[2] >= 0.2 * PAGES, at_once
