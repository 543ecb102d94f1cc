"""A fetcher without a network: a table of pages, for tests of everything above the fetch seam."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from msgspec.structs import replace

from skitter.errors import BodyTooLarge, DnsError, FetchError, TypeRefused
from skitter.fetch.base import Raw, Request, Response
from skitter.fetch.types import guess_type, media_type, sniff, wanted_type

_PIECE_BYTES = 1000


class FakeFetcher:
    """Answers from ``pages`` and keeps the requests it got, in order, in ``requests``.

    A ``FetchError`` in the table is raised; a URL that is not in it raises ``DnsError``. Media
    types, ``cut_bytes``, ``stream``, ``keep_raw``, ``ready``, ``permit``, a request's own cap on
    the body and closing behave as the seam says. The raw bytes are those a server without framing
    or compression would have sent, unless the page brings its own.
    """

    def __init__(self, pages: Mapping[str, Response | FetchError]) -> None:
        self._pages = pages
        self.requests: list[Request] = []
        self.closed = False

    async def fetch(self, request: Request) -> Response:
        """Return or raise what the table holds for ``request.url``."""
        if self.closed:
            raise FetchError(request.url, "the fetcher is closed")
        if request.ready is not None:
            await request.ready()
        if request.permit is not None:
            request.permit()
        self.requests.append(request)
        # As over a network, other tasks get their turn before the answer.
        await asyncio.sleep(0)
        page = self._pages.get(request.url)
        if page is None:
            raise DnsError(request.url, "no such page in the table")
        if isinstance(page, FetchError):
            raise page
        _check_type(request, page)
        page = _sized(request, page)
        raw = (page.raw or _raw(request, page)) if request.keep_raw else None
        page = replace(page, raw=raw)
        if request.stream is None or page.status != 200:
            return page
        return await _streamed(request, page)

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
    kind = guess_type(page.content_type, request.url, page.body)
    if kind and not wanted_type(kind, request.accept_types):
        header = page.content_type
        told = header if header and media_type(header) == kind else kind
        why = f"media type {told!r} is not wanted"
        raise TypeRefused(request.url, why, status=200, content_type=told)


def _sized(request: Request, page: Response) -> Response:
    """Cut or refuse a body that is too long."""
    cut, size = request.cut_bytes, len(page.body)
    if cut and size > cut:
        return replace(page, body=page.body[:cut], truncated=True, cut="length")
    if request.limits is None or cut or size <= request.limits.body_bytes:
        return page
    cap = request.limits.body_bytes
    if page.status == 200:
        raise BodyTooLarge(request.url, f"more than {cap} bytes on the wire")
    return replace(page, body=page.body[:cap], truncated=True, cut="length")


async def _streamed(request: Request, page: Response) -> Response:
    assert request.stream is not None
    for start in range(0, len(page.body), _PIECE_BYTES):
        full = request.stream(page.body[start : start + _PIECE_BYTES])
        if full is not None:
            await full
    return replace(page, body=b"", sniffed=sniff(page.body) if page.body else "")


def _raw(request: Request, page: Response) -> Raw:
    parts = urlsplit(request.url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    asked = f"GET {target} HTTP/1.1\r\n" + _lines({"Host": parts.netloc, **request.headers})
    reason = HTTPStatus(page.status).phrase if page.status in _STATUSES else ""
    head = f"HTTP/1.1 {page.status} {reason}\r\n{_lines(page.headers)}".encode()
    return Raw(asked.encode(), head + page.body, len(head), page.cut)


_STATUSES = frozenset(status.value for status in HTTPStatus)


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items()) + "\r\n"
