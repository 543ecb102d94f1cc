"""The URLs that redirects lead to: fetched by one who follows, and by no other.

A link to such a URL may be offered while the redirect is followed. What becomes of it depends on
what comes of the redirect.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    OTHER_HOST,
    SLOTS,
    Rig,
    open_rig,
    path_of,
    paths_of,
)

from skitter.frontier.base import KNOWN
from skitter.frontier.model import Ack, Counts, Freed, Hop, JobState, Lease, Link, Result, UrlState
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import PageClass

SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))
LEASE_S = 120.001
LATER_MS = 60_000


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def hop_to(link: Link) -> Hop:
    return Hop(link.fp, link.host)


async def take_target(rig: Rig, lease: Lease, target: Link, how: str) -> None:
    """Make a URL the target of a redirect: with the gate of its host, or under one that is held."""
    if how == "enter":
        assert await rig.store.enter(lease, target.host, target=target.fp) == 0
    else:
        assert await rig.store.reserve(lease, target.host, target.fp) == 0


async def redirected(rig: Rig, how: str) -> tuple[Lease, Link]:
    """Let a lease lead to a URL to which another page links meanwhile."""
    await rig.offer("a")
    lease = await rig.take_one()
    target = rig.link("target", OTHER_HOST if how == "enter" else HOST)
    await take_target(rig, lease, target, how)
    await rig.offer(target)
    return lease, target


async def later(rig: Rig, *freed: Freed) -> list[str]:
    """Return what is handed out, now and in a while."""
    paths = paths_of(await rig.take(freed=freed))
    for _ in range(4):
        rig.tick(1)
        paths += paths_of(await rig.take())
    return paths


both = pytest.mark.parametrize("how", ["enter", "reserve"])


# What is kept from others


async def test_the_target_of_a_redirect_is_not_handed_out_before_its_lease_ends(rig: Rig) -> None:
    target = rig.link("target", OTHER_HOST)
    await rig.store.set_host(OTHER_HOST, delay_ms=0, per_host=3)
    await rig.offer("a")
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST, target=target.fp) == 0
    await rig.offer(target, rig.link("other", OTHER_HOST))
    rig.tick(1)
    assert paths_of(await rig.take()) == ["other"]
    rig.tick(1)
    assert await rig.take() == []
    assert (await rig.counts()).pending == 3
    assert await rig.take(freed=[Freed(lease.id, OTHER_HOST)]) == []
    rig.tick(1)
    assert await rig.take() == [], "the response is there, and not yet safe"
    await rig.end(lease, Result.DEFER, at_ms=rig.now_ms + 60_000)
    rig.tick(1)
    assert paths_of(await rig.take()) == ["target"]


async def test_the_target_of_a_redirect_in_line_is_not_handed_out_either(rig: Rig) -> None:
    target = rig.link("target", OTHER_HOST)
    await rig.offer("a", rig.link("b", OTHER_HOST))
    here, there = sorted(await rig.take(), key=lambda lease: lease.url, reverse=True)
    assert await rig.store.enter(here, OTHER_HOST, target=target.fp) > 0
    await rig.offer(target)
    await rig.end(there)
    rig.tick(1)
    assert await rig.store.enter(here, OTHER_HOST, target=target.fp) == 0
    await rig.end(here, hops=[Hop(target.fp, target.host)])
    assert (await rig.counts()).done == 2


async def test_a_target_that_became_known_before_takes_no_gate(rig: Rig) -> None:
    target = rig.link("target", OTHER_HOST)
    await rig.offer("a", target)
    await rig.store.set_host(OTHER_HOST, not_before_ms=rig.now_ms + 500)
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST, target=target.fp) == KNOWN
    rig.tick(0.5)
    assert paths_of(await rig.take()) == ["target"]


async def test_of_two_redirects_to_one_target_the_second_waits_for_the_first(rig: Rig) -> None:
    target = rig.link("target", FAR_HOST)
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first, second = await rig.take()
    assert await rig.store.enter(first, FAR_HOST, target=target.fp) == 0
    assert await rig.store.enter(second, FAR_HOST, target=target.fp) > 0
    assert await rig.store.enter(first, FAR_HOST, target=target.fp) == 0
    await rig.end(first, hops=[Hop(target.fp, target.host)])
    assert await rig.store.enter(second, FAR_HOST, target=target.fp) == KNOWN


async def test_a_target_whose_redirect_came_to_nothing_goes_to_the_next_one(rig: Rig) -> None:
    target = rig.link("target", FAR_HOST)
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first, second = await rig.take()
    assert await rig.store.enter(first, FAR_HOST, target=target.fp) == 0
    assert await rig.store.enter(second, FAR_HOST, target=target.fp) > 0
    await rig.end(first, Result.RETRY, at_ms=rig.now_ms + 60_000)
    rig.tick(1)
    assert await rig.store.enter(second, FAR_HOST, target=target.fp) == 0


async def test_a_target_is_let_go_with_its_lease(rig: Rig) -> None:
    target = rig.link("target", OTHER_HOST)
    await rig.offer("a")
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST, target=target.fp) == 0
    await rig.offer(target)
    await rig.end(lease, Result.DEAD)
    rig.tick(2)
    assert paths_of(await rig.take()) == ["target"]


@both
async def test_a_target_may_be_asked_for_again_by_who_has_it(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    await take_target(rig, lease, target, how)
    assert await rig.store.reserve(lease, target.host, target.fp) == 0


async def test_what_is_known_is_not_reserved(rig: Rig) -> None:
    target = rig.link("target")
    await rig.offer(rig.link("a", priority=9), target)
    lease = await rig.take_one()
    assert await rig.store.reserve(lease, HOST, target.fp) == KNOWN
    await rig.end(lease, hops=[hop_to(target)])
    assert await later(rig) == ["target"]


async def test_a_reserved_target_is_not_anothers(rig: Rig) -> None:
    target = rig.link("target")
    await rig.offer("a", rig.link("b", OTHER_HOST))
    leases = {path_of(lease): lease for lease in await rig.take()}
    assert await rig.store.reserve(leases["a"], HOST, target.fp) == 0
    assert await rig.store.reserve(leases["b"], HOST, target.fp) > 0
    await rig.end(leases["a"], Result.RETRY, at_ms=rig.now_ms + LATER_MS)
    assert await rig.store.reserve(leases["b"], HOST, target.fp) == 0


async def test_who_lost_the_lease_reserves_nothing(rig: Rig) -> None:
    target = rig.link("target")
    await rig.offer("a")
    lease = await rig.take_one()
    await rig.end(lease)
    assert await rig.store.reserve(lease, HOST, target.fp) > 0
    await rig.offer(target)
    assert await later(rig) == ["target"]


async def test_a_target_on_the_host_at_hand_is_not_handed_out_when_its_gate_is_let_go(
    rig: Rig,
) -> None:
    lease, _ = await redirected(rig, "reserve")
    assert await later(rig, Freed(lease.id, HOST)) == []


async def test_the_gate_of_a_host_can_be_entered_for_a_target_that_is_reserved(rig: Rig) -> None:
    await rig.store.set_host(HOST, per_host=2)
    lease, target = await redirected(rig, "reserve")
    rig.tick(1)
    assert await rig.store.enter(lease, HOST, target=target.fp) == 0
    assert await later(rig, Freed(lease.id, HOST)) == []
    assert await later(rig, Freed(lease.id, HOST)) == []
    await rig.end(lease, hops=[hop_to(target)])
    await rig.offer("b")
    assert await later(rig) == ["b"]
    assert await rig.counts() == Counts(leased=1, done=2)


# What a redirect brings


@both
async def test_a_link_to_what_a_redirect_brings_is_never_handed_out(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    await rig.take(freed=[Freed(lease.id, target.host)])
    rig.tick(1)
    assert await rig.take() == []
    await rig.end(lease, hops=[hop_to(target)])
    assert (await rig.counts()).pending == 1
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=2)
    assert (await rig.look(target)).state is UrlState.DONE
    assert (await rig.ask()).next_ready_ms is None, "nothing waits"
    assert (await rig.offer(target)).known == 1


@both
async def test_the_response_and_the_ack_may_come_together(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    await rig.end(lease, Result.DEAD, hops=[hop_to(target)])
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=1, dead=1)


@both
async def test_a_link_that_waits_for_a_time_ends_likewise(rig: Rig, how: str) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    target = rig.link("target", OTHER_HOST if how == "enter" else HOST)
    await take_target(rig, lease, target, how)
    await rig.offer(rig.link("target", target.host, not_before_ms=rig.now_ms + 3_000))
    await rig.end(lease, hops=[hop_to(target)])
    assert (await rig.counts()).scheduled == 1
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=2)


async def test_others_of_the_host_do_not_wait_for_what_was_brought(rig: Rig) -> None:
    lease, target = await redirected(rig, "enter")
    await rig.offer(rig.link("other", OTHER_HOST))
    await rig.end(lease, hops=[hop_to(target)])
    rig.tick(1)
    assert paths_of(await rig.take()) == ["other"]
    assert await rig.counts() == Counts(leased=1, done=2)


async def test_each_of_many_hops_is_brought(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    hops = [rig.link(f"hop{n}", host) for n, host in enumerate((HOST, HOST, OTHER_HOST, FAR_HOST))]
    for link in hops:
        await take_target(rig, lease, link, "reserve")
    await rig.offer(*hops)
    await rig.end(lease, hops=[hop_to(link) for link in hops])
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=5)


async def test_a_reserved_url_that_is_no_hop_is_handed_out(rig: Rig) -> None:
    lease, _ = await redirected(rig, "reserve")
    await rig.end(lease)
    assert await later(rig) == ["target"]


async def test_a_nav_page_that_a_redirect_brought_is_done(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    target = rig.link("target", page_class=PageClass.NAV)
    await take_target(rig, lease, target, "reserve")
    await rig.offer(target)
    await rig.end(lease, hops=[hop_to(target)])
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=2)


# What comes to nothing


@both
@pytest.mark.parametrize("result", [Result.RETRY, Result.DEFER])
async def test_a_link_to_what_a_redirect_did_not_bring_is_handed_out(
    rig: Rig, how: str, result: Result
) -> None:
    lease, target = await redirected(rig, how)
    await rig.end(lease, result, at_ms=rig.now_ms + LATER_MS, hops=[hop_to(target)])
    assert await later(rig) == ["target"]


@both
async def test_a_link_is_handed_out_when_the_lease_was_lost(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    rig.tick(LEASE_S)
    assert sorted(await later(rig)) == (["a", "target"] if how == "enter" else ["a"])
    [receipt] = [await rig.end(lease, hops=[hop_to(target)])]
    assert receipt.stale == (lease.id,)
    assert (await rig.counts()).done == 0


@both
async def test_a_stale_ack_brings_nothing(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    await rig.end(lease, Result.DEFER, at_ms=rig.now_ms + LATER_MS)
    assert (await rig.end(lease, hops=[hop_to(target)])).stale == (lease.id,)
    assert await later(rig) == ["target"]


@both
async def test_a_link_is_handed_out_after_a_crash_in_between(rig: Rig, how: str) -> None:
    await redirected(rig, how)
    await rig.crash()
    rig.tick(LEASE_S)
    paths: list[str] = []
    for _ in range(4):
        for lease in await rig.take():
            paths.append(path_of(lease))
            await rig.end(lease)
        rig.tick(2)
    assert sorted(paths) == ["a", "target"]


# What operators do


@both
@pytest.mark.parametrize("verb", ["clear", "forget"])
async def test_what_was_brought_and_forgotten_can_be_offered_anew(
    rig: Rig, how: str, verb: str
) -> None:
    lease, target = await redirected(rig, how)
    await rig.end(lease, hops=[hop_to(target)])
    if verb == "clear":
        assert await rig.store.clear(rig.job, PageClass.DATA) == 1
    else:
        assert await rig.store.forget(rig.job, target.host, target.fp)
    assert (await rig.offer(target)).new == 1
    assert await later(rig) == ["target"]


async def test_what_was_put_aside_and_forgotten_can_be_offered_anew(rig: Rig) -> None:
    await rig.store.set_host(HOST, per_host=2)
    lease, target = await redirected(rig, "reserve")
    rig.tick(1)
    assert await rig.take() == []
    assert (await rig.counts()).scheduled == 1
    await rig.end(lease, hops=[hop_to(target)])
    assert await rig.store.clear(rig.job, PageClass.DATA) == 1
    assert (await rig.offer(target)).new == 1
    assert await later(rig) == ["target"]


@both
async def test_a_job_that_is_cancelled_takes_along_what_was_brought(rig: Rig, how: str) -> None:
    lease, target = await redirected(rig, how)
    await rig.end(lease, hops=[hop_to(target)])
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert await rig.counts() == Counts(done=1, dropped=1)
    assert await later(rig) == []
    assert await rig.counts() == Counts(done=1, dropped=1)


async def test_the_target_of_another_job_is_handed_out(rig: Rig) -> None:
    lease, target = await redirected(rig, "enter")
    other = await rig.add_job("job-2")
    await rig.offer(rig.link("target", OTHER_HOST, job=other))
    await rig.end(lease, hops=[hop_to(target)])
    rig.tick(1)
    [theirs] = await rig.take()
    assert theirs.job == other


# Several members


@pytest.mark.parametrize("kind", SHARED)
@both
async def test_one_member_follows_and_the_other_links(kind: str, how: str, tmp_path: Path) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    other = await backend.join()
    lease, target = await redirected(rig, how)
    await rig.offer(rig.link("b", FAR_HOST))
    [page] = await rig.take()
    await rig.store.ack([Ack(page, Result.DONE, links=[rig.link("more", FAR_HOST)])])
    await other.offer([target])
    await rig.end(lease, hops=[hop_to(target)])
    await rig.store.disown(rig.grants)
    grants = await other.own("member-2", SLOTS, FOR_LONG_MS)
    rig.tick(2)
    assert paths_of((await other.claim(grants, 10)).leases) == ["more"]
    rig.tick(2)
    assert (await other.claim(grants, 10)).leases == ()
    assert await other.counts(rig.job) == Counts(leased=1, done=3)
    await backend.close()


@pytest.mark.parametrize("kind", SHARED)
@both
async def test_nothing_is_left_of_targets_that_are_settled(
    kind: str, how: str, tmp_path: Path
) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    lease, target = await redirected(rig, how)
    await rig.end(lease, hops=[hop_to(target)])
    await later(rig)
    core: Any = rig.store._core  # type: ignore[attr-defined]
    tag = core.keys.tag_of_host(target.host)
    for key in (core.keys.targets(tag), core.keys.gates(tag), core.keys.gate_ends(tag)):
        assert not await core.nodes.run(key, "EXISTS", key)
    assert not core.entered
    await backend.close()
