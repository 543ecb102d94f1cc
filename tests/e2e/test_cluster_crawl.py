"""A crawl on a shared store, with helpers or without, gives what one process would give."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import msgspec
import pytest
from archiving import check_with_tools, warcs_in
from certificates import certificate
from clusters import (
    Background,
    ManyHosts,
    command_line,
    each_once,
    essence,
    gone,
    node,
)
from crawling import Run, command, facts, hurry, lines_in, site_run, summary
from killable import family
from outputs import read_jsonl, read_output
from serving import BusyServer
from stores import KINDS, RedisServer, members_in, own_store, start_redis

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.e2e

SITES = ["news", "gazette", "docs", "tides", "shop"]


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=120) as running:
        yield running


@pytest.fixture(scope="module")
def alone(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished crawl of one process, its state in its directory."""
    run = demo_sites(tmp_path_factory.mktemp("alone"), demo)
    assert summary(run.finish())["queued"] == 0
    return run


@pytest.fixture(scope="module")
def many() -> Iterator[ManyHosts]:
    with ManyHosts(16, 6) as site:
        yield site


def demo_sites(directory: Path, demo: DemoProcess, *flags: str) -> Run:
    return site_run(directory, demo, SITES, "--per-host", "8", *flags)


# The same as alone


@pytest.mark.parametrize("kind", KINDS)
def test_a_crawl_on_a_store_equals_one_on_its_own(
    kind: str, demo: DemoProcess, alone: Run, tmp_path: Path
) -> None:
    others = [tmp_path / f"pages{ending}" for ending in (".sqlite", ".csv")]
    outs = [word for path in others for word in ("--out", str(path))]
    url = own_store(kind)
    run = demo_sites(tmp_path, demo, "--store", url, *outs)
    ended = summary(run.finish())
    assert essence(run.records()) == essence(alone.records())
    truth = ground_truth(
        demo.web,
        Plan(entries=tuple(Target(site, "/") for site in SITES), scope="host", sitemaps="auto"),
    )
    records = read_jsonl(run.out)
    assert list(record_problems(truth, [msgspec.to_builtins(one) for one in records])) == []
    for path in others:
        assert read_output(path) == records, path.suffix
    assert (ended["queued"], ended["pages"]) == (0, len(records))
    assert members_in(url) == 0, "it has left"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RedisServer, str]]:
    """A store that wants TLS and a password, and its URL."""
    folder = tmp_path_factory.mktemp("guarded")
    own = certificate(folder, "IP:127.0.0.1")
    options = own.redis_options | {"requirepass": "hunter2"}
    with start_redis(folder / "redis", options=options) as server:
        yield server, f"{server.url}?ca={own.path}"


@pytest.mark.parametrize("seen", ["compact", "bloom"])
def test_tls_a_password_and_small_seen_sets_change_nothing_of_the_result(
    seen: str, many: ManyHosts, guarded: tuple[RedisServer, str], tmp_path: Path
) -> None:
    server, url = guarded
    url = f"{url}&namespace={seen}"
    # Each of the workers has a connection of its own.
    flags = ["--store", url, "--seen", seen, "--workers", "2", "--delay", "0.02"]
    run = many.run(tmp_path, *flags)
    ended = run.finish()
    assert summary(ended)["queued"] == 0
    assert "hunter2" not in ended.stdout + ended.stderr
    each_once(many, run.out)
    job = server.cli("KEYS", f"{{{seen}:*}}:j:*")[0]
    assert server.cli("HGET", job, "seen") == seen.encode()


def test_helpers_change_nothing_of_the_result_and_archive_what_they_fetch(
    many: ManyHosts, tmp_path: Path
) -> None:
    url, warc = own_store("cluster"), tmp_path / "warc"
    run = many.run(tmp_path, "--store", url, "--warc", str(warc), "--delay", "0.5")
    with ExitStack() as stack:
        # Two on one machine from one directory must not write to the same files.
        helpers = [
            stack.enter_context(node(tmp_path / "node", run, "--store", url, "--workers", "1"))
            for _ in range(2)
        ]
        helpers[0].until("two members", lambda: members_in(url) == 2)
        summary(run.finish())
        for helper in helpers:
            assert helper.interrupted() == 130
            assert "left the cluster: interrupted" in helper.told
            assert "cannot be worked on" not in helper.told
    each_once(many, run.out)
    titles = {record["url"]: record["title"] for record in run.records()}
    assert titles[many.url("h1.many.test", "/h1.many.test/3")] == "h1.many.test 3"

    files = warcs_in(warc)
    assert all(check_with_tools(path) for path in files)
    fetched_into = {record["warc_file"] for record in run.records()}
    assert fetched_into <= {path.name for path in files}
    assert len(fetched_into) >= 2, "nobody has helped"
    for name in fetched_into:
        page = next(r for r in run.records() if r["warc_file"] == name)
        shown = command("page", page["url"], "--store", url, "--body")
        assert (shown.code, f"<title>{page['title']}" in shown.out) == (0, True), shown


def test_workers_of_the_same_machine_help_and_end_with_the_crawl(
    many: ManyHosts, tmp_path: Path
) -> None:
    url = own_store()
    runs = [
        many.run(tmp_path / "own", "--workers", "2"),
        many.run(tmp_path / "shared", "--workers", "2", "--store", url),
    ]
    with ExitStack() as stack:
        crawls = [
            stack.enter_context(
                Background(run.directory, *run.command("--delay", "0.5", "--concurrency", "8")[1:])
            )
            for run in runs
        ]
        for crawl in crawls:
            crawl.until("workers", lambda pid=crawl.pid: len(family(pid)) >= 3)  # type: ignore[misc]
        families = [family(crawl.pid) for crawl in crawls]
        hurry("--data", runs[0].data)
        hurry("--store", url)
        assert [crawl.ended() for crawl in crawls] == [0, 0], [crawl.told for crawl in crawls]
    for run in runs:
        each_once(many, run.out)
    assert gone([pid for pids in families for pid in pids])


def test_two_crawls_share_a_store_and_a_node(tmp_path: Path) -> None:
    url = own_store()
    with ManyHosts(6, 5) as first, ManyHosts(6, 5) as second, ExitStack() as stack:
        runs = [
            site.run(tmp_path / name, "--store", url, "--delay", "0.1")
            for name, site in (("first", first), ("second", second))
        ]
        helper = stack.enter_context(
            node(tmp_path / "node", runs[0], "--store", url, "--workers", "1")
        )
        helper.until("a member", lambda: members_in(url) == 1)
        crawls = [
            stack.enter_context(Background(run.directory, *run.command()[1:])) for run in runs
        ]
        assert [crawl.ended() for crawl in crawls] == [0, 0], [crawl.told for crawl in crawls]
        assert helper.interrupted() == 130
        for site, run in zip((first, second), runs, strict=True):
            each_once(site, run.out)
            assert json.loads(crawls[runs.index(run)].output)["queued"] == 0


# What a crawl may ask for


@pytest.mark.parametrize(
    "flags",
    [
        ["--order", "best", "--keywords", "market, tide, release"],
        ["--sitemaps", "only"],
    ],
    ids=["best-first", "sitemaps"],
)
def test_what_is_asked_for_is_done_by_all_members_alike(
    flags: list[str], demo: DemoProcess, tmp_path: Path
) -> None:
    url = own_store()
    runs = {
        "alone": demo_sites(tmp_path / "alone", demo, *flags),
        "together": demo_sites(tmp_path / "together", demo, *flags, "--store", url),
    }
    helped = runs["together"]
    with node(tmp_path / "node", helped, "--store", url, "--workers", "1") as helper:
        helper.until("a member", lambda: members_in(url) == 1)
        started = [run.start() for run in runs.values()]
        for process in started:
            assert process.wait(90) == 0, process.communicate()
            process.communicate()
        helper.interrupted()
    assert essence(helped.records()) == essence(runs["alone"].records())


class _Moved(BaseHTTPRequestHandler):
    """``start.test`` has moved to ``home.test``, whose pages link to each other and elsewhere."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        assert isinstance(self.server, BusyServer)
        port = self.server.server_port
        body, status = b"", 200
        if host == "start.test" and self.path == "/":
            status = 301
        elif host == "home.test" and self.path == "/":
            links = "".join(f'<a href="/{n}">{n}</a>' for n in range(30))
            away = f'<a href="http://away.test:{port}/">away</a>'
            body = f"<title>home</title>{links}{away}".encode()
        elif self.path == "/robots.txt":
            status = 404
        else:
            body = f"<title>{host}{self.path}</title>".encode()
        self.send_response(status)
        if status == 301:
            self.send_header("Location", f"http://home.test:{port}/")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the library has it
        """Say nothing."""


@contextmanager
def moved_site() -> Iterator[int]:
    server = BusyServer(("127.0.0.1", 0), _Moved)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_entry_that_leads_to_another_host_widens_the_scope_for_all_members(
    tmp_path: Path,
) -> None:
    url = own_store()
    with moved_site() as port:
        (tmp_path / "hosts").write_text("127.0.0.1 start.test home.test away.test\n")
        reach = ["--hosts", str(tmp_path / "hosts"), "--allow-private", "--sitemaps", "no"]
        flags = [*reach, "--delay", "0.02", "--store", url]
        run = Run(tmp_path, [f"http://start.test:{port}/"], flags)
        with node(tmp_path / "node", run, "--store", url, "--workers", "2") as helper:
            helper.until("members", lambda: members_in(url) == 2)
            summary(run.finish())
            helper.interrupted()
    found = [record["final_url"] for record in run.records() if record["outcome"] == "ok"]
    home = f"http://home.test:{port}/"
    assert sorted(found) == sorted([home, *(f"{home}{n}" for n in range(30))])


@pytest.mark.parametrize("helpers", [0, 2])
def test_the_limit_of_pages_is_kept_by_all_members_together(
    helpers: int, many: ManyHosts, tmp_path: Path
) -> None:
    url = own_store()
    run = many.run(tmp_path, "--store", url, "--pages", "30")
    with ExitStack() as stack:
        if helpers:
            helper = stack.enter_context(
                node(tmp_path / "node", run, "--store", url, "--workers", str(helpers))
            )
            helper.until("members", lambda: members_in(url) == helpers)
        ended = summary(run.finish())
    assert len(run.records()) == ended["pages"] == 30


# Looking into it


def test_page_and_export_tell_the_same_of_a_store_as_of_a_directory(
    demo: DemoProcess, alone: Run, tmp_path: Path
) -> None:
    url = own_store()
    run = demo_sites(tmp_path, demo, "--store", url)
    summary(run.finish())
    for record in run.records()[:3]:
        shown = command("page", record["url"], "--store", url, "--json")
        assert shown.code == 0, shown
        mine, theirs = json.loads(shown.out), facts(alone.data, record["url"])
        assert mine.keys() == theirs.keys()
        assert mine["why"].split()[:3] == theirs["why"].split()[:3]
        assert essence([mine["record"]]) == essence([theirs["record"]])

    lines = command("job", "export", "--store", url).out.splitlines()
    assert essence([json.loads(line) for line in lines]) == essence(alone.records())
    out = tmp_path / "export.sqlite"
    assert command("job", "export", "--store", url, "--out", out).code == 0
    assert len(read_output(out)) == len(lines)
    refused = command("job", "export", "--store", url, "--out", run.out, "--force")
    assert (refused.code, "the crawl itself writes to it" in refused.err) == (2, True)

    seeds = [
        command("job", "export", *place, "--seeds", "12", "--json").out.splitlines()
        for place in (("--store", url), ("--data", str(alone.data)))
    ]
    assert seeds[0] == seeds[1]
    assert len(seeds[0]) > 12

    unknown = command("job", "export", "nobody", "--store", url)
    assert (unknown.code, "name one of them" in unknown.err) == (2, True)


# What others may see


def test_no_list_of_processes_and_no_log_shows_a_password(tmp_path: Path) -> None:
    word = "hunter2-secret"
    with (
        start_redis(tmp_path / "redis", options={"requirepass": word}) as server,
        ManyHosts(4, 20) as site,
    ):
        env = {"SKITTER_STORE": server.url, "SKITTER_TOKEN": "token-secret"}
        run = site.run(tmp_path, "--delay", "0.5", "--workers", "2")
        words = [word for word in run.command()[1:] if word != "--quiet"]
        with ExitStack() as stack:
            crawl = stack.enter_context(Background(tmp_path, *words, env=env))
            helper = stack.enter_context(node(tmp_path / "node", run, "--workers", "2", env=env))
            for one in (crawl, helper):
                one.until("workers", lambda pid=one.pid: len(family(pid)) >= 3)  # type: ignore[misc]
            crawl.until("records", lambda: lines_in(run.out) > 10)
            pids = [pid for one in (crawl, helper) for pid in family(one.pid)]
            lines = [command_line(pid) for pid in pids]
            assert len([line for line in lines if "--place" in line]) == 4, lines
            assert not [line for line in lines if "secret" in line]
            hurry("--store", server.url)
            assert crawl.ended() == 0, crawl.told
            assert helper.interrupted() == 130
            assert "secret" not in crawl.told + crawl.output + helper.told
        shown = subprocess.run(
            [*run.command()[:1], "config", "show"],
            env={**os.environ, **env},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    assert "secret" not in shown
    assert f"redis://***@127.0.0.1:{server.port}/" in shown or "redis://@127.0.0.1" in shown
    for path in tmp_path.rglob("*"):
        if path.is_file() and "redis" not in path.relative_to(tmp_path).parts[:1]:
            assert b"secret" not in path.read_bytes(), path
