"""A master, its workers, and nodes that know its address and token alone."""

import json
import signal
import socket
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import (
    Background,
    ManyHosts,
    command_line,
    each_once,
    environment,
    gone,
)
from crawling import command, lines_in
from killable import family

from skitter.frontier.remote import client
from skitter.frontier.remote.link import Patience

pytestmark = pytest.mark.e2e


class Master:
    """``skitter up`` on a directory, over all the times it is started."""

    def __init__(self, folder: Path, site: ManyHosts, workers: int = 1) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data = folder / "state"
        self.hosts = folder / "hosts"
        self.hosts.write_text(site.hosts_file)
        self._workers = workers
        self.port = 0

    def start(
        self, *words: str, env: Mapping[str, str] | None = None, port: int | None = None
    ) -> Background:
        reach = ("--allow-private", "--hosts", self.hosts, "--workers", str(self._workers))
        listens = ("--port", str(self.port if port is None else port))
        made = Background(self.folder, "up", "--data", self.data, *listens, *reach, *words, env=env)
        made.until_told("listening on ")
        self.port = int(made.told.partition("listening on http://127.0.0.1:")[2].split(";")[0])
        return made

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def token(self) -> str:
        return (self.data / "token").read_text().strip()

    def node(self, *words: str, token: str | None = None, workers: int = 1) -> Background:
        reach = ("--allow-private", "--hosts", self.hosts, "--data", self.folder / "node")
        return Background(
            self.folder,
            "node",
            "--control",
            self.url,
            "--workers",
            str(workers),
            *reach,
            *words,
            env={"SKITTER_TOKEN": self.token if token is None else token},
        )

    def job_file(self, site: ManyHosts, **fields: Any) -> Path:
        given = {
            "id": "many",
            "entries": [site.entry],
            "scope": "domain",
            "sitemaps": "no",
            "polite": {"delay": 0},
            **fields,
        }
        path = self.folder / f"{given['id']}.json"
        path.write_text(json.dumps(given))
        return path

    def add(self, path: Path) -> dict[str, Any]:
        ended = command("job", "add", path, "--data", self.data, "--json")
        assert ended.code == 0, ended
        return dict(json.loads(ended.out))

    def show(self, job: str = "many") -> dict[str, Any]:
        ended = command("job", "show", job, "--data", self.data, "--json")
        assert ended.code == 0, ended
        return dict(json.loads(ended.out))

    def finished(self, job: str = "many") -> Callable[[], bool]:
        return lambda: bool(
            (facts := self.show(job))["pages"]
            and not (facts["queued"] or facts["leased"] or facts["scheduled"])
        )

    def out(self, job: str = "many") -> Path:
        return self.data / "out" / f"{job}.jsonl"


def refused(*words: str | Path) -> str:
    """Run a command that must be refused as bad input; return the one line it says."""
    ended = command(*words)
    assert (ended.code, ended.out) == (2, ""), ended
    [line] = ended.err.splitlines()
    return line


def test_a_master_keeps_its_jobs_over_a_restart_and_takes_them_once(tmp_path: Path) -> None:
    with ManyHosts(6, 12) as site, ExitStack() as stack:
        master = Master(tmp_path, site, workers=2)
        up = stack.enter_context(master.start())
        assert stat.S_IMODE((master.data / "token").stat().st_mode) == 0o600
        assert len(master.token) >= 32
        assert f"the token is in {master.data / 'token'}" in up.told
        assert up.told.count(master.token) == 1, "told once, by the start that made it"
        assert command("job", "list", "--data", master.data).out == "no jobs\n"

        job = master.job_file(site, polite={"delay": 0.4})
        assert master.add(job)["state"] in {"running", "waiting"}
        up.until("records", lambda: lines_in(master.out()) > 20)
        assert "in use by another Skitter process" in refused(
            "up", "--data", master.data, "--port", "0"
        )
        children = family(up.pid)[1:]
        workers = [pid for pid in children if "skitter.api" not in command_line(pid)]
        assert (len(workers), len(children)) == (2, 3)
        assert not [pid for pid in children if master.token in command_line(pid)]
        up.send(signal.SIGKILL)
        assert gone([up.pid, *children]), "workers end with their master"
        before = lines_in(master.out())
        up.kill()

        token = master.token
        again = stack.enter_context(master.start())
        assert master.token == token
        assert token not in again.told
        again.until("the end of the job", master.finished())
        each_once(site, master.out())
        facts = master.add(job)
        assert facts["pages"] == len(site.urls) + 1 > before
        time.sleep(0.5)
        assert master.finished()(), "the same job again changes nothing"
        table = command("job", "list", "--data", master.data).out.splitlines()
        assert table[0].split()[:5] == ["id", "kind", "owner", "state", "priority"]
        assert table[1].split()[3:6] == ["finished", "5", str(facts["pages"])]
        page = command("page", next(iter(site.urls)), "--data", master.data, "--json")
        assert json.loads(page.out)["record"]["outcome"] == "ok", page
        exported = command("job", "export", "many", "--data", master.data)
        assert len(exported.out.splitlines()) == facts["pages"], exported
        assert again.interrupted() == 130
        assert master.show()["state"] == "finished", "the directory tells it as well"


def test_a_node_does_the_work_with_the_token_alone(tmp_path: Path) -> None:
    secret = "redis://user:hunter2@127.0.0.1:1/"
    with ManyHosts(5, 12) as site, ExitStack() as stack:
        master = Master(tmp_path, site, workers=0)
        up = stack.enter_context(master.start(env={"SKITTER_STORE": secret}))
        master.add(master.job_file(site, polite={"delay": 0.05}))
        time.sleep(0.3)
        assert site.asked == [], "a master without workers fetches nothing"

        node = stack.enter_context(master.node("--name", "vega", workers=2))
        node.until("workers", lambda: len(family(node.pid)) >= 3)
        node.until("records", lambda: lines_in(master.out()) > 5)
        for pid in family(node.pid):
            assert master.token not in command_line(pid)
            assert "SKITTER_STORE" not in environment(pid)

        # The master is gone for a while: its child waits and goes on.
        up.kill()
        time.sleep(0.5)
        again = stack.enter_context(master.start())
        again.until("the end of the job", master.finished())
        each_once(site, master.out())
        assert node.interrupted() == 130
        assert master.token not in node.told + again.told


def test_an_idle_node_leaves_by_itself(tmp_path: Path) -> None:
    with ManyHosts(2, 3) as site, ExitStack() as stack:
        master = Master(tmp_path, site, workers=0)
        stack.enter_context(master.start("--token", "chosen-by-hand-1234"))
        assert not (master.data / "token").exists()
        master.add(master.job_file(site))
        for workers in (1, 2):
            node = stack.enter_context(
                master.node("--idle-exit", "3", token="chosen-by-hand-1234", workers=workers)
            )
            assert node.ended() == 0, node.told
            assert "left the cluster: idle" in node.told
            assert master.finished()()
        each_once(site, master.out())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_wrong_token_is_refused_in_one_line(workers: int, tmp_path: Path) -> None:
    with ManyHosts(1, 1) as site, ExitStack() as stack:
        master = Master(tmp_path, site, workers=0)
        stack.enter_context(master.start())
        for token in ("not-the-token", ""):
            node = stack.enter_context(master.node(token=token, workers=workers))
            assert node.ended() == 2
            [line] = node.told.splitlines()
            assert "token" in line
            assert master.token not in line


def test_a_master_that_is_not_there_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(client, "Patience", lambda: Patience(open_s=0.3))
    for workers in ("1", "2"):
        ended = command("node", "--control", "http://127.0.0.1:1", "--workers", workers)
        assert ended.code == 3
        [line] = ended.err.splitlines()
        assert "http://127.0.0.1:1" in line
        assert "is it running" in line
    for bad in ("ftp://x", "http://"):
        ended = command("node", "--control", bad, "--workers", "1")
        assert (ended.code, len(ended.err.splitlines())) == (2, 1), ended


def test_bad_jobs_are_refused_by_field_and_leave_nothing(tmp_path: Path) -> None:
    with ManyHosts(2, 40) as site, ExitStack() as stack:
        master = Master(tmp_path, site, workers=0)
        up = stack.enter_context(master.start())

        def add(**fields: Any) -> str:
            path = master.job_file(site, **fields)
            line = refused("job", "add", path, "--data", master.data)
            assert line.startswith("skitter: ")
            return line

        assert "entries" in add(entries=["not a url"])
        assert "entries: nothing to crawl" in add(entries=[])
        assert "depht" in add(depht=3)
        assert "polite.delay" in add(polite={"delay": -1})
        assert "http.headers.Cookie" in add(http={"headers": {"Cookie": "session=hunter2"}})
        assert "hunter2" not in add(http={"headers": {"Cookie": "session=hunter2"}})
        assert "nowhere" in add(
            sinks=[{"type": "jsonl", "path": str(tmp_path / "nowhere" / "x.jsonl")}]
        )
        taken = tmp_path / "taken.jsonl"
        taken.write_text("somebody's\n")
        assert "taken.jsonl" in add(sinks=[{"type": "jsonl", "path": str(taken)}])
        assert taken.read_text() == "somebody's\n"
        missing = refused("job", "add", tmp_path / "none.toml", "--data", master.data)
        assert "none.toml" in missing
        assert command("job", "list", "--data", master.data).out == "no jobs\n"
        assert "there is none of that id" in refused("job", "show", "x", "--data", master.data)

        master.add(master.job_file(site))
        assert "is there with other settings (depth is" in add(depth=7)
        assert "is there with other settings (its records go to" in add(
            sinks=[{"type": "jsonl", "path": str(tmp_path / "other.jsonl")}]
        )
        assert "job many writes to" in add(
            id="two", sinks=[{"type": "jsonl", "path": str(master.out())}]
        )
        assert [one["id"] for one in jobs(master)] == ["many"]
        assert master.show()["queued"] == 1
        assert up.interrupted() == 130
        again = stack.enter_context(master.start())
        assert [one["id"] for one in jobs(master)] == ["many"], "and it starts again"
        assert again.interrupted() == 130
    assert site.asked == []


def jobs(master: Master) -> list[dict[str, Any]]:
    ended = command("job", "list", "--data", master.data, "--json")
    return [json.loads(line) for line in ended.out.splitlines()]


def test_a_port_or_an_address_that_cannot_be_had_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = command("up", "--data", tmp_path / "a", "--port", str(port), "--workers", "0")
    assert ended.code in {2, 3}, ended
    [line] = ended.err.splitlines()
    assert str(port) in line
    ended = command("up", "--data", tmp_path / "b", "--host", "192.0.2.1", "--workers", "0")
    assert ended.code in {2, 3}, ended
    [line] = ended.err.splitlines()
    assert "192.0.2.1" in line
    (tmp_path / "file").write_text("")
    ended = command("up", "--data", tmp_path / "file", "--workers", "0")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1), ended


def test_a_token_that_is_too_easy_or_no_word_is_refused(tmp_path: Path) -> None:
    for token in ("a b", "käse", "x\ty"):
        ended = command("up", "--data", tmp_path / "s", "--token", token, "--workers", "0")
        assert ended.code == 2, ended
        [line] = ended.err.splitlines()
        assert "token" in line
        assert token not in line
