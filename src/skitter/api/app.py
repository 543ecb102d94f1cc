"""The app: routes, who may use them, and what every answer has in common."""

import pkgutil
from importlib import import_module

from fastapi import FastAPI

from skitter import __version__
from skitter.api import description, errors, routes
from skitter.api.auth import Keys
from skitter.api.guard import Guard
from skitter.api.headers import SecureHeaders
from skitter.api.idempotency import Idempotency
from skitter.api.limits import LimitGate, Limits
from skitter.api.metrics.requests import Counted, RequestCounts
from skitter.api.query import known_query
from skitter.api.strangers import Strangers
from skitter.client.base import ErrorBody
from skitter.wiring.service import Service

ERRORS = (400, 401, 403, 404, 408, 409, 412, 413, 422, 429, 503)
"""What may be answered in place of what was asked for."""
DESCRIPTION = """\
Jobs, pages, sites and machines of a Skitter service. Every request but `/healthz` needs a token:
`Authorization: Bearer TOKEN`. Every error has one shape; names that a call does not know, in its
query or its body, are refused (422). Lists come in pages: give `next` as `after`."""

BUSIEST = ("lookup", "resolve")
"""Routes that are asked most, by far; one after the other is tried for each request."""


def create_app(service: Service, limits: Limits | None = None) -> FastAPI:
    """Return the app of a service, with every router in ``api/routes``."""
    app = FastAPI(
        title="Skitter",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        responses={code: {"model": ErrorBody} for code in ERRORS},
        # Two ways to write one path would be two pages to a cache.
        redirect_slashes=False,
    )
    app.state.service = service
    app.state.keys = Keys(service.options.token)
    limits = limits or Limits()
    app.state.strangers = Strangers(limits.wrong)
    errors.install(app)
    description.install(app)
    found = {module.name for module in pkgutil.iter_modules(routes.__path__)}
    for name in (*BUSIEST, *sorted(found - set(BUSIEST))):
        router = import_module(f"{routes.__name__}.{name}").router
        app.include_router(router, dependencies=[known_query])
    # The last one added is the first to see a request.
    app.add_middleware(Idempotency, service=service)
    app.add_middleware(LimitGate, limits=limits)
    app.add_middleware(Guard, keys=app.state.keys, strangers=app.state.strangers)
    app.state.requests = RequestCounts()
    app.add_middleware(Counted, counts=app.state.requests)
    app.add_middleware(SecureHeaders)
    return app
