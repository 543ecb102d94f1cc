"""Records and rejects of a job, in pages."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import msgspec

from skitter.api.errors import ApiError
from skitter.client.jobs import PageList, PageRow, Reject, RejectList
from skitter.pipeline.record import is_listed
from skitter.wiring.job_facts import find_job
from skitter.wiring.service import Service

MOST_LOOKED_AT = 20_000
"""Records that one request reads in search of those that fit."""
CHUNK = 500

Record = dict[str, Any]
Fits = Callable[[Record], bool]


async def job_pages(
    service: Service, job_id: str, fits: Fits, *, after: str, limit: int
) -> PageList:
    """Return the next records of a job that fit."""
    reader = service.store.reader
    number, _ = find_job(await reader.jobs(), job_id)
    place, looked = _read_place(after), 0
    found: list[PageRow] = []
    while len(found) < limit and looked < MOST_LOOKED_AT:
        notes, place = await reader.notes(number, place, min(CHUNK, limit - len(found)))
        looked += len(notes)
        records = map(msgspec.json.decode, notes)
        found += [PageRow.model_validate(one) for one in records if _is_page(one) and fits(one)]
        if not place:
            break
    return PageList(pages=found, next=_write_place(place) if place else None)


def _is_page(record: Record) -> bool:
    return is_listed(record["page_class"], record["outcome"])


async def job_rejects(service: Service, job_id: str, *, after: str, limit: int) -> RejectList:
    """Return the next records of a job that were set aside."""
    find_job(await service.store.reader.jobs(), job_id)
    skipped = _read_count(after)
    found: list[Reject] = []
    count = 0
    async with aclosing(service.lines({"rejects": True, "job": job_id})) as lines:
        async for line in lines:
            count += 1
            if len(found) == limit:
                return RejectList(rejects=found, next=str(skipped + limit))
            if count > skipped:
                found.append(Reject.model_validate_json(line))
    return RejectList(rejects=found)


def _write_place(place: bytes) -> str:
    return urlsafe_b64encode(place).rstrip(b"=").decode("ascii")


def _read_place(text: str) -> bytes:
    try:
        return urlsafe_b64decode(text + "=" * (-len(text) % 4)) if text.isascii() else _bad(text)
    except (ValueError, BadBase64):
        return _bad(text)


def _read_count(text: str) -> int:
    if text and not (text.isascii() and text.isdecimal() and len(text) < 16):
        _bad(text)
    return int(text or 0)


def _bad(text: str) -> bytes:
    del text
    raise ApiError(422, "after: wanted what a page before gave as `next`", "after")
