"""What the API says of itself: the description that ``/openapi.json`` answers."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from skitter.api.guard import GUARDED

SCHEME = {"type": "http", "scheme": "bearer", "description": "A reader's, operator's or admin's."}


def install(app: FastAPI) -> None:
    """Let an app describe itself, with who may call what; made when it is first asked for."""

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _described(app)
        return app.openapi_schema

    app.openapi = describe  # type: ignore[method-assign]


def _described(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    made["components"]["securitySchemes"] = {"token": SCHEME}
    for path, operations in made["paths"].items():
        if path.startswith(GUARDED):
            for operation in operations.values():
                operation["security"] = [{"token": []}]
    return made
