"""Whom NiceGUI gets to see: those with a cookie, at the addresses of pages."""

import time

import httpx
import pytest
from fastapi import FastAPI
from service import ADMIN
from starlette.responses import PlainTextResponse
from starlette.types import Message

from skitter.api import errors
from skitter.api.auth import COOKIE, Keys
from skitter.api.dashboard.door import Door
from skitter.client.base import Role

KEYS = Keys(ADMIN)


def client(cookie: str | None = None) -> httpx.AsyncClient:
    app = FastAPI()
    errors.install(app)

    @app.get("/v1/jobs")
    def jobs() -> dict[str, str]:
        return {"by": "the api"}

    app.router.routes.append(Door(PlainTextResponse("a page"), KEYS, ["/", "/jobs/{job_id}"]))
    cookies = {} if cookie is None else {COOKIE: cookie}
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="http://skitter", cookies=cookies)


async def test_who_has_a_cookie_gets_pages() -> None:
    async with client(KEYS.cookie(Role.READER, time.time())) as known:
        for path in ("/", "/jobs/news", "/_nicegui_ws/socket.io/"):
            assert (await known.get(path)).text == "a page"


async def test_who_has_none_is_sent_to_the_login_and_comes_back() -> None:
    async with client() as stranger:
        answer = await stranger.get("/jobs/a%20b?tab=x&y=1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/login?next=%2Fjobs%2Fa%20b%3Ftab%3Dx%26y%3D1"


@pytest.mark.parametrize("cookie", [None, "forged", "YWRtaW46OTk5.AAAA"])
async def test_who_has_none_has_no_socket(cookie: str | None) -> None:
    async with client(cookie) as stranger:
        answer = await stranger.get("/_nicegui_ws/socket.io/")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorized"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://skitter", 200),
        ("https://SKITTER", 200),
        ("http://skitter:3000", 403),
        ("https://other.test", 403),
        ("null", 403),
    ],
)
async def test_a_page_of_another_site_has_no_socket(origin: str, status: int) -> None:
    async with client(KEYS.cookie(Role.ADMIN, time.time())) as known:
        answer = await known.get("/_nicegui_ws/socket.io/", headers={"Origin": origin})
    assert answer.status_code == status


@pytest.mark.parametrize(("cookie", "code"), [(True, 4403), (False, 4401)])
async def test_a_socket_that_is_refused_is_closed(cookie: bool, code: int) -> None:
    told: list[Message] = []
    headers = [(b"host", b"skitter")]
    if cookie:
        mine = f"{COOKIE}={KEYS.cookie(Role.ADMIN, time.time())}"
        headers += [(b"cookie", mine.encode()), (b"origin", b"http://other.test")]

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        told.append(message)

    door = Door(PlainTextResponse("a page"), KEYS, [])
    scope = {"type": "websocket", "path": "/_nicegui_ws/socket.io/", "headers": headers}
    await door.app(scope, receive, send)
    assert told == [{"type": "websocket.close", "code": code}]


async def test_an_old_cookie_is_none() -> None:
    async with client(KEYS.cookie(Role.ADMIN, time.time() - 13 * 3600)) as late:
        assert (await late.get("/")).status_code == 303


async def test_scripts_and_fonts_are_no_secret() -> None:
    async with client() as stranger:
        assert (await stranger.get("/_nicegui/3/static/x.js")).text == "a page"


async def test_everything_else_is_left_to_the_api_and_its_errors() -> None:
    async with client(KEYS.cookie(Role.ADMIN, time.time())) as known:
        assert (await known.get("/v1/jobs")).json() == {"by": "the api"}
        assert (await known.put("/v1/jobs")).json()["error"]["code"] == "method_not_allowed"
        for path in ("/v1/nothing", "/nothing", "/jobs/a/b"):
            answer = await known.get(path)
            assert answer.status_code == 404
            assert answer.json()["error"]["code"] == "not_found"
