"""URLs that somebody wants to know about soon, given as they are or in a text."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Body, Query, Response

from skitter.api.auth import operator, reader
from skitter.api.errors import ApiError
from skitter.api.examples import RESOLVE
from skitter.api.served import Served
from skitter.client.pages import MAX_RESOLVE, MAX_WAIT_S, ResolveAnswer, ResolveWish
from skitter.crawl.resolve.load import Overloaded
from skitter.crawl.resolve.resolver import Answer, Asked
from skitter.crawl.room import NoRoom
from skitter.url.find import MAX_CANDIDATES, find_urls
from skitter.wiring.resolve import resolver_of

router = APIRouter(prefix="/v1/resolve", tags=["pages"])

_encode = msgspec.json.Encoder().encode


@router.post("", dependencies=[operator], response_model=ResolveAnswer)
async def resolve(
    wish: Annotated[ResolveWish, Body(examples=[RESOLVE])], service: Served
) -> Response:
    """Tell what is at URLs, fetching those that are not known well enough before everything else.

    The answer comes at once, or after `wait` seconds at most; what is pending then can be asked for
    with the ticket, for a day.
    """
    urls, left_out = _urls(wish)
    asked = Asked(
        urls=urls,
        max_age_s=wish.max_age,
        wait_s=wish.wait,
        media=",".join(wish.media),
        left_out=left_out,
    )
    try:
        return _told(await resolver_of(service).submit(asked))
    except (Overloaded, NoRoom) as error:
        retry = {"Retry-After": str(error.retry_s)}
        raise ApiError(429, str(error), headers=retry) from error


@router.get("/{ticket}", dependencies=[reader], response_model=ResolveAnswer)
async def resolved(
    ticket: str,
    service: Served,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT_S, description="Seconds to wait.")] = 0.0,
) -> Response:
    """Tell what is known by now of the URLs of a ticket."""
    return _told(await resolver_of(service).answer(ticket, wait))


def _urls(wish: ResolveWish) -> tuple[list[str], int]:
    """Return the URLs that are given and those in the text, each once, and how many are too many.

    A text without any is one of many messages, and no mistake.
    """
    if not wish.urls and not wish.text:
        raise ApiError(422, "urls: wanted one URL or more, in urls or in text", "urls")
    urls = list(dict.fromkeys([*wish.urls, *find_urls(wish.text, MAX_CANDIDATES)]))
    return urls[:MAX_RESOLVE], max(0, len(urls) - MAX_RESOLVE)


def _told(answer: Answer) -> Response:
    told = {
        "ticket": answer.ticket,
        "done": answer.is_done(),
        "results": answer.results,
        "left_out": answer.left_out,
    }
    return Response(_encode(told), media_type="application/json")
