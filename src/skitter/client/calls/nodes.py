"""Calls about machines and their workers."""

from skitter.client.calls.base import Call, below, keyed, wished
from skitter.client.nodes import LogAnswer, NodeDetail, NodeList, StartWish, WorkerList


def nodes() -> Call[NodeList]:
    """List all machines and their workers."""
    return Call(NodeList, "GET", below("nodes"))


def node(node_id: str) -> Call[NodeDetail]:
    """Tell everything about one machine."""
    return Call(NodeDetail, "GET", below("nodes", node_id))


def workers(node_id: str) -> Call[WorkerList]:
    """List the workers of a machine."""
    return Call(WorkerList, "GET", below("nodes", node_id, "workers"))


def start_workers(
    node_id: str, *, kind: str = "all", priority: int = 5, count: int = 1, key: str | None = None
) -> Call[WorkerList]:
    """Start workers on a machine; the same key again starts no others."""
    body = wished(StartWish, {"kind": kind, "priority": priority, "count": count})
    path = below("nodes", node_id, "workers")
    return Call(WorkerList, "POST", path, body=body, headers=keyed(key))


def stop_worker(node_id: str, worker: int) -> Call[WorkerList]:
    """Stop one worker of a machine."""
    return Call(WorkerList, "DELETE", below("nodes", node_id, "workers", worker))


def logs(
    node_id: str, *, worker: int | None = None, lines: int | None = None, after: str | None = None
) -> Call[LogAnswer]:
    """Read the logs of a machine; ``after`` is the cursor of a piece of one worker's."""
    params = {"worker": worker, "lines": lines, "after": after}
    return Call(LogAnswer, "GET", below("nodes", node_id, "logs"), params)
