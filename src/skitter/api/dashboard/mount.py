"""The dashboard on the app of the API: one frame, in which pages are drawn by their address."""

import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Final
from urllib.parse import quote

from fastapi import FastAPI, Request
from nicegui import Client, ui
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from skitter import __version__
from skitter.api.auth import COOKIE, Keys
from skitter.api.dashboard import (
    download,
    job_detail,
    job_new,
    jobs,
    layout,
    live,
    login,
    node_detail,
    nodes,
    overview,
    pages,
    rejects,
    sites,
)
from skitter.api.dashboard.session import Viewer
from skitter.api.dashboard.transport import SELF, ViewerTransport
from skitter.client.calls.base import me
from skitter.client.http import AsyncClient
from skitter.errors import ApiError

PAGES: Final[dict[str, Callable[..., Awaitable[None]]]] = {
    "/": overview.show,
    "/jobs": jobs.show,
    "/jobs/new": job_new.show,
    "/jobs/{job_id}": job_detail.show,
    "/pages": pages.show,
    "/rejects": rejects.show,
    "/nodes": nodes.show,
    "/nodes/{node_id}": node_detail.show,
    "/sites": sites.show,
    "/live": live.show,
}
_HEAD: Final = (
    f'<link rel="stylesheet" href="/_skitter/skitter.css?{__version__}">'
    f'<script src="/_skitter/skitter.js?{__version__}"></script>'
)


def mount(app: FastAPI) -> None:
    """Put the dashboard on an app whose state has the keys of the service."""
    app.include_router(login.router)
    app.include_router(download.router)
    static = str(files("skitter.api.dashboard").joinpath("static"))
    app.mount("/_skitter", StaticFiles(directory=static))
    show = _page(app)
    for path in PAGES:
        ui.page(path, dark=None, response_timeout=15.0)(show)
    ui.run_with(
        app,
        title="Skitter",
        favicon=files("skitter.api.dashboard").joinpath("static/mark.svg").read_text("utf-8"),
        tailwind=False,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=10.0,
    )


def _page(app: FastAPI) -> Callable[[Request, Client], Awaitable[Response | None]]:
    async def show(request: Request, client: Client) -> Response | None:
        cookie = request.cookies.get(COOKIE, "")
        keys: Keys = app.state.keys
        if keys.role_in(cookie, time.time()) is None:
            return RedirectResponse(f"/login?next={quote(_address(request))}", 303)
        api = AsyncClient(SELF, transport=ViewerTransport(app, cookie))
        client.on_delete(api.close)
        try:
            viewer = Viewer(api, await api.send(me()), login.words_of(request))
        except ApiError as error:
            return PlainTextResponse(error.message, 503, {"Retry-After": "2"})
        _draw(viewer)
        return None

    return show


def _draw(viewer: Viewer) -> None:
    ui.add_head_html(_HEAD)
    with layout.frame(viewer):
        ui.sub_pages(PAGES, data={"viewer": viewer})


def _address(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")
