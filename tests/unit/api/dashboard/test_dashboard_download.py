"""The records of a job as a file: for whom, and what a spreadsheet makes of it."""

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from service import TOKENS, Served, bearer, served
from serving import Answer, SmallSite

from skitter.api.auth import COOKIE, Keys
from skitter.api.dashboard import download
from skitter.client.base import Role

EVIL = "=HYPERLINK(1)"


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        found.app.include_router(download.router)
        yield found


@asynccontextmanager
async def crawled(data: Path, title: str) -> AsyncIterator[Served]:
    """Yield a master with one page of that title, of a job named one."""
    job: dict[str, Any] = {"id": "one", "depth": 0, "polite": {"delay": 0}}
    with SmallSite({"/": Answer(f"<title>{title}</title>".encode())}) as site:
        async with served(data, workers=1) as found, asyncio.timeout(60):
            found.app.include_router(download.router)
            running = asyncio.create_task(found.master.run())
            await found.http.post("/v1/jobs", json={**job, "entries": [site.url()]})
            while (await found.http.get("/v1/jobs/one")).json()["state"] != "finished":
                await asyncio.sleep(0.1)
            yield found
            found.master.stop()
            await running


async def test_a_spreadsheet_works_nothing_out(tmp_path: Path) -> None:
    async with crawled(tmp_path / "state", EVIL) as here:
        text = (await here.http.get("/download/one.csv", headers=bearer("reader"))).text
        plain = json.loads((await here.http.get("/download/one.jsonl")).text)
    [row] = csv.DictReader(io.StringIO(text))
    assert (row["title"], row["status"]) == (f"'{EVIL}", "200")
    assert plain["title"] == EVIL


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1"])
def test_text_that_looks_like_a_formula_is_marked(text: str) -> None:
    assert download.cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a=1", "", None, -1, 0.5, True])
def test_everything_else_is_left_as_it_is(value: object) -> None:
    assert download.cell(value) is value
    assert download.cell(["=1"]) == '["=1"]'


async def test_a_token_and_a_cookie_are_as_good(here: Served) -> None:
    await here.http.post("/v1/jobs", json={"id": "one", "entries": ["http://127.0.0.1:1/"]})
    cookie = {"Cookie": f"{COOKIE}={Keys(TOKENS['admin']).cookie(Role.READER, 2e9)}"}
    shown = [(bearer("reader"), 200), (cookie, 200), ({}, 401)]
    shown += [({"Authorization": "Bearer x"} | cookie, 401), ({"Cookie": f"{COOKIE}=x"}, 401)]
    async with here.client() as http:
        for headers, status in shown:
            answer = await http.get("/download/one.csv", headers=headers)
            assert answer.status_code == status, headers
        for name in (b"Authorization", b"Cookie"):
            strange = await http.get("/download/one.csv", headers={name: b"skitter=\xe9\xff"})
            assert strange.status_code == 401
