"""A page as the archive of this machine has it: read beside the requests, within bounds."""

import asyncio
from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

from skitter.api.errors import ApiError
from skitter.client.pages import Archived
from skitter.errors import DataDirError, NotFound
from skitter.wiring.look import read_archived
from skitter.wiring.service import Service

MOST_BYTES: Final = 32 << 20
AT_ONCE: Final = 2
"""Pages that are unpacked at the same time."""

_few = asyncio.Semaphore(AT_ONCE)


async def archived(service: Service, url: str, job: str) -> Archived:
    """Return the response to a URL as it came; raises when it was not kept, or not here."""
    [facts] = await service.ask({"page": url, "job": job})
    place = facts.get("archive")
    if not isinstance(place, Mapping):
        raise NotFound(f"url: {_why_not(facts)}")
    async with _few:
        try:
            page = await asyncio.to_thread(read_archived, place)
        except (DataDirError, OSError) as error:
            # Where it lies on its machine is nobody's business over the network.
            raise NotFound("url: its archive is on another machine, or was taken away") from error
    if len(page.body) > MOST_BYTES:
        raise ApiError(413, f"url: its body has {len(page.body)} bytes, {MOST_BYTES} may be sent")
    return Archived(
        url=url,
        job=job,
        head=b64encode(page.head).decode("ascii"),
        body=b64encode(page.body).decode("ascii"),
    )


def _why_not(facts: Mapping[str, Any]) -> str:
    record = facts.get("record")
    if not isinstance(record, Mapping) or record.get("status") is None:
        return f"there is no response of it; {facts['why']}"
    return "its job keeps no archive, so there is only its record"
