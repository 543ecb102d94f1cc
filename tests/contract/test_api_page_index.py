"""Look-ups and lists of pages over the API, where the page index is in PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import postgres
from service import ADMIN, bearer
from stores import own_store

from skitter.api.app import create_app
from skitter.frontier.model import Ack, Hop, Result
from skitter.job.spec import Job
from skitter.pipeline.record import PageRecord, encode_line
from skitter.types import HostKey
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.partition import slot_of
from skitter.wiring.connect import connect_redis
from skitter.wiring.service import ServiceOptions, open_service

JOB: dict[str, Any] = {"id": "one", "entries": ["http://one.test/"]}


@asynccontextmanager
async def client(folder: Path, url: str, index: str) -> AsyncIterator[httpx.AsyncClient]:
    options = ServiceOptions(token=ADMIN, data=str(folder), store=url, index=index)
    async with open_service(options) as service:
        app = create_app(service)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(
                transport=transport, base_url="http://skitter", headers=bearer()
            ) as http,
        ):
            yield http


async def test_pages_are_looked_up_in_postgresql_and_an_outage_is_a_503(tmp_path: Path) -> None:
    url = own_store()
    with postgres.start_postgres(tmp_path / "postgres") as server:
        async with client(tmp_path, url, server.url) as http:
            assert (await http.post("/v1/jobs", json=JOB)).status_code == 201
            await visit(url, server.url)
            wish = {"urls": ["http://one.test/", "http://one.test/final", "http://one.test/no"]}
            found = (await http.post("/v1/pages/lookup", json=wish)).json()["pages"]
            assert [page["found"] for page in found] == [True, True, False]
            assert {page["title"] for page in found[:2]} == {"One"}
            [listed] = (await http.get("/v1/jobs/one/pages")).json()["pages"]
            assert listed["title"] == "One"
            why = {"url": "http://one.test/"}
            told = (await http.get("/v1/pages", params=why)).json()
            assert (told["known"], told["jobs"][0]["record"]["title"]) == (True, "One")
            server.kill()
            for _ in range(2):
                away = await http.post("/v1/pages/lookup", json=wish)
                assert away.status_code == 503, away.text
                assert away.json()["error"]["code"] == "unavailable"
                assert away.json()["error"]["message"].startswith("the store does not answer")
            unsure = await http.get("/v1/pages", params=why)
            assert (unsure.status_code, unsure.json()["error"]["code"]) == (503, "unavailable")
            server.start()
            assert (await http.post("/v1/pages/lookup", json=wish)).status_code == 200


async def visit(url: str, index: str) -> None:
    """Let the first page of the job have been fetched, by way of a redirect."""
    async with AsyncExitStack() as stack:
        _, frontier = await connect_redis(stack, url, index=index)
        grants = await frontier.own("one", [slot_of(HostKey("one.test"))])
        # A slot that was never owned rests for a moment.
        while not (leases := (await frontier.claim(grants, 1)).leases):
            await asyncio.sleep(0.05)
        [lease] = leases
        normal = Normaliser(Job().urls.rules(), Fingerprinter(frontier.secret))
        final = normal.absolute("http://one.test/final")
        record = PageRecord(
            job="one", url=lease.url, final_url=final.url, status=200, outcome="ok", title="One",
            redirects=[lease.url], fetched_at="2026-01-31T09:30:00.000Z", depth=0,
            page_class="data", visit=1,
        )  # fmt: skip
        hops = [Hop(final.fp, final.host)]
        receipt = await frontier.ack([Ack(lease, Result.DONE, note=encode_line(record), hops=hops)])
        assert receipt.accepted == 1
