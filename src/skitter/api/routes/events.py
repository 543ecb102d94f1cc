"""What happens, as it happens."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query, Response

from skitter.api.auth import reader
from skitter.api.errors import ApiError
from skitter.api.herald import Events, telling
from skitter.api.hooks.book import TYPES
from skitter.api.live.filters import Filter, Values, split_values
from skitter.api.live.stream import EventStream
from skitter.api.live.told import key_of

router = APIRouter(tags=["events"], lifespan=telling)

EXAMPLE = (
    "id: 1750000000000-0\nevent: page\n"
    'data: {"id":"1750000000000-0","type":"page","at":"2026-01-01T00:00:00.000Z",'
    '"job":"news","host":"news.example","url":"https://news.example/1","status":200,'
    '"outcome":"ok","title":"A title","dropped":3}\n\n'
)
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Messages, one for each event, until either side hangs up.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": EXAMPLE}},
    }
}
MOST_VALUES = 100
Several = Annotated[
    list[str] | None, Query(description="Several are repeated, or parted by commas.")
]


def wanted_events(
    types: Several = None,
    job: Several = None,
    kind: Several = None,
    host: Several = None,
    node: Several = None,
) -> Filter:
    """Return what somebody wants to hear of."""
    return Filter(
        type=_types(types), job=_some(job), kind=_some(kind), host=_some(host), node=_some(node)
    )


def last_heard(
    last_event_id: Annotated[str, Header(description="The last event that was heard.")] = "",
) -> str:
    """Return after which event somebody comes back; "" for one who begins."""
    if last_event_id and key_of(last_event_id) is None:
        raise ApiError(422, "Last-Event-ID: no id of an event", "Last-Event-ID")
    return last_event_id


@router.get("/v1/events", dependencies=[reader], responses=STREAM, response_class=Response)
async def listen(
    herald: Events,
    wanted: Annotated[Filter, Depends(wanted_events)],
    after: Annotated[str, Depends(last_heard)],
) -> Response:
    """Listen to what happens: at most ten messages a second, `dropped` counts what is left out.

    After a break, `Last-Event-ID` gets what was missed, the newest two hundred of it one by one.
    """
    if herald.hub.is_full:
        raise ApiError(429, "too many listen already", headers={"Retry-After": "5"})
    return EventStream(herald.hub, wanted, after)


def _some(given: list[str] | None) -> Values:
    values = split_values(given or ())
    if len(values) > MOST_VALUES:
        raise ApiError(422, f"at most {MOST_VALUES} values of one field can be asked for")
    return values


def _types(given: list[str] | None) -> Values:
    values = _some(given)
    for unknown in sorted(values - set(TYPES)):
        told = ", ".join(TYPES)
        raise ApiError(422, f"types: {unknown[:40]!r} never happens; {told} do", "types")
    return values
