"""What every fetcher promises, on the real one and on the fake."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from fetch_servers import Script, answer, raw_server, says

from skitter.errors import BodyTooLarge, ConnectError, FetchError, TypeRefused
from skitter.fetch.base import Fetcher, FetchLimits, Request, Response
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.http import HttpFetcher
from skitter.testing.fake_fetcher import FakeFetcher, page

HTML = ("text/html",)


@dataclass(frozen=True)
class Page:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] | None = None


PAGES = {
    "/": Page(b"<p>home</p>"),
    "/moved": Page(status=301, headers={"Location": "/"}),
    "/gone": Page(b"gone", status=410),
    "/image": Page(b"GIF89a", headers={"Content-Type": "image/gif"}),
    "/gone-image": Page(b"GIF89a", status=404, headers={"Content-Type": "image/gif"}),
    "/typeless.pdf": Page(b"%PDF-1.7", headers={}),
    "/typeless.html": Page(b"words", headers={}),
    "/typeless-html": Page(b"<!doctype html><p>x", headers={}),
    "/typeless-data": Page(b"\x00\x01\x02\x03", headers={}),
    "/any-file.html": Page(b"<!doctype html><p>x", headers={"Content-Type": "binary/octet-stream"}),
    "/any-file.bin": Page(b"<!doctype html><p>x", headers={"Content-Type": "binary/octet-stream"}),
    "/long": Page(b"0123456789" * 100),
    "/two-headers": Page(b"x", headers={"Content-Type": "text/html", "X-One": "a"}),
}
DEAD = "http://127.0.0.1:1/"


@dataclass(frozen=True)
class Site:
    fetcher: Fetcher
    base: str

    async def get(self, path: str, *accept: str, **more: Any) -> Response:
        request = Request(url=f"{self.base}{path}", accept_types=accept, **more)
        return await self.fetcher.fetch(request)


def _wire(one: Page) -> Script:
    fields = {"Content-Type": "text/html"} if one.headers is None else dict(one.headers)
    raw = answer(one.body, f"{one.status} X", fields)
    if "Content-Type" not in fields:
        raw = raw.replace(b"Content-Type: text/html\r\n", b"")
    return says(raw)


@pytest.fixture(params=["http", "fake"])
async def site(request: pytest.FixtureRequest) -> AsyncIterator[Site]:
    fetcher: Fetcher
    if request.param == "fake":
        base = "http://site.test"
        table: dict[str, Response | FetchError] = {
            base + path: page(base + path, one.body, status=one.status, headers=one.headers)
            for path, one in PAGES.items()
        }
        table[DEAD] = ConnectError(DEAD, "refused")
        fetcher = FakeFetcher(table)
        yield Site(fetcher, base)
        await fetcher.close()
        return
    async with raw_server({path: _wire(one) for path, one in PAGES.items()}) as server:
        fetcher = HttpFetcher(resolver=Resolver(AddressGuard(allow_private=True)))
        yield Site(fetcher, server.url(""))
        await fetcher.close()


async def test_a_page_comes_back_whole(site: Site) -> None:
    response = await site.get("/")
    assert (response.status, response.body) == (200, b"<p>home</p>")
    assert response.url == f"{site.base}/"
    assert response.wire_bytes == len(response.body)
    assert not response.truncated
    assert response.address


async def test_header_names_are_lower_case(site: Site) -> None:
    response = await site.get("/two-headers")
    assert response.headers["x-one"] == "a"
    assert response.content_type == "text/html"


async def test_a_redirect_is_an_answer_and_is_not_followed(site: Site) -> None:
    response = await site.get("/moved", *HTML)
    assert (response.status, response.headers["location"]) == (301, "/")


async def test_an_error_status_is_an_answer(site: Site) -> None:
    assert (await site.get("/gone")).status == 410


async def test_a_fault_is_raised_as_a_fetch_error_with_the_url(site: Site) -> None:
    with pytest.raises(ConnectError) as caught:
        await site.fetcher.fetch(Request(url=DEAD))
    assert caught.value.url == DEAD


async def test_an_unwanted_type_is_refused_with_what_it_was(site: Site) -> None:
    with pytest.raises(TypeRefused) as caught:
        await site.get("/image", *HTML)
    assert (caught.value.status, caught.value.content_type) == (200, "image/gif")


@pytest.mark.parametrize("accept", [(), ("image/gif",), ("image/*",), ("*/*",)])
async def test_a_type_that_is_asked_for_is_taken(site: Site, accept: tuple[str, ...]) -> None:
    assert (await site.get("/image", *accept)).body == b"GIF89a"


async def test_the_type_of_an_error_page_does_not_matter(site: Site) -> None:
    assert (await site.get("/gone-image", *HTML)).status == 404


async def test_without_a_type_the_suffix_tells(site: Site) -> None:
    assert (await site.get("/typeless.html", *HTML)).body == b"words"
    with pytest.raises(TypeRefused):
        await site.get("/typeless.pdf", *HTML)


async def test_without_type_and_suffix_the_first_bytes_tell(site: Site) -> None:
    assert (await site.get("/typeless-html", *HTML)).body.startswith(b"<!doctype")
    with pytest.raises(TypeRefused):
        await site.get("/typeless-data", *HTML)


async def test_a_body_is_cut_where_the_request_says(site: Site) -> None:
    response = await site.get("/long", cut_bytes=25)
    assert response.body == b"0123456789012345678901234"
    assert (response.truncated, response.cut) == (True, "length")
    response = await site.get("/long", cut_bytes=1000)
    assert (response.truncated, response.cut) == (False, "")


async def test_a_body_over_the_cap_of_its_request_is_refused(site: Site) -> None:
    with pytest.raises(BodyTooLarge):
        await site.get("/long", limits=FetchLimits(body_bytes=999))
    assert (await site.get("/long", limits=FetchLimits(body_bytes=1000))).status == 200
    response = await site.get("/gone", limits=FetchLimits(body_bytes=2))
    assert (response.status, response.truncated, response.cut) == (410, True, "length")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/image", "image/gif"),
        ("/typeless.pdf", "application/pdf"),
        ("/typeless.html", "text/html"),
        ("/typeless-html", "text/html"),
        ("/typeless-data", "application/octet-stream"),
        ("/any-file.html", "text/html"),
        ("/moved", ""),
    ],
)
async def test_the_media_type_is_told_by_header_suffix_or_first_bytes(
    site: Site, path: str, kind: str
) -> None:
    assert (await site.get(path)).media_type == kind
    streamed = await site.get(path, stream=lambda _piece: None)
    assert streamed.media_type == kind


async def test_a_page_sent_as_any_file_is_taken_for_what_it_is(site: Site) -> None:
    assert (await site.get("/any-file.html", *HTML)).read_as == "text/html"
    with pytest.raises(TypeRefused):
        await site.get("/any-file.bin", *HTML)


async def test_the_bytes_of_an_exchange_are_kept_when_asked_for(site: Site) -> None:
    assert (await site.get("/long")).raw is None
    for path, status in (("/long", b"200"), ("/gone", b"410")):
        raw = (await site.get(path, keep_raw=True, headers={"X-Mine": "1"})).raw
        assert raw is not None
        assert raw.request.startswith(f"GET {path} HTTP/1.1\r\nHost: ".encode())
        assert b"\r\nX-Mine: 1\r\n" in raw.request
        assert raw.request.endswith(b"\r\n\r\n")
        assert raw.response.startswith(b"HTTP/1.1 " + status)
        assert raw.response[: raw.head_bytes].endswith(b"\r\n\r\n")
        assert raw.response[raw.head_bytes :] == PAGES[path].body
        assert raw.cut == ""


async def test_a_page_is_handed_on_in_pieces_and_other_answers_are_not(site: Site) -> None:
    pieces: list[bytes] = []
    response = await site.get("/long", stream=pieces.append)
    assert b"".join(pieces) == PAGES["/long"].body
    assert (response.body, response.wire_bytes, response.truncated) == (b"", 1000, False)
    pieces.clear()
    assert (await site.get("/gone", stream=pieces.append)).body == b"gone"
    with pytest.raises(TypeRefused):
        await site.get("/image", *HTML, stream=pieces.append)
    assert pieces == []


async def test_a_stream_is_cut_where_the_request_says(site: Site) -> None:
    pieces: list[bytes] = []
    response = await site.get("/long", stream=pieces.append, cut_bytes=25)
    assert b"".join(pieces) == b"0123456789012345678901234"
    assert (response.truncated, response.cut) == (True, "length")


async def test_what_a_stream_raises_reaches_the_caller(site: Site) -> None:
    fault = ZeroDivisionError("mine")

    def refuse(_piece: bytes) -> None:
        raise fault

    with pytest.raises(ZeroDivisionError) as caught:
        await site.get("/long", stream=refuse)
    assert caught.value is fault


async def test_every_task_gets_its_own_answer(site: Site) -> None:
    paths = ["/", "/gone", "/long", "/moved"] * 25
    responses = await asyncio.gather(*(site.get(path) for path in paths))
    assert [r.url.removeprefix(site.base) for r in responses] == paths
    assert [r.body for r in responses] == [PAGES[path].body for path in paths]


async def test_closing_twice_is_closing_once_and_a_closed_fetcher_refuses(site: Site) -> None:
    await site.fetcher.close()
    await site.fetcher.close()
    with pytest.raises(FetchError, match="closed"):
        await site.get("/")
