"""Jobs: listed."""

from typing import Annotated

from fastapi import APIRouter, Query

from skitter.api.auth import reader
from skitter.api.served import After, Limit, Served, page_of
from skitter.client.jobs import JobList, JobRow

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


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
