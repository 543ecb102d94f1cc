"""What every request passes before anything else of it is read: who asks."""

import time
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from skitter.api.auth import Keys, who_asks
from skitter.api.errors import ApiError, problem
from skitter.api.strangers import Strangers
from skitter.client.base import Role

GUARDED = ("/v1/", "/metrics")
MASTERS = "/v1/frontier/"


class Guard:
    """Lets no request to the API through that has no token; the body is not looked at before."""

    def __init__(
        self,
        app: ASGIApp,
        keys: Keys,
        strangers: Strangers,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._app = app
        self._keys = keys
        self._strangers = strangers
        self._now = now

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on with the role of who asks."""
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            try:
                if scope["path"].startswith(MASTERS):
                    raise _misdirected()
                role = self._role(scope)
            except ApiError as error:
                refusal = problem(error.status, error.message, error.field, error.headers)
                await refusal(scope, receive, send)
                return
            scope["skitter.role"] = role
        await self._app(scope, receive, send)

    def _role(self, scope: Scope) -> Role:
        headers = Headers(scope=scope)
        try:
            return who_asks(self._keys, scope["method"], headers, self._now())
        except ApiError as error:
            # No token is no guess, and a cookie that has run out is no wrong token.
            if error.status == 401 and headers.get("authorization"):
                self._strangers.refuse(scope)
            raise


def _misdirected() -> ApiError:
    return ApiError(421, "nodes need a connection of their own", headers={"Connection": "close"})
