"""The records of a job as a file, gone through page by page as the API gives them."""

import csv
import io
import json
from collections.abc import AsyncIterator
from typing import Final, Literal

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from skitter.api.auth import COOKIE
from skitter.api.dashboard.transport import SELF, ViewerTransport
from skitter.api.errors import problem
from skitter.client.calls import jobs as calls
from skitter.client.http import AsyncClient
from skitter.client.jobs import PageRow
from skitter.errors import ApiError

router = APIRouter(include_in_schema=False)
_TYPES: Final = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl"}
_COLUMNS: Final = tuple(PageRow.model_fields)
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of something to work out."""


@router.get("/download/{job}.{ending}")
async def download(request: Request, job: str, ending: Literal["csv", "jsonl"]) -> Response:
    """Send every record of a job, in the name of whoever asks."""
    api = _in_the_name_of(request)
    try:
        await api.send(calls.job(job))
    except ApiError as error:
        await api.close()
        return problem(error.status or 503, error.message, error.field)
    lines = _csv(api, job) if ending == "csv" else _jsonl(api, job)
    named = {"Content-Disposition": f'attachment; filename="{job}.{ending}"'}
    return StreamingResponse(lines, media_type=_TYPES[ending], headers=named)


def _in_the_name_of(request: Request) -> AsyncClient:
    """Return a way to the API for whoever asks, by a cookie or by a token."""
    cookie, token = request.cookies.get(COOKIE, ""), request.headers.get("authorization", "")
    return AsyncClient(SELF, transport=ViewerTransport(request.app, cookie, token))


async def _jsonl(api: AsyncClient, job: str) -> AsyncIterator[str]:
    async with api:
        async for page in api.job_pages(job):
            yield page.model_dump_json() + "\n"


async def _csv(api: AsyncClient, job: str) -> AsyncIterator[str]:
    line = io.StringIO(newline="")
    writer = csv.writer(line)
    writer.writerow(_COLUMNS)
    async with api:
        async for page in api.job_pages(job):
            writer.writerow([cell(getattr(page, name)) for name in _COLUMNS])
            yield line.getvalue()
            line.seek(0)
            line.truncate()
    yield line.getvalue()


def cell(value: object) -> object:
    """Return what a cell can hold: lists and tables as JSON, and text that nothing is done with.

    Titles and URLs are written by strangers, and this file is opened by spreadsheets.
    """
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
