"""What is told to those who watch a store: pages that came, jobs that began and ended, alarms.

The fields are those of the REST API's events, without their ids.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import msgspec

from skitter.clock import Clock, time_text
from skitter.errors import SkitterError
from skitter.frontier.base import Frontier
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome

if TYPE_CHECKING:
    from skitter.crawl.trip import Visit

MAX_TITLE = 200
MAX_MESSAGE = 300
MAX_URL = 4_096
TELL_S = 2.0
"""How long a store may take to be told: verbs wait while it is away."""

log = logging.getLogger(__name__)


class Happening(msgspec.Struct, omit_defaults=True, kw_only=True, gc=False):
    """Something that has happened."""

    type: str
    """page, resolve, job, alarm, node or setting."""
    at: str
    job: str | None = None
    kind: str | None = None
    host: str | None = None
    node: str | None = None
    url: str | None = None
    final_url: str | None = None
    status: int | None = None
    outcome: str | None = None
    title: str | None = None
    bytes: int | None = None
    elapsed_ms: int | None = None
    message: str = ""
    dropped: int = 0


_encode = msgspec.json.Encoder().encode


def encode_happening(happening: Happening) -> bytes:
    """Return what is published; half a character in a title does not keep it from being told."""
    try:
        return _encode(happening)
    except UnicodeEncodeError:
        for name in ("url", "final_url", "title", "message"):
            value = getattr(happening, name)
            if value is not None:
                setattr(happening, name, value.encode("utf-8", "replace").decode())
        return _encode(happening)


def page_happening(visit: "Visit", record: PageRecord, kind: str, node: str) -> Happening:
    """Return what is told of a page: small facts, and no text."""
    final = record.final_url
    return Happening(
        type="page",
        at=record.fetched_at,
        job=record.job,
        kind=kind,
        host=visit.lease.host,
        node=node,
        url=record.url[:MAX_URL],
        final_url=None if final is None or final == record.url else final[:MAX_URL],
        status=record.status,
        outcome=record.outcome,
        title=record.title and record.title[:MAX_TITLE],
        bytes=record.bytes,
        elapsed_ms=record.elapsed_ms,
        message=record.error[:MAX_MESSAGE] if record.error else "",
    )


def resolve_happening(page: Happening) -> Happening:
    """Return what is told to those who asked for a page by its URL: that it is done."""
    return msgspec.structs.replace(page, type="resolve", dropped=0)


def is_told(visit: "Visit") -> bool:
    """Tell whether a visit has brought a page, or one whose record was set aside."""
    return visit.page is not None or (
        visit.record is not None and visit.record.outcome == Outcome.REJECTED
    )


async def tell_job(frontier: Frontier, clock: Clock, job: str, what: str) -> None:
    """Let everyone know what became of a job."""
    at = time_text(clock.now_ms())
    await _tell(frontier, Happening(type="job", at=at, job=job, message=what))


async def tell_node(frontier: Frontier, clock: Clock, node: str, what: str) -> None:
    """Let everyone know what a node was told to do."""
    at = time_text(clock.now_ms())
    await _tell(frontier, Happening(type="node", at=at, node=node, message=what[:MAX_MESSAGE]))


async def tell_setting(frontier: Frontier, clock: Clock, pattern: str, what: str) -> None:
    """Let everyone know what was said of the sites of a pattern."""
    at = time_text(clock.now_ms())
    message = f"{pattern}: {what}"[:MAX_MESSAGE]
    await _tell(frontier, Happening(type="setting", at=at, host=pattern, message=message))


async def _tell(frontier: Frontier, happening: Happening) -> None:
    """Publish it; what was done stays done if that fails."""
    try:
        async with asyncio.timeout(TELL_S):
            await frontier.publish([encode_happening(happening)])
    except (SkitterError, TimeoutError) as error:
        why = str(error) or "the store does not answer"
        who = happening.job or happening.node or happening.host
        log.warning("nobody was told of %s %s: %s: %s", happening.type, who, happening.message, why)
