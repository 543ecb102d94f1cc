"""A fetcher without a network: a table of pages, for tests of everything above the fetch seam."""

import asyncio
from collections.abc import Mapping

from skitter.errors import DnsError, FetchError, TypeRefused
from skitter.fetch.base import Request, Response
from skitter.fetch.types import sniff, type_from_url, wanted_type


class FakeFetcher:
    """Answers from ``pages`` and keeps the requests it got, in order, in ``requests``.

    A ``FetchError`` in the table is raised; a URL that is not in it raises ``DnsError``. Media
    types, ``cut_bytes`` and closing behave as the seam says.
    """

    def __init__(self, pages: Mapping[str, Response | FetchError]) -> None:
        self._pages = pages
        self.requests: list[Request] = []
        self.closed = False

    async def fetch(self, request: Request) -> Response:
        """Return or raise what the table holds for ``request.url``."""
        if self.closed:
            raise FetchError(request.url, "the fetcher is closed")
        self.requests.append(request)
        # As over a network, other tasks get their turn before the answer.
        await asyncio.sleep(0)
        page = self._pages.get(request.url)
        if page is None:
            raise DnsError(request.url, "no such page in the table")
        if isinstance(page, FetchError):
            raise page
        _check_type(request, page)
        if request.cut_bytes and len(page.body) > request.cut_bytes:
            return _cut(page, request.cut_bytes)
        return page

    async def close(self) -> None:
        """Refuse further requests; idempotent."""
        self.closed = True


def page(
    url: str,
    body: bytes | str = b"",
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return a response for a table; text is UTF-8 and HTML unless ``headers`` say otherwise."""
    raw = body.encode() if isinstance(body, str) else body
    plain = {"content-type": "text/html; charset=utf-8"} if headers is None else dict(headers)
    return Response(
        url=url,
        status=status,
        headers={name.lower(): value for name, value in plain.items()},
        body=raw,
        wire_bytes=len(raw),
        elapsed_ms=0,
        address="192.0.2.1",
    )


def _check_type(request: Request, page: Response) -> None:
    if page.status != 200:
        return
    for kind in (page.content_type, type_from_url(request.url), sniff(page.body)):
        wanted = wanted_type(kind, request.accept_types)
        if wanted is False:
            why = f"media type {kind!r} is not wanted"
            raise TypeRefused(request.url, why, status=200, content_type=kind or "")
        if wanted:
            return


def _cut(page: Response, size: int) -> Response:
    return Response(
        url=page.url,
        status=page.status,
        headers=page.headers,
        body=page.body[:size],
        wire_bytes=page.wire_bytes,
        elapsed_ms=page.elapsed_ms,
        address=page.address,
        truncated=True,
    )
