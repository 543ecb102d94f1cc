"""``skitter nodes``: tables a person can read, and what is said without a store."""

from pathlib import Path

import pytest
from crawling import command

from skitter.cli.nodes_run import HEADS, _lines, table
from skitter.cluster.manager.ledger import Kept, Ledger
from skitter.cluster.manager.roster import Roster
from skitter.testing.virtual_clock import VirtualClock


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("SKITTER_STORE", raising=False)
    return tmp_path


def row(**facts: object) -> dict[str, object]:
    given = {
        "node": "east",
        "worker": 1,
        "member": "east-1",
        "kind": "all",
        "state": "running",
        "pages_per_minute": 1234.5,
        "share": 0.25,
        "backlog": 12_000,
        "health": "ok",
        "heartbeat_s": 0.4,
        "trouble": "",
        "pid": 4711,
        "restarts": 0,
        "since": "2026-01-02T03:04:05Z",
    }
    return {**given, **facts}


def test_a_table_is_aligned_and_says_only_what_is_known() -> None:
    lines = table(
        [
            row(),
            row(worker=2, state="waiting", share=None, backlog=None, pid=None, health="waiting"),
            row(
                node="vega",
                worker=None,
                member="vega-77",
                health="silent",
                heartbeat_s=3.2,
                managed=False,
            ),
            row(worker=3, restarts=1, trouble="the store is away"),
        ]
    )
    assert tuple(lines[0].split()) == HEADS
    assert lines[1].split()[:8] == [
        "east", "1", "all", "running", "1,234", "25.0%", "12,000", "ok",
    ]  # fmt: skip
    assert lines[2].split()[:7] == ["east", "2", "all", "waiting", "-", "-", "-"]
    assert "silent for 3 s" in lines[3]
    assert "vega-77" in lines[3]
    assert "takes no orders" in lines[3]
    assert "orders" not in lines[1]
    assert "ok (1 restart) - the store is away" in lines[4]
    assert table([]) == ["no nodes"]


def test_lines_of_several_logs_are_in_the_order_of_their_times() -> None:
    told = [
        {"worker": 0, "text": "2026-01-01T00:00:01Z begins\n2026-01-01T00:00:03Z ends\n"},
        {"worker": 3, "text": "2026-01-01T00:00:02Z crash\n  of what\n"},
    ]
    assert [line.split()[-1] for _, line in _lines(told)] == ["begins", "crash", "what", "ends"]


def refused(*words: str | Path) -> str:
    ended = command("nodes", *words)
    assert (ended.code, ended.out) == (2, ""), ended
    [line] = ended.err.splitlines()
    return line


def test_a_directory_without_nodes_is_named(here: Path) -> None:
    (here / "state").mkdir()
    assert "no node has run there" in refused("list", "--data", "state")
    assert "no such state directory" in refused("list", "--data", "nowhere")
    assert "wanted --data DIR, --store URL, or --api URL" in refused("list")
    assert "wanted one of them" in refused("list", "--data", "state", "--store", "redis://h")


def test_what_a_manager_left_on_disk_is_told_without_it(here: Path) -> None:
    clock = VirtualClock()
    roster = Roster(2, clock)
    roster.want(kind="news", count=2)
    roster.begin(1)
    roster.end(1, 0, "exit code 0")
    ledger = Ledger.take(here / ".skitter" / "up")
    ledger.write(Kept(name="box", machine="vega", limit=2, roster=roster.stored))
    ledger.log_of(1).write_text("one\ntwo\n")
    ledger.close()
    (here / ".skitter" / "other").mkdir()
    assert "box" in command("nodes", "list").out, "the usual directory"
    shown = command("nodes", "show", "box").out
    assert "ended by itself" in shown
    assert "stopped" in shown
    assert command("nodes", "logs", "box", "1", "--lines", "1").out == "two\n"
    assert "node bax: there is none of that name; known: box" in refused("show", "bax")
    assert "worker 9: there is none of that number" in refused("logs", "box", "9")
    ended = command("nodes", "stop", "box", "2")
    assert (ended.code, ended.err) == (
        3,
        "skitter: node box: it does not run; nothing was changed\n",
    )
