"""Who comes to the pages: those with a cookie of ours. For everybody else NiceGUI does nothing."""

import re
import time
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.responses import RedirectResponse
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Receive, Scope, Send

from skitter.api.auth import Keys, cookie_in
from skitter.api.errors import problem

_LIBRARIES: Final = ("/_nicegui/", "/favicon.ico")
"""Scripts, styles and fonts of NiceGUI, which are no secret."""
_SOCKET: Final = "/_nicegui_ws/"


class Door(Mount):
    """Takes the addresses of pages; all others are left to the API, whose errors have one shape."""

    def __init__(self, app: ASGIApp, keys: Keys, pages: Iterable[str]) -> None:
        super().__init__("/", app=_Guarded(app, keys))
        self._pages = [re.compile(re.sub(r"\{\w+\}", "[^/]+", page)) for page in pages]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether a request is for a page, or for what pages are made of."""
        path: str = scope.get("path", "")
        ours = path.startswith((*_LIBRARIES, _SOCKET))
        if ours or any(page.fullmatch(path) for page in self._pages):
            return super().matches(scope)
        return Match.NONE, {}


class _Guarded:
    """Lets through who has a cookie; the others are shown the way to one."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if path.startswith(_SOCKET) and not _is_own(Headers(scope=scope)):
            await _refuse(403, "a page of another site asks")(scope, receive, send)
        elif path.startswith(_LIBRARIES) or self._is_known(scope):
            await self._app(scope, receive, send)
        elif path.startswith(_SOCKET) or scope["type"] == "websocket":
            await _refuse(401, "sign in first")(scope, receive, send)
        else:
            await _to_login(scope)(scope, receive, send)

    def _is_known(self, scope: Scope) -> bool:
        cookie = cookie_in(Headers(scope=scope))
        return self._keys.role_in(cookie, time.time()) is not None


def _is_own(headers: Headers) -> bool:
    """Tell whether a page of ours asks; a browser says whose it is, programs need not.

    To a browser another port of this machine is the same site, so it sends our cookie from there.
    """
    asks = headers.get("origin")
    return asks is None or asks.partition("://")[2].lower() == headers.get("host", "").lower()


def _refuse(status: int, message: str) -> ASGIApp:
    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4000 + status})
        else:
            await problem(status, message)(scope, receive, send)

    return refuse


def _to_login(scope: Scope) -> RedirectResponse:
    query = scope["query_string"].decode("latin-1")
    wanted = scope["path"] + (f"?{query}" if query else "")
    return RedirectResponse(f"/login?next={quote(wanted, safe='')}", 303)
