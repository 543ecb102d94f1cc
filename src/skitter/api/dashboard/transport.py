"""The way to the API within the process, in the name of a viewer."""

from typing import Final

import httpx

from skitter.api.auth import CHANGES_HEADER, COOKIE
from skitter.client.asgi import App, AppTransport

SELF: Final = "http://skitter.internal"
"""The address of the own app; no request to it leaves the process."""


class ViewerTransport(AppTransport):
    """Sends requests with what a viewer has shown: the API decides what they may do.

    ``authorization`` is a header as it came; with one the cookie does not count, as in the API.
    """

    def __init__(self, app: App, cookie: str, authorization: str = "") -> None:
        super().__init__(app)
        shown = (
            ("Authorization", authorization) if authorization else ("Cookie", f"{COOKIE}={cookie}")
        )
        # As bytes: whoever asks can send any, and httpx would take text that is ASCII alone.
        pairs = (shown, (CHANGES_HEADER, "1"))
        self._mine = [(name.encode(), value.encode("latin-1", "replace")) for name, value in pairs]

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the answer of the app once it has begun."""
        headers = [*request.headers.raw, *self._mine]
        mine = httpx.Request(request.method, request.url, headers=headers, stream=request.stream)
        return await super().handle_async_request(mine)
