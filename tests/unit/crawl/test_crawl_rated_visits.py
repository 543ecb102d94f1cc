"""Visits under a rate: every request counts, and who may not ask now comes again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import SITE, Web, make_job
from msgspec.structs import replace as changed
from shared_rig import SharedRig, found

from skitter.crawl import travel
from skitter.crawl.engine import Engine
from skitter.crawl.rates import JobRates
from skitter.crawl.rights import Rights
from skitter.crawl.trip import Visit
from skitter.crawl.visit import Visitor
from skitter.crawl.windows import JobWindows, PutOff, Windows
from skitter.fetch.base import Request, Response
from skitter.frontier.limits import Window, Wish
from skitter.frontier.model import Lease, Result
from skitter.job.spec import Job
from skitter.testing.fake_fetcher import FakeFetcher
from skitter.types import HostKey, Outcome

HOST = HostKey("site.test")
OTHER = "http://other.test"
LEASE_MS = 60_000
NAMES = ("a", "b", "c", "d", "e")

MakeRig = Callable[..., Awaitable["Rated"]]


class TimedFetcher(FakeFetcher):
    """Notes when requests were written."""

    def __init__(self, pages: Web) -> None:
        super().__init__(pages)
        self.times: list[float] = []

    async def fetch(self, request: Request) -> Response:
        permit = request.permit

        def note() -> None:
            if permit is not None:
                permit()
            self.times.append(asyncio.get_running_loop().time())

        return await super().fetch(changed(request, permit=note))


class Rated(SharedRig):
    """A crawl of a job with a rate."""

    def __init__(self, root: Path, web: Web, job: Job) -> None:
        super().__init__(root, web, job)
        self.fetcher: TimedFetcher = TimedFetcher(web)

    async def begin(self) -> None:
        await super().begin()
        self.rights = Rights(self.slots, self.equipment.clock, LEASE_MS)
        self.windows = Windows(self.frontier, self.equipment.clock)
        self.equipment = replace(
            self.equipment,
            rights=self.rights,
            windows=JobWindows(self.windows, "site", JobRates(self.job)),
        )
        self.visitor = Visitor(self.equipment, self.freed.append)

    def engine(self, *, every_job: bool = False, **options: Any) -> Engine:
        engine = super().engine(every_job=every_job, **options)
        engine._windows = self.windows
        return engine

    async def begun_visit(self, url: str) -> Visit:
        """Visit a URL as one that was claimed a moment ago."""
        await self.offer_links(1, url)
        asked_at = self.equipment.clock.boot()
        [lease] = await self.claim()
        assert self.rights is not None
        self.rights.begin([lease], asked_at)
        return await self.visitor.visit(lease)

    @property
    def counted(self) -> int:
        """How many requests were counted in the window of the site."""
        return len(self.frontier._windows._logs["site.test", "kind:site"].times)

    async def fill(self, domain: str = "site.test", most: int = 1) -> None:
        """Let the window of a domain be full for a while."""
        wish = Wish(domain, (Window("kind:site", most, 30_000),))
        while (await self.frontier.permit([wish]))[0].granted:
            pass

    def most_at_once(self, seconds: float) -> int:
        times = self.fetcher.times
        return max(sum(at <= time < at + seconds for time in times) for at in times)


@pytest.fixture
def web() -> Web:
    made = Web()
    made.robots("User-agent: *\nDisallow: /no")
    made.robots("", OTHER)
    for name in NAMES:
        made.html(f"{SITE}/{name}")
    made.moved(f"{SITE}/moved", f"{SITE}/here")
    made.html(f"{SITE}/here")
    made.moved(f"{SITE}/away", f"{OTHER}/there")
    made.html(f"{OTHER}/there")
    return made


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[Rated] = []

    async def make(rate: str | None, **polite: Any) -> Rated:
        given = {"per_host": 3, "delay": 0, "rate": rate, **polite}
        rig = Rated(tmp_path, web, make_job(polite=given, scope="any", traps={"enabled": False}))
        rigs.append(rig)
        await rig.begin()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


async def test_pages_redirects_and_robots_txt_count(make_rig: MakeRig) -> None:
    rig = await make_rig("9/60s")
    visit = await rig.begun_visit(f"{SITE}/moved")
    assert visit.record is not None
    assert visit.record.final_url == f"{SITE}/here"
    assert (len(rig.asked_all), rig.counted) == (3, 3)


async def test_without_a_rate_the_store_is_not_asked(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await make_rig(None)
    monkeypatch.setattr(rig.frontier, "permit", None)
    await rig.run(f"{SITE}/a", f"{SITE}/moved")
    assert found(rig) == ["/a", "/moved"]


async def test_a_page_that_may_not_be_asked_for_comes_again_as_if_untouched(
    make_rig: MakeRig,
) -> None:
    rig = await make_rig("1/1s")
    began_ms = rig.equipment.clock.now_ms()
    visit = await rig.begun_visit(f"{SITE}/a")
    assert (visit.result, visit.record, visit.reason) == (Result.DEFER, None, "")
    assert rig.asked_all == [f"{SITE}/robots.txt"], "that was all it could ask"
    [freed] = rig.freed
    assert freed.host == HOST
    assert began_ms + 1_000 < freed.not_before_ms <= rig.time.now_ms() + 1_600
    await rig.commit(visit)
    too_early = await rig.claim()
    # On a machine that was held up here its time may have come.
    assert too_early == [] or rig.time.now_ms() >= freed.not_before_ms
    rig.time.ahead_s += 2
    again, *_ = too_early or await rig.claim()
    assert (again.attempts, again.lost) == (0, 0)


async def test_a_redirect_waits_for_its_turn(make_rig: MakeRig) -> None:
    rig = await make_rig("2/1s")
    visit = await rig.begun_visit(f"{SITE}/moved")
    assert visit.record is not None
    assert visit.record.outcome is Outcome.OK
    assert rig.most_at_once(1.0) == 2


async def test_a_redirect_that_would_wait_for_long_is_left_to_the_queue(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travel, "MAX_HOP_WAIT_MS", 300)
    rig = await make_rig("2/30s")
    await rig.fill("other.test", 2)
    visit = await rig.begun_visit(f"{SITE}/away")
    assert visit.record is not None
    assert visit.record.outcome is Outcome.DUPLICATE
    assert visit.record.duplicate_of == f"{OTHER}/there"
    assert [link.url for link in visit.links] == [f"{OTHER}/there"]
    assert {freed.host for freed in rig.freed} == {HOST, HostKey("other.test")}


async def test_robots_txt_behind_a_redirect_is_waited_for_in_place(
    make_rig: MakeRig, web: Web
) -> None:
    """Asking anew would use up the same window again, and never come to an end."""
    web.moved(f"{SITE}/robots.txt", f"{SITE}/real-robots.txt")
    web.text(f"{SITE}/real-robots.txt", "User-agent: *\nDisallow: /no")
    rig = await make_rig("1/1s")
    visit = await rig.begun_visit(f"{SITE}/no")
    assert visit.record is not None
    assert visit.record.outcome is Outcome.REFUSED
    assert rig.most_at_once(1.0) == 1


async def test_who_may_not_ask_for_robots_txt_lets_others_do_so(make_rig: MakeRig) -> None:
    rig = await make_rig("1/30s")
    await rig.fill()
    visit = await rig.begun_visit(f"{SITE}/a")
    assert visit.result is Result.DEFER
    assert rig.asked_all == []
    name = rig.manners.robots_lock(SITE)
    assert await rig.frontier.lock(name, 12345, 1_000) == 0


async def test_a_gate_that_is_crowded_puts_a_visit_off(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await make_rig(None, robots=False)
    at_ms = rig.equipment.clock.now_ms() + 700

    async def crowded(request: Request) -> Response:
        raise PutOff(at_ms)

    monkeypatch.setattr(rig.held, "fetch", crowded)
    visit = await rig.begun_visit(f"{SITE}/a")
    assert (visit.result, visit.record) == (Result.DEFER, None)
    assert [freed.not_before_ms for freed in rig.freed] == [at_ms]


# Many at once


async def test_a_crawl_keeps_its_rate_and_comes_to_its_end(make_rig: MakeRig) -> None:
    rig = await make_rig("3/1s", per_host=4)
    await rig.run(*(f"{SITE}/{name}" for name in NAMES), f"{SITE}/moved", concurrency=8)
    assert found(rig) == ["/a", "/b", "/c", "/d", "/e", "/moved"]
    assert len(rig.asked_all) == 8
    assert rig.most_at_once(1.0) <= 3
    assert rig.stats.errors == {}


async def test_leases_are_granted_together_and_hosts_that_wait_are_not_claimed_again(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = await make_rig("2/2s", robots=False, per_host=5)
    calls: list[int] = []
    leased: list[Lease] = []
    permit, claim = rig.frontier.permit, rig.frontier.claim

    async def count_permits(wanted: Any) -> Any:
        calls.append(len(wanted))
        return await permit(wanted)

    async def count_leases(*args: Any, **named: Any) -> Any:
        answer = await claim(*args, **named)
        leased.extend(answer.leases)
        return answer

    monkeypatch.setattr(rig.frontier, "permit", count_permits)
    monkeypatch.setattr(rig.frontier, "claim", count_leases)
    await rig.run(*(f"{SITE}/{name}" for name in NAMES), concurrency=8)
    assert found(rig) == ["/a", "/b", "/c", "/d", "/e"]
    assert rig.most_at_once(2.0) <= 2
    assert calls[0] == 5, "one question for all"
    # Two windows of two seconds have to pass, and a host is looked at every 1.5 seconds.
    assert len(calls) < 15
    assert len(leased) < 40
    assert {lease.attempts for lease in leased} == {0}


async def test_what_needs_no_request_uses_up_nothing(make_rig: MakeRig, web: Web) -> None:
    rig = await make_rig("3/2s", per_host=4)
    web.html(f"{SITE}/no/1")
    await rig.run(f"{SITE}/a")
    async with asyncio.timeout(60):
        await rig.run(*(f"{SITE}/no/{n}" for n in range(4)), f"{SITE}/b")
    refused = [record for record in rig.sink.records if record["outcome"] == "refused"]
    assert len(refused) == 4
    assert found(rig)[:2] == ["/a", "/b"]
    assert rig.counted <= 3
