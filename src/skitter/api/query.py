"""What stands in a query has to be known: a filter that is misspelt would be none at all."""

from collections.abc import Iterator
from difflib import get_close_matches
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from skitter.api.errors import ApiError

STRICT = "/v1/"
MOST_SHOWN = 40
"""Characters of a name that are told back."""


async def refuse_unknown(request: Request) -> None:
    """Raise where a query names something that its call does not take."""
    query = request.scope["query_string"]
    route = request.scope.get("route")
    if not query or not isinstance(route, APIRoute) or not request.url.path.startswith(STRICT):
        return
    known = list(_names(route.dependant))
    for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name not in known:
            raise ApiError(422, _unknown(name[:MOST_SHOWN], known), name[:MOST_SHOWN])


def _names(taken: Dependant) -> Iterator[str]:
    """Yield the parameters of a call, and those of what it depends on."""
    yield from (field.alias for field in taken.query_params)
    for dependency in taken.dependencies:
        yield from _names(dependency)


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name.replace("-", "_").lower(), known, n=1)
    if near:
        return f'{name}: unknown parameter; did you mean "{near[0]}"?'
    if known:
        return f"{name}: unknown parameter; wanted one of {', '.join(known)}"
    return f"{name}: unknown parameter; this call takes none"


known_query = Depends(refuse_unknown)
