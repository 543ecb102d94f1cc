"""Pages fetched right now, and rules tried on one."""

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request

from skitter.api.auth import operator
from skitter.api.errands import Errands
from skitter.api.examples import FETCH, TRIAL
from skitter.client.base import ErrorBody
from skitter.client.pages import Fetched, FetchWish, TrialAnswer, TrialWish

router = APIRouter(
    prefix="/v1",
    tags=["pages"],
    dependencies=[operator],
    responses={424: {"model": ErrorBody, "description": "The page could not be fetched."}},
)


def errands_of(request: Request) -> Errands:
    """Return who runs the errands of the app at hand."""
    state = request.app.state
    if not hasattr(state, "errands"):
        state.errands = Errands(state.service)
    found = state.errands
    assert isinstance(found, Errands)
    return found


Runner = Annotated[Errands, Depends(errands_of)]


@router.post("/fetch")
async def fetch_page(runner: Runner, wish: Annotated[FetchWish, Body(examples=[FETCH])]) -> Fetched:
    """Fetch one page right now, with the manners of its host, and keep nothing of it."""
    return await runner.fetch(wish)


@router.post("/rules/try")
async def try_rules(
    runner: Runner, wish: Annotated[TrialWish, Body(examples=[TRIAL])]
) -> TrialAnswer:
    """Try the rules of a job on a page that is fetched, or given as HTML."""
    return await runner.try_rules(wish)
