"""Whether the service is well, and who is asking it."""

from fastapi import APIRouter
from starlette.responses import JSONResponse

from skitter import __version__
from skitter.api.auth import Asking, reader
from skitter.api.served import Served
from skitter.client.base import Health, Me

router = APIRouter(tags=["service"])


@router.get("/healthz", response_model=Health)
async def health(service: Served) -> JSONResponse:
    """Tell whether the service can do its work; anybody may ask."""
    trouble = service.store.frontier.trouble
    if trouble:
        found = Health(status="trouble", version="", trouble="the store does not answer")
        return JSONResponse(found.model_dump(), 503)
    return JSONResponse(Health(status="ok", version="").model_dump())


@router.get("/v1/me", dependencies=[reader])
async def me(service: Served, role: Asking) -> Me:
    """Tell who the token speaks for, and what this service is."""
    return Me(
        role=role,
        version=__version__,
        store=service.kind,
        allow_private=service.options.allow_private,
        archive=service.options.archive is not None,
        sinks=sorted(service.options.sinks),
    )
