"""Leases that pass to others while an engine works."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from crawl_rig import SITE, Web, make_job
from shared_rig import LEASE_MS, SharedRig, found, small_web, state, until

from skitter.crawl import engine as engine_module
from skitter.crawl.recording import Recording
from skitter.errors import Fenced
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, Claim, Freed, Grant, JobState, Lease, UrlState


@pytest.fixture
def web() -> Web:
    return small_web()


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[SharedRig]:
    polite = {"robots": False, "per_host": 100}
    made = SharedRig(tmp_path, web, make_job(polite=polite, traps={"enabled": False}))
    await made.begin()
    yield made
    await made.close()


@pytest.fixture
def claimed(monkeypatch: pytest.MonkeyPatch) -> list[Lease]:
    """Every lease that was handed out."""
    leases: list[Lease] = []
    real = EmbeddedFrontier.claim

    async def claim(self: EmbeddedFrontier, *args: Any, **named: Any) -> Claim:
        answer = await real(self, *args, **named)
        leases.extend(answer.leases)
        return answer

    monkeypatch.setattr(EmbeddedFrontier, "claim", claim)
    return leases


# Slots that pass to others


async def test_visits_in_a_slot_that_was_lost_are_broken_off_and_given_back(
    rig: SharedRig, claimed: list[Lease]
) -> None:
    for path, slot in (("/a", 1), ("/b", 2)):
        rig.held.hold(f"{SITE}{path}")
        await rig.offer_in(slot, path)
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    await rig.held.asked(f"{SITE}/b")
    assert (set(engine.busy_slots()), engine.counted[:2]) == ({1, 2}, (0, 2))
    engine.abort({1})
    # Nobody else is there, so it is handed out here once more; the other request goes on.
    await until(lambda: rig.begun == 3)
    for path in ("/a", "/b"):
        rig.held.let_go(f"{SITE}{path}")
    await asyncio.wait_for(running, 60)
    assert (engine.stopped_by, found(rig)) == ("finished", ["/a", "/b"])
    assert sorted(rig.asked) == [f"{SITE}/a", f"{SITE}/b"], "one was broken off unanswered"
    assert (rig.stats.errors, rig.stats.run_pages) == ({}, 2)
    assert {lease.lost for lease in claimed} == {0}


async def test_leases_that_no_worker_has_begun_are_given_back_with_their_slot(
    rig: SharedRig,
) -> None:
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    await rig.offer_in(2, "/b")
    await rig.offer_in(3, "/c")
    engine = rig.engine(concurrency=1)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    await until(lambda: set(engine.busy_slots()) == {1, 2, 3})
    engine.abort({2})
    assert set(engine.busy_slots()) == {1, 3}
    rig.held.let_go(f"{SITE}/a")
    await asyncio.wait_for(running, 60)
    assert (engine.stopped_by, found(rig)) == ("finished", ["/a", "/b", "/c"])
    assert rig.begun == 3


async def test_a_worker_goes_on_with_other_leases_after_its_visit_was_broken_off(
    rig: SharedRig,
) -> None:
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    engine = rig.engine(concurrency=1)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    rig.held.let_go(f"{SITE}/a")
    engine.abort({1})
    engine.abort({1})
    await rig.offer_in(2, "/b", "/c")
    await asyncio.wait_for(running, 60)
    assert found(rig) == ["/a", "/b", "/c"]


async def test_a_visit_that_has_ended_is_made_safe_although_its_slot_was_lost(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its ack tells whether it still counts; here nobody else has the lease."""
    go_on, writing = asyncio.Event(), asyncio.Event()
    real = Recording.write

    async def write(self: Recording, acks: Sequence[Ack]) -> dict[str, bytes]:
        writing.set()
        await go_on.wait()
        return await real(self, acks)

    monkeypatch.setattr(Recording, "write", write)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await writing.wait()
    engine.abort({1})
    go_on.set()
    await asyncio.wait_for(running, 60)
    assert (found(rig), rig.begun) == (["/a"], 1)


@pytest.mark.parametrize("loss_first", [True, False])
async def test_a_run_that_is_stopped_in_the_moment_of_a_loss_ends(
    rig: SharedRig, loss_first: bool
) -> None:
    """Both break the same visit off; the worker must not take the stop for the loss."""
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    engine = rig.engine(drain_s=0.0)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    engine.stop("interrupted")
    if loss_first:
        asyncio.get_running_loop().call_soon(engine.abort, {1})
    running.cancel()
    if not loss_first:
        asyncio.get_running_loop().call_soon(engine.abort, {1})
    await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), 60)
    assert await state(rig, "/a") is UrlState.QUEUED


async def test_links_held_back_for_a_redirect_that_was_broken_off_are_queued(
    rig: SharedRig, web: Web
) -> None:
    web.moved(f"{SITE}/a", "/new")
    web.html(f"{SITE}/new", "new")
    web.html(f"{SITE}/b", "", "/new")
    rig.held.hold(f"{SITE}/new")
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/new")
    await rig.offer_in(2, "/b")
    engine.offered()
    await until(lambda: len(rig.sink.records) == 1)
    assert await state(rig, "/new") is UrlState.UNKNOWN
    # By the time it is asked again, the redirect is gone.
    web.html(f"{SITE}/a", "no redirect")
    engine.abort({1})
    rig.held.let_go(f"{SITE}/new")
    await asyncio.wait_for(running, 60)
    assert (engine.stopped_by, found(rig)) == ("finished", ["/a", "/b", "/new"])
    assert rig.asked.count(f"{SITE}/new") == 1


# Leases that are lost


async def test_a_lost_lease_is_no_failure_and_its_page_comes_once(
    rig: SharedRig, claimed: list[Lease]
) -> None:
    """The slot is another's when the request is to begin, and ours again some time later."""
    rig.slots.gone = {1}
    await rig.offer_in(1, "/a")
    await rig.offer_in(2, "/b")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await until(lambda: len(rig.sink.records) == 1)
    assert rig.asked == [f"{SITE}/b"]
    rig.slots.gone = set()
    await asyncio.wait_for(running, 60)
    assert (engine.stopped_by, found(rig)) == ("finished", ["/a", "/b"])
    assert rig.asked == [f"{SITE}/b", f"{SITE}/a"]
    assert (rig.stats.errors, rig.stats.run_pages) == ({}, 2)
    assert (await rig.totals()).failed == 0
    assert {lease.lost for lease in claimed} == {0}


async def test_a_request_that_waited_longer_than_its_lease_is_called_off(rig: SharedRig) -> None:
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    # No renewal comes in time for what this process knows of.
    engine = rig.engine(lease_ms=60_000)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    rig.time.ahead_s += LEASE_MS / 1000
    assert rig.asked == []
    rig.held.let_go(f"{SITE}/a")
    await asyncio.wait_for(running, 60)
    assert (found(rig), rig.asked, rig.begun) == (["/a"], [f"{SITE}/a"], 2)


async def test_robots_txt_is_not_asked_for_under_a_lost_lease(tmp_path: Path, web: Web) -> None:
    rig = SharedRig(tmp_path, web, make_job(traps={"enabled": False}))
    await rig.begin()
    web.robots("")
    rig.slots.gone = {1}
    await rig.offer_in(1, "/a")
    engine = rig.engine(drain_s=0.1)
    running = asyncio.create_task(engine.run())
    await asyncio.sleep(0.05)
    engine.stop("interrupted")
    await running
    assert rig.asked_all == []
    assert await state(rig, "/a") is UrlState.QUEUED
    await rig.close()


async def test_leases_that_the_store_has_ended_are_broken_off_at_the_next_renewal(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RENEW_S", 0.1)
    for path in ("/a", "/b"):
        rig.held.hold(f"{SITE}{path}")
    await rig.offer_in(1, "/a", "/b", "/c")
    engine = rig.engine(concurrency=1)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    await until(lambda: engine.counted[1] == 3)
    await rig.frontier.set_job_state(rig.number, JobState.CANCEL)
    await asyncio.wait_for(running, 60)
    assert engine.stopped_by == "cancelled"
    assert (rig.sink.records, rig.stats.errors) == ([], {})
    assert rig.begun == 1, "what waited is not begun any more"


async def test_leases_are_kept_for_as_long_as_a_visit_lasts(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "RENEW_S", 0.01)
    renewed: list[int] = []
    real = EmbeddedFrontier.renew

    async def renew(self: EmbeddedFrontier, leases: Sequence[Lease], lease_ms: int) -> list[int]:
        gone = await real(self, leases, lease_ms)
        renewed.extend(lease.id for lease in leases)
        return list(gone)

    monkeypatch.setattr(EmbeddedFrontier, "renew", renew)
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    engine = rig.engine(lease_ms=LEASE_MS)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    for _ in range(6):
        rig.time.ahead_s += LEASE_MS / 2000
        # The first may have been asked for before the clock was put forward.
        so_far = len(renewed)
        await until(lambda: len(renewed) >= so_far + 2)  # noqa: B023  awaited at once
    assert len(set(renewed)) == 1
    rig.held.let_go(f"{SITE}/a")
    await asyncio.wait_for(running, 60)
    assert (found(rig), rig.begun) == (["/a"], 1)


# Claims that are refused


async def test_a_refused_claim_is_repeated_with_new_grants_and_the_same_freed_hosts(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[list[Freed]] = []
    real = EmbeddedFrontier.claim

    async def claim(
        self: EmbeddedFrontier,
        grants: Sequence[Grant],
        k: int,
        *,
        lease_ms: int = LEASE_MS,
        freed: Sequence[Freed] = (),
    ) -> Claim:
        if freed:
            told.append(list(freed))
            if len(told) == 1:
                raise Fenced("the slot has another owner")
        return await real(self, grants, k, lease_ms=lease_ms, freed=freed)

    monkeypatch.setattr(EmbeddedFrontier, "claim", claim)
    await rig.offer_in(1, "/a")
    await rig.engine().run()
    assert rig.slots.refreshed == 1
    assert told[1][: len(told[0])] == told[0]
    assert found(rig) == ["/a"]


async def test_a_store_that_was_opened_anew_is_claimed_from_again(rig: SharedRig) -> None:
    await rig.offer_in(1, "/a", "/b")
    engine = rig.engine()
    await rig.frontier.close()
    await rig.frontier.open()
    await asyncio.wait_for(engine.run(), 60)
    assert engine.stopped_by == "finished"
    assert found(rig) == ["/a", "/b"]


# Stopping


async def test_leases_that_were_not_begun_are_given_back_when_a_run_is_stopped(
    rig: SharedRig,
) -> None:
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a", "/b", "/c")
    engine = rig.engine(concurrency=1)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    await until(lambda: engine.counted[1] == 3)
    engine.stop("interrupted")
    # Others can have them while the last request is still under way.
    for path in ("/b", "/c"):
        await until_queued(rig, path)
    assert await state(rig, "/a") is UrlState.LEASED
    rig.held.let_go(f"{SITE}/a")
    await running
    assert found(rig) == ["/a"]
    [b, c] = await rig.claim(2)
    assert (b.lost, b.attempts, c.lost, c.attempts) == (0, 0, 0, 0)


async def until_queued(rig: SharedRig, path: str) -> None:
    async with asyncio.timeout(60):
        while await state(rig, path) is not UrlState.QUEUED:
            await asyncio.sleep(0.005)


async def test_what_a_stopped_run_breaks_off_is_given_back_without_counting_as_lost(
    rig: SharedRig,
) -> None:
    rig.held.hold(f"{SITE}/a")
    await rig.offer_in(1, "/a")
    engine = rig.engine(drain_s=0.05)
    running = asyncio.create_task(engine.run())
    await rig.held.asked(f"{SITE}/a")
    engine.stop("interrupted")
    await running
    assert await state(rig, "/a") is UrlState.QUEUED
    [again] = await rig.claim()
    assert (again.lost, again.attempts) == (0, 0)
