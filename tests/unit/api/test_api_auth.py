"""Tokens, roles and cookies."""

import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from service import ADMIN, TOKENS, Served, served

from skitter.api.auth import COOKIE, SESSION_S, Keys
from skitter.client.base import Role
from skitter.wiring.tokens import NODE, admin_token, derived


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


def test_each_token_has_its_role_and_that_of_nodes_has_none() -> None:
    keys = Keys(ADMIN)
    assert {name: keys.role_of(token) for name, token in TOKENS.items()} == {
        "admin": Role.ADMIN,
        "operator": Role.OPERATOR,
        "reader": Role.READER,
    }
    for wrong in (derived(ADMIN, NODE), derived(ADMIN, "cookie"), "", ADMIN[:-1], "käse"):
        assert keys.role_of(wrong) is None


def test_tokens_follow_from_the_first_wherever_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    first = admin_token("", tmp_path / "a")
    assert first.is_new
    assert admin_token("", tmp_path / "a") == first._replace(is_new=False)
    (tmp_path / "b").mkdir()
    assert admin_token(first.value, tmp_path / "b").file is None
    for name in ("token.operator", "token.reader", "token.node"):
        files = [tmp_path / folder / name for folder in "ab"]
        assert files[0].read_text() == files[1].read_text()
        assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    assert not (tmp_path / "b" / "token").exists()


def test_a_cookie_holds_for_some_hours_and_cannot_be_made_up() -> None:
    keys = Keys(ADMIN)
    cookie = keys.cookie(Role.OPERATOR, 1_000.0)
    assert keys.role_in(cookie, 1_000.0 + SESSION_S - 1) is Role.OPERATOR
    assert keys.role_in(cookie, 1_000.0 + SESSION_S) is None
    assert Keys("another").role_in(cookie, 1_000.0) is None
    told, _, signature = cookie.partition(".")
    other = keys.cookie(Role.ADMIN, 1_000.0).partition(".")[0]
    for wrong in (f"{other}.{signature}", told, f"{told}.", "", ".", "é.é", "a.b.c"):
        assert keys.role_in(wrong, 1_000.0) is None


async def test_a_cookie_reads_and_changes_only_with_the_header(here: Served) -> None:
    cookie = here.app.state.keys.cookie(Role.ADMIN, time.time())
    transport = httpx.ASGITransport(here.app)
    async with httpx.AsyncClient(
        transport=transport, base_url="http://skitter", cookies={COOKIE: cookie}
    ) as http:
        assert (await http.get("/v1/me")).json()["role"] == "admin"
        job = {"id": "x", "entries": ["http://x.test/"]}
        refused = await http.post("/v1/jobs", json=job)
        assert (refused.status_code, refused.json()["error"]["field"]) == (403, "X-Skitter")
        done = await http.post("/v1/jobs", json=job, headers={"X-Skitter": "1"})
        assert done.status_code == 201
        # A token that is shown and wrong is not made good by a cookie.
        wrong = await http.get("/v1/me", headers={"Authorization": "Bearer nope"})
        assert wrong.status_code == 401


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", f"Basic {ADMIN}", f"Bearer {ADMIN}x", "Bearer \xe4"]
)
async def test_a_wrong_token_is_told_nothing(here: Served, header: str) -> None:
    async with here.client() as http:
        for path in ("/v1/jobs", "/v1/jobs/none", "/v1/nothing", "/v1/nodes/x/logs"):
            sent = {b"Authorization": header.encode("latin-1")}
            answer = await http.get(path, headers=sent)
            assert answer.status_code == 401
            assert answer.json()["error"]["message"] == "the token is missing or wrong"
            assert ADMIN not in answer.text


async def test_a_strangers_body_is_not_read(here: Served) -> None:
    async def body() -> AsyncIterator[bytes]:
        raise AssertionError("somebody has read it")
        yield b""

    async with here.client() as http:
        assert (await http.post("/v1/jobs", content=body())).status_code == 401


@pytest.mark.parametrize(
    ("role", "path", "said"),
    [
        ("reader", "/v1/fetch", "the token of an operator; this is a reader's"),
        ("operator", "/v1/jobs/x", "the token of an admin; this is an operator's"),
    ],
)
async def test_who_may_not_is_called_by_the_right_article(
    here: Served, role: str, path: str, said: str
) -> None:
    method = "DELETE" if role == "operator" else "POST"
    async with here.client(role) as http:
        answer = await http.request(method, path, json={"url": "http://x.test/"})
    assert answer.status_code == 403
    assert answer.json()["error"]["message"].endswith(said)
