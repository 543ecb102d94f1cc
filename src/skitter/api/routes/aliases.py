"""Other names of sites: listed, and taken back."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from skitter.api.auth import operator, reader
from skitter.api.served import Served
from skitter.client.nodes import AliasList, AliasRow, AliasUndone
from skitter.wiring.job_facts import find_job

router = APIRouter(prefix="/v1/aliases", tags=["sites"])

OfJob = Annotated[str | None, Query(description="The job; none = all, or the only one.")]


@router.get("", dependencies=[reader])
async def list_aliases(service: Served, job: OfJob = None) -> AliasList:
    """Tell which hosts are crawled under another name."""
    jobs = await service.store.reader.jobs()
    wanted = [find_job(jobs, job)[1]] if job is not None else list(jobs.values())
    found: list[AliasRow] = []
    for entry in wanted:
        rows = await service.ask({"aliases": True, "job": entry.id})
        found += [AliasRow.model_validate({**row, "site": row["kept"]}) for row in rows]
    return AliasList(aliases=found)


@router.delete("/{host}", dependencies=[operator])
async def undo_alias(
    service: Served, host: Annotated[str, Path(max_length=300)], job: OfJob = None
) -> AliasUndone:
    """Crawl a host under its own name again; what was left out of it is queued."""
    question = {} if job is None else {"job": job}
    [facts] = await service.ask({"undo_alias": host, **question})
    return AliasUndone.model_validate({**facts, "site": facts["kept"]})
