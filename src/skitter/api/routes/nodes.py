"""Machines and their workers: looked at, started, stopped, and their logs."""

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query

from skitter.api.auth import admin, reader
from skitter.api.errors import ApiError
from skitter.api.examples import START
from skitter.api.node_rows import detail_of, list_of
from skitter.api.served import Served
from skitter.client.nodes import (
    LogAnswer,
    LogPiece,
    NodeDetail,
    NodeList,
    StartWish,
    WorkerList,
    WorkerRow,
)

router = APIRouter(prefix="/v1/nodes", tags=["nodes"])

NodeId = Annotated[str, Path(max_length=200)]
WorkerNumber = Annotated[int, Path(ge=1, le=2**31)]


@router.get("", dependencies=[reader])
async def list_nodes(service: Served) -> NodeList:
    """Tell of all machines and their workers."""
    [buried] = await service.ask({"nodes": "buried"})
    return list_of(await service.ask({"nodes": "list"}), buried)


@router.get("/{node_id}", dependencies=[reader])
async def show_node(service: Served, node_id: NodeId) -> NodeDetail:
    """Tell everything about one machine, with workers that have ended."""
    [facts] = await service.ask({"nodes": "show", "node": node_id})
    return detail_of(facts)


@router.get("/{node_id}/workers", dependencies=[reader])
async def list_workers(service: Served, node_id: NodeId) -> WorkerList:
    """Tell of the workers of a machine."""
    [facts] = await service.ask({"nodes": "show", "node": node_id})
    return WorkerList(workers=detail_of(facts).workers)


@router.post("/{node_id}/workers", status_code=201, dependencies=[admin])
async def start_workers(
    service: Served, node_id: NodeId, wish: Annotated[StartWish, Body(examples=[START])]
) -> WorkerList:
    """Start workers on a machine; more than it may have at a time wait their turn."""
    question = {"kind": wish.kind, "priority": wish.priority, "count": wish.count}
    rows = await service.ask({"nodes": "start", "node": node_id, **question})
    return WorkerList(workers=[WorkerRow.model_validate(row) for row in rows])


@router.delete("/{node_id}/workers/{worker}", dependencies=[admin])
async def stop_worker(service: Served, node_id: NodeId, worker: WorkerNumber) -> WorkerList:
    """Let a worker finish its requests, then end it."""
    rows = await service.ask({"nodes": "stop", "node": node_id, "worker": worker})
    return WorkerList(workers=[WorkerRow.model_validate(row) for row in rows])


@router.get("/{node_id}/logs", dependencies=[reader])
async def read_logs(
    service: Served,
    node_id: NodeId,
    worker: Annotated[int | None, Query(ge=0, description="0 is the manager itself.")] = None,
    lines: Annotated[int, Query(ge=0, le=10_000, description="The last so many.")] = 200,
    after: Annotated[
        str, Query(max_length=200, description="The cursor of a worker's piece.")
    ] = "",
) -> LogAnswer:
    """Read the logs of a machine; with a cursor, what one worker has said since."""
    if after and worker is None:
        raise ApiError(422, "after: a cursor is of one worker; wanted that, too", "after")
    places = {str(worker): after} if after else {}
    question = {"worker": worker, "lines": lines, "after": places}
    pieces = await service.ask({"nodes": "logs", "node": node_id, **question})
    return LogAnswer(logs=[LogPiece.model_validate(piece) for piece in pieces])
