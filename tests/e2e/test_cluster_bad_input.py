"""Stores, masters and flags that cannot work: one clear line, the right exit code, nothing lost."""

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import ManyHosts, each_once, node
from crawling import Ended, command, summary
from stores import RedisServer, members_in, own_store, start_redis, wait_until

pytestmark = pytest.mark.e2e

BAD_INPUT, ENVIRONMENT = 2, 3


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    options = {"appendonly": "yes", "repl-diskless-sync-delay": "0"}
    with start_redis(tmp_path_factory.mktemp("redis"), options=options) as made:
        yield made


def asked_of(url: str) -> dict[str, Ended]:
    """Ask every command that takes a store to use one; return what came of each."""
    crawl = ("crawl", "http://127.0.0.1:9/", "--allow-private", "--quiet", "--store", url)
    return {
        "crawl": command(*crawl),
        "crawl with workers": command(*crawl, "--workers", "2"),
        "node": command("node", "--workers", "1", "--store", url),
        "node with workers": command("node", "--workers", "2", "--store", url),
        "page": command("page", "http://127.0.0.1:9/", "--store", url),
        "export": command("job", "export", "--store", url),
        "up": command("up", "--port", "0", "--workers", "1", "--store", url),
        "up without workers": command("up", "--port", "0", "--workers", "0", "--store", url),
        "job list": command("job", "list", "--store", url),
        "settings": command("settings", "list", "--store", url),
        "nodes": command("nodes", "list", "--store", url),
    }


def one_line(url: str, code: int, *parts: str) -> None:
    """Check that every command refuses a store in one line that says what to do."""
    for name, ended in asked_of(url).items():
        assert (ended.code, ended.out) == (code, ""), (name, ended)
        lines = ended.err.splitlines()
        assert len(lines) == 1, (name, lines)
        assert lines[0].startswith("skitter: store "), (name, lines)
        for part in parts:
            assert part in lines[0], (name, lines)
        assert "hunter2" not in lines[0]


# The store


def test_a_store_that_does_not_answer() -> None:
    one_line("redis://127.0.0.1:1/", ENVIRONMENT, "start Redis there or check the address")


def test_a_store_that_takes_the_call_and_says_nothing(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"redis://127.0.0.1:{silent.getsockname()[1]}/"
        ended = command("crawl", "http://127.0.0.1:9/", "--quiet", "--store", url)
    assert ended.code == ENVIRONMENT
    assert len(ended.err.splitlines()) == 1, ended


def test_a_wrong_password_and_none(here: Path) -> None:
    with start_redis(here / "redis", options={"requirepass": "right"}) as server:
        place = f"127.0.0.1:{server.port}"
        one_line(f"redis://:hunter2@{place}/", BAD_INPUT, place, "check the store's URL")
        one_line(f"redis://someone:hunter2@{place}/", BAD_INPUT, "does not know this user")
        one_line(f"redis://{place}/", BAD_INPUT, "wants a password")


def test_a_password_where_there_is_none(server: RedisServer) -> None:
    one_line(f"redis://:hunter2@127.0.0.1:{server.port}/", BAD_INPUT, "password")


def test_a_store_that_would_throw_keys_away(here: Path) -> None:
    options = {"maxmemory": "100mb", "maxmemory-policy": "allkeys-lru"}
    with start_redis(here / "redis", options=options) as server:
        one_line(server.url, BAD_INPUT, "allkeys-lru", "set maxmemory-policy noeviction there")
        assert server.cli("DBSIZE") == 0, "nothing was written"


def test_a_read_only_replica(here: Path, server: RedisServer) -> None:
    options = {"replicaof": f"127.0.0.1 {server.port}"}
    with start_redis(here / "replica", options=options) as replica:
        wait_until("the replica", lambda: replica.cli("ROLE")[3] == b"connected")
        one_line(replica.url, BAD_INPUT, "is a read-only replica; name its master")


def test_data_of_another_version(server: RedisServer) -> None:
    server.cli("HSET", "{later}:meta", "version", "999", "secret", "kept")
    one_line(f"{server.url}?namespace=later", BAD_INPUT, "has data of version 999", "?namespace=")
    assert server.cli("HGETALL", "{later}:meta") == {b"version": b"999", b"secret": b"kept"}
    assert server.cli("KEYS", "{later*") == [b"{later}:meta"], "nothing was touched"


def test_something_that_is_no_redis(here: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ends = threading.Event()
        thread = threading.Thread(target=_speak_http, args=(listener, ends))
        thread.start()
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/"
        try:
            one_line(url, BAD_INPUT, "does not speak Redis's language; check the address")
        finally:
            ends.set()
            thread.join()


def _speak_http(listener: socket.socket, ends: threading.Event) -> None:
    listener.settimeout(0.05)
    while not ends.is_set():
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        with client:
            client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("http://127.0.0.1:6379", "not a store's URL"),
        ("127.0.0.1:6379", "not a store's URL"),
        ("redis://", "names no host"),
        ("redis://host:port", "is not a number"),
        ("redis://host/first", "is not a number"),
        ("redis://host?namespace=a b", "namespace"),
        ("redis://host?namspace=a", "is not an option"),
        ("redis://user:hunter2@host?ca=x", "ca is for TLS"),
        ("rediss://host?ca=/nowhere.pem", "/nowhere.pem"),
    ],
)
def test_a_url_that_is_none(url: str, part: str) -> None:
    for name, ended in asked_of(url).items():
        assert (ended.code, ended.out) == (BAD_INPUT, ""), (name, ended)
        [line] = ended.err.splitlines()
        assert part in line, (name, line)
        assert "hunter2" not in line


def test_a_refused_crawl_leaves_nothing_behind(here: Path, server: RedisServer) -> None:
    """Neither the state nor the file of an earlier crawl is harmed, not even by --fresh."""
    with ManyHosts(1, 2) as site:
        run = site.run(here / "run", "--store", own_store())
        assert command(*run.command()[1:]).code == 0
        kept = run.out.read_bytes()
        other = ["--store", "redis://127.0.0.1:1/"]
        assert command(*run.command("--fresh", *other)[1:]).code == ENVIRONMENT
        assert run.out.read_bytes() == kept
        assert command(*run.command()[1:]).code == 0
        assert run.out.read_bytes() == kept


# A clock that is wrong


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_node_whose_clock_is_an_hour_off_works_all_the_same(hours: int, here: Path) -> None:
    """Python's clock is moved in the node alone; the store's and the crawl's are right."""
    url = own_store()
    (here / "sitecustomize.py").write_text(
        "import time\n"
        "_now, _now_ns = time.time, time.time_ns\n"
        f"time.time = lambda: _now() + {hours * 3600}\n"
        f"time.time_ns = lambda: _now_ns() + {hours * 3600 * 10**9}\n"
    )
    path = os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")])
    with ManyHosts(6, 4) as site:
        run = site.run(here / "run", "--store", url, "--delay", "0.05")
        words = ["--store", url, "--workers", "1"]
        with node(here / "node", run, *words, env={"PYTHONPATH": path}) as helper:
            helper.until("the node", lambda: members_in(url) == 1)
            summary(run.finish())
            assert helper.interrupted() == 130, helper.told
        each_once(site, run.out)


# Flags


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["node"], "nowhere to join: wanted --store URL or --control URL"),
        (
            ["node", "--store", "redis://h", "--control", "http://h"],
            "--store and --control: wanted one of them",
        ),
        (["node", "--store", "redis://h", "--workers", "0", "--idle-exit", "1"], "--workers 0"),
        (["node", "--store", "redis://h", "--max-workers", "0"], "--max-workers"),
        (["node", "--store", "redis://h", "--workers", "-2"], "--workers"),
        (["node", "--store", "redis://h", "--workers", "many"], "--workers"),
        (["node", "--store", "redis://h", "--idle-exit", "-1"], "--idle-exit"),
        (["node", "--store", "redis://h", "--hosts", "nowhere"], "nowhere"),
        (["node", "--store", "redis://h", "--name", "a b"], "a b"),
        (["crawl", "http://h/", "--workers", "-1"], "--workers"),
        (["crawl", "http://h/", "--control", "http://h"], "--control"),
        (["up", "--port", "99999"], "--port"),
        (["up", "--workers", "-1"], "--workers"),
        (["page", "http://h/", "--store", "redis://h", "--data", "d"], "wanted one of them"),
        (["job", "export", "--store", "redis://h", "--warc", "d"], "wanted one of them"),
    ],
    ids=lambda value: " ".join(value[:5]) if isinstance(value, list) else "",
)
def test_flags_that_contradict_each_other_or_make_no_sense(words: list[str], part: str) -> None:
    ended = command(*words)
    assert (ended.code, ended.out) == (BAD_INPUT, ""), ended
    [line] = ended.err.splitlines()
    assert line.startswith("skitter: "), line
    assert part in line


@pytest.mark.parametrize("where", [["--workers", "2"], ["--store", "redis://127.0.0.1:1/"]])
def test_a_secret_header_that_would_have_to_be_stored(where: list[str], here: Path) -> None:
    job = here / "job.toml"
    job.write_text(
        'id = "members"\nentries = ["http://127.0.0.1:9/"]\n'
        '[http.headers]\nCookie = "session=hunter2"\n'
    )
    ended = command("crawl", "--job", job, "--quiet", *where)
    assert (ended.code, ended.out) == (BAD_INPUT, ""), ended
    [line] = ended.err.splitlines()
    assert "http.headers.Cookie" in line
    assert "write env:NAME and set NAME" in line
    assert "hunter2" not in line
    assert not (here / ".skitter").exists()


def test_a_secret_that_is_only_named_is_sent_by_every_member(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = here / "job.toml"
    job.write_text(
        'id = "named"\nentries = ["http://127.0.0.1:9/"]\n[http.headers]\nCookie = "env:SESSION"\n'
    )
    monkeypatch.delenv("SESSION", raising=False)
    ended = command("crawl", "--job", job, "--quiet", "--store", own_store())
    assert (ended.code, "SESSION" in ended.err) == (BAD_INPUT, True), ended
