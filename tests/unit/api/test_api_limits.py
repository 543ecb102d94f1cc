"""What is too much is refused at once: requests, bodies, and the headers of every answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import httpx
import pytest
from service import Served, bearer, served

from skitter.api.app import create_app
from skitter.api.dashboard import login
from skitter.api.errors import ApiError
from skitter.api.limits import Buckets, Limits, Rate
from skitter.api.strangers import Strangers
from skitter.wiring import resolve as wiring

JSON = {"Content-Type": "application/json"}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


@asynccontextmanager
async def limited(here: Served, limits: Limits) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(here.service, limits))
    async with httpx.AsyncClient(
        transport=transport, base_url="http://skitter", headers=bearer()
    ) as http:
        yield http


def test_a_bucket_fills_with_time() -> None:
    now = [0.0]
    buckets = Buckets(Rate(per_second=2, burst=3), lambda: now[0])
    assert [buckets.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert buckets.take("b") == 0, "each has its own"
    now[0] = 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == 0.5
    now[0] = 100
    assert [buckets.take("a") for _ in range(4)][3] > 0, "never more than the burst"


async def test_a_token_that_asks_too_often_is_told_when_to_come_back(here: Served) -> None:
    slow = Limits(rate=Rate(per_second=0.1, burst=2))
    async with limited(here, slow) as http:
        codes = [(await http.get("/v1/me")).status_code for _ in range(2)]
        refused = await http.get("/v1/me")
        assert (codes, refused.status_code) == ([200, 200], 429)
        assert refused.json()["error"]["code"] == "too_many"
        assert int(refused.headers["retry-after"]) >= 1
        other = await http.get("/v1/me", headers=bearer("reader"))
        assert other.status_code == 200
        stranger = await http.get("/v1/me", headers={"Authorization": "Bearer x"})
        assert stranger.status_code == 401, "a stranger has no part in it"


async def test_an_address_with_many_wrong_tokens_is_told_to_wait_and_right_ones_are_not(
    here: Served,
) -> None:
    async with limited(here, Limits(wrong=Rate(per_second=0.1, burst=2))) as http:

        async def shown(token: str) -> httpx.Response:
            return await http.get("/v1/me", headers={"Authorization": f"Bearer {token}"})

        assert [(await shown(f"x{n}")).status_code for n in range(3)] == [401, 401, 429]
        refused = await shown("x")
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        assert (await http.get("/v1/me")).status_code == 200
        nothing = await http.get("/v1/me", headers={"Authorization": ""})
        assert nothing.status_code == 401, "none is no wrong one"


def test_wrong_tokens_are_counted_by_the_network_they_come_from() -> None:
    def refused(address: str | None) -> bool:
        try:
            strangers.refuse({"client": address and (address, 1)})
        except ApiError as error:
            return error.headers["Retry-After"] == "1"
        return False

    strangers = Strangers(Rate(per_second=1, burst=1), lambda: 0.0)
    known = ("192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1", None)
    assert [refused(address) for address in known] == [False] * 4
    assert [refused(address) for address in known] == [True] * 4
    assert refused("2001:db8::2"), "the same network"
    assert not refused("2001:db8:0:1::1")
    assert not refused("192.0.2.2")


async def test_more_to_resolve_than_may_wait_is_refused_at_once(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wiring, "Resolving", partial(wiring.Resolving, most=3))

    async def submit(*paths: str) -> httpx.Response:
        urls = [f"http://one.test/{path}" for path in paths]
        # There is no worker: they wait.
        return await here.http.post("/v1/resolve", json={"urls": urls, "wait": 0})

    assert (await submit("a", "b")).status_code == 200
    refused = await submit("c", "d")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many")
    assert "URLs wait to be resolved, which is as many as may" in refused.text
    assert int(refused.headers["retry-after"]) >= 1
    assert (await submit("c")).status_code == 200, "nothing of what was refused is queued"
    assert (await submit("d")).status_code == 429


async def test_more_at_once_than_can_be_answered_is_refused(here: Served) -> None:
    async with limited(here, Limits(at_once=0)) as http:
        refused = await http.get("/v1/me")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")


@pytest.mark.parametrize("announced", [True, False])
async def test_a_body_that_is_too_large_is_refused(here: Served, announced: bool) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(17):
            yield b"x" * (64 << 10)

    body = b"x" * ((1 << 20) + 1) if announced else pieces()
    for headers in ({}, {"Idempotency-Key": "k"}):
        answer = await here.http.post("/v1/jobs", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        body = b"x" * ((1 << 20) + 1) if announced else pieces()


async def test_a_body_that_does_not_come_is_not_waited_for(here: Served) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    async with limited(here, Limits(body_s=0.05)) as http:
        for headers in ({}, {"Idempotency-Key": "k"}):
            answer = await http.post("/v1/jobs", content=never(), headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (408, "too_slow")
            assert answer.headers["connection"] == "close"


async def test_a_large_body_has_the_time_that_its_bytes_take(here: Served) -> None:
    async def steadily() -> AsyncIterator[bytes]:
        yield b" " * 1_000
        await asyncio.sleep(1.1)
        yield b"{}"

    async with limited(here, Limits(body_s=1, body_rate=10)) as http:
        answer = await http.post("/v1/jobs", content=steadily(), headers=JSON)
    assert answer.json()["error"]["code"] == "invalid", "it was read to its end"


async def test_one_token_cannot_take_every_place(here: Served) -> None:
    async def held(begun: asyncio.Event) -> AsyncIterator[bytes]:
        begun.set()
        await asyncio.Event().wait()
        yield b""

    async def hold(http: httpx.AsyncClient, role: str) -> asyncio.Task[httpx.Response]:
        begun = asyncio.Event()
        asked = http.post("/v1/pages/lookup", content=held(begun), headers=bearer(role))
        task = asyncio.create_task(asked)
        await begun.wait()
        return task

    async with limited(here, Limits(at_once=4, body_s=60)) as http:
        holding = [await hold(http, "reader") for _ in range(2)]
        refused = await http.get("/v1/me", headers=bearer("reader"))
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert "one token" in refused.json()["error"]["message"]
        assert (await http.get("/v1/me", headers=bearer("operator"))).status_code == 200
        for task in holding:
            task.cancel()
        await asyncio.wait(holding)
        again = await http.get("/v1/me", headers=bearer("reader"))
        assert again.status_code == 200, "the places are free again"


async def test_every_answer_keeps_browsers_from_harm(here: Served) -> None:
    async with here.client() as stranger:
        for path in ("/v1/me", "/healthz", "/nothing", "/v1/nothing"):
            for client in (stranger, here.http):
                headers = (await client.get(path)).headers
                assert headers["x-frame-options"] == "DENY"
                assert headers["x-content-type-options"] == "nosniff"
                assert headers["referrer-policy"] == "no-referrer"
                assert headers["cross-origin-opener-policy"] == "same-origin"
                assert "frame-ancestors 'none'" in headers["content-security-policy"]
                assert "http" not in headers["content-security-policy"]


async def test_a_body_that_is_no_json_or_not_what_is_wanted(here: Served) -> None:
    broken = await here.http.post("/v1/jobs", content=b"{nope", headers=JSON)
    assert (broken.status_code, broken.json()["error"]["code"]) == (422, "invalid")
    assert "JSON" in broken.json()["error"]["message"]
    wrong = await here.http.post("/v1/jobs/x/clear", json={"class": "nav", "more": 1})
    assert wrong.json()["error"]["field"] == "more"
    missing = await here.http.post("/v1/jobs/x/clear", json={})
    assert missing.json()["error"]["message"] == "class: missing"


async def test_a_token_is_one_however_it_is_written(here: Served) -> None:
    slow = Limits(rate=Rate(per_second=0.1, burst=2))
    token = bearer()["Authorization"].partition(" ")[2]
    async with limited(here, slow) as http:
        written = [f"Bearer {token}", f"bearer {token}", f"BEARER  {token}"]
        asked = [await http.get("/v1/me", headers={"Authorization": one}) for one in written]
        assert [answer.status_code for answer in asked] == [200, 200, 429]


@pytest.mark.parametrize("announced", [True, False])
async def test_a_stranger_cannot_send_a_large_body_either(here: Served, announced: bool) -> None:
    sent = 0

    async def parts() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1 << 10
            yield b" " * (1 << 10)

    here.app.include_router(login.router)
    async with here.client() as http:
        headers = {**JSON, "X-Skitter": "1"} | ({"Content-Length": "65536"} if announced else {})
        answer = await http.post("/login", content=parts(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert announced or sent < 20 << 10


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/resolve", rb'{"urls": ["http://a.test/\ud800"]}'),
        ("/v1/resolve", rb'{"text": "http://a.test/\uDfff"}'),
        ("/v1/jobs", rb'{"id": "a", "entries": ["http://a.test/"], "owner": "\udc80"}'),
        ("/v1/jobs", rb'{"id": "a", "entries": ["http://a.test/"], "labels": {"\ud83d": "x"}}'),
    ],
)
async def test_half_a_character_is_refused(here: Served, path: str, body: bytes) -> None:
    answer = await here.http.post(path, content=body, headers=JSON)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid")
    assert "half of a character" in error["message"]


async def test_a_whole_character_written_in_two_halves_is_taken(here: Served) -> None:
    body = rb'{"urls": ["http://a.test/\ud83d\ude00"]}'
    answer = await here.http.post("/v1/pages/lookup", content=body, headers=JSON)
    assert answer.json()["pages"][0]["url"] == "http://a.test/\U0001f600"
    broken = await here.http.post("/v1/resolve", content=body[:-2], headers=JSON)
    assert "not JSON" in broken.json()["error"]["message"]


@pytest.mark.parametrize("depth", [200, 900, 100_000])
async def test_what_is_nested_too_deeply_is_refused(here: Served, depth: int) -> None:
    body = b'{"labels": ' + b"[" * depth + b"]" * depth + b"}"
    answer = await here.http.post("/v1/jobs", content=body, headers=JSON)
    assert answer.status_code == 422
    if depth > 200:
        assert "nested more deeply" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/fetch", "/v1/resolve", "/v1/jobs/x/clear"])
@pytest.mark.parametrize(
    ("headers", "body", "field", "said"),
    [
        ({}, b"{}", "Content-Type", "Content-Type: application/json"),
        ({"Content-Type": "text/plain"}, b"{}", "Content-Type", "Content-Type: application/json"),
        (JSON, b'{"url": "\xff"}', None, "not UTF-8"),
        (JSON, b"[" * 100_000, None, "nested more deeply"),
        (JSON, b"[1]", "body", "wanted a JSON object"),
    ],
)
async def test_why_a_body_cannot_be_read_is_said(
    here: Served, path: str, headers: dict[str, str], body: bytes, field: str | None, said: str
) -> None:
    answer = await here.http.post(path, content=body, headers=headers)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (422, "invalid", field)
    assert said in error["message"]


async def test_a_look_up_that_is_nested_too_deeply_is_told_so(here: Served) -> None:
    body = b'{"urls": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    answer = await here.http.post("/v1/pages/lookup", content=body, headers=JSON)
    assert "nested more deeply" in answer.json()["error"]["message"]
