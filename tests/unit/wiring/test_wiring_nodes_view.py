"""Rows of nodes, workers and members, from what is known of them."""

import msgspec
import pytest

from skitter.cluster.manager.notices import Pulse, Reading, Report
from skitter.cluster.manager.orders import NodeState
from skitter.cluster.manager.roster import ListedWorker, State
from skitter.url.partition import SLOTS
from skitter.wiring.nodes_view import (
    FORGET_MS,
    Everyone,
    Facts,
    KnownMember,
    facts_of,
    members_by_name,
    rows_of,
)

NOW = 1_750_000_000_000


def node(
    *workers: ListedWorker,
    name: str = "east",
    silent_ms: int | None = 500,
    stopped: bool = False,
    readings: dict[int, Reading] | None = None,
) -> NodeState:
    report = Report(
        name=name, session="s", machine="box", pid=7, limit=4, stopped=stopped, workers=workers
    )
    pulse = Pulse(session="s", at_ms=NOW, workers=readings or {}, queued=12)
    return NodeState(report, silent_ms, pulse)


def running(number: int, **changes: object) -> ListedWorker:
    worker = ListedWorker(
        id=number, state=State.RUNNING, pid=100 + number, starts=1, started_ms=NOW - 60_000
    )
    return msgspec.structs.replace(worker, **changes)


def one(rows: list[Facts], worker: int) -> Facts:
    [found] = [row for row in rows if row["worker"] == worker]
    return found


def test_a_worker_is_told_of_by_its_node_and_by_the_table_of_members() -> None:
    readings = {1: Reading(pages=30, per_minute=12.5, in_flight=3, member="east-1")}
    member = KnownMember(name="east-1", silent_ms=200, slots=SLOTS // 4, hosts=9)
    everyone = Everyone(
        now_ms=NOW,
        nodes=[node(running(1), running(2, starts=3), readings=readings)],
        members=members_by_name([member]),
        has_table=True,
    )
    rows = rows_of(everyone)
    row = one(rows, 1)
    assert (row["pages_per_minute"], row["share"], row["backlog"]) == (12.5, 0.25, 9)
    assert (row["health"], row["heartbeat_s"], row["pid"]) == ("ok", 0.2, 101)
    assert row["since"] == "2025-06-15T15:05:40Z"
    row = one(rows, 2)
    assert (row["health"], row["restarts"], row["share"]) == ("joining", 2, None)


def test_a_node_that_was_killed_is_not_joining() -> None:
    readings = {1: Reading(member="m")}
    nodes = [node(running(1), silent_ms=3_000, readings=readings)]
    [row] = rows_of(Everyone(now_ms=NOW, nodes=nodes, has_table=True))
    assert (row["health"], row["heartbeat_s"]) == ("silent", 3.0)


@pytest.mark.parametrize(
    ("worker", "silent_ms", "member_silent_ms", "health"),
    [
        (running(1), 500, 200, "ok"),
        (running(1), 500, 2_000, "silent"),
        (running(1), 3_000, 200, "silent"),
        (running(1, state=State.STOPPING), 3_000, 200, "silent"),
        (running(1), 60_000, 200, "away"),
        (running(1), None, 200, "away"),
        (running(1, state=State.RESTING, ended="signal SIGKILL"), 500, 200, "resting"),
        (running(1, state=State.STOPPING), 500, 200, "stopping"),
        (ListedWorker(id=1), 500, 200, "waiting"),
    ],
)
def test_how_a_worker_is_is_said_in_a_word(
    worker: ListedWorker, silent_ms: int | None, member_silent_ms: int, health: str
) -> None:
    readings = {1: Reading(member="m")}
    everyone = Everyone(
        now_ms=NOW,
        nodes=[node(worker, silent_ms=silent_ms, readings=readings)],
        members=members_by_name([KnownMember(name="m", silent_ms=member_silent_ms)]),
        has_table=True,
    )
    [row] = rows_of(everyone)
    assert row["health"] == health
    assert (row["trouble"] == "signal SIGKILL") is (health == "resting")


def test_nodes_without_workers_are_rows_and_old_ones_are_not() -> None:
    nodes = [
        node(name="idle"),
        node(running(1), name="stopped", stopped=True),
        node(name="away", silent_ms=60_000),
        node(name="old", silent_ms=FORGET_MS),
    ]
    rows = rows_of(Everyone(now_ms=NOW, nodes=nodes))
    assert [(row["node"], row["state"], row["worker"]) for row in rows] == [
        ("idle", "idle", None),
        ("stopped", "stopped", None),
        ("away", "away", None),
    ]


def test_members_without_a_manager_are_rows_of_their_own() -> None:
    crawl = KnownMember(
        name="vega-1", node="vega", since_ms=NOW - 120_000, pages=60, slots=SLOTS, hosts=1
    )
    everyone = Everyone(
        now_ms=NOW,
        nodes=[node(running(1), readings={1: Reading(member="east-1")})],
        members=members_by_name([crawl, KnownMember(name="east-1"), KnownMember(name="east")]),
    )
    rows = rows_of(everyone)
    assert len(rows) == 2, "the worker is not told of twice, nor is its manager's own session"
    stray = rows[1]
    assert (stray["member"], stray["node"], stray["pages_per_minute"]) == ("vega-1", "vega", 30.0)
    assert (stray["share"], stray["state"]) == (1.0, "running")
    assert (rows[0]["managed"], stray["managed"]) == (True, False)


def test_a_node_is_shown_with_its_history() -> None:
    ended = ListedWorker(
        id=1, state=State.FINISHED, wanted=False, ended="stopped", ended_ms=NOW, log="/x/1.log"
    )
    follower = running(2, follows=1, arguments=("node", "--place", "1"))
    facts = facts_of(node(ended, follower), Everyone(now_ms=NOW))
    assert (facts["health"], facts["limit"], facts["queued"]) == ("ok", 4, 12)
    workers = facts["workers"]
    assert isinstance(workers, list)
    assert (workers[0]["exit_reason"], workers[0]["log"]) == ("stopped", "/x/1.log")
    assert (workers[0]["health"], workers[0]["ended"]) == ("ended", "2025-06-15T15:06:40Z")
    assert (workers[1]["follows"], workers[1]["arguments"]) == (1, ["node", "--place", "1"])
