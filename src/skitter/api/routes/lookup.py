"""Pages looked up by URL, up to 300 at once."""

import msgspec
from fastapi import APIRouter, Response

from skitter.api.auth import reader
from skitter.api.served import Served
from skitter.client.pages import LookupAnswer, LookupWish
from skitter.wiring.resolve import index_of

router = APIRouter(prefix="/v1/pages", tags=["pages"])
JSON = "application/json"

_encode = msgspec.json.Encoder().encode


@router.post("/lookup", dependencies=[reader], response_model=LookupAnswer)
async def look_up(wish: LookupWish, service: Served) -> Response:
    """Tell what the page index holds of URLs, requested or final; one answer each, in order.

    Of several jobs that have a URL the newest record counts.
    """
    found = await index_of(service).find(wish.urls, wish.job)
    return Response(_encode({"pages": found}), media_type=JSON)
