"""Who asks a site for its robots.txt, when, and for whom."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import HOME, SITE, Web, make_job
from shared_rig import SharedRig, until

from skitter.crawl import robots_errand
from skitter.crawl.manners import Manners
from skitter.crawl.rights import Rights
from skitter.crawl.trip import Visit
from skitter.crawl.visit import Visitor
from skitter.errors import LeaseLost
from skitter.frontier.model import Freed, Lease, Result
from skitter.types import HostKey, Outcome

ROBOTS = f"{SITE}/robots.txt"
OTHER = "http://other.test"
FAR_ROBOTS = f"{OTHER}/robots.txt"
LEASE_MS = 60_000

MakeRig = Callable[..., Awaitable["Crowd"]]


class Crowd(SharedRig):
    """Several processes on one store, each with a memory of its own."""

    def process(self) -> Visitor:
        """Return the visitor of another process."""
        manners = Manners(
            self.job,
            fetcher=self.held,
            reader=self.frontier,
            clock=self.equipment.clock,
            rng=random.Random(1),
        )
        return Visitor(replace(self.equipment, manners=manners), self.freed.append)

    async def begin(self) -> None:
        await super().begin()
        self.rights = Rights(self.slots, self.equipment.clock, LEASE_MS)
        self.equipment = replace(self.equipment, rights=self.rights)

    async def leases(self, *urls: str) -> list[Lease]:
        """Lease URLs, as soon as their hosts allow."""
        await self.offer_links(1, *urls)
        found: list[Lease] = []
        async with asyncio.timeout(60):
            while len(found) < len(urls):
                found += await self.claim_some(len(urls))
                await asyncio.sleep(0.001)
        return found

    async def claim_some(self, k: int = 5) -> list[Lease]:
        """Lease what is ready."""
        asked_at = self.equipment.clock.boot()
        taken = await self.claim(k)
        assert self.rights is not None
        self.rights.begin(taken, asked_at)
        return taken

    @property
    def robots_asked(self) -> int:
        return self.asked_all.count(ROBOTS)

    def shortest_gap_s(self, host: str) -> float:
        return min(after - before for before, after in pairwise(self.held.times[host]))


@pytest.fixture
def web() -> Web:
    made = Web()
    made.robots("User-agent: *\nDisallow: /no")
    made.robots("", OTHER)
    for name in ("a", "b", "c"):
        made.html(f"{SITE}/{name}")
        made.moved(f"{OTHER}/{name}", f"{SITE}/from-{name}")
        made.html(f"{SITE}/from-{name}")
    return made


@pytest.fixture
async def make_rig(tmp_path: Path, web: Web) -> AsyncIterator[MakeRig]:
    rigs: list[Crowd] = []

    async def make(**polite: Any) -> Crowd:
        given = {"per_host": 3, "delay": 0, **polite}
        rig = Crowd(tmp_path, web, make_job(polite=given, scope="any", traps={"enabled": False}))
        rigs.append(rig)
        await rig.begin()
        return rig

    yield make
    for rig in rigs:
        await rig.close()


async def visiting(rig: Crowd, *leases: Lease) -> list["asyncio.Task[Visit]"]:
    """Let a process of its own begin with each lease."""
    return [asyncio.create_task(rig.process().visit(lease)) for lease in leases]


# For all


async def test_one_process_asks_and_the_others_take_what_it_brings(make_rig: MakeRig) -> None:
    rig = await make_rig()
    rig.held.hold(ROBOTS)
    visits = await visiting(rig, *await rig.leases(f"{SITE}/a", f"{SITE}/b", f"{SITE}/no"))
    await rig.held.asked(ROBOTS)
    await asyncio.sleep(0.05)
    rig.held.let_go(ROBOTS)
    ended = await asyncio.gather(*visits)
    assert rig.robots_asked == 1
    outcomes = {visit.lease.url: visit.record and visit.record.outcome for visit in ended}
    assert outcomes == {
        f"{SITE}/a": Outcome.OK,
        f"{SITE}/b": Outcome.OK,
        f"{SITE}/no": Outcome.REFUSED,
    }


async def test_what_was_brought_is_in_the_store_before_the_host_is_let_go(
    make_rig: MakeRig,
) -> None:
    rig = await make_rig(delay=0.05)
    [lease] = await rig.leases(f"{SITE}/a")
    visit = await rig.process().visit(lease)
    assert visit.result is Result.DEFER
    assert [one.host for one in rig.freed] == [HostKey("site.test")]
    assert await rig.frontier.mark(f"robots:{SITE}") is not None
    [again] = await rig.leases(f"{SITE}/b")
    after = await rig.process().visit(again)
    assert after.record is not None
    assert rig.robots_asked == 1


async def test_many_new_sites_take_few_calls_to_the_store(
    make_rig: MakeRig, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules are looked for and stored together; locks behind which they are stored lapse."""
    sites = [f"http://site{n}.test" for n in range(40)]
    for site in sites:
        web.robots("", site)
        web.html(f"{site}/")
    rig = await make_rig()
    leases = await rig.leases(*(f"{site}/" for site in sites))
    calls: Counter[str] = Counter()

    def counted(name: str) -> None:
        ask = getattr(rig.frontier, name)

        async def slowly(*args: Any, **given: Any) -> Any:
            calls[name] += 1
            # As long as a call to another process takes: what comes meanwhile gathers.
            await asyncio.sleep(0.05)
            return await ask(*args, **given)

        monkeypatch.setattr(rig.frontier, name, slowly)

    for name in ("lock", "marks_of", "mark", "ack"):
        counted(name)
    visitor = rig.process()
    ended = await asyncio.gather(*(visitor.visit(lease) for lease in leases))
    assert {visit.record.outcome for visit in ended if visit.record} == {Outcome.OK}
    assert calls["lock"] == len(sites)
    assert calls["marks_of"] + calls["mark"] + calls["ack"] < 20


async def test_a_site_that_cannot_be_asked_is_left_alone_by_all(
    make_rig: MakeRig, web: Web
) -> None:
    web.status(ROBOTS, 500)
    rig = await make_rig()
    first, second = await rig.leases(f"{SITE}/a", f"{SITE}/b")
    assert (await rig.process().visit(first)).result is Result.RETRY
    assert (await rig.process().visit(second)).result is Result.RETRY
    assert rig.robots_asked == 1


async def test_who_asks_keeps_the_lock_for_as_long_as_it_takes(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots_errand, "LOCK_MS", 10_000)
    monkeypatch.setattr(robots_errand, "KEEP_S", 0.01)
    monkeypatch.setattr(robots_errand, "POLL_MS", 5)
    rig = await make_rig()
    kept: list[int] = []
    real = rig.frontier.lock

    async def lock(name: str, holder: int, ttl_ms: int) -> int:
        wait_ms = await real(name, holder, ttl_ms)
        if not wait_ms:
            kept.append(holder)
        return wait_ms

    monkeypatch.setattr(rig.frontier, "lock", lock)
    rig.held.hold(ROBOTS)
    visits = await visiting(rig, *await rig.leases(f"{SITE}/a", f"{SITE}/b"))
    await rig.held.asked(ROBOTS)
    for _ in range(4):
        rig.time.ahead_s += 6
        # The first may have been asked for before the clock was put forward.
        so_far = len(kept)
        await until(lambda: len(kept) >= so_far + 2)  # noqa: B023  awaited at once
    assert len(set(kept)) == 1
    rig.held.let_go(ROBOTS)
    await asyncio.gather(*visits)
    assert rig.robots_asked == 1


async def test_when_the_one_who_asks_is_gone_another_asks(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots_errand, "LOCK_MS", 100)
    monkeypatch.setattr(robots_errand, "POLL_MS", 5)
    rig = await make_rig()
    rig.held.hold(ROBOTS)
    first, second = await visiting(rig, *await rig.leases(f"{SITE}/a", f"{SITE}/b"))
    await rig.held.asked(ROBOTS)
    broken, other = (first, second) if rig.begun else (second, first)
    rig.held.let_go(ROBOTS)
    broken.cancel()
    await asyncio.wait([broken])
    visit = await asyncio.wait_for(other, 60)
    assert visit.record is not None
    assert rig.robots_asked <= 2


async def test_a_request_that_ends_with_its_lease_is_called_off(make_rig: MakeRig) -> None:
    rig = await make_rig()
    [lease] = await rig.leases(f"{SITE}/a")
    assert rig.rights is not None
    rig.rights.end(lease)
    with pytest.raises(LeaseLost):
        await rig.process().visit(lease)
    assert rig.asked_all == []


async def test_one_process_alone_needs_no_lock(make_rig: MakeRig) -> None:
    rig = await make_rig()
    locks: list[str] = []

    async def lock(name: str, holder: int, ttl_ms: int) -> int:
        locks.append(name)
        return 0

    rig.frontier.lock = lock  # type: ignore[method-assign]
    rig.equipment = replace(rig.equipment, rights=None)
    [lease] = await rig.leases(f"{SITE}/a")
    visit = await Visitor(rig.equipment, rig.freed.append).visit(lease)
    assert visit.record is not None
    assert locks == []
    assert list(rig.manners.take_marks()) == [f"robots:{SITE}"], "they go along with the next ack"


# As a request


async def test_a_redirect_keeps_the_delay_behind_the_robots_txt_of_its_host(
    make_rig: MakeRig,
) -> None:
    """Several are under way to a host at the same time, and none may know its rules yet."""
    rig = await make_rig(delay=0.2)
    rig.held.hold(ROBOTS)
    leases = await rig.leases(*(f"{OTHER}/{name}" for name in "abc"), f"{SITE}/a")
    visits = await visiting(rig, *leases)
    await rig.held.asked(ROBOTS)
    await asyncio.sleep(0.5)
    rig.held.let_go(ROBOTS)
    async with asyncio.timeout(60):
        while visits or (await rig.counts()).pending:
            for visit in await asyncio.gather(*visits):
                await rig.commit(visit)
            await asyncio.sleep(0.005)
            visits = await visiting(rig, *await rig.claim_some())
    assert rig.robots_asked == 1
    there = {f"{OTHER}/{name}" for name in "abc"}
    assert set(rig.asked) == {*there, *(f"{SITE}/from-{name}" for name in "abc"), f"{SITE}/a"}
    assert len(rig.asked) == 7
    # A process that was held up for a moment writes a request a little late.
    assert rig.shortest_gap_s("site.test") >= 0.1


async def test_a_page_waits_for_the_delay_that_robots_txt_asks_for(
    make_rig: MakeRig, web: Web
) -> None:
    web.robots("User-agent: *\nCrawl-delay: 0.3")
    rig = await make_rig(delay=0.01)
    [lease] = await rig.leases(f"{SITE}/a")
    visit = await rig.process().visit(lease)
    assert visit.result is Result.DEFER
    await rig.commit(visit)
    [again] = await rig.leases(f"{SITE}/b")
    assert again.url == f"{SITE}/a"
    await rig.process().visit(again)
    assert rig.shortest_gap_s("site.test") >= 0.29


async def test_a_robots_txt_that_moved_on_its_host_keeps_the_delay(
    make_rig: MakeRig, web: Web
) -> None:
    web.moved(ROBOTS, "/real-robots.txt")
    web.text(f"{SITE}/real-robots.txt", "User-agent: *\nDisallow: /no")
    rig = await make_rig(delay=0.1)
    [lease] = await rig.leases(f"{SITE}/a")
    assert (await rig.process().visit(lease)).result is Result.DEFER
    assert len(rig.held.times["site.test"]) == 2
    assert rig.shortest_gap_s("site.test") >= 0.09


async def test_a_robots_txt_that_moved_to_another_host_takes_its_gate(
    make_rig: MakeRig, web: Web
) -> None:
    web.moved(ROBOTS, FAR_ROBOTS)
    web.html(f"{OTHER}/x")
    rig = await make_rig(delay=0.1, per_host=1)
    [busy] = await rig.leases(f"{OTHER}/x")
    [lease] = await rig.leases(f"{SITE}/a")
    visiting = asyncio.create_task(rig.process().visit(lease))
    await until(lambda: rig.robots_asked == 1)
    await asyncio.sleep(0.05)
    assert FAR_ROBOTS not in rig.asked_all, "a page of that host is under way"
    await rig.frontier.claim(rig.grants, 0, freed=[Freed(busy.id, busy.host)])
    visit = await visiting
    assert visit.result is Result.DEFER
    assert rig.asked_all == [ROBOTS, FAR_ROBOTS]
    assert {one.host for one in rig.freed} == {HostKey("other.test"), HostKey("site.test")}


async def test_a_robots_txt_on_a_host_that_rests_cannot_be_read_for_now(
    make_rig: MakeRig, web: Web
) -> None:
    web.moved(ROBOTS, FAR_ROBOTS)
    rig = await make_rig(delay=0.1)
    rests = rig.equipment.clock.now_ms() + 60_000
    await rig.frontier.set_host(HostKey("other.test"), not_before_ms=rests)
    [lease] = await rig.leases(f"{SITE}/a")
    visit = await rig.process().visit(lease)
    assert (visit.result, visit.reason) == (Result.RETRY, "robots_unavailable")
    assert rig.asked_all == [ROBOTS]


async def test_a_host_without_a_delay_is_not_made_to_wait(make_rig: MakeRig, web: Web) -> None:
    web.moved(ROBOTS, "/real-robots.txt")
    web.text(f"{SITE}/real-robots.txt", "")
    web.html(HOME)
    rig = await make_rig()
    [lease] = await rig.leases(HOME)
    visit = await rig.process().visit(lease)
    assert visit.record is not None
    assert rig.asked_all == [ROBOTS, f"{SITE}/real-robots.txt", HOME]


async def test_redirects_within_a_host_keep_its_delay_however_many_there_are(
    make_rig: MakeRig, web: Web
) -> None:
    for n in range(4):
        web.moved(f"{SITE}/r{n}", f"/r{n + 1}")
    web.html(f"{SITE}/r4")
    rig = await make_rig(delay=0.2, robots=False)
    leases = await rig.leases(f"{SITE}/r0")
    visits = await visiting(rig, *leases)
    await rig.offer_links(1, f"{SITE}/a", f"{SITE}/b", f"{SITE}/c")
    async with asyncio.timeout(60):
        while visits or (await rig.counts()).pending:
            done = [visit for visit in visits if visit.done()]
            for visit in done:
                await rig.commit(visit.result())
            visits = [visit for visit in visits if visit not in done]
            visits += await visiting(rig, *await rig.claim_some())
            await asyncio.sleep(0.005)
    assert len(rig.asked) == 8
    assert rig.shortest_gap_s("site.test") >= 0.1
