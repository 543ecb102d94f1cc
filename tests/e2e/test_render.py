"""Pages that scripts make, crawled through a real browser, in every way a crawl can run."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, command_line, gone
from crawling import SKITTER, Run, summary
from killable import family
from serving import Answer, SmallSite

from skitter.demo.child import DemoProcess
from skitter.demo.ferry import COUNTER, HOME_TITLE, NAME, SCRIPT, SHELL_TITLE, TODAY, ferry_lines
from skitter.demo.model import Target

pytestmark = pytest.mark.e2e
LINES = ferry_lines(seed=1)
TITLES = {"/": HOME_TITLE, TODAY: SHELL_TITLE, **{line.path: line.title for line in LINES}}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[DemoProcess]:
    with DemoProcess(pages=200, log=tmp_path / "hits") as started:
        (tmp_path / "hosts").write_text(started.hosts)
        yield started


def ferry_run(folder: Path, demo: DemoProcess, *flags: str) -> Run:
    entry = demo.web.url(Target(NAME, "/"))
    return Run(folder, [entry], ["--hosts", str(folder / "hosts"), "--delay", "0.02", *flags])


def titles(run: Run) -> dict[str, str]:
    paths = [f"/{record['url'].split('/', 3)[3]}" for record in run.records()]
    assert len(paths) == len(set(paths))
    return dict(zip(paths, (record["title"] for record in run.records()), strict=True))


def browsers(pid: int) -> list[int]:
    """Return the processes of browsers that a process has started, directly or not."""
    return [one for one in family(pid) if "--remote-debugging-pipe" in command_line(one)]


def test_without_a_browser_the_pages_are_empty(tmp_path: Path, demo: DemoProcess) -> None:
    run = ferry_run(tmp_path, demo)
    assert run.finish().returncode == 0
    assert titles(run) == {"/": SHELL_TITLE}


def test_scripts_make_pages_and_their_requests_are_polite(
    tmp_path: Path, demo: DemoProcess
) -> None:
    run = ferry_run(tmp_path, demo, "--render", "--warc", str(tmp_path / "warc"))
    done = run.finish()
    assert done.returncode == 0, done.stderr
    assert summary(done)["pages"] == len(TITLES)
    assert titles(run) == TITLES
    by_url = {record["url"].rpartition("/")[2]: record for record in run.records()}
    assert by_url["1"]["content_type"] == "text/html; charset=utf-8"
    assert by_url["1"]["digest"] != by_url["2"]["digest"]
    assert by_url["1"]["bytes"] == by_url["2"]["bytes"]
    asked = [hit.path for hit in demo.hits() if hit.host == demo.web.host_key(NAME)]
    assert asked.count(SCRIPT) == asked.count("/robots.txt") == 1
    assert COUNTER not in asked
    assert not any(path.endswith((".css", ".gif")) for path in asked)
    page = [str(SKITTER), "page", by_url["1"]["url"], "--data", str(run.data), "--body"]
    received = subprocess.run(page, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"<title>{SHELL_TITLE}</title>" in received


def test_worker_processes_have_browsers_of_their_own(tmp_path: Path, demo: DemoProcess) -> None:
    run = ferry_run(tmp_path, demo, "--render", "--workers", "2")
    done = run.finish()
    assert done.returncode == 0, done.stderr
    assert titles(run) == TITLES


def test_a_rule_is_tried_on_what_scripts_have_made(tmp_path: Path, demo: DemoProcess) -> None:
    line = LINES[2]
    url = demo.web.url(Target(NAME, line.path))
    job = tmp_path / "job.toml"
    job.write_text(
        f'entries = ["{url}"]\n[polite]\ndelay = 0\n[[links]]\nallow = ["/line/"]\nrender = true\n'
        '[detail.fields]\nminutes = {css = ".minutes::text", number = true, required = true}\n'
    )
    words = [str(SKITTER), "rule", "try", str(job), url, "--hosts", str(tmp_path / "hosts")]
    done = subprocess.run(
        [*words, "--json"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["fields"] == {"minutes": line.minutes}


class Silent:
    """Listens, and knows whether anybody ever came."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._socket.setblocking(False)
        self._datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._datagrams.bind(("127.0.0.1", self.port))
        self._datagrams.setblocking(False)

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def visited(self) -> bool:
        try:
            self._socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def heard(self) -> bytes:
        try:
            return self._datagrams.recv(2_000)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        self._socket.close()
        self._datagrams.close()


@pytest.fixture
def silent() -> Iterator[Silent]:
    found = Silent()
    yield found
    found.close()


ATTEMPTS = """
<html><head><link rel=prefetch href="http://{0}/prefetch"><link rel=preconnect href="http://{0}">
<link rel=dns-prefetch href="http://{0}"></head>
<body><img src="http://{0}/img"><iframe src="http://{0}/frame"></iframe>
<script src="http://{0}/script.js"></script>
<script>
const tried = [];
const add = (name, run) => {{ try {{ run(); tried.push(name) }} catch (e) {{ tried.push(name) }} }};
add("fetch", () => fetch("http://{0}/fetch").catch(() => 0));
add("post", () => fetch("/posted", {{method: "POST", body: "x"}}).catch(() => 0));
add("beacon", () => navigator.sendBeacon("http://{0}/beacon", "x"));
add("socket", () => new WebSocket("ws://{0}/socket"));
add("source", () => new EventSource("http://{0}/source"));
add("worker", () => new Worker(URL.createObjectURL(new Blob(["fetch('http://{0}/worker')"]))));
add("shared", () => new SharedWorker(URL.createObjectURL(new Blob(["fetch('http://{0}/s')"]))));
add("rtc", () => {{
  const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:{0}"}},
    {{urls: "turn:{0}?transport=tcp", username: "u", credential: "c"}}]}});
  peer.createDataChannel("x");
  peer.createOffer().then((offer) => peer.setLocalDescription(offer));
}});
add("window", () => window.open("http://{0}/window"));
fetch("/redirected").then((it) => it.text()).catch(() => "stopped").then((text) => {{
  document.title = tried.length + " tried, " + text;
  setTimeout(() => {{ location = "http://{0}/location" }}, 300);
}});
</script></body></html>
"""


def test_nothing_reaches_an_address_that_is_not_allowed(tmp_path: Path, silent: Silent) -> None:
    there = f"127.0.0.1:{silent.port}"
    answers: dict[str, Any] = {
        "/": ATTEMPTS.format(there),
        "/redirected": Answer(b"", status=302, headers={"Location": f"http://{there}/redirect"}),
    }
    with SmallSite(answers) as site:
        # What the hosts table names may be private; nothing else may.
        (tmp_path / "hosts").write_text("127.0.0.1 site.test\n")
        entry = site.url("/").replace("127.0.0.1", "site.test")
        flags = ["--hosts", str(tmp_path / "hosts"), "--delay", "0", "--scope", "any"]
        run = Run(tmp_path, [entry], [*flags, "--render"])
        done = run.finish()
    assert done.returncode == 0, done.stderr
    records = {record["url"]: record for record in run.records()}
    assert records[entry]["title"] == "9 tried, stopped"
    assert records[f"http://{there}/location"]["outcome"] == "refused"
    assert not silent.visited()
    assert silent.heard() == b""
    assert "/posted" not in site.asked
    assert "/redirected" in site.asked


BUSY = "<p>here</p><script>setInterval(() => fetch('/poll').catch(() => 0), 200)</script>"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_browser_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    with SmallSite({"/": BUSY}) as site:
        words = ["crawl", site.url(), "--allow-private", "--render", "--quiet", "--timeout", "4"]
        with Background(tmp_path, *words) as crawl:
            crawl.until("a page in the browser", lambda: "/poll" in site.asked)
            found = browsers(crawl.pid)
            assert found
            crawl.send(number)
            crawl.ended()
            assert gone(found)


def test_a_machine_without_a_browser_says_so_at_once(tmp_path: Path) -> None:
    run = Run(tmp_path, ["http://site.test/"], ["--render"])
    env = {**os.environ, "SKITTER_CHROMIUM": str(tmp_path / "none")}
    done = subprocess.run(
        run.command(), capture_output=True, text=True, env=env, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "SKITTER_CHROMIUM" in done.stderr
    assert not run.data.exists()
