"""The workers of all nodes as rows, put together from what is known of them.

A node tells of its workers; where members meet in a table, that tells of their slots. Members that
no manager has started, such as a ``skitter crawl``, are rows as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from skitter.cluster.manager.notices import Reading
from skitter.cluster.manager.orders import NodeState
from skitter.cluster.manager.roster import ALL_KINDS, ListedWorker, State
from skitter.url.partition import SLOTS

Facts = dict[str, object]
SILENT = "silent"
WORRY_MS = 1_500
"""A member that has been silent for this long is worth a word."""
NODE_WORRY_MS = 2_500
"""The same of a node, whose signs of life are two seconds apart."""
FORGET_MS = 7 * 86_400_000
"""A node that has been silent for this long is not listed any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownMember:
    """One member, as the table or the master knows it."""

    name: str
    node: str = ""
    silent_ms: int = 0
    since_ms: int = 0
    pages: int = 0
    in_flight: int = 0
    slots: int | None = None
    """None where all share everything."""
    hosts: int | None = None
    """With work, in its slots."""
    draining: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Everyone:
    """What is known at one moment."""

    now_ms: int
    nodes: Sequence[NodeState] = ()
    members: Mapping[str, KnownMember] = field(default_factory=dict)
    """By their names."""
    has_table: bool = False
    """Whether all members are in ``members``."""


def rows_of(everyone: Everyone) -> list[Facts]:
    """Return a row for every worker that has not ended, and for nodes without one."""
    rows: list[Facts] = []
    managed: set[str] = set()
    for node in everyone.nodes:
        if node.silent_ms is None or node.silent_ms < FORGET_MS:
            rows += _rows_of_node(node, everyone, managed)
        managed.add(node.name)
    strays = [member for name, member in everyone.members.items() if name not in managed]
    return rows + [_stray(member, everyone.now_ms) for member in strays]


def facts_of(node: NodeState, everyone: Everyone) -> Facts:
    """Return everything about one node, with those of its workers that have ended."""
    report = node.report
    return {
        "node": node.name,
        "health": node.health,
        "heartbeat_s": _seconds(node.silent_ms),
        "machine": report.machine,
        "pid": report.pid,
        "since": _time(report.since_ms),
        "limit": report.limit,
        "queued": node.pulse.queued,
        "workers": [
            {**_row(worker, node, everyone), **_history(worker)} for worker in report.workers
        ],
    }


def worker_facts(worker: ListedWorker) -> Facts:
    """Return what a node has said of one worker."""
    return {
        "worker": worker.id,
        "kind": worker.kind,
        "priority": worker.priority,
        "state": worker.state.value,
        "wanted": worker.wanted,
        "pid": worker.pid or None,
        **_history(worker),
    }


def _rows_of_node(node: NodeState, everyone: Everyone, managed: set[str]) -> list[Facts]:
    active = [one for one in node.report.workers if one.state is not State.FINISHED]
    if node.report.stopped:
        active = []
    managed.update(reading.member for reading in node.pulse.workers.values())
    if active:
        return [_row(worker, node, everyone) for worker in active]
    nobody = _columns(node.name, None)
    nobody |= {"state": "idle" if node.is_there else node.health, "health": node.health}
    return [{**nobody, "heartbeat_s": _seconds(node.silent_ms), "pid": node.report.pid or None}]


def _row(worker: ListedWorker, node: NodeState, everyone: Everyone) -> Facts:
    reading = node.pulse.workers.get(worker.id, Reading())
    member = everyone.members.get(reading.member) if reading.member else None
    began = worker.started_ms if worker.state is not State.WAITING else worker.added_ms
    row = _columns(node.name, worker.id)
    row |= {
        "member": reading.member,
        "kind": worker.kind,
        "priority": worker.priority,
        "state": worker.state.value,
        "wanted": worker.wanted,
        "pages": reading.pages,
        "pages_per_minute": reading.per_minute,
        "in_flight": reading.in_flight,
        "health": _health(worker, node, member, everyone),
        "heartbeat_s": _seconds(node.silent_ms if member is None else member.silent_ms),
        "trouble": reading.note or (worker.ended if worker.state is State.RESTING else ""),
        "pid": worker.pid or None,
        "restarts": max(0, worker.starts - 1),
        "since": _time(began),
    }
    return row | _owned(member)


def _health(
    worker: ListedWorker, node: NodeState, member: KnownMember | None, everyone: Everyone
) -> str:
    if worker.state is State.FINISHED:
        return "ended"
    if not node.is_there:
        return node.health
    if node.silent_ms is not None and node.silent_ms > NODE_WORRY_MS:
        return SILENT
    if worker.state is not State.RUNNING:
        return worker.state.value
    if member is None:
        return "joining" if everyone.has_table else "ok"
    return SILENT if member.silent_ms > WORRY_MS else "ok"


def _stray(member: KnownMember, now_ms: int) -> Facts:
    row = _columns(member.node, None)
    minutes = max(1, now_ms - member.since_ms) / 60_000 if member.since_ms else 0
    row |= {
        "member": member.name,
        "kind": ALL_KINDS,
        "state": "stopping" if member.draining else "running",
        "pages": member.pages,
        "pages_per_minute": round(member.pages / minutes, 1) if minutes else 0.0,
        "in_flight": member.in_flight,
        "health": SILENT if member.silent_ms > WORRY_MS else "ok",
        "heartbeat_s": _seconds(member.silent_ms),
        "since": _time(member.since_ms),
        "managed": False,
    }
    return row | _owned(member)


def _owned(member: KnownMember | None) -> Facts:
    if member is None or member.slots is None:
        return {}
    share = round(member.slots / SLOTS, 4)
    return {"slots": member.slots, "share": share, "backlog": member.hosts}


def _columns(node: str, worker: int | None) -> Facts:
    """Return a row in which nothing is known yet, with everything a row has."""
    return {
        "node": node,
        "worker": worker,
        "member": "",
        "kind": "",
        "priority": None,
        "state": "",
        "wanted": None,
        "pages": 0,
        "pages_per_minute": 0.0,
        "slots": None,
        "share": None,
        "backlog": None,
        "in_flight": 0,
        "health": "",
        "heartbeat_s": None,
        "trouble": "",
        "pid": None,
        "restarts": 0,
        "since": None,
        "managed": True,
    }


def _history(worker: ListedWorker) -> Facts:
    return {
        "arguments": list(worker.arguments),
        "added": _time(worker.added_ms),
        "started": _time(worker.started_ms),
        "ended": _time(worker.ended_ms),
        "exit_reason": worker.ended,
        "follows": worker.follows or None,
        "log": worker.log,
    }


def members_by_name(members: Iterable[KnownMember]) -> dict[str, KnownMember]:
    """Return members by their names."""
    return {member.name: member for member in members}


def as_json(facts: Facts) -> bytes:
    """Return one line of JSON."""
    return msgspec.json.encode(facts) + b"\n"


def _seconds(silent_ms: int | None) -> float | None:
    return None if silent_ms is None else round(silent_ms / 1000, 1)


def _time(at_ms: int) -> str | None:
    if not at_ms:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
