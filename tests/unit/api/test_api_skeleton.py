"""The app on a real master: who may ask, and the one shape of errors."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from service import Served, served


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


async def test_jobs_are_listed_for_readers_and_for_nobody_else(here: Served) -> None:
    answer = await here.http.get("/v1/jobs")
    assert (answer.status_code, answer.json()) == (200, {"jobs": [], "next": None})
    async with here.client() as stranger, here.client("reader") as reader:
        refused = await stranger.get("/v1/jobs")
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "unauthorized"
        assert refused.headers["www-authenticate"] == "Bearer"
        assert (await reader.get("/v1/jobs")).status_code == 200
        assert (await reader.get("/v1/me")).json()["role"] == "reader"


async def test_health_says_that_all_is_well_and_nothing_else(here: Served) -> None:
    async with here.client() as stranger:
        answer = await stranger.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "version": "", "trouble": ""}


async def test_what_is_not_there_is_told_in_the_one_shape(here: Served) -> None:
    answer = await here.http.get("/v1/nothing")
    assert answer.status_code == 404
    assert answer.json()["error"] == {
        "code": "not_found",
        "message": "there is nothing at /v1/nothing",
        "field": None,
    }
    answer = await here.http.put("/v1/jobs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")


async def test_the_service_is_no_member(here: Served) -> None:
    rows = await here.service.ask({"nodes": "list"})
    assert [row["member"] for row in rows if row["node"] != "up"] == []
