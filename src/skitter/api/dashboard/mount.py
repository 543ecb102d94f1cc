"""The dashboard on the app of the API: one frame, in which pages are drawn by their address."""

import logging
from collections.abc import Awaitable, Callable
from copy import copy
from importlib.resources import files
from typing import Final

from fastapi import FastAPI, Request
from nicegui import Client, ui
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from skitter import __version__
from skitter.api.auth import COOKIE
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
from skitter.api.dashboard.door import Door
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
_THEME_COOKIE: Final = "skitter_theme"
_THEMES: Final = {"dark": True, "light": False}
_HEAD: Final = (
    f'<link rel="stylesheet" href="/_skitter/skitter.css?{__version__}">'
    f'<script src="/_skitter/skitter.js?{__version__}"></script>'
)


def mount(app: FastAPI) -> None:
    """Put the dashboard on an app whose state has the keys of the service.

    NiceGUI is one for a process, so this is done once in each.
    """
    # It tells of every address that nobody has, and of every page that was left early.
    logging.getLogger("nicegui").setLevel(logging.ERROR)
    app.include_router(login.router)
    app.include_router(download.router)
    static = files("skitter.api.dashboard").joinpath("static")
    app.mount("/_skitter", StaticFiles(directory=str(static)))
    show = _page(app)
    for path in PAGES:
        ui.page(path, dark=None, response_timeout=15.0)(show)
    ui.run_with(
        app,
        title="Skitter",
        favicon=static.joinpath("mark.svg").read_text("utf-8"),
        tailwind=False,
        show_welcome_message=False,
        binding_refresh_interval=None,
        reconnect_timeout=10.0,
    )
    whole = app.router.routes.pop()
    assert isinstance(whole, Mount)
    app.router.routes.append(Door(whole.app, app.state.keys, PAGES))


def _page(app: FastAPI) -> Callable[[Request, Client], Awaitable[Response | None]]:
    async def show(request: Request, client: Client) -> Response | None:
        transport = ViewerTransport(app, request.cookies.get(COOKIE, ""))
        api = AsyncClient(SELF, transport=transport)
        client.on_delete(api.close)
        try:
            viewer = Viewer(api, await api.send(me()), login.words_of(request))
        except ApiError as error:
            return PlainTextResponse(error.message, 503, {"Retry-After": "2"})
        _dress(client, request, viewer)
        _draw(viewer)
        return None

    return show


def _dress(client: Client, request: Request, viewer: Viewer) -> None:
    """Let the page begin in the language and the theme of its viewer."""
    client.page = copy(client.page)
    client.page.language = "zh-CN" if viewer.words.language == "zh" else "en-US"
    client.page.dark = _THEMES.get(request.cookies.get(_THEME_COOKIE, ""))


def _draw(viewer: Viewer) -> None:
    ui.add_head_html(_HEAD)
    with layout.frame(viewer):
        ui.sub_pages(PAGES, data={"viewer": viewer})
