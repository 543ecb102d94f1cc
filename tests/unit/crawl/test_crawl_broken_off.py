"""Visits that are broken off, and redirects that are not followed to their end, lose nothing."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from crawl_rig import HOME, SITE, CrawlRig, HeldFetcher, Web, by_url, make_job
from shared_rig import SharedRig, found, state, until

from skitter.errors import StoreUnavailable
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import LEASE_MS, Lease, UrlState
from skitter.types import Fingerprint, HostKey

MAP = f"{SITE}/map.xml"
NEW = f"{SITE}/new"


class SilentStore:
    """Leaves the first question whether a target is known without an answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = asyncio.Event()
        real = EmbeddedFrontier.reserve

        async def reserve(
            frontier: EmbeddedFrontier, lease: Lease, host: HostKey, target: Fingerprint
        ) -> int:
            if not self.asked.is_set():
                self.asked.set()
                await asyncio.Event().wait()
            return await real(frontier, lease, host, target)

        monkeypatch.setattr(EmbeddedFrontier, "reserve", reserve)


@pytest.fixture
def web() -> Web:
    made = Web()
    made.moved(f"{SITE}/a", "/new")
    made.html(NEW, "new")
    return made


@pytest.fixture
async def rig(tmp_path: Path, web: Web) -> AsyncIterator[SharedRig]:
    polite = {"robots": False, "per_host": 100}
    made = SharedRig(tmp_path, web, make_job(polite=polite, traps={"enabled": False}))
    await made.begin()
    yield made
    await made.close()


# A store that does not say whether a target is known


async def test_a_redirect_that_was_broken_off_at_the_store_is_followed_the_next_time(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing but the redirect leads to its target: taken for known there, it would be lost."""
    store = SilentStore(monkeypatch)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await store.asked.wait()
    engine.abort({1})
    await asyncio.wait_for(running, 60)
    [record] = rig.sink.records
    assert (record["outcome"], record["final_url"]) == ("ok", NEW)
    assert rig.asked == [f"{SITE}/a", f"{SITE}/a", NEW]


async def test_links_to_the_target_of_a_redirect_broken_off_at_the_store_are_queued(
    rig: SharedRig, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SilentStore(monkeypatch)
    web.html(f"{SITE}/b", "", "/new")
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await store.asked.wait()
    await rig.offer_in(2, "/b")
    engine.offered()
    await until(lambda: len(rig.sink.records) == 1)
    assert await state(rig, "/new") is UrlState.UNKNOWN
    web.html(f"{SITE}/a", "no redirect any more")
    engine.abort({1})
    await asyncio.wait_for(running, 60)
    assert (engine.stopped_by, found(rig)) == ("finished", ["/a", "/b", "/new"])


async def test_a_store_that_fails_leaves_no_target_behind(
    rig: SharedRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreUnavailable("gone")

    for verb in ("seen", "reserve"):
        monkeypatch.setattr(EmbeddedFrontier, verb, fail)
    await rig.offer_in(1, "/a")
    [lease] = await rig.claim()
    with pytest.raises(StoreUnavailable):
        await rig.visitor.visit(lease)
    assert rig.reservations.reserve(rig.normal(NEW).fp)


# Links that others bring to the target of a redirect


@pytest.mark.parametrize("per_host", [1, 100])
async def test_a_page_to_which_another_member_links_meanwhile_is_fetched_once(
    tmp_path: Path, web: Web, per_host: int
) -> None:
    polite = {"robots": False, "per_host": per_host}
    rig = SharedRig(tmp_path, web, make_job(polite=polite, traps={"enabled": False}))
    await rig.begin()
    rig.held.hold(NEW)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(NEW)
    await rig.offer_in(1, "/new")
    engine.offered()
    rig.held.let_go(NEW)
    await asyncio.wait_for(running, 60)
    counts = await rig.counts()
    assert (rig.asked, found(rig)) == ([f"{SITE}/a", NEW], ["/a"])
    assert (counts.done, counts.pending) == (2, 0)
    await rig.close()


async def test_a_page_to_which_another_member_links_is_fetched_when_the_redirect_is_given_up(
    rig: SharedRig, web: Web
) -> None:
    rig.held.hold(NEW)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(NEW)
    await rig.offer_in(2, "/new")
    web.html(f"{SITE}/a", "no redirect any more")
    engine.abort({1})
    rig.held.let_go(NEW)
    await asyncio.wait_for(running, 60)
    assert found(rig) == ["/a", "/new"]


# Two redirects to one target


async def test_a_second_redirect_brings_the_target_when_the_first_one_does_not(
    rig: SharedRig, web: Web
) -> None:
    web.moved(f"{SITE}/b", "/new")
    rig.held.hold(NEW)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(NEW)
    await rig.offer_in(2, "/b")
    engine.offered()
    await until(lambda: len(rig.sink.records) == 1)
    assert await state(rig, "/new") is UrlState.UNKNOWN
    web.html(f"{SITE}/a", "no redirect any more")
    engine.abort({1})
    rig.held.let_go(NEW)
    await asyncio.wait_for(running, 60)
    records = by_url(rig.sink.records)
    assert (records[f"{SITE}/b"]["outcome"], records[f"{SITE}/b"]["duplicate_of"]) == (
        "duplicate",
        NEW,
    )
    assert (found(rig), rig.asked.count(NEW)) == (["/a", "/b", "/new"], 1)


async def test_a_second_redirect_adds_nothing_when_the_first_one_brings_the_target(
    rig: SharedRig, web: Web
) -> None:
    web.moved(f"{SITE}/b", "/new")
    rig.held.hold(NEW)
    await rig.offer_in(1, "/a")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(NEW)
    await rig.offer_in(2, "/b")
    engine.offered()
    await until(lambda: len(rig.sink.records) == 1)
    rig.held.let_go(NEW)
    await asyncio.wait_for(running, 60)
    assert (found(rig), rig.asked.count(NEW)) == (["/a", "/b"], 1)


# Redirects that are put off under a lease that has ended


@pytest.mark.parametrize("how", ["status", "circle"])
async def test_links_held_back_for_a_redirect_are_queued_though_its_lease_had_ended(
    tmp_path: Path, web: Web, how: str
) -> None:
    rig = CrawlRig(tmp_path, web, make_job(polite={"robots": False, "per_host": 2}))
    held = HeldFetcher(rig.fetcher)
    await rig.open(held)
    held.hold(NEW)
    if how == "status":
        web.status(NEW, 503)
    else:
        web.moved(NEW, "/a")
    web.html(HOME, "", "/new")
    under_way = asyncio.create_task(rig.visit(f"{SITE}/a"))
    await held.asked(NEW)
    await rig.commit(await rig.visit(HOME))
    held.let_go(NEW)
    late = await under_way
    assert (late.hops, [link.url for link in late.links]) == ([], [NEW])
    rig.clock.advance(LEASE_MS / 1000 + 1)
    await rig.commit(late)
    assert (await rig.look(NEW)).state is UrlState.QUEUED
    await rig.close()


# Sitemaps


async def test_sitemaps_met_by_a_visit_that_was_broken_off_are_met_again(
    tmp_path: Path, web: Web
) -> None:
    web.robots(f"Sitemap: {MAP}")
    web.html(HOME, "home")
    web.sitemap(MAP, f"{SITE}/listed")
    web.html(f"{SITE}/listed", "listed")
    rig = SharedRig(tmp_path, web, make_job(sitemaps="auto", traps={"enabled": False}))
    await rig.begin()
    rig.held.hold(HOME)
    await rig.offer_in(1, "/")
    engine = rig.engine()
    running = asyncio.create_task(engine.run())
    await rig.held.asked(HOME)
    engine.abort({1})
    rig.held.let_go(HOME)
    await asyncio.wait_for(running, 60)
    assert found(rig) == ["/", "/listed"]
    await rig.close()
