"""Calls about jobs, their records and their rejects."""

from collections.abc import Mapping
from typing import Any, Literal

from skitter.client.calls.base import Call, below, keyed, wish, wished
from skitter.client.jobs import (
    Cleared,
    ClearWish,
    JobChange,
    JobDetail,
    JobList,
    JobRow,
    LinkedList,
    PageList,
    PageRow,
    Reject,
    RejectList,
)


def jobs(
    *,
    state: str | None = None,
    kind: str | None = None,
    owner: str | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> Call[JobList]:
    """List jobs and how they stand."""
    params = {"state": state, "kind": kind, "owner": owner, "after": after, "limit": limit}
    return Call(JobList, "GET", below("jobs"), params)


def job(job_id: str) -> Call[JobDetail]:
    """Tell everything about one job."""
    return Call(JobDetail, "GET", below("jobs", job_id))


def add_job(job: Mapping[str, Any], *, key: str | None = None) -> Call[JobDetail]:
    """Add a job, with names as in a job file; the same key again is the same call."""
    return Call(JobDetail, "POST", below("jobs"), body=dict(job), headers=keyed(key))


def change_job(
    job_id: str, change: JobChange | Mapping[str, Any], *, etag: str | None = None
) -> Call[JobDetail]:
    """Change owner, priority or limits; with an etag only if nobody else has since."""
    headers = {} if etag is None else {"If-Match": etag}
    body = wish(change) if isinstance(change, JobChange) else wished(JobChange, change)
    return Call(JobDetail, "PATCH", below("jobs", job_id), body=body, headers=headers)


def delete_job(job_id: str) -> Call[None]:
    """Forget a job and everything that is kept of it."""
    return Call(type(None), "DELETE", below("jobs", job_id))


def pause(job_id: str) -> Call[JobRow]:
    """Fetch nothing more of a job until it is resumed."""
    return Call(JobRow, "POST", below("jobs", job_id, "pause"))


def resume(job_id: str) -> Call[JobRow]:
    """Let a paused job go on."""
    return Call(JobRow, "POST", below("jobs", job_id, "resume"))


def cancel(job_id: str) -> Call[JobRow]:
    """End a job for good; its records stay."""
    return Call(JobRow, "POST", below("jobs", job_id, "cancel"))


def clear(
    job_id: str, page_class: Literal["nav", "data"], *, restart: bool = False
) -> Call[Cleared]:
    """Empty one queue of a job."""
    body = wished(ClearWish, {"class": page_class, "restart": restart})
    return Call(Cleared, "POST", below("jobs", job_id, "clear"), body=body)


def job_pages(
    job_id: str, *, after: str | None = None, limit: int | None = None, **filters: str | int | None
) -> Call[PageList]:
    """List the latest record of every page of a job.

    Filters are outcome, status, page_class (nav or data), host, and q for words in URL or title.
    """
    named = {"class" if name == "page_class" else name: one for name, one in filters.items()}
    params = {**named, "after": after, "limit": limit}
    return Call(PageList, "GET", below("jobs", job_id, "pages"), params)


def job_rejects(
    job_id: str, *, after: str | None = None, limit: int | None = None
) -> Call[RejectList]:
    """List the records of a job that were set aside."""
    params = {"after": after, "limit": limit}
    return Call(RejectList, "GET", below("jobs", job_id, "rejects"), params)


def job_linked(job_id: str, *, limit: int | None = None) -> Call[LinkedList]:
    """List the pages and hosts that most pages of a job link to: seeds for another one."""
    return Call(LinkedList, "GET", below("jobs", job_id, "linked"), {"limit": limit})


def job_rows(page: JobList) -> list[JobRow]:
    """Return what is listed."""
    return page.jobs


def page_rows(page: PageList) -> list[PageRow]:
    """Return what is listed."""
    return page.pages


def reject_rows(page: RejectList) -> list[Reject]:
    """Return what is listed."""
    return page.rejects
