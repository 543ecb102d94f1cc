"""Worker processes of one machine and nodes of a master: killed, paused, cut off, started again."""

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from cluster_world import overlaps, record_problems, records_in, rushes
from crawling import SKITTER, records_so_far
from killable import INTERRUPTED, Command
from ledger_web import LedgerWeb, WebPlan
from stores import free_port, start_redis, wait_until

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
WEB = WebPlan(hosts=8, pages=40, large=60) if SOAK else WebPlan(hosts=8, pages=16, large=30)
KILLS = 12 if SOAK else 2
DELAY_S = 0.3
SILENCE_S = 7.0
"""A worker that is silent for this long has lost what it had."""
BAD_INPUT = 2
TOKEN = "a-token-for-tests"
SECRET = "the-password-of-a-store"


@dataclass
class Site:
    """A web, a directory for one crawl of it, and its commands."""

    folder: Path
    web: LedgerWeb
    commands: list[Command]

    @property
    def out(self) -> Path:
        return self.folder / "pages.jsonl"

    @property
    def reach(self) -> list[str]:
        return ["--hosts", str(self.folder / "hosts"), "--allow-private", "--concurrency", "8"]

    def command(self, name: str, *words: str, env: dict[str, str] | None = None) -> Command:
        command = Command(name, self.folder / name, [str(SKITTER), *words], env)
        self.commands.append(command)
        return command

    def crawl(self, workers: int) -> Command:
        places = ["--out", str(self.out), "--data", str(self.folder / "state")]
        manners = ["--delay", str(DELAY_S), "--scope", "domain", "--sitemaps", "no", "--no-traps"]
        words = [*places, *manners, *self.reach, "--workers", str(workers)]
        return self.command("crawl", "crawl", self.web.entry, *words)

    def master(self, port: int, workers: int = 0) -> Command:
        words = ["--port", str(port), "--workers", str(workers), *self.reach]
        return self.command("up", "up", "--data", str(self.data), *words, env=WITH_TOKEN)

    @property
    def data(self) -> Path:
        return self.folder / "master"

    def node(self, name: str, port: int, *flags: str, token: str = TOKEN) -> Command:
        words = ["--control", f"http://127.0.0.1:{port}", "--name", name, "--workers", "1"]
        words += ["--data", str(self.folder / name / "data"), *self.reach, *flags]
        return self.command(name, "node", *words, env={"SKITTER_TOKEN": token})

    def add_job(self) -> None:
        """Give the master the whole web to crawl."""
        (self.folder / "job.toml").write_text(
            f'id = "ledger"\nentries = ["{self.web.entry}"]\nscope = "domain"\n'
            f'sitemaps = "no"\n[traps]\nenabled = false\n[polite]\ndelay = {DELAY_S}\n'
            f'[[sinks]]\ntype = "jsonl"\npath = "{self.out}"\n'
        )
        words = ["job", "add", str(self.folder / "job.toml"), "--data", str(self.data)]
        adding = self.command("add", *words)
        adding.start()
        assert adding.wait(90) == 0, adding.told

    def written(self) -> int:
        return self.out.read_bytes().count(b"\n") if self.out.exists() else 0

    def more(self, number: int, seconds: float = 90) -> None:
        """Wait for so many more records."""
        goal = self.written() + number
        until = time.monotonic() + seconds
        while self.written() < goal:
            assert time.monotonic() < until, self.standing()
            time.sleep(0.02)

    def standing(self) -> str:
        return "\n".join(f"--- {command.name}\n{command.told[-900:]}" for command in self.commands)

    def problems(self) -> list[str]:
        asked = self.web.asked()
        clashes = [*overlaps(asked), *rushes(asked, DELAY_S)]
        broken = [
            f"{command.name} broke: {command.told[-2000:]}"
            for command in self.commands
            if "internal error" in command.told
        ]
        return [*map(str, clashes), *record_problems(self.web, records_in(self.out)), *broken]


WITH_TOKEN = {"SKITTER_TOKEN": TOKEN}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "hosts").write_text(WEB.hosts_file())
    with LedgerWeb(WEB, tmp_path / "asked") as web:
        site = Site(tmp_path, web, [])
        try:
            yield site
        finally:
            for command in site.commands:
                command.kill()


def workers_of(command: Command) -> list[int]:
    """Return the workers a command has started, by their numbers; its service is none."""
    return [pid for pid in children_of(command) if not serves_people(pid)]


def children_of(command: Command) -> list[int]:
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text()
    return [int(number) for number in children.split()]


def serves_people(pid: int) -> bool:
    try:
        return "skitter.api" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        # It has ended, as workers do.
        return False


def wait_for_workers(site: Site, command: Command, number: int) -> list[int]:
    until = time.monotonic() + 90
    while len(workers := workers_of(command)) < number:
        assert time.monotonic() < until, site.standing()
        time.sleep(0.05)
    return workers


def is_there(pid: int) -> bool:
    return Path(f"/proc/{pid}/cmdline").exists() and (
        "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    )


def seen_of(pid: int) -> str:
    """Return what everybody may see of a process, and what only its owner may: its environment."""
    return "".join(
        Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
        for name in ("cmdline", "environ")
    )


@pytest.mark.timeout(0 if SOAK else 900)
def test_workers_of_a_crawl_are_killed_and_paused_and_nothing_is_lost(site: Site) -> None:
    crawl = site.crawl(workers=2)
    crawl.start()
    wait_for_workers(site, crawl, 2)
    site.more(10)
    for _ in range(KILLS):
        killed = wait_for_workers(site, crawl, 2)[0]
        os.kill(killed, signal.SIGKILL)
        site.more(6)
    paused = wait_for_workers(site, crawl, 2)[-1]
    os.kill(paused, signal.SIGSTOP)
    time.sleep(SILENCE_S)
    os.kill(paused, signal.SIGCONT)
    assert crawl.wait(300) == 0, site.standing()
    assert site.problems() == []
    assert "signal SIGKILL" in crawl.told


@pytest.mark.timeout(0 if SOAK else 900)
def test_workers_end_with_their_crawl_and_the_same_command_goes_on(site: Site) -> None:
    crawl = site.crawl(workers=2)
    for _ in range(KILLS):
        crawl.start()
        workers = wait_for_workers(site, crawl, 2)
        site.more(12)
        crawl.kill()
        until = time.monotonic() + 30
        while any(map(is_there, workers)):
            assert time.monotonic() < until, "workers outlive the crawl they work for"
            time.sleep(0.05)
    crawl.start()
    assert crawl.wait(300) == 0, site.standing()
    assert site.problems() == []


def all_there(site: Site, seconds: float) -> None:
    """Wait until no page is missing, and let the master say that nothing is left to do."""
    until = time.monotonic() + seconds
    while any("lost: " in line for line in record_problems(site.web, records_so_far(site.out))):
        assert time.monotonic() < until, site.standing()
        time.sleep(0.2)
    showing = site.command("show", "job", "show", "ledger", "--data", str(site.data), "--json")
    showing.start()
    assert showing.wait(90) == 0, showing.told
    facts = json.loads((showing.folder / "show.out").read_text())
    assert (facts["queued"], facts["leased"]) == (0, 0)


@pytest.mark.timeout(0 if SOAK else 900)
def test_nodes_wait_for_a_master_that_was_killed_and_go_on(site: Site) -> None:
    port = free_port()
    master = site.master(port)
    master.start()
    nodes = [site.node("near", port), site.node("far", port)]
    wait_for_socket(site)
    site.add_job()
    for node in nodes:
        node.start()
    for _ in range(KILLS // 2):
        site.more(10)
        master.kill()
        # Longer than a child is silent: it must not go on with leases of before.
        time.sleep(SILENCE_S)
        master.start()
        site.more(4)
    all_there(site, 180)
    assert [node.started for node in nodes] == [1, 1]
    assert all(node.up for node in nodes), site.standing()
    assert [node.leave() for node in nodes] == [INTERRUPTED, INTERRUPTED]
    assert site.problems() == []


def wait_for_socket(site: Site) -> None:
    until = time.monotonic() + 90
    while not (site.data / "frontier.sock").exists():
        assert time.monotonic() < until, site.standing()
        time.sleep(0.05)


@pytest.mark.timeout(0 if SOAK else 900)
def test_a_node_leaves_when_it_was_idle_and_one_with_a_wrong_token_is_refused(site: Site) -> None:
    port = free_port()
    master = site.master(port, workers=1)
    master.start()
    wait_for_socket(site)
    idle = site.node("idle", port, "--idle-exit", "3")
    idle.start()
    stranger = site.node("stranger", port, token="another-token")
    stranger.start()
    assert stranger.wait(90) == BAD_INPUT, site.standing()
    [line] = stranger.told.splitlines()
    assert "token" in line
    assert "another-token" not in line
    assert idle.wait(90) == 0, site.standing()
    assert "left the cluster: idle" in idle.told
    assert master.leave() == INTERRUPTED


def visible(site: Site, command: Command, number: int) -> Sequence[str]:
    wait_for_workers(site, command, number)
    time.sleep(0.5)
    return [seen_of(pid) for pid in children_of(command)]


@pytest.mark.timeout(0 if SOAK else 900)
def test_a_child_of_a_master_holds_no_key_to_a_store(site: Site) -> None:
    store = f"redis://:{SECRET}@127.0.0.1:1/"
    port = free_port()
    up = ["up", "--data", str(site.data), "--port", str(port), "--workers", "1", *site.reach]
    master = site.command("up", *up, env={**WITH_TOKEN, "SKITTER_STORE": store})
    master.start()
    for seen in visible(site, master, 1):
        assert SECRET not in seen
        assert TOKEN not in seen, "the socket asks for none"
    assert master.leave() == INTERRUPTED


@pytest.mark.timeout(0 if SOAK else 900)
def test_the_workers_of_a_node_show_nobody_the_password_of_their_store(
    site: Site, tmp_path: Path
) -> None:
    with start_redis(tmp_path / "redis", options={"requirepass": SECRET}) as store:
        node = site.command(
            "node", "node", "--workers", "2", "--name", "box", env={"SKITTER_STORE": store.url}
        )
        node.start()
        for pid in wait_for_workers(site, node, 2):
            command_line = Path(f"/proc/{pid}/cmdline").read_bytes().decode()
            assert SECRET not in command_line
            assert "redis://" not in command_line
        time.sleep(1)
        killed = wait_for_workers(site, node, 2)[0]
        os.kill(killed, signal.SIGKILL)
        wait_until("the end of one", lambda: killed not in workers_of(node))
        assert len(wait_for_workers(site, node, 2)) == 2
        assert node.up, node.told
        assert node.leave() == INTERRUPTED
        assert SECRET not in node.told
