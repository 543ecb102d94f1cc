"""Jobs: listed, added, shown, changed and forgotten."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Header, Query, Response

from skitter.api.auth import admin, operator, reader
from skitter.api.errors import ApiError
from skitter.api.etags import etag_of, is_known, is_same_job
from skitter.api.examples import JOB, JOB_CHANGE
from skitter.api.job_wishes import checked_wish
from skitter.api.served import After, Limit, Served, page_of
from skitter.client.jobs import JobChange, JobDetail, JobList, JobRow

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

KEEP_PRIORITY = (
    "URLs that wait already keep their priority; pages found from now on get the new one"
)
SOURCE = "job"
"""What messages of a job's check begin with, before the field."""


@router.get("", dependencies=[reader])
async def list_jobs(
    service: Served,
    state: Annotated[str | None, Query(description="Only jobs in this state.")] = None,
    kind: Annotated[str | None, Query(description="Only jobs of this kind.")] = None,
    owner: Annotated[str | None, Query(description="Only jobs of this owner.")] = None,
    limit: Limit = 100,
    after: After = "",
) -> JobList:
    """Tell how every job stands, in the order of their ids."""
    wanted = {"state": state, "kind": kind, "owner": owner}
    rows = [
        JobRow.model_validate(facts)
        for facts in await service.ask({"jobs": "list"})
        if all(value in (None, facts[name]) for name, value in wanted.items())
    ]
    page, follows = page_of(rows, lambda row: row.id, after, limit)
    return JobList(jobs=page, next=follows)


@router.post("", status_code=201, dependencies=[operator], responses={200: {"model": JobDetail}})
async def add_job(
    service: Served, wish: Annotated[dict[str, Any], Body(examples=[JOB])], response: Response
) -> JobDetail:
    """Add a job, with the names of a job file; one that is there already, just so, is told.

    Its entries are public addresses, its sinks are `{"name": …}` of what the operator has set up.
    """
    job = checked_wish(wish, service.options)
    [facts] = await service.ask({"jobs": "add", "job": job, "source": SOURCE})
    found = JobDetail.model_validate(facts)
    response.status_code = 201 if facts["added"] else 200
    response.headers["Location"] = f"/v1/jobs/{found.id}"
    return found


@router.get("/{job_id}", dependencies=[reader], responses={304: {"description": "As it was."}})
async def show_job(
    service: Served,
    job_id: str,
    response: Response,
    if_none_match: Annotated[str, Header()] = "",
) -> JobDetail:
    """Tell how a job stands, and what it was told to do."""
    [facts] = await service.ask({"jobs": "show", "id": job_id, "spec": True})
    found = JobDetail.model_validate(facts)
    tag = etag_of(found)
    if is_known(tag, if_none_match):
        raise ApiError(304, "", headers={"ETag": tag})
    response.headers["ETag"] = tag
    return found


@router.patch("/{job_id}", dependencies=[operator])
async def change_job(
    service: Served,
    job_id: str,
    change: Annotated[JobChange, Body(examples=[JOB_CHANGE])],
    response: Response,
    if_match: Annotated[str, Header()] = "",
) -> JobDetail:
    """Change owner, priority or limits of a job; a limit that is null is none.

    With `If-Match` only if it is what the ETag was read of; how far the job is does not matter.
    """
    [facts] = await service.ask({"jobs": "show", "id": job_id, "spec": True})
    if if_match and not is_same_job(JobDetail.model_validate(facts), if_match):
        raise ApiError(412, "the job was changed meanwhile; read it again", "If-Match")
    changes = change.model_dump(exclude_unset=True)
    changes = {name: value for name, value in changes.items() if value is not None}
    before = facts["priority"]
    [facts] = await service.ask({"jobs": "change", "id": job_id, "changes": changes})
    found = JobDetail.model_validate(facts)
    response.headers["ETag"] = etag_of(found)
    waiting = found.queued + found.scheduled
    if found.priority != before and waiting:
        found.notes.append(f"{waiting} {KEEP_PRIORITY}")
    return found


@router.delete("/{job_id}", status_code=204, dependencies=[admin])
async def forget_job(service: Served, job_id: str) -> Response:
    """Forget a job and everything that is known of its pages; files of its records stay."""
    await service.ask({"jobs": "drop", "id": job_id})
    return Response(status_code=204)
