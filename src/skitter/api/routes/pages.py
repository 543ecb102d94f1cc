"""Pages: the records of a job, its rejects, and everything known of a URL."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from skitter.api import explaining, listing
from skitter.api.archived import archived
from skitter.api.auth import reader
from skitter.api.served import After, Limit, Served
from skitter.client.jobs import LinkedList, LinkedRow, PageList, RejectList
from skitter.client.pages import Archived, Explanation
from skitter.types import Outcome

PageUrl = Annotated[str, Query(min_length=1, max_length=8_192, examples=["https://example.com/"])]

router = APIRouter(prefix="/v1", tags=["pages"], dependencies=[reader])


@router.get("/jobs/{job_id}/pages")
async def job_pages(  # noqa: PLR0913, PLR0917  one parameter a filter
    service: Served,
    job_id: str,
    outcome: Annotated[Outcome | None, Query(description="What came of the visit.")] = None,
    status: Annotated[int | None, Query(ge=100, le=599, description="Status code.")] = None,
    page_class: Annotated[Literal["nav", "data"] | None, Query(alias="class")] = None,
    host: Annotated[str | None, Query(description="Only pages of this host.")] = None,
    q: Annotated[str | None, Query(description="In URL or title, whatever the case.")] = None,
    limit: Limit = 100,
    after: After = "",
) -> PageList:
    """Tell the latest record of every page of a job, in no order that means anything."""
    wanted = {"outcome": outcome, "status": status, "page_class": page_class}
    fits = _filter({name: value for name, value in wanted.items() if value is not None}, host, q)
    return await listing.job_pages(service, job_id, fits, after=after, limit=limit)


def _filter(wanted: dict[str, Any], host: str | None, q: str | None) -> listing.Fits:
    needle = (q or "").casefold()
    name = (host or "").lower()

    def fits(record: listing.Record) -> bool:
        if any(record.get(key) != value for key, value in wanted.items()):
            return False
        if name and record["url"].split("/", 3)[2].rpartition("@")[2].lower() != name:
            return False
        text = f"{record['url']}\n{record.get('title') or ''}"
        return not needle or needle in text.casefold()

    return fits


@router.get("/jobs/{job_id}/rejects")
async def job_rejects(
    service: Served, job_id: str, limit: Limit = 100, after: After = ""
) -> RejectList:
    """Tell the records of a job that were set aside, and why."""
    return await listing.job_rejects(service, job_id, after=after, limit=limit)


@router.get("/jobs/{job_id}/linked")
async def job_linked(service: Served, job_id: str, limit: Limit = 100) -> LinkedList:
    """Tell the pages and the hosts that most pages of a job link to, so many of each at most."""
    rows = await service.ask({"linked": limit, "job": job_id})
    return LinkedList(linked=[LinkedRow.model_validate(row) for row in rows])


@router.get("/pages/archived")
async def archived_page(
    service: Served, url: PageUrl, job: Annotated[str, Query(description="Whose archive.")]
) -> Archived:
    """Tell the response to a URL as it was archived: its head, and its body unpacked."""
    return await archived(service, url, job)


@router.get("/pages", response_model_exclude_unset=True)
async def explain_page(
    service: Served,
    url: PageUrl,
    job: Annotated[str | None, Query(description="Only what this job knows.")] = None,
) -> Explanation:
    """Tell everything known of a URL, and why: queue, visits, decisions, next visit."""
    return await explaining.explain(service, url, job)
