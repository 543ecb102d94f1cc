"""``skitter settings`` while crawls run: every member goes by a change within two seconds."""

import json
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
import redis
from clusters import Background, node
from crawling import Ended, Run, command, records_so_far
from serving import BusyServer
from stores import members_in, own_store, start_redis, wait_until

pytestmark = pytest.mark.e2e

HEARD_S = 8.0
"""How long a change may take to reach every member, on a machine that is busy."""
KINDS = ("redis", "local", "workers", "master")


class Asked(NamedTuple):
    """One request."""

    at: float
    host: str
    path: str
    agent: str


class Site:
    """Hosts ``h0.set.test`` and so on, with pages that lead to each other and to the next host."""

    def __init__(self, hosts: int, pages: int, answer_s: float = 0.0) -> None:
        self.asked: list[Asked] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.names = [f"h{n}.set.test" for n in range(hosts)]
        self._pages = pages
        self._lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                host = self.headers["Host"].split(":")[0]
                with site.counted():
                    agent = self.headers["User-Agent"]
                    site.asked.append(Asked(time.monotonic(), host, self.path, agent))
                    time.sleep(answer_s)
                    body = site.body(host, self.path).encode()
                    self.send_response(404 if self.path == "/robots.txt" else 200)
                    self.send_header("Content-Type", "text/html")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = BusyServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @contextmanager
    def counted(self) -> Iterator[None]:
        with self._lock:
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            yield
        finally:
            with self._lock:
                self.in_flight -= 1

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}:{self.port}{path}"

    def body(self, host: str, path: str) -> str:
        if path == "/":
            links = [f"/page/{n}" for n in range(self._pages)]
            links += [self.url(name) for name in self.names]
        else:
            # A link that no other page has, to the host before this one.
            before = self.names[self.names.index(host) - 1]
            links = [self.url(before, f"/late/{host}{path}")] if path.startswith("/page/") else []
        return f"<title>{path}</title>" + "".join(f'<a href="{link}">x</a>' for link in links)

    def since(self, at: float) -> list[Asked]:
        return [one for one in list(self.asked) if one.at >= at]

    def hosts_since(self, at: float) -> Counter[str]:
        return Counter(one.host for one in self.since(at))

    @property
    def hosts_file(self) -> str:
        return f"127.0.0.1 {' '.join(self.names)}\n"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Crawling:
    """A crawl that runs beside the test, on one of the kinds of stores."""

    def __init__(self, kind: str, site: Site, folder: Path, stack: ExitStack, *flags: str) -> None:
        self._stack = stack
        self.kind = kind
        self.site = site
        self.place: list[str] = []
        (folder / "hosts").write_text(site.hosts_file)
        reach = ["--hosts", str(folder / "hosts"), "--allow-private"]
        entry = site.url(site.names[0])
        self.run = Run(folder, [entry], [*reach, "--sitemaps", "no", "--scope", "domain", *flags])
        if kind == "master":
            self._start_master(folder, reach, flags)
        else:
            self._start(folder)

    def _start(self, folder: Path) -> None:
        more: list[str] = []
        if self.kind == "redis":
            url = own_store()
            more = ["--store", url]
            self.place = more
        else:
            self.place = ["--data", str(self.run.data)]
            more = ["--workers", "1"] if self.kind == "workers" else []
        words = self.run.command(*more)[1:]
        self.main = self._stack.enter_context(Background(folder, *words))
        if self.kind == "redis":
            self._stack.enter_context(node(folder / "node", self.run, *more, "--workers", "1"))
            self.main.until("two members", lambda: members_in(url) == 2)

    def _start_master(self, folder: Path, reach: list[str], flags: tuple[str, ...]) -> None:
        data = folder / "up"
        self.place = ["--data", str(data)]
        words = ["up", "--data", str(data), "--port", "0", "--workers", "2", *reach]
        self.main = self._stack.enter_context(Background(folder, *words))
        self.main.until_told("listening on ")
        delay = float(flags[flags.index("--delay") + 1])
        job = {
            "id": "set",
            "entries": [self.site.url(self.site.names[0])],
            "scope": "domain",
            "sitemaps": "no",
            "polite": {"delay": delay},
        }
        (folder / "set.json").write_text(json.dumps(job))
        assert command("job", "add", folder / "set.json", "--data", data).code == 0

    def settings(self, *words: str) -> Ended:
        return command("settings", *words, *self.place)

    def set(self, *words: str) -> float:
        """Change something; answers when every member must have heard of it."""
        ended = self.settings("set", *words)
        assert ended.code == 0, ended
        return time.monotonic() + HEARD_S

    def last_asked(self, hosts: Collection[str], quiet_s: float) -> float:
        """Wait until some hosts are left alone for a while; answers when that began."""
        began = time.monotonic()

        def last() -> float:
            return max(one.at for one in list(self.site.asked) if one.host in hosts)

        wait_until("quiet", lambda: time.monotonic() - max(began, last()) > quiet_s)
        return last()

    def until_asked(self, n: int) -> None:
        def enough() -> bool:
            return len(self.site.hosts_since(0)) >= n and len(self.site.asked) > 5 * n

        self.main.until("requests to all hosts", enough)


@contextmanager
def crawling(
    kind: str, folder: Path, *flags: str, hosts: int = 6, pages: int = 400, answer_s: float = 0.0
) -> Iterator[Crawling]:
    with Site(hosts, pages, answer_s) as site, ExitStack() as stack:
        yield Crawling(kind, site, folder, stack, *flags)


@pytest.mark.parametrize("kind", KINDS)
def test_a_delay_is_raised_and_lowered_while_a_crawl_runs(kind: str, tmp_path: Path) -> None:
    with crawling(kind, tmp_path, "--delay", "0.1") as crawl:
        site = crawl.site
        crawl.until_asked(6)
        heard = crawl.set(".set.test", "delay=100")
        assert crawl.last_asked(site.names, 2) < heard
        # A host that rests for long is asked soon when its delay is shorter.
        before = time.monotonic()
        crawl.set("*.set.test", "delay=0.1")
        every = set(site.names)
        crawl.main.until("requests to all", lambda: set(site.hosts_since(before)) == every, 60)
        ended = crawl.settings("get", f"h1.set.test:{site.port}", "--json")
        found = json.loads(ended.out)["settings"]["delay"]
        assert found == {"value": 0.1, "from": "*.set.test"}
        # One host is to be asked slowly; the others are not.
        before = time.monotonic()
        heard = crawl.set(f"h1.set.test:{site.port}", "delay=1.2")
        crawl.main.until("rests of one", lambda: len(rests(site, "h1.set.test", before)) >= 2)
        assert rests(site, "h1.set.test", before)[0] < heard


def rests(site: Site, host: str, since: float) -> list[float]:
    """Return when a host was left alone for long while all others were asked several times."""
    asked = site.since(since)
    others = set(site.names) - {host}
    found = []
    for one, after in pairwise(one.at for one in asked if one.host == host):
        between = Counter(other.host for other in asked if one < other.at < after)
        if after - one > 1 and min(between[name] for name in others) >= 3:
            found.append(one)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_blacklisted_site_ends_at_once_and_is_not_queued_again(kind: str, tmp_path: Path) -> None:
    with crawling(kind, tmp_path, "--delay", "0.8", hosts=3, pages=300) as crawl:
        site = crawl.site
        crawl.until_asked(3)
        first, second, third = (f"{name}:{site.port}" for name in site.names)
        crawl.set(first, "blacklist=true")
        heard = crawl.set(second, "blacklist=yes")
        records = crawl.run.out if kind != "master" else tmp_path / "up" / "out" / "set.jsonl"

        def refused() -> Counter[str]:
            return Counter(
                one["url"].split("/")[2]
                for one in records_so_far(records)
                if one["outcome"] == "refused" and "blacklisted by the setting for" in one["error"]
            )

        # At the pace of the sites this would take four minutes.
        wait_until("their end", lambda: min(refused()[one] for one in (first, second)) > 250)
        assert crawl.last_asked(site.names[:2], 2) < heard

        # A page that is fetched now has a link to one of them.
        before = time.monotonic()
        found: set[str] = set()

        def read() -> set[str]:
            found.update(one["url"] for one in records_so_far(records))
            asked = [one for one in site.since(before) if one.path.startswith("/page/")]
            return found & {site.url(one.host, one.path) for one in asked}

        crawl.main.until("pages of the third", lambda: len(read()) > 0)
        for url in read():
            path = url.removeprefix(site.url(site.names[2], ""))
            assert site.url(site.names[1], f"/late/h2.set.test{path}") not in found
        assert not {"h0.set.test", "h1.set.test"} & set(site.hosts_since(before))
        crawl.set(third, "depth=0")
        ended = crawl.settings("unset", first)
        assert ended.code == 0, ended
        assert crawl.settings("list", "--json").out.count("\n") == 2


def test_a_member_has_no_more_under_way_than_is_set(tmp_path: Path) -> None:
    with crawling("local", tmp_path, "--delay", "0", hosts=12, answer_s=0.2) as crawl:
        site = crawl.site
        crawl.main.until("many requests at once", lambda: site.most_in_flight > 6)
        crawl.set("*", "concurrency=2")

        def few() -> bool:
            site.most_in_flight = 0
            time.sleep(1)
            # The server may not have noticed the end of a request when the next one comes.
            return 0 < site.most_in_flight <= 4

        crawl.main.until("few requests at once", few)
        ended = crawl.settings("unset", "*", "concurrency")
        assert ended.code == 0, ended
        crawl.main.until("many requests at once", lambda: site.most_in_flight > 6)


def test_a_site_is_asked_by_another_name(tmp_path: Path) -> None:
    with crawling("local", tmp_path, "--delay", "0.1", hosts=3) as crawl:
        site = crawl.site
        crawl.until_asked(3)
        heard = crawl.set(f"h1.set.test:{site.port}", "agent=Gentle/2 (+http://x.test)")

        def gentle() -> float:
            return next((one.at for one in site.asked if one.agent.startswith("Gentle")), 0)

        crawl.main.until("the other name", lambda: gentle() > 0)
        since = gentle()
        assert since < heard
        crawl.main.until("more requests", lambda: len(site.since(since)) >= 12)
        names = {(one.host, one.agent.split("/")[0]) for one in site.since(since)}
        assert names == {
            ("h0.set.test", "Skitter"),
            ("h1.set.test", "Gentle"),
            ("h2.set.test", "Skitter"),
        }


@pytest.mark.parametrize("kind", ["redis", "local"])
def test_what_is_set_is_listed_warned_about_and_taken_back(kind: str, tmp_path: Path) -> None:
    with crawling(kind, tmp_path, "--delay", "0.5", hosts=2) as crawl:
        crawl.until_asked(2)
        assert crawl.settings("list").out == "nothing is set\n"
        known = crawl.settings("set", "*.set.test", "delay=2", "rate=20/60s", "types=text/html")
        assert (known.code, known.err) == (0, "")
        unknown = crawl.settings("set", "www.nobody.example", "per_host=2")
        assert unknown.code == 0
        assert unknown.err == (
            "skitter: warning: no known host is covered by www.nobody.example;"
            " it counts for those to come\n"
        )
        rows = [json.loads(line) for line in crawl.settings("list", "--json").out.splitlines()]
        assert [(row["pattern"], row["settings"], row["version"]) for row in rows] == [
            ("*.set.test", {"delay": 2.0, "rate": "20/60s", "types": ["text/html"]}, 2),
            ("www.nobody.example", {"per_host": 2}, 2),
        ]
        assert all("@" in row["changed_by"] and row["changed_at"].endswith("Z") for row in rows)
        table = crawl.settings("list").out.splitlines()
        assert table[0].split() == ["pattern", "settings", "changed", "by"]
        assert table[1].split()[:4] == ["*.set.test", "delay=2", "rate=20/60s", "types=text/html"]
        assert table[-1] == "version 2"
        assert crawl.settings("unset", "*.set.test", "rate").code == 0
        values = crawl.settings("get", "h0.set.test").out.splitlines()
        assert [line.split()[:3] for line in values[:4]] == [
            ["setting", "value", "from"],
            ["delay", "2", "*.set.test"],
            ["per_host", "-", "the"],
            ["rate", "-", "the"],
        ]


BAD = [
    (["set", "a.com", "rate=0/0s"], "rate: '0/0s': wanted "),
    (["set", "a.com", "delay=-1"], "delay: '-1': wanted seconds, from 0 to 86400"),
    (["set", "a.com", "dealy=1"], 'dealy: unknown setting; did you mean "delay"?'),
    (["set", "a.com", "delay"], "'delay': wanted key=value"),
    (["set", "https://a.com/", "delay=1"], "pattern 'https://a.com/': that is no host"),
    (["set", "a.com", "concurrency=4"], "concurrency: counts for a whole member"),
    (["get", "www.*.com"], "pattern 'www.*.com': a \"*\" stands alone"),
    (["unset", "a.com"], "a.com: nothing is set for it"),
    (["unset", "a.com", "dealy"], 'dealy: unknown setting; did you mean "delay"?'),
]


def test_bad_input_is_named_and_changes_nothing() -> None:
    place = ["--store", own_store()]
    assert command("settings", "set", "b.com", "delay=3", *place).code == 0
    for words, why in BAD:
        ended = command("settings", *words, *place)
        assert (ended.code, ended.out) == (2, ""), ended
        assert ended.err.count("\n") == 1, ended.err
        assert why in ended.err
    [row] = command("settings", "list", "--json", *place).out.splitlines()
    assert json.loads(row)["settings"] == {"delay": 3.0}


def test_settings_of_a_newer_version_are_named_and_nothing_is_changed() -> None:
    url = own_store()
    place = ["--store", url]
    assert command("settings", "set", "b.com", "delay=3", *place).code == 0
    address, _, space = url.partition("?namespace=")
    newer = json.dumps({"format": 9, "values": {"colour": "red"}})
    with redis.Redis.from_url(address) as client:
        client.hset(f"{{{space}}}:marks", "settings:*.newer.test", newer)
        before = client.hgetall(f"{{{space}}}:marks")
        for words in (["list"], ["get", "b.com"], ["set", "b.com", "delay=4"], ["unset", "b.com"]):
            ended = command("settings", *words, *place)
            assert (ended.code, ended.out) == (2, ""), ended
            assert "settings of *.newer.test: written by a newer Skitter" in ended.err
        assert client.hgetall(f"{{{space}}}:marks") == before


def test_a_directory_without_a_crawl_is_left_as_it_is(tmp_path: Path) -> None:
    ended = command("settings", "set", "a.com", "delay=1", "--data", tmp_path)
    assert ended.code == 2
    assert "no crawl has begun there" in ended.err
    assert list(tmp_path.iterdir()) == []


def test_what_is_set_while_nobody_crawls_counts_from_the_first_request(tmp_path: Path) -> None:
    with Site(2, 200) as site, ExitStack() as stack:
        crawl = Crawling("local", site, tmp_path, stack, "--delay", "0.05")
        crawl.until_asked(2)
        assert crawl.main.interrupted() == 130
        assert crawl.settings("set", ".set.test", "delay=1.5").code == 0
        assert crawl.settings("set", f"h1.set.test:{site.port}", "blacklist=on").code == 0
        began = time.monotonic()
        crawl.main.start()
        crawl.main.until("three requests", lambda: len(site.since(began)) >= 3)
        asked = site.since(began)
        assert {one.host for one in asked} == {"h0.set.test"}
        assert min(after.at - before.at for before, after in pairwise(asked)) > 0.7
        outcomes = Counter(one["outcome"] for one in crawl.run.records_so_far())
        assert outcomes["refused"] > 100


def test_a_full_store_is_named_and_nobody_waits_for_ever(tmp_path: Path) -> None:
    with start_redis(tmp_path) as store:
        place = ["--store", store.url]
        assert command("settings", "set", "b.com", "delay=3", *place).code == 0
        store.cli("CONFIG", "SET", "maxmemory", "1mb")
        ended = command("settings", "set", "c.com", "delay=3", *place)
        assert (ended.code, ended.out) == (3, "")
        assert f"store {store.url} is full; try again later" in ended.err
        store.cli("CONFIG", "SET", "maxmemory", "0")
        assert command("settings", "set", "c.com", "delay=3", *place).code == 0
