"""Settings, aliases, machines and their workers over the API, on a real master with a worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from service import Served, served
from serving import Answer, SmallSite


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


@asynccontextmanager
async def at_work(data: Path) -> AsyncIterator[Served]:
    """Yield a master whose worker works."""
    async with served(data, workers=1) as found:
        running = asyncio.create_task(found.master.run())
        try:
            yield found
        finally:
            found.master.stop()
            await running


async def until(here: Served, path: str, key: str, value: Any) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await here.http.get(path)).json()
            if found[key] == value:
                return found
            await asyncio.sleep(0.1)


async def test_settings_are_set_read_and_taken_back(here: Served) -> None:
    put = await here.http.put("/v1/settings/*.x.test", json={"delay": 2.5, "blacklist": False})
    assert put.status_code == 200, put.text
    assert put.json()["settings"] == {"delay": 2.5, "blacklist": False}
    assert put.json()["changed_by"] == "admin"
    [row] = (await here.http.get("/v1/settings")).json()["settings"]
    assert row["pattern"] == "*.x.test"
    counts = (await here.http.get("/v1/settings/a.x.test")).json()
    assert counts["settings"]["delay"] == {"value": 2.5, "from": "*.x.test"}
    left = await here.http.delete("/v1/settings/*.x.test", params={"keys": "delay"})
    assert left.json()["settings"] == {"blacklist": False}
    assert (await here.http.delete("/v1/settings/*.x.test")).json()["settings"] == {}
    assert (await here.http.delete("/v1/settings/*.x.test")).status_code == 404


@pytest.mark.parametrize(
    ("pattern", "values", "field"),
    [
        ("x.test", {"delay": -1}, "delay"),
        ("x.test", {"color": "red"}, "color"),
        ("x.test", {"delay": None}, "delay"),
        ("x.test", {}, "body"),
        ("x..test", {"delay": 1}, None),
    ],
)
async def test_bad_settings_are_refused(
    here: Served, pattern: str, values: dict[str, Any], field: str | None
) -> None:
    answer = await here.http.put(f"/v1/settings/{pattern}", json=values)
    assert answer.status_code == 422
    if field is not None:
        assert answer.json()["error"]["field"] == field


async def test_there_are_no_aliases_and_none_to_undo(here: Served) -> None:
    assert (await here.http.get("/v1/aliases")).json() == {"aliases": []}
    assert (await here.http.get("/v1/aliases", params={"job": "none"})).status_code == 404
    job = {"id": "one", "entries": ["http://one.test/"]}
    await here.http.post("/v1/jobs", json=job)
    assert (await here.http.delete("/v1/aliases/two.test")).status_code == 404


async def test_workers_are_started_stopped_and_read(tmp_path: Path) -> None:
    async with at_work(tmp_path / "state") as here:
        found = await until_node(here)
        assert [node["id"] for node in found["nodes"]] == ["up"]
        started = await here.http.post("/v1/nodes/up/workers", json={"count": 1})
        assert started.status_code == 201, started.text
        [worker] = started.json()["workers"]
        number = worker["worker"]
        workers = (await here.http.get("/v1/nodes/up/workers")).json()["workers"]
        assert number in [one["worker"] for one in workers]
        async with here.client("operator") as operator:
            refused = await operator.delete(f"/v1/nodes/up/workers/{number}")
            assert refused.status_code == 403
        stopped = await here.http.delete(f"/v1/nodes/up/workers/{number}")
        assert stopped.json()["workers"][0]["worker"] == number
        logs = (await here.http.get("/v1/nodes/up/logs", params={"worker": 0})).json()["logs"]
        assert [piece["worker"] for piece in logs] == [0]
        assert (await here.http.get("/v1/nodes/none")).status_code == 404
        bad = await here.http.post("/v1/nodes/up/workers", json={"count": 0})
        assert (bad.status_code, bad.json()["error"]["field"]) == (422, "count")


async def until_node(here: Served) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            found: dict[str, Any] = (await here.http.get("/v1/nodes")).json()
            if any(one["state"] == "running" for one in found["workers"]):
                return found
            await asyncio.sleep(0.1)


async def test_pages_rejects_and_why(tmp_path: Path) -> None:
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(5))
    answers = {"/": Answer(f"<title>Home</title><h1>Top</h1>{links}".encode())}
    heads = ["<h1>Head</h1>"] * 3 + [""] * 2
    answers |= {
        f"/{n}": Answer(f"<title>Page {n}</title>{head}text {n}".encode())
        for n, head in enumerate(heads)
    }
    with SmallSite(answers) as site:
        job = {
            "id": "one",
            "entries": [site.url()],
            "polite": {"delay": 0},
            "sitemaps": "no",
            "detail": {"fields": {"head": {"css": "h1::text", "required": True}}},
        }
        async with at_work(tmp_path / "state") as here:
            assert (await here.http.post("/v1/jobs", json=job)).status_code == 201
            await until(here, "/v1/jobs/one", "state", "finished")
            first = (await here.http.get("/v1/jobs/one/pages", params={"limit": 3})).json()
            assert len(first["pages"]) == 3
            more = {"limit": 3, "after": first["next"]}
            rest = (await here.http.get("/v1/jobs/one/pages", params=more)).json()
            urls = {page["url"] for page in first["pages"] + rest["pages"]}
            assert len(urls) == 4
            found = await here.http.get("/v1/jobs/one/pages", params={"q": "PAGE 2"})
            assert [page["title"] for page in found.json()["pages"]] == ["Page 2"]
            none = await here.http.get("/v1/jobs/one/pages", params={"status": 404})
            assert none.json() == {"pages": [], "next": None}
            rejects = (await here.http.get("/v1/jobs/one/rejects", params={"limit": 1})).json()
            assert (len(rejects["rejects"]), rejects["next"]) == (1, "1")
            assert rejects["rejects"][0]["field"] == "head"
            last = await here.http.get("/v1/jobs/one/rejects", params={"after": "1"})
            assert (len(last.json()["rejects"]), last.json()["next"]) == (1, None)
            why = (await here.http.get("/v1/pages", params={"url": site.url("/2")})).json()
            assert (why["known"], why["jobs"][0]["state"]) == (True, "done")
            assert why["jobs"][0]["record"]["title"] == "Page 2"
            unknown = await here.http.get("/v1/pages", params={"url": "http://no.test/"})
            assert (unknown.json()["known"], unknown.json()["jobs"][0]["state"]) == (
                False,
                "unknown",
            )
            bad = await here.http.get("/v1/jobs/one/rejects", params={"after": "x"})
            assert (bad.status_code, bad.json()["error"]["field"]) == (422, "after")
