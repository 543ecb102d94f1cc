"""Signing in and out, on an app with the keys of a service."""

import time
from collections.abc import AsyncIterator

import httpx
import pytest
from fastapi import FastAPI
from service import ADMIN, TOKENS

from skitter.api import errors
from skitter.api.auth import COOKIE, Keys
from skitter.api.dashboard import login
from skitter.api.limits import Rate
from skitter.api.strangers import Strangers
from skitter.client.base import Role

OURS = {"X-Skitter": "1"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = FastAPI()
    app.state.keys = Keys(ADMIN)
    app.state.strangers = Strangers(Rate(per_second=0.1, burst=2))
    errors.install(app)
    app.include_router(login.router)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://skitter") as client:
        yield client


@pytest.mark.parametrize("role", ["admin", "operator", "reader"])
async def test_a_token_is_exchanged_for_a_cookie_of_its_role(
    http: httpx.AsyncClient, role: str
) -> None:
    answer = await http.post("/login", json={"token": TOKENS[role]}, headers=OURS)
    assert answer.json() == {"role": role}
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said
    assert Keys(ADMIN).role_in(http.cookies[COOKIE], time.time()) is Role(role)
    assert TOKENS[role] not in said


async def test_a_wrong_token_brings_nothing(http: httpx.AsyncClient) -> None:
    answer = await http.post("/login", json={"token": "guess"}, headers=OURS)
    assert (answer.status_code, answer.json()["error"]["field"]) == (401, "token")
    assert "set-cookie" not in answer.headers
    assert "guess" not in answer.text


async def test_many_wrong_tokens_are_told_to_wait_and_the_right_one_is_not(
    http: httpx.AsyncClient,
) -> None:
    async def tried(token: str) -> httpx.Response:
        return await http.post("/login", json={"token": token}, headers=OURS)

    codes = [(await tried(f"guess {n}")).status_code for n in range(3)]
    assert codes == [401, 401, 429]
    before = time.monotonic()
    refused = await tried("guess")
    assert time.monotonic() - before >= 0.25, "who is told to wait guesses faster than before"
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
    assert 1 <= int(refused.headers["retry-after"]) <= 10
    assert (await tried(ADMIN)).status_code == 200


async def test_another_site_cannot_sign_somebody_in_or_out(http: httpx.AsyncClient) -> None:
    for path, body in (("/login", {"token": ADMIN}), ("/logout", {})):
        answer = await http.post(path, json=body)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


async def test_signing_out_takes_the_cookie_back(http: httpx.AsyncClient) -> None:
    await http.post("/login", json={"token": ADMIN}, headers=OURS)
    assert COOKIE in http.cookies
    await http.post("/logout", headers=OURS)
    assert COOKIE not in http.cookies


async def test_the_page_is_in_the_language_of_the_browser(http: httpx.AsyncClient) -> None:
    english = await http.get("/login")
    chinese = await http.get("/login", headers={"Accept-Language": "zh-CN,zh;q=0.9"})
    assert '<html lang="en">' in english.text
    assert '<html lang="zh">' in chinese.text
    assert "访问令牌" in chinese.text
    assert "[[" not in english.text + chinese.text
    assert "http://" not in english.text.replace("http://www.w3.org", "")
    assert "https://" not in english.text
