"""What routes are given: the service, and pages of lists."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Depends, Query, Request

from skitter.wiring.service import Service

MOST_ROWS = 1_000

T = TypeVar("T")


async def service_of(request: Request) -> Service:
    """Return the service of the app at hand; awaited, for a plain function is sent to a thread."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


Served = Annotated[Service, Depends(service_of)]
Limit = Annotated[int, Query(ge=1, le=MOST_ROWS, description="Rows of one page, at most.")]
After = Annotated[str, Query(max_length=2_000, description="What the page before gave as `next`.")]


def page_of(
    rows: Sequence[T], name: Callable[[T], str], after: str, limit: int
) -> tuple[list[T], str | None]:
    """Return the rows of one page in the order of their names, and where the next one begins."""
    ordered = sorted((row for row in rows if not after or name(row) > after), key=name)
    page = ordered[:limit]
    return page, name(page[-1]) if len(ordered) > limit else None
