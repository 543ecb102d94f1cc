"""How much a member takes in hand at once: what it cannot begin soon stays there for others.

So whatever its share is, it holds no more than its workers and half of them ahead, and a share that
changes is felt as soon as those few are done. How long they keep it busy tells its speed.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web, make_job

from skitter.clock import SystemClock
from skitter.frontier.model import Claim

PAGES = 200
URLS = [f"{SITE}/{number}" for number in range(PAGES)]


@pytest.fixture
def web() -> Web:
    made = Web()
    made.robots("")
    made.html(HOME, "")
    for url in URLS:
        made.html(url, "page")
    return made


class HeldRig(CrawlRig):
    """A crawl whose requests can be held."""

    async def begin(self) -> None:
        self.held = HeldFetcher(self.fetcher)
        await self.open(self.held, SystemClock())


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[HeldRig]:
    made = HeldRig(tmp_path, web, make_job(polite={"per_host": 1000}))
    await made.begin()
    yield made
    await made.close()


@pytest.mark.parametrize(("concurrency", "most"), [(4, 6), (8, 12), (40, 60)])
async def test_a_member_holds_its_workers_and_half_of_them_ahead(
    rig: HeldRig, concurrency: int, most: int
) -> None:
    for url in URLS:
        rig.held.hold(url)
    await rig.offer(*URLS)
    engine = rig.engine(concurrency=concurrency)
    running = asyncio.create_task(engine.run())
    seen = []
    async with asyncio.timeout(60):
        while engine.counted.leases < most:
            await asyncio.sleep(0.01)
    for _ in range(20):
        await asyncio.sleep(0.01)
        seen.append(engine.counted.leases)
    assert max(seen) == seen[-1] == most
    counts = await rig.frontier.counts(rig.number)
    assert counts.queued == PAGES - most
    for url in URLS:
        rig.held.let_go(url)
    await running
    assert len(rig.sink.records) == PAGES


async def test_time_with_all_workers_at_work_is_told_apart_from_time_to_spare(
    rig: HeldRig,
) -> None:
    for url in URLS[:9]:
        rig.held.hold(url)
    await rig.offer(*URLS[:9])
    engine = rig.engine(concurrency=4)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(URLS[3])
    await asyncio.sleep(0.3)
    began = time.monotonic()
    busy = engine.counted
    assert busy.busy_ms >= 250
    for url in URLS[:7]:
        rig.held.let_go(url)
    await rig.held.asked(URLS[8])
    async with asyncio.timeout(60):
        while len(rig.sink.records) < 7:
            await asyncio.sleep(0.01)
    until_ms = (time.monotonic() - began) * 1000
    await asyncio.sleep(1.3)
    spare = engine.counted
    assert 1 <= spare.busy_visits <= 7
    assert spare.busy_ms - busy.busy_ms < until_ms + 300
    assert spare.spare_ms - busy.spare_ms >= 1000
    for url in URLS[7:9]:
        rig.held.let_go(url)
    await running


async def test_hosts_that_answered_are_told_of_with_the_next_claim_while_enough_waits(
    rig: HeldRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    claims: list[int] = []
    claim = rig.frontier.claim

    async def counted(*args: Any, **named: Any) -> Claim:
        claims.append(len(named["freed"]))
        return await claim(*args, **named)

    monkeypatch.setattr(rig.frontier, "claim", counted)
    await rig.offer(*URLS)
    await rig.engine(concurrency=40).run()
    assert len(rig.sink.records) == PAGES
    assert sum(claims) >= PAGES, "every host that was asked is let go"
    assert len(claims) < PAGES // 4
