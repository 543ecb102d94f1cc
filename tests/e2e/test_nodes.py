"""Nodes from afar: workers started, stopped, killed and read on machines that share a store."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, ManyHosts, environment, gone
from crawling import Ended, command
from killable import family
from stores import PATIENCE_S, own_store, shared_redis, start_redis, wait_until

pytestmark = pytest.mark.e2e
Row = dict[str, Any]


class Machine:
    """``skitter node`` on a directory of its own, over all the times it is started."""

    def __init__(self, folder: Path, name: str, url: str, *words: str) -> None:
        self.folder = folder / name
        self.name = name
        self.url = url
        self.words = words
        self.data = self.folder / "data"

    def start(self) -> Background:
        words: list[str | Path] = ["--name", self.name, "--data", self.data, "--allow-private"]
        words += self.words
        return Background(self.folder, "node", *words, env={"SKITTER_STORE": self.url})


class Afar:
    """A third place that knows the store and nothing else."""

    def __init__(self, url: str) -> None:
        self.url = url

    def tell(self, *words: str) -> Ended:
        return command("nodes", *words, "--store", self.url)

    def told(self, *words: str) -> list[Row]:
        ended = self.tell(*words, "--json")
        assert ended.code == 0, ended
        return [json.loads(line) for line in ended.out.splitlines()]

    def refused(self, *words: str, code: int = 2) -> str:
        ended = self.tell(*words)
        assert (ended.code, ended.out) == (code, ""), ended
        [line] = ended.err.splitlines()
        return line

    def rows(self, node: str, state: str = "running") -> list[Row]:
        return [
            row
            for row in self.told("list")
            if row["node"] == node and row["state"] == state and (row["pid"] or state != "running")
        ]

    def until(self, what: str, is_so: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        try:
            wait_until(what, is_so, seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.tell('list').out}") from None

    def running(self, node: str, count: int) -> list[Row]:
        """Wait until so many workers of a node run and have joined."""

        def joined() -> bool:
            rows = self.rows(node)
            return len(rows) == count and all(row["health"] == "ok" for row in rows)

        self.until(f"{count} workers on {node}", joined)
        return self.rows(node)

    def worker(self, node: str, number: int) -> Row:
        [facts] = self.told("show", node)
        [found] = [one for one in facts["workers"] if one["worker"] == number]
        return dict(found)


def processes(node: Background) -> list[int]:
    return [pid for pid in family(node.pid) if pid != node.pid]


def test_workers_are_started_watched_and_stopped_on_two_machines_from_a_third(
    tmp_path: Path,
) -> None:
    url = own_store()
    afar = Afar(url)
    with ExitStack() as stack:
        east = Machine(tmp_path, "east", url, "--workers", "0", "--max-workers", "3")
        west = Machine(tmp_path, "west", url, "--workers", "0", "--max-workers", "2")
        nodes = {one.name: stack.enter_context(one.start()) for one in (east, west)}
        afar.until("two nodes", lambda: len(afar.told("list")) == 2)
        for name in ("east", "west"):
            started = afar.told("start", name, "--count", "3", "--kind", "site", "--priority", "7")
            assert [row["worker"] for row in started] == [1, 2, 3]
        before = afar.running("east", 3)
        afar.running("west", 2)
        assert sum(row["share"] for row in afar.told("list") if row["share"]) == pytest.approx(1)
        [waits] = afar.rows("west", "waiting")
        assert (waits["worker"], waits["kind"], waits["priority"]) == (3, "site", 7)
        assert len(processes(nodes["west"])) == 2

        # A worker that is killed is started again, under its number.
        victim = before[0]
        os.kill(victim["pid"], signal.SIGKILL)
        afar.until(
            "another process",
            lambda: afar.worker("east", victim["worker"])["restarts"] == 1,
        )
        afar.running("east", 3)
        again = afar.worker("east", victim["worker"])
        assert (again["exit_reason"], again["state"]) == ("signal SIGKILL", "running")
        assert again["pid"] != victim["pid"]

        # Logs are read from here: of the worker, of its manager, of all.
        said = afar.tell("logs", "east", "0").out
        assert f"worker {victim['worker']} ended (signal SIGKILL); again in " in said
        assert f"worker {victim['worker']} begins as process {again['pid']}" in said
        assert "manager    | " in afar.tell("logs", "east").out

        # A manager that is killed takes its workers with it; the others go on.
        held = processes(nodes["east"])
        others = {row["pid"] for row in afar.rows("west")}
        nodes["east"].kill()
        assert gone(held)
        afar.until("word of it", lambda: {row["health"] for row in afar.rows("east")} == {"away"})
        assert {row["pid"] for row in afar.rows("west")} == others
        assert "node east: it is away" in afar.refused("start", "east", code=3)

        # It goes on with its list where it was.
        nodes["east"].start()
        running = afar.running("east", 3)
        assert [row["worker"] for row in running] == [4, 5, 6]
        assert [afar.worker("east", n)["follows"] for n in (4, 5, 6)] == [1, 2, 3]
        for number in (1, 2, 3):
            ended = afar.worker("east", number)
            assert (ended["state"], ended["exit_reason"]) == ("finished", "its manager ended")
        assert len(processes(nodes["east"])) == 3

        # Room for the one that waits.
        assert afar.told("stop", "west", "1")[0]["state"] == "stopping"
        afar.until("its turn", lambda: [row["worker"] for row in afar.running("west", 2)] == [2, 3])
        stopped = afar.worker("west", 1)
        assert (stopped["state"], stopped["exit_reason"]) == ("finished", "stopped")
        assert "worker 1: it is gone already: stopped" in afar.refused("stop", "west", "1")
        assert nodes["west"].interrupted() == 130
        afar.until("its end", lambda: afar.told("list")[-1]["state"] == "stopped")


def test_the_limit_holds_when_a_manager_is_killed_and_started_at_once(tmp_path: Path) -> None:
    url = own_store()
    afar = Afar(url)
    machine = Machine(tmp_path, "box", url, "--workers", "2", "--max-workers", "2")
    with machine.start() as node:
        afar.running("box", 2)
        held = processes(node)
        node.kill()
        node.start()
        most = 0
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            living = [pid for pid in held if not gone([pid], 0)]
            new = [pid for pid in processes(node) if pid not in held]
            most = max(most, len(living) + len(new))
            if len(new) == 2:
                break
            time.sleep(0.05)
        assert most == 2
        afar.running("box", 2)


def test_bad_orders_are_named_and_change_nothing(tmp_path: Path) -> None:
    url = own_store()
    afar = Afar(url)
    assert afar.tell("list").out == "no nodes\n"
    assert "node east: there is none; nobody has used this store yet" in afar.refused(
        "show", "east"
    )
    with Machine(tmp_path, "east", url, "--workers", "0").start() as node:
        afar.until("the node", lambda: bool(afar.told("list")))
        before = afar.told("show", "east")[0]["workers"]
        refusals = [
            (("start", "eest"), "node eest: there is none of that name; did you mean east?"),
            (("stop", "west", "1"), "node west: there is none of that name"),
            (("logs", "zzz"), "node zzz: there is none of that name; known: east"),
            (("show", "zzz"), "node zzz: there is none of that name; known: east"),
            (("stop", "east", "9"), "node east: worker 9: there is none of that number"),
            (("stop", "east", "nine"), "Invalid value for 'WORKER'"),
            (("logs", "east", "9"), "node east: worker 9: there is none of that number"),
            (("start", "east", "--kind", "sites"), "kind 'sites'; wanted all, list, site"),
            (("start", "east", "--priority", "10"), "priority 10; wanted 0 (last) to 9 (first)"),
            (("start", "east", "--count", "0"), "count 0; wanted 1 or more"),
            (("start", "east", "--count", "2000"), "count 2000: 0 workers are listed; wanted 1"),
        ]
        for words, said in refusals:
            assert said in afar.refused(*words)
        key = f"{{{url.partition('?namespace=')[2]}}}:buried"
        shared_redis("redis").cli("HSET", key, "hosts", 1204, "robots", 3)
        told = afar.tell("list").out.splitlines()
        assert told[-1] == "idle and no longer kept: 1,204 hosts, 3 robots.txt rules"
        assert len(afar.told("list")) == 1
        assert afar.told("show", "east")[0]["workers"] == before == []
        twin = Background(
            tmp_path / "twin", "node", "--name", "east", "--store", url, "--workers", "0"
        )
        with twin:
            assert twin.ended() == 2
            assert "node name 'east': another one on" in twin.told
        assert node.up
    assert command("nodes", "list", "--data", tmp_path / "none").code == 2
    both = command("nodes", "list", "--data", tmp_path, "--store", url)
    assert (both.code, "wanted one of them" in both.err) == (2, True)


def test_no_secret_is_in_lists_or_logs(tmp_path: Path) -> None:
    options = {"requirepass": "hunter2", "appendonly": "yes"}
    with start_redis(tmp_path / "store", options=options) as store:
        afar = Afar(store.url)
        machine = Machine(tmp_path, "box", store.url, "--workers", "1")
        with machine.start() as node:
            [worker] = afar.running("box", 1)
            assert environment(worker["pid"])["SKITTER_STORE"] == store.url
            store.stop()
            node.until("word of the outage", lambda: f":{store.port}" in node.told)
            store.start()
            afar.running("box", 1)
            shown = [afar.tell("logs", "box").out, afar.tell("show", "box").out]
            shown += [afar.tell("show", "box", "--json").out, node.told]
        kept = [path for path in machine.data.rglob("*") if path.is_file()]
        assert any(path.name == "workers.json" for path in kept)
        shown += [path.read_text(errors="replace") for path in kept]
        assert not any("hunter2" in text for text in shown)


def test_logs_are_followed_from_afar(tmp_path: Path) -> None:
    url = own_store()
    afar = Afar(url)
    machine = Machine(tmp_path, "box", url, "--workers", "1")
    with machine.start():
        [worker] = afar.running("box", 1)
        log = Path(afar.worker("box", 1)["log"])
        log.write_text("first\nsecond\n")
        assert afar.tell("logs", "box", "1", "--lines", "1").out == "second\n"
        words = ("nodes", "logs", "box", "1", "--follow", "--store", url)
        with Background(tmp_path / "reader", *words) as reader:
            reader.until("the first lines", lambda: "second" in reader.output)
            with log.open("a") as file:
                file.write("third\n")
            reader.until("what comes", lambda: "third" in reader.output)
            assert reader.output == "first\nsecond\nthird\n"
            assert reader.interrupted() == 130
        assert worker["pid"]


@pytest.fixture
def site() -> Iterator[ManyHosts]:
    with ManyHosts(16, 12) as made:
        yield made


def test_a_crawl_goes_on_while_workers_come_and_go_and_is_watched(
    tmp_path: Path, site: ManyHosts
) -> None:
    url = own_store()
    afar = Afar(url)
    run = site.run(tmp_path / "crawl", "--store", url, "--delay", "0.5")
    hosts = ("--hosts", str(tmp_path / "crawl" / "hosts"))
    machine = Machine(tmp_path, "box", url, "--workers", "1", *hosts)
    with ExitStack() as stack:
        node = stack.enter_context(machine.start())
        afar.running("box", 1)
        crawl = stack.enter_context(Background(tmp_path / "crawl", *run.command()[1:]))
        watch = stack.enter_context(
            Background(tmp_path / "watch", "nodes", "list", "--watch", "--store", url)
        )
        afar.until("work", lambda: any(row["pages"] for row in afar.rows("box")))
        afar.told("start", "box")
        afar.running("box", 2)
        afar.told("stop", "box", "1")
        assert crawl.ended() == 0
        rows = afar.told("list")
        assert sum(row["pages"] for row in rows) > 0
        watch.until("a table", lambda: watch.output.count("PAGES/MIN") >= 2)
        assert "running" in watch.output
        assert watch.interrupted() == 130
        assert node.up
    lines = run.out.read_bytes().splitlines()
    assert len(lines) == len({json.loads(line)["url"] for line in lines}) == len(site.urls) + 1


def test_a_master_and_its_nodes_are_one_list(tmp_path: Path) -> None:
    data = tmp_path / "state"
    words = ("--data", data, "--port", "0", "--workers", "1", "--max-workers", "2")
    with ExitStack() as stack:
        up = stack.enter_context(Background(tmp_path, "up", *words))
        up.until_told("listening on ")
        port = int(up.told.partition("listening on http://127.0.0.1:")[2].split(";")[0])
        node = stack.enter_context(
            Background(
                tmp_path / "node",
                "node",
                "--control",
                f"http://127.0.0.1:{port}",
                "--name",
                "far",
                "--workers",
                "1",
                env={"SKITTER_TOKEN": (data / "token").read_text().strip()},
            )
        )

        def rows(name: str) -> list[Row]:
            ended = command("nodes", "list", "--data", data, "--json")
            assert ended.code == 0, ended
            found = [json.loads(line) for line in ended.out.splitlines()]
            return [row for row in found if row["node"] == name and row["pid"]]

        up.until("both", lambda: bool(rows("up")) and bool(rows("far")))
        for name in ("up", "far"):
            assert command("nodes", "start", name, "--data", data).code == 0
            up.until(f"another on {name}", lambda: len(rows(name)) == 2)  # noqa: B023
        ended = command("nodes", "stop", "far", "1", "--data", data)
        assert (ended.code, ended.out) == (0, "worker 1 of far: stopping\n")
        up.until("its end", lambda: [row["worker"] for row in rows("far")] == [2])
        assert command("nodes", "stop", "far", "1", "--data", data).code == 2
        assert "worker 1 begins as process" in command("nodes", "logs", "far", "--data", data).out
        assert node.interrupted() == 130
        assert up.interrupted() == 130
    # What is on disk is told when nothing runs.
    ended = command("nodes", "show", "up", "--data", data)
    assert ended.code == 0
    assert "its node was stopped" in ended.out
    refused = command("nodes", "start", "up", "--data", data)
    assert (refused.code, refused.err) == (
        3,
        "skitter: node up: it does not run; nothing was changed\n",
    )
