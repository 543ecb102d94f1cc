"""Whoever has a store in a directory open lets the vultures walk there."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skitter.cluster import housekeeping
from skitter.cluster.housekeeping import Caretaker
from skitter.config import RunOptions
from skitter.demo.build import demo_web
from skitter.demo.model import Target
from skitter.demo.server import DemoServer
from skitter.errors import StoreUnavailable
from skitter.frontier.base import Frontier, FrontierReader
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.vultures import Buried
from skitter.job.spec import check_job
from skitter.wiring.crawl import open_crawl
from skitter.wiring.up import UpOptions, open_up

OLD = "robots:https://gone.test"


@pytest.fixture(autouse=True)
def quick_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(housekeeping, "STEP_S", 0.001)


@pytest.fixture
async def server() -> AsyncIterator[DemoServer]:
    async with DemoServer(demo_web(pages=200)) as running:
        yield running


async def put_old_rules(frontier: Frontier | FrontierReader) -> EmbeddedFrontier:
    assert isinstance(frontier, EmbeddedFrontier)
    await frontier.ack([], marks={OLD: b"cannot be read any more", "robots": b"no rules"})
    return frontier


async def gone(frontier: EmbeddedFrontier) -> None:
    while await frontier.mark(OLD) is not None:
        await asyncio.sleep(0.01)


async def test_a_crawl_clears_away_what_nobody_needs(server: DemoServer, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(server.hosts_file())
    options = RunOptions(data=tmp_path / "state", hosts=hosts, allow_private=True)
    job = check_job(
        {"entries": [server.web.url(Target("docs", "/"))], "polite": {"delay": 0.01}}, "test job"
    )
    async with open_crawl(job, options) as crawl:
        frontier = await put_old_rules(crawl._parts.works.frontier)
        assert (await crawl.run()).pages > 10
        assert await frontier.mark(OLD) is None
        assert await frontier.mark("robots") is not None
        assert len(await frontier.marks("robots:")) == 1, "those of the site are new"


async def test_a_master_clears_away_what_nobody_needs(tmp_path: Path) -> None:
    options = UpOptions(data=tmp_path / "up", port=0, workers=0, quiet=True)
    async with open_up(options) as master:
        frontier = await put_old_rules(master._survey._reader)
        running = asyncio.create_task(master.run())
        async with asyncio.timeout(60):
            await gone(frontier)
        assert (await master._keeper.buried()).robots == 1
        master.stop()
        await running


async def test_a_store_that_fails_for_a_while_does_not_end_it() -> None:
    steps = 0
    done = asyncio.Event()

    class Walk:
        async def step(self) -> object:
            nonlocal steps
            steps += 1
            if steps == 1:
                raise StoreUnavailable("the disk is full")
            done.set()
            return None

        async def total(self) -> Buried:
            return Buried()

    running = asyncio.create_task(Caretaker(Walk()).run())
    async with asyncio.timeout(60):
        await done.wait()
    running.cancel()
