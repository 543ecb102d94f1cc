"""Machines put together from the rows of their workers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from skitter.client.nodes import NodeDetail, NodeList, NodeRow, WorkerRow

WELL = "ok"


def list_of(rows: Sequence[Mapping[str, Any]], buried: Mapping[str, int]) -> NodeList:
    """Return all machines and all workers, and how much is no longer kept."""
    workers = [WorkerRow.model_validate(row) for row in rows]
    names = dict.fromkeys(worker.node for worker in workers)
    nodes = [_node(name, [one for one in workers if one.node == name]) for name in names]
    # A machine without workers has a row that is none.
    listed = [one for one in workers if one.worker is not None or one.member]
    return NodeList(nodes=nodes, workers=listed, buried=dict(buried))


def detail_of(facts: Mapping[str, Any]) -> NodeDetail:
    """Return everything about one machine."""
    workers = [{"node": facts["node"], **worker} for worker in facts["workers"]]
    return NodeDetail.model_validate({**facts, "id": facts["node"], "workers": workers})


def _node(name: str, workers: Sequence[WorkerRow]) -> NodeRow:
    return NodeRow(
        id=name,
        health=_health(one.health for one in workers),
        workers=sum(1 for one in workers if one.worker is not None or one.member),
        pages=sum(one.pages for one in workers),
        pages_per_minute=round(sum(one.pages_per_minute for one in workers), 1),
        in_flight=sum(one.in_flight for one in workers),
        managed=any(one.managed for one in workers),
    )


def _health(words: Iterable[str]) -> str:
    """Return the first word that is a worry."""
    return next((word for word in words if word != WELL), WELL)
