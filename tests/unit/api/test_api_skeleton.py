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


@pytest.mark.parametrize(
    ("path", "field", "words"),
    [
        ("/v1/jobs?sate=paused", "sate", 'sate: unknown parameter; did you mean "state"?'),
        ("/v1/jobs/x/pages?class=nav&outcom=ok", "outcom", 'did you mean "outcome"?'),
        ("/v1/events?typs=page", "typs", 'did you mean "types"?'),
        ("/v1/stats/series?name=pages&zz", "zz", "wanted one of name, "),
        ("/v1/me?x=1", "x", "x: unknown parameter; this call takes none"),
        ("/v1/jobs?%E5%90%8D=1", "名", "名: unknown parameter; wanted one of "),
    ],
)
async def test_a_query_that_is_misspelt_is_refused(
    here: Served, path: str, field: str, words: str
) -> None:
    answer = await here.http.get(path)
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert (error["code"], error["field"]) == ("invalid", field)
    assert words in error["message"]


async def test_what_is_outside_of_the_api_is_asked_with_any_query(here: Served) -> None:
    for path in ("/healthz?probe=1", "/metrics?probe=1", "/openapi.json?v=2"):
        assert (await here.http.get(path)).status_code == 200, path


async def test_the_service_is_no_member(here: Served) -> None:
    rows = await here.service.ask({"nodes": "list"})
    assert [row["member"] for row in rows if row["node"] != "up"] == []
