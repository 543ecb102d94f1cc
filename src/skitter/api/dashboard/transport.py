"""The way to the API within the process, in the name of a viewer."""

from typing import Final

import httpx

from skitter.api.auth import CHANGES_HEADER, COOKIE
from skitter.client.asgi import App, AppTransport

SELF: Final = "http://skitter.internal"
"""The address of the own app; no request to it leaves the process."""


class ViewerTransport(AppTransport):
    """Sends requests with the cookie of a viewer: the API decides what they may do."""

    def __init__(self, app: App, cookie: str) -> None:
        super().__init__(app)
        self._mine = {"Cookie": f"{COOKIE}={cookie}", CHANGES_HEADER: "1"}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer of the app once it has begun."""
        request.headers.update(self._mine)
        return await super().handle_async_request(request)
