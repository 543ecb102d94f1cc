"""Counts of links over the runs of a crawl, asked for while it runs and after it."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from skitter.config import RunOptions
from skitter.demo.build import demo_web
from skitter.demo.model import Target
from skitter.demo.server import DemoServer
from skitter.job.spec import Job, check_job
from skitter.wiring.crawl import open_crawl
from skitter.wiring.look import Where, complete_answer


@pytest.fixture
async def server() -> AsyncIterator[DemoServer]:
    async with DemoServer(demo_web(pages=200)) as running:
        yield running


@pytest.fixture
def options(server: DemoServer, tmp_path: Path) -> RunOptions:
    hosts = tmp_path / "hosts"
    hosts.write_text(server.hosts_file())
    return RunOptions(data=tmp_path / "state", hosts=hosts, allow_private=True, concurrency=4)


def docs_job(server: DemoServer, pages: int | None = None) -> Job:
    asked = {
        "id": "docs",
        "entries": [server.web.url(Target("docs", "/"))],
        "polite": {"delay": 0.0},
        "limits": {"pages": pages},
    }
    return check_job(asked, "test job")


async def most_linked(data: Path, most: int = 5) -> list[dict[str, Any]]:
    return [json.loads(line) async for line in complete_answer(Where(data), {"linked": most})]


async def test_a_running_crawl_and_its_state_give_the_same_seeds(
    server: DemoServer, options: RunOptions
) -> None:
    async with open_crawl(docs_job(server), options) as crawl:
        assert await most_linked(options.data) == []
        await crawl.run()
        while_open = await most_linked(options.data)
    assert await most_linked(options.data) == while_open
    [*pages, host] = while_open[:6]
    assert [one["kind"] for one in pages] == ["page"] * 5
    assert pages == sorted(pages, key=lambda one: -one["links"])
    assert (host["kind"], host["links"] >= pages[0]["links"]) == ("host", True)


async def test_runs_of_a_few_pages_count_as_one_long_run(
    server: DemoServer, options: RunOptions, tmp_path: Path
) -> None:
    for limit in (3, 6, None):
        async with open_crawl(docs_job(server, limit), options) as crawl:
            await crawl.run()
    whole = RunOptions(
        data=tmp_path / "whole", hosts=options.hosts, allow_private=True, concurrency=4
    )
    async with open_crawl(docs_job(server), whole) as crawl:
        await crawl.run()
    found, wanted = await most_linked(options.data, 1000), await most_linked(whole.data, 1000)
    assert sorted(map(settled, found), key=str) == sorted(map(settled, wanted), key=str)


def settled(line: dict[str, Any]) -> dict[str, Any]:
    """Name a page that redirects to another by that one: either may be asked for first."""
    return {**line, "url": line["url"].replace("/latest/", "/stable/")}
