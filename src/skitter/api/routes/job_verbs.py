"""Jobs: paused, resumed, cancelled, and their queues emptied."""

from typing import Annotated

from fastapi import APIRouter, Body

from skitter.api.auth import operator
from skitter.api.examples import CLEAR
from skitter.api.served import Served
from skitter.client.jobs import Cleared, ClearWish, JobRow

router = APIRouter(prefix="/v1/jobs/{job_id}", tags=["jobs"], dependencies=[operator])


@router.post("/pause")
async def pause_job(service: Served, job_id: str) -> JobRow:
    """Hand out nothing more of a job; what is under way comes to its end."""
    [facts] = await service.ask({"jobs": "pause", "id": job_id})
    return JobRow.model_validate(facts)


@router.post("/resume")
async def resume_job(service: Served, job_id: str) -> JobRow:
    """Let a job go on; one that a limit has stopped gets its time anew."""
    [facts] = await service.ask({"jobs": "resume", "id": job_id})
    return JobRow.model_validate(facts)


@router.post("/cancel")
async def cancel_job(service: Served, job_id: str) -> JobRow:
    """End a job for good: what waits is dropped, what was recorded stays."""
    [facts] = await service.ask({"jobs": "cancel", "id": job_id})
    return JobRow.model_validate(facts)


@router.post("/clear")
async def clear_job(
    service: Served, job_id: str, wish: Annotated[ClearWish, Body(examples=[CLEAR])]
) -> Cleared:
    """Forget what waits of one class; with `restart` the entries are offered anew."""
    question = {"class": wish.page_class, "restart": wish.restart}
    [facts] = await service.ask({"jobs": "clear", "id": job_id, **question})
    return Cleared.model_validate(facts)
