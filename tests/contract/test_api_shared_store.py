"""The API on a store that many share: answered without a master, by any of several."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from service import ADMIN, bearer
from stores import own_store

from skitter.api.app import create_app
from skitter.api.hooks.signature import HEADER, is_signed
from skitter.crawl.aliases.rows import AliasRow, LinksRow, encode, host_mark, links_mark
from skitter.crawl.happenings import tell_job
from skitter.types import HostKey
from skitter.wiring import undo
from skitter.wiring.service import Service, ServiceOptions, open_service

JOB: dict[str, Any] = {"id": "one", "entries": ["http://one.test/"], "owner": "ana"}


@asynccontextmanager
async def client(folder: Path, url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with serving(folder, url) as (_, http):
        yield http


@asynccontextmanager
async def serving(
    folder: Path, url: str, *, allow_private: bool = False
) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    options = ServiceOptions(token=ADMIN, data=str(folder), store=url, allow_private=allow_private)
    async with open_service(options) as service:
        app = create_app(service)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=transport, base_url="http://skitter", headers=bearer()
            ) as http,
        ):
            yield service, http


@pytest.mark.parametrize("kind", ["redis", "cluster"])
async def test_two_services_of_one_store_are_alike(tmp_path: Path, kind: str) -> None:
    url = own_store(kind)
    async with client(tmp_path, url) as one, client(tmp_path, url) as two:
        key = {"Idempotency-Key": "k"}
        added = await one.post("/v1/jobs", json=JOB, headers=key)
        assert added.status_code == 201, added.text
        again = await two.post("/v1/jobs", json=JOB, headers=key)
        assert (again.status_code, again.content) == (201, added.content)
        assert again.headers["idempotency-replayed"] == "true"
        shown = await two.get("/v1/jobs/one")
        assert (shown.json()["queued"], shown.json()["owner"]) == (1, "ana")

        assert (await one.post("/v1/jobs/one/pause")).json()["state"] == "paused"
        wish = {"owner": "bo", "limits": {"pages": 3}}
        changed = await two.patch("/v1/jobs/one", json=wish)
        assert changed.status_code == 200, changed.text
        row = (await one.get("/v1/jobs/one")).json()
        assert (row["owner"], row["limits"]["pages"], row["state"]) == ("bo", 3, "paused")
        timed = await two.patch("/v1/jobs/one", json={"limits": {"time": 5}})
        assert (timed.status_code, timed.json()["error"]["field"]) == (422, "limits.time")

        cleared = await one.post("/v1/jobs/one/clear", json={"class": "data", "restart": True})
        assert cleared.json()["cleared"] == 1
        why = (await two.get("/v1/pages", params={"url": "http://one.test/"})).json()
        assert (why["known"], why["jobs"][0]["state"]) == (True, "queued")
        assert (await one.delete("/v1/jobs/one")).status_code == 204
        assert (await two.get("/v1/jobs/one")).status_code == 404


async def test_settings_nodes_and_aliases_are_those_of_the_store(tmp_path: Path) -> None:
    url = own_store()
    async with client(tmp_path, url) as one, client(tmp_path, url) as two:
        put = await one.put("/v1/settings/x.test", json={"delay": 3})
        assert put.status_code == 200, put.text
        [row] = (await two.get("/v1/settings")).json()["settings"]
        assert (row["pattern"], row["settings"]) == ("x.test", {"delay": 3.0})
        assert (await two.delete("/v1/settings/x.test")).status_code == 200
        assert (await one.get("/v1/nodes")).json()["nodes"] == []
        assert (await one.get("/v1/nodes/none")).status_code == 404
        await one.post("/v1/jobs", json=JOB)
        assert (await two.get("/v1/aliases")).json() == {"aliases": []}
        assert (await two.delete("/v1/aliases/two.test")).status_code == 404
        assert (await one.get("/v1/me")).json()["store"].startswith("redis")


async def test_an_alias_is_taken_back_and_what_was_left_out_of_it_is_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo, "HEARD_S", 0.0)
    async with serving(tmp_path, own_store()) as (service, http):
        job = {"id": "names", "entries": ["http://one.test/", "http://two.test/"]}
        assert (await http.post("/v1/jobs", json=job)).status_code == 201
        [number] = await service.store.reader.jobs()
        two, one = HostKey("two.test"), HostKey("one.test")
        row = AliasRow(
            alias=two, kept=one, origin="http://one.test", since_ms=1, equal=9, common=9,
            different=0,
        )  # fmt: skip
        links = LinksRow(alias=two, count=1, urls=[("http://two.test/left-out", 1)])
        marks = {host_mark(number, two): encode(row), links_mark(number, two, "m"): encode(links)}
        await service.store.frontier.ack([], marks=marks)
        [alias] = (await http.get("/v1/aliases")).json()["aliases"]
        assert (alias["alias"], alias["site"], alias["in_force"]) == (two, one, True)
        undone = await http.delete("/v1/aliases/two.test", params={"job": "names"})
        assert undone.status_code == 200, undone.text
        assert (undone.json()["alias"], undone.json()["queued"]) == (two, 1)
        [alias] = (await http.get("/v1/aliases")).json()["aliases"]
        assert not alias["in_force"]
        assert (await http.get("/v1/jobs/names")).json()["queued"] == 3


async def test_files_are_refused_where_nobody_writes_them(tmp_path: Path) -> None:
    async with client(tmp_path, own_store()) as http:
        wish = {**JOB, "sinks": [{"type": "jsonl", "path": "x.jsonl"}]}
        answer = await http.post("/v1/jobs", json=wish)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "sinks[0]")
        private = await http.post("/v1/jobs", json={**JOB, "entries": ["http://10.0.0.1/"]})
        assert private.json()["error"]["field"] == "entries[0]"


async def test_counters_and_metrics_are_those_of_the_store(tmp_path: Path) -> None:
    url = own_store()
    async with serving(tmp_path, url) as (one, _), client(tmp_path, url) as two:
        now = one.store.clock.now_ms()
        counts = {"pages": 5, "ok": 4, "status:200": 4, "pages|job=one": 5, "pages|kind=site": 5}
        await one.store.frontier.count(counts, now)
        await one.store.frontier.count({"pages": 2}, now - 3_600_000)
        stats = (await two.get("/v1/stats")).json()
        assert (stats["windows"]["minute"]["pages"], stats["windows"]["day"]["pages"]) == (5, 7)
        asked = {"name": ["pages", "pages|job"], "step": "hour"}
        series = (await two.get("/v1/stats/series", params=asked)).json()["series"]
        totals = {row["name"]: sum(one["n"] for one in row["points"]) for row in series}
        assert totals == {"pages": 7, "pages|job=one": 5}
        lines = (await two.get("/metrics")).text.splitlines()
        assert 'skitter_crawl_pages_total{outcome="ok"} 4.0' in lines
        assert "skitter_frontier_store_up 1.0" in lines


async def test_a_webhook_is_told_by_one_of_two_services(tmp_path: Path) -> None:
    url, taken = own_store(), asyncio.Queue[tuple[str, bytes]]()

    async def take(request: web.Request) -> web.Response:
        await taken.put((request.headers[HEADER], await request.read()))
        return web.Response()

    app = web.Application()
    app.router.add_post("/in", take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    wish = {"url": f"http://127.0.0.1:{runner.addresses[0][1]}/in", "types": ["job"]}
    async with (
        serving(tmp_path, url, allow_private=True) as (one, http),
        serving(tmp_path, url, allow_private=True) as (_, other),
        asyncio.timeout(30),
    ):
        made = (await http.post("/v1/webhooks", json=wish)).json()
        for number in range(3):
            await tell_job(one.store.frontier, one.store.clock, "one", f"message {number}")
        told: list[str] = []
        while len(told) < 3:
            signature, body = await taken.get()
            assert is_signed(made["secret"], signature, body, one.store.clock.now_ms() // 1000)
            told += [event["message"] for event in json.loads(body)["events"]]
        assert told == ["message 0", "message 1", "message 2"]
        # The state of the receiver is written down after it has answered.
        while (row := (await other.get("/v1/webhooks")).json()["webhooks"][0])["delivered"] != 3:
            await asyncio.sleep(0.05)
        assert (row["waiting"], row["last_error"]) == (0, None)
    await runner.cleanup()
