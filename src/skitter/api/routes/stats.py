"""How everything stands, and counters over time."""

from typing import Annotated
from weakref import WeakKeyDictionary

from fastapi import APIRouter, Depends, Query

from skitter.api.auth import reader
from skitter.api.counters.names import stretch_of
from skitter.api.counters.standing import Standing
from skitter.api.served import Served
from skitter.client.events import SeriesAnswer, Stats, Step
from skitter.wiring.service import Service

router = APIRouter(prefix="/v1/stats", tags=["stats"])

Names = Annotated[
    list[str],
    Query(
        min_length=1,
        max_length=50,
        description="Several are repeated. `pages|job` is one line for each job, and `status*`"
        " whatever begins so.",
        examples=[["pages", "status", "pages|job"]],
    ),
]
Time = Annotated[str | None, Query(max_length=40, description="RFC 3339, or seconds of the epoch.")]


_standings: WeakKeyDictionary[Service, Standing] = WeakKeyDictionary()


def standing_of(service: Served) -> Standing:
    """Return how the service at hand stands; one for all who ask."""
    found = _standings.get(service)
    if found is None:
        found = _standings[service] = Standing(service)
    return found


Stands = Annotated[Standing, Depends(standing_of)]


@router.get("", dependencies=[reader])
async def stats(standing: Stands) -> Stats:
    """Tell how everything stands at this moment."""
    return await standing.stats()


@router.get("/series", dependencies=[reader])
async def series(
    standing: Stands,
    name: Names,
    step: Step = Step.MINUTE,
    since: Time = None,
    until: Time = None,
) -> SeriesAnswer:
    """Tell counters over time: pages, ok, failed, refused, bytes, media, status:200, module:fetch.

    Each may have a dimension: `pages|job=ID`, `|kind=`, `|node=`, and in steps of an hour or a day
    `|host=`. Steps in which nothing was counted are there with 0.
    """
    stretch = stretch_of(step, since, until, standing.now_ms)
    return SeriesAnswer(series=await standing.counters.series(name, step, stretch))
