"""What every frontier back end promises, one sentence per test.

Times are virtual. The default job asks a host once a second with one request in flight.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import (
    BACKENDS,
    BUSY_HOST,
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    MANY_HOSTS,
    OTHER_HOST,
    SLOTS,
    Rig,
    fingerprint,
    open_rig,
    path_of,
    paths_of,
)

from skitter.errors import Fenced
from skitter.frontier.model import (
    Ack,
    Counts,
    Freed,
    Hop,
    JobEntry,
    JobState,
    Lease,
    Overflow,
    Result,
    UrlState,
)
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, PageClass
from skitter.url.partition import TAGS, is_wide, slot_of

NAV = PageClass.NAV
DATA = PageClass.DATA
LEASE_S = 120.001


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def hop(url: str, host: HostKey) -> Hop:
    return Hop(fingerprint(url), host)


# Offering


async def test_a_link_is_new_once_and_known_ever_after(rig: Rig) -> None:
    assert (await rig.offer("a", "b", "a")).new == 2
    receipt = await rig.offer("a", "c")
    assert (receipt.new, receipt.known) == (1, 1)
    assert await rig.counts() == Counts(queued=3)


async def test_the_same_url_is_new_to_each_job(rig: Rig) -> None:
    second = await rig.add_job("job-2")
    await rig.offer(rig.link("a"), rig.link("a", job=second))
    assert await rig.counts() == await rig.counts(second) == Counts(queued=1)


async def test_a_lease_carries_everything_the_link_said(rig: Rig) -> None:
    link = rig.link(
        "list?page=2&q=%E4%BD%A0",
        FAR_HOST,
        page_class=NAV,
        priority=7,
        depth=4,
        rank=2,
        referrer="https://far.example.org:8080/",
    )
    found_s = rig.now_ms // 1000
    await rig.offer(link)
    rig.tick(30)
    lease = await rig.take_one(lease_ms=60_000)
    assert (lease.url, lease.fp, lease.host, lease.job) == (link.url, link.fp, link.host, link.job)
    assert lease.slot % TAGS == link.slot % TAGS
    assert (lease.page_class, lease.priority, lease.depth) == (NAV, 7, 4)
    assert (lease.referrer, lease.found_s) == (link.referrer, found_s)
    assert (lease.attempts, lease.lost, lease.visit) == (0, 0, 1)
    assert lease.expires_at == pytest.approx(rig.clock.boot() + 60)
    assert is_wide(lease.slot) or lease.fence in {grant.fence for grant in rig.grants}


async def test_plain_http_urls_and_bare_origins_come_back_as_they_were(rig: Rig) -> None:
    plain = rig.link("")
    urls = {f"http://{HOST}/x?", f"http://{FAR_HOST}/", f"https://{OTHER_HOST}/?a=1"}
    for url, host in zip(sorted(urls), (FAR_HOST, HOST, OTHER_HOST), strict=True):
        await rig.offer(type(plain)(url, fingerprint(url), host, rig.job, slot_of(host)))
    assert {lease.url for lease in await rig.take()} == urls


async def test_a_link_with_a_start_time_waits_for_it(rig: Rig) -> None:
    await rig.offer(rig.link("later", not_before_ms=rig.now_ms + 5_000))
    assert (await rig.counts()).scheduled == 1
    rig.tick(4.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["later"]


# Order


async def test_urls_of_one_host_are_first_in_first_out(rig: Rig) -> None:
    names = [f"p{i}" for i in range(30)]
    await rig.offer(*names[:20])
    await rig.offer(*names[20:])
    assert await rig.paths_in_order() == names


async def test_higher_priority_goes_first_then_lower_rank(rig: Rig) -> None:
    await rig.offer(
        rig.link("low", priority=0),
        rig.link("plain-late", rank=7),
        rig.link("plain-early", rank=1),
        rig.link("urgent-late", priority=9, rank=4),
        rig.link("urgent-early", priority=9),
    )
    expected = ["urgent-early", "urgent-late", "plain-early", "plain-late", "low"]
    assert await rig.paths_in_order() == expected


async def test_an_urgent_link_passes_a_backlog_that_is_already_being_handed_out(rig: Rig) -> None:
    await rig.offer(*[f"p{i}" for i in range(40)])
    await rig.end(await rig.take_one())
    await rig.offer(rig.link("urgent", priority=9))
    rig.tick(1)
    assert path_of(await rig.take_one()) == "urgent"


async def test_urgent_urls_pass_the_backlog_of_other_ready_hosts(rig: Rig) -> None:
    hosts = MANY_HOSTS
    await rig.offer(*[rig.link("backlog", host) for host in hosts])
    await rig.offer(rig.link("urgent", FAR_HOST, priority=9))
    assert path_of(await rig.take_one()) == "urgent"


async def test_urgent_urls_pass_the_backlog_after_a_restart_too(rig: Rig) -> None:
    hosts = MANY_HOSTS
    await rig.offer(*[rig.link("backlog", host) for host in hosts])
    await rig.offer(rig.link("urgent", FAR_HOST, priority=9))
    await rig.restart()
    rig.tick(1)
    assert path_of(await rig.take_one()) == "urgent"


async def test_data_pages_go_before_nav_pages(rig: Rig) -> None:
    await rig.offer(rig.link("nav", page_class=NAV), rig.link("one"), rig.link("two"))
    assert await rig.paths_in_order() == ["one", "two", "nav"]


async def test_an_overdue_nav_page_gets_one_claim_in_four(rig: Rig) -> None:
    await rig.offer(*[rig.link(f"nav{i}", page_class=NAV) for i in range(3)])
    for _ in range(3):
        await rig.end(await rig.take_one(), at_ms=rig.now_ms + 5_000)
        rig.tick(1)
    rig.tick(3_600)
    await rig.offer(*[f"d{i}" for i in range(40)])
    order = await rig.paths_in_order(limit=12)
    for start in (0, 4, 8):
        assert [path for path in order[start : start + 4] if path.startswith("nav")]


async def test_a_huge_host_does_not_starve_the_others(rig: Rig) -> None:
    await rig.offer(*[f"p{i}" for i in range(500)])
    others = MANY_HOSTS[:9]
    await rig.offer(*[rig.link("only", host) for host in others])
    assert {lease.host for lease in await rig.take(10)} == {HOST, *others}


# Politeness


async def test_a_host_in_flight_is_not_handed_out_again(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    assert len(await rig.take()) == 1
    rig.tick(60)
    assert await rig.take() == []


async def test_a_freed_host_rests_for_its_delay_before_its_lease_is_acked(rig: Rig) -> None:
    await rig.offer("a", "b")
    first = await rig.take_one()
    rig.tick(3)
    assert await rig.take(freed=[Freed(first.id, HOST)]) == []
    rig.tick(0.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]
    assert await rig.counts() == Counts(leased=2)


async def test_an_ack_frees_the_host_after_its_delay(rig: Rig) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    rig.tick(3)
    await rig.end(lease)
    rig.tick(0.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_an_ack_after_the_response_does_not_make_the_host_wait_again(rig: Rig) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    await rig.take(freed=[Freed(lease.id, HOST)])
    rig.tick(0.9)
    await rig.end(lease)
    rig.tick(0.1)
    assert paths_of(await rig.take()) == ["b"]


async def test_an_empty_host_still_rests_before_its_next_url(rig: Rig) -> None:
    await rig.offer("a")
    await rig.end(await rig.take_one())
    await rig.offer("b")
    assert await rig.take() == []
    rig.tick(1)
    assert paths_of(await rig.take()) == ["b"]


async def test_a_response_can_change_the_delay_of_its_host(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    first = await rig.take_one()
    await rig.take(freed=[Freed(first.id, HOST, delay_ms=5_000)])
    rig.tick(4.999)
    assert await rig.take() == []
    rig.tick(0.001)
    second = await rig.take_one()
    await rig.end(second)
    rig.tick(4.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert len(await rig.take()) == 1


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_a_back_off_is_stored_before_its_page_is_acked(rig: Rig, interruption: str) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    await rig.take(freed=[Freed(lease.id, HOST, not_before_ms=rig.now_ms + 600_000)])
    await getattr(rig, interruption)()
    rig.tick(599.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["a"]


@pytest.mark.parametrize("interruption", ["none", "restart", "crash"])
async def test_a_back_off_holds_across_every_interruption(rig: Rig, interruption: str) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    until = rig.now_ms + 600_000
    await rig.take(freed=[Freed(lease.id, HOST, not_before_ms=until)])
    await rig.end(lease)
    if interruption != "none":
        await getattr(rig, interruption)()
    rig.tick(599.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_several_requests_may_be_in_flight_one_delay_apart(rig: Rig) -> None:
    await rig.offer("a", "b", "c", "d")
    await rig.store.set_host(HOST, per_host=2)
    first = await rig.take_one()
    rig.tick(0.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]
    rig.tick(10)
    assert await rig.take() == []
    await rig.end(first)
    rig.tick(1)
    assert paths_of(await rig.take()) == ["c"]
    rig.tick(10)
    assert await rig.take() == []


async def test_one_claim_brings_several_urls_of_a_host_without_delay(rig: Rig) -> None:
    await rig.offer("a", "b", "c", "d")
    await rig.store.set_host(HOST, delay_ms=0, per_host=3)
    taken: list[Lease] = []
    for _ in range(3):
        taken += await rig.take()
    assert paths_of(taken) == ["a", "b", "c"]


async def test_freeing_a_host_twice_frees_it_once(rig: Rig) -> None:
    await rig.offer("a", "b", "c", "d")
    await rig.store.set_host(HOST, delay_ms=0, per_host=2)
    first, _second = [await rig.take_one(), await rig.take_one()]
    freed = Freed(first.id, HOST)
    assert paths_of(await rig.take(freed=[freed, freed])) == ["c"]
    assert await rig.take(freed=[freed]) == []


async def test_settings_of_a_host_apply_before_its_first_url(rig: Rig) -> None:
    await rig.store.set_host(HOST, delay_ms=20_000, not_before_ms=rig.now_ms + 5_000)
    await rig.offer("a", "b")
    rig.tick(4.999)
    assert await rig.take() == []
    rig.tick(0.001)
    await rig.end(await rig.take_one())
    rig.tick(19.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_two_jobs_share_the_gate_of_a_host(rig: Rig) -> None:
    second = await rig.add_job("job-2")
    await rig.offer(rig.link("a"), rig.link("a", job=second))
    assert len(await rig.take()) == 1
    rig.tick(60)
    assert await rig.take() == []


async def test_hosts_do_not_wait_for_each_other(rig: Rig) -> None:
    await rig.offer(rig.link("a"), rig.link("a", OTHER_HOST), rig.link("a", FAR_HOST))
    assert {lease.host for lease in await rig.take()} == {HOST, OTHER_HOST, FAR_HOST}


async def test_what_set_host_leaves_open_comes_from_the_job(rig: Rig) -> None:
    slow = await rig.add_job("slow", delay_ms=5_000)
    await rig.store.set_host(FAR_HOST, per_host=2)
    await rig.offer(rig.link("a", FAR_HOST, job=slow), rig.link("b", FAR_HOST, job=slow))
    await rig.end(await rig.take_one())
    rig.tick(4.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_setting_an_earlier_time_does_not_cut_a_rest_short(rig: Rig) -> None:
    await rig.offer("a", "b")
    await rig.end(await rig.take_one())
    await rig.store.set_host(HOST, not_before_ms=rig.now_ms)
    assert await rig.take() == []


# Redirect hops


async def test_a_hop_takes_the_gate_of_its_host_until_it_is_freed(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    await rig.store.set_host(OTHER_HOST, not_before_ms=rig.now_ms + 10_000)
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST) == 10_000
    rig.tick(10)
    assert await rig.store.enter(lease, OTHER_HOST) == 0
    assert await rig.take() == []
    await rig.take(freed=[Freed(lease.id, OTHER_HOST)])
    rig.tick(1)
    assert paths_of(await rig.take()) == ["b"]


async def test_a_hop_to_a_busy_host_has_to_wait(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    here, there = sorted(await rig.take(), key=lambda lease: lease.url, reverse=True)
    assert await rig.store.enter(here, OTHER_HOST) > 0
    await rig.end(there)
    assert await rig.store.enter(here, OTHER_HOST) == 1_000
    rig.tick(1)
    assert await rig.store.enter(here, OTHER_HOST) == 0


async def test_a_waiting_hop_goes_before_the_queued_urls_of_its_host(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST), rig.link("c", OTHER_HOST))
    here, there = sorted(await rig.take(), key=lambda lease: lease.url, reverse=True)
    assert await rig.store.enter(here, OTHER_HOST) > 0
    assert await rig.take(freed=[Freed(there.id, OTHER_HOST)]) == []
    rig.tick(1)
    assert await rig.take() == []
    assert await rig.store.enter(here, OTHER_HOST) == 0
    await rig.take(freed=[Freed(here.id, OTHER_HOST)])
    rig.tick(1)
    assert paths_of(await rig.take()) == ["c"]


async def test_a_hop_takes_no_gate_that_opens_too_late(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    await rig.store.set_host(OTHER_HOST, not_before_ms=rig.now_ms + 10_000)
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST, at_most_ms=5_000) == 10_000
    rig.tick(10)
    assert paths_of(await rig.take()) == ["b"]


async def test_waiting_hops_are_let_in_first_come_first_served(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST), rig.link("c", BUSY_HOST))
    leases = {lease.host: lease for lease in await rig.take()}
    first, second, holder = leases[OTHER_HOST], leases[HOST], leases[BUSY_HOST]
    for waiting in (first, second, first):
        assert await rig.store.enter(waiting, BUSY_HOST) > 0
    await rig.end(holder)
    rig.tick(1)
    assert await rig.store.enter(second, BUSY_HOST) > 0
    assert await rig.store.enter(first, BUSY_HOST) == 0
    await rig.end(first)
    rig.tick(1)
    assert await rig.store.enter(second, BUSY_HOST) == 0


async def test_a_waiting_hop_is_let_in_once_when_its_host_takes_more(rig: Rig) -> None:
    await rig.offer("a", *[rig.link(path, OTHER_HOST) for path in ("b", "c", "d")])
    here, there = sorted(await rig.take(), key=lambda lease: lease.url, reverse=True)
    assert await rig.store.enter(here, OTHER_HOST) > 0
    await rig.store.set_host(OTHER_HOST, delay_ms=0, per_host=2)
    rig.tick(1)
    assert await rig.store.enter(here, OTHER_HOST) == 0
    freed = [Freed(there.id, OTHER_HOST), Freed(here.id, OTHER_HOST)]
    taken = await rig.take(freed=freed) + await rig.take()
    assert paths_of(taken) == ["c", "d"]


async def test_a_hop_may_lead_to_a_host_nobody_offered(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    assert await rig.store.enter(lease, FAR_HOST) == 0
    await rig.offer(rig.link("b", FAR_HOST))
    assert await rig.take() == []
    await rig.end(lease)
    assert await rig.take() == []
    rig.tick(1)
    assert paths_of(await rig.take()) == ["b"]


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_a_back_off_of_a_hops_host_survives(rig: Rig, interruption: str) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST, not_before_ms=rig.now_ms + 1_000))
    lease = await rig.take_one()
    assert await rig.store.enter(lease, OTHER_HOST) == 0
    until = rig.now_ms + 600_000
    await rig.take(freed=[Freed(lease.id, OTHER_HOST, not_before_ms=until)])
    await rig.end(lease)
    await getattr(rig, interruption)()
    rig.tick(599.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["b"]


async def test_a_gate_taken_by_a_hop_is_let_go_when_the_lease_expires(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    await rig.store.set_host(OTHER_HOST, not_before_ms=rig.now_ms + 1_000)
    lease = await rig.take_one()
    rig.tick(1)
    assert await rig.store.enter(lease, OTHER_HOST) == 0
    rig.tick(LEASE_S)
    assert await rig.take() == []
    rig.tick(1)
    assert sorted(paths_of(await rig.take())) == ["a", "b"]


async def test_a_hop_is_known_as_done_and_never_queued(rig: Rig) -> None:
    await rig.offer("a")
    target = rig.link("target", OTHER_HOST)
    await rig.end(await rig.take_one(), hops=[Hop(target.fp, target.host)])
    assert await rig.counts() == Counts(done=2)
    assert (await rig.look(target)).state is UrlState.DONE
    assert (await rig.offer(target)).known == 1
    rig.tick(1)
    assert await rig.take() == []


async def test_a_page_reached_by_redirect_that_links_to_itself_is_not_queued(rig: Rig) -> None:
    await rig.offer("a")
    target = rig.link("target")
    await rig.end(await rig.take_one(), hops=[Hop(target.fp, target.host)], links=[target])
    assert await rig.counts() == Counts(done=2)


async def test_a_hop_that_is_queued_already_keeps_its_place(rig: Rig) -> None:
    target = rig.link("target", OTHER_HOST)
    await rig.offer(rig.link("a", priority=9), target)
    lease = await rig.take_one()
    await rig.end(lease, hops=[Hop(target.fp, target.host)])
    assert await rig.counts() == Counts(queued=1, done=1)
    assert paths_of(await rig.take()) == ["target"]


# Acks


async def test_a_finished_data_page_is_never_handed_out_again(rig: Rig) -> None:
    await rig.offer("a")
    await rig.end(await rig.take_one(), at_ms=rig.now_ms + 1_000)
    assert await rig.counts() == Counts(done=1)
    rig.tick(86_400)
    assert (await rig.offer("a")).known == 1
    assert (await rig.ask()).leases == ()


async def test_a_nav_page_is_visited_again_at_its_time(rig: Rig) -> None:
    await rig.offer(rig.link("news", page_class=NAV))
    await rig.end(await rig.take_one(), at_ms=rig.now_ms + 60_000)
    assert await rig.counts() == Counts(scheduled=1)
    rig.tick(59.999)
    assert await rig.take() == []
    rig.tick(0.001)
    lease = await rig.take_one()
    assert (lease.visit, lease.attempts, lease.page_class) == (2, 0, NAV)


async def test_a_nav_page_without_a_next_time_is_done(rig: Rig) -> None:
    await rig.offer(rig.link("news", page_class=NAV))
    await rig.end(await rig.take_one())
    assert await rig.counts() == Counts(done=1)


async def test_a_failed_page_is_tried_again_at_its_time_with_the_attempt_counted(rig: Rig) -> None:
    link = rig.link("a", depth=3)
    await rig.offer(link)
    for attempts in range(3):
        lease = await rig.take_one()
        assert (lease.attempts, lease.visit, lease.depth) == (attempts, 1, 3)
        due = rig.now_ms + 30_000
        await rig.end(lease, Result.RETRY, at_ms=due)
        sighting = await rig.look(link)
        assert (sighting.state, sighting.due_ms) == (UrlState.SCHEDULED, due)
        rig.tick(29.999)
        assert await rig.take() == []
        rig.tick(0.001)


async def test_a_page_tried_again_keeps_its_rank(rig: Rig) -> None:
    await rig.offer(rig.link("late", rank=5))
    await rig.end(await rig.take_one(), Result.RETRY, at_ms=rig.now_ms + 5_000)
    rig.tick(5)
    await rig.offer(rig.link("early", rank=1))
    assert await rig.paths_in_order() == ["early", "late"]


async def test_a_page_given_up_stays_known(rig: Rig) -> None:
    await rig.offer("a")
    await rig.end(await rig.take_one(), Result.DEAD, reason="404")
    assert await rig.counts() == Counts(dead=1)
    assert (await rig.offer("a")).known == 1
    rig.tick(86_400)
    assert await rig.take() == []


async def test_a_deferred_page_goes_back_to_its_place_without_an_attempt(rig: Rig) -> None:
    await rig.offer("a", "b")
    await rig.end(await rig.take_one(), Result.DEFER)
    assert await rig.counts() == Counts(queued=2)
    rig.tick(1)
    lease = await rig.take_one()
    assert (path_of(lease), lease.attempts, lease.lost) == ("a", 0, 0)


async def test_a_page_deferred_to_a_time_waits_for_it_without_an_attempt(rig: Rig) -> None:
    await rig.offer("a", "b")
    await rig.end(await rig.take_one(), Result.DEFER, at_ms=rig.now_ms + 10_000)
    assert await rig.counts() == Counts(queued=1, scheduled=1)
    rig.tick(1)
    await rig.end(await rig.take_one())
    rig.tick(9)
    lease = await rig.take_one()
    assert (path_of(lease), lease.attempts) == ("a", 0)


async def test_an_ack_queues_what_the_page_linked_to(rig: Rig) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    links = [rig.link(path, depth=1) for path in ("b", "c", "a", "d", "c")]
    receipt = await rig.end(lease, links=links)
    assert (receipt.accepted, receipt.new, receipt.known) == (1, 2, 3)
    assert await rig.counts() == Counts(queued=3, done=1)
    rig.tick(1)
    assert await rig.paths_in_order() == ["b", "c", "d"]


async def test_a_second_ack_changes_nothing(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    await rig.end(lease)
    receipt = await rig.end(
        lease,
        Result.RETRY,
        at_ms=rig.now_ms,
        links=[rig.link("b")],
        hops=[hop("https://c/", FAR_HOST)],
    )
    assert (receipt.accepted, receipt.stale, receipt.new) == (0, (lease.id,), 0)
    assert await rig.counts() == Counts(done=1)


async def test_the_same_ack_twice_in_one_batch_counts_once(rig: Rig) -> None:
    await rig.offer("a")
    ack = Ack(await rig.take_one(), Result.DONE, links=[rig.link("b")])
    receipt = await rig.store.ack([ack, ack])
    assert (receipt.accepted, receipt.stale) == (1, (ack.lease.id,))
    assert await rig.counts() == Counts(queued=1, done=1)


async def test_a_batch_with_a_stale_ack_keeps_its_good_ones(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    good, old = await rig.take()
    await rig.end(old)
    acks = [
        Ack(old, Result.DONE, links=[rig.link("x")]),
        Ack(good, Result.DONE, links=[rig.link("y")]),
    ]
    receipt = await rig.store.ack(acks)
    assert (receipt.accepted, receipt.stale, receipt.new) == (1, (old.id,), 1)
    assert (await rig.look(rig.link("x"))).state is UrlState.UNKNOWN
    assert (await rig.look(rig.link("y"))).state is UrlState.QUEUED


async def test_the_note_of_an_ack_is_found_by_url(rig: Rig) -> None:
    link = rig.link("a")
    await rig.offer(link)
    await rig.end(await rig.take_one(), note=b"kept")
    await rig.crash()
    sighting = await rig.look(link)
    assert (sighting.state, sighting.note) == (UrlState.DONE, b"kept")


async def test_content_is_remembered_by_the_first_url_that_had_it(rig: Rig) -> None:
    other = await rig.add_job("job-2")
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first, second = await rig.take()
    assert (await rig.store.contents(rig.job, [b"digest"]))[0] is None
    await rig.end(first, digest=b"digest")
    await rig.end(second, digest=b"digest")
    assert (await rig.store.contents(rig.job, [b"digest"]))[0] == first.url
    assert (await rig.store.contents(other, [b"digest"]))[0] is None
    await rig.crash()
    assert (await rig.store.contents(rig.job, [b"digest"]))[0] == first.url


async def test_content_may_have_two_digests(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first, second = await rig.take()
    await rig.end(first, digest=b"one", alike=b"like")
    await rig.end(second, digest=b"two", alike=b"like")
    found = await rig.store.contents(rig.job, [b"one", b"two", b"like", b"other"])
    assert found == [first.url, second.url, first.url, None]


async def test_marks_are_as_old_as_the_acks_they_came_with(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    first, second = await rig.take()
    assert await rig.store.mark("file") is None
    await rig.store.ack([Ack(first, Result.DONE)], marks={"file": b"100", "pages": b"1"})
    await rig.store.ack([Ack(second, Result.DONE)], marks={"file": b"200"})
    await rig.crash()
    assert (await rig.store.mark("file"), await rig.store.mark("pages")) == (b"200", b"1")
    assert await rig.store.marks("fi") == {"file": b"200"}
    assert await rig.store.marks("") == {"file": b"200", "pages": b"1"}
    assert await rig.counts() == Counts(done=2)


# Leases


async def test_an_expired_lease_goes_to_the_next_claim_and_the_old_one_cannot_ack(rig: Rig) -> None:
    await rig.offer("a", "b")
    old = await rig.take_one(lease_ms=30_000)
    rig.tick(29.999)
    assert await rig.take() == []
    rig.tick(0.002)
    assert await rig.take() == []
    rig.tick(1)
    new = await rig.take_one()
    assert (path_of(new), new.lost, new.attempts) == ("a", 1, 0)
    receipt = await rig.end(old, links=[rig.link("c")], hops=[hop("https://d/", FAR_HOST)])
    assert (receipt.accepted, receipt.stale) == (0, (old.id,))
    assert await rig.counts() == Counts(queued=1, leased=1)
    assert (await rig.end(new)).accepted == 1


async def test_every_lost_lease_is_counted(rig: Rig) -> None:
    await rig.offer("poison")
    losses = []
    for _ in range(4):
        losses.append((await rig.take_one()).lost)
        rig.tick(LEASE_S)
        assert await rig.take() == []
        rig.tick(1)
    assert losses == [0, 1, 2, 3]


async def test_a_renewed_lease_lives_on(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one(lease_ms=30_000)
    for _ in range(3):
        rig.tick(25)
        assert await rig.store.renew([lease], 30_000) == []
    rig.tick(2)
    assert await rig.take() == []
    assert (await rig.end(lease)).accepted == 1


async def test_renewing_tells_which_leases_are_gone(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    kept, gone = await rig.take()
    await rig.end(gone)
    assert await rig.store.renew([kept, gone]) == [gone.id]


async def test_leases_of_different_urls_and_times_have_different_ids(rig: Rig) -> None:
    await rig.offer("a", "b", rig.link("c", OTHER_HOST))
    ids = [lease.id for lease in await rig.take()]
    rig.tick(LEASE_S)
    await rig.take()
    rig.tick(1)
    ids += [lease.id for lease in await rig.take()]
    assert len(ids) == len(set(ids)) == 4


# Ownership


async def test_owning_again_keeps_the_fence(rig: Rig) -> None:
    again = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    assert [grant.slot for grant in again] == list(SLOTS)
    assert {grant.fence for grant in again} == {grant.fence for grant in rig.grants}


async def test_a_claim_with_a_grant_of_an_earlier_opening_changes_nothing(rig: Rig) -> None:
    await rig.offer("a")
    old = rig.grants
    await rig.restart()
    rig.tick(1)
    with pytest.raises(Fenced):
        await rig.store.claim(old, 10)
    assert await rig.counts() == Counts(queued=1)
    assert {grant.fence for grant in rig.grants}.isdisjoint({grant.fence for grant in old})
    assert paths_of(await rig.take()) == ["a"]


async def test_a_fenced_claim_frees_no_host(rig: Rig) -> None:
    await rig.offer("a", "b")
    old = rig.grants
    await rig.restart()
    rig.tick(1)
    lease = await rig.take_one()
    with pytest.raises(Fenced):
        await rig.store.claim(old, 10, freed=[Freed(lease.id, HOST, delay_ms=0)])
    rig.tick(10)
    assert await rig.take() == []


# Restart and crash


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_nothing_is_lost_and_what_was_leased_is_queued_again(
    rig: Rig, interruption: str
) -> None:
    hosts = MANY_HOSTS[:4]
    await rig.offer(*[rig.link("x", host) for host in hosts], "a", "b")
    done, dead, retried, *_leased = await rig.take(5)
    await rig.end(done, links=[rig.link("new")])
    await rig.end(dead, Result.DEAD)
    await rig.end(retried, Result.RETRY, at_ms=rig.now_ms + 60_000)
    await getattr(rig, interruption)()
    assert await rig.counts() == Counts(queued=4, scheduled=1, done=1, dead=1)
    assert (await rig.offer("a", "b", "new")).known == 3


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_order_survives(rig: Rig, interruption: str) -> None:
    await rig.offer(*[f"p{i}" for i in range(6)])
    await rig.end(await rig.take_one())
    rig.tick(1)
    await rig.take_one()
    await getattr(rig, interruption)()
    await rig.offer("p6", rig.link("urgent", priority=9))
    rig.tick(1)
    expected = ["urgent", *[f"p{i}" for i in range(1, 7)]]
    assert await rig.paths_in_order() == expected


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_scheduled_urls_survive_with_their_attempts(rig: Rig, interruption: str) -> None:
    await rig.offer("a")
    await rig.end(await rig.take_one(), Result.RETRY, at_ms=rig.now_ms + 60_000)
    await getattr(rig, interruption)()
    rig.tick(59.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert (await rig.take_one()).attempts == 1


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_a_host_rests_for_its_delay_after_an_interruption(
    rig: Rig, interruption: str
) -> None:
    await rig.offer("a", "b")
    await rig.store.set_host(HOST, delay_ms=7_000)
    await rig.take_one()
    rig.tick(60)
    await getattr(rig, interruption)()
    rig.tick(6.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["a"]


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_a_lease_from_before_an_interruption_is_stale(rig: Rig, interruption: str) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    old = await rig.take()
    await getattr(rig, interruption)()
    rig.tick(1)
    new = await rig.take()
    assert sorted(await rig.store.renew(old)) == sorted(lease.id for lease in old)
    receipt = await rig.store.ack([Ack(lease, Result.DONE) for lease in old])
    assert (receipt.accepted, len(receipt.stale)) == (0, 2)
    assert await rig.take(freed=[Freed(lease.id, lease.host) for lease in old]) == []
    assert await rig.counts() == Counts(leased=2)
    assert (await rig.store.ack([Ack(lease, Result.DONE) for lease in new])).accepted == 2


@pytest.mark.parametrize("interruption", ["restart", "crash"])
async def test_jobs_and_their_states_survive(rig: Rig, interruption: str) -> None:
    second = await rig.add_job("job-2", spec='{"kind":"site"}', delay_ms=250, queue_bound=7)
    await rig.store.set_job_state(second, JobState.PAUSE)
    await rig.offer(rig.link("a", job=second))
    await getattr(rig, interruption)()
    entry = (await rig.store.jobs())[second]
    assert (entry.id, entry.spec, entry.delay_ms) == ("job-2", '{"kind":"site"}', 250)
    assert (entry.state, entry.queue_bound) == (JobState.PAUSE, 7)
    rig.tick(10)
    assert await rig.take() == []


# Jobs


async def test_a_job_keeps_its_number_when_it_is_put_again(rig: Rig) -> None:
    second = await rig.add_job("job-2")
    again = await rig.store.put_job(JobEntry(id="job-2", spec="new"))
    assert again == second != rig.job
    jobs = await rig.store.jobs()
    assert {entry.id for entry in jobs.values()} == {"job-1", "job-2"}
    assert jobs[second].spec == "new"


async def test_a_new_concurrency_of_a_job_holds_after_a_restart(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    await rig.store.put_job(JobEntry(id="job-1", per_host=2))
    await rig.restart()
    rig.tick(1)
    taken = await rig.take()
    rig.tick(1)
    taken += await rig.take()
    rig.tick(1)
    assert await rig.take() == []
    assert paths_of(taken) == ["a", "b"]


async def test_a_cancelled_job_takes_no_links(rig: Rig) -> None:
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert (await rig.offer("a")).new == 0
    assert await rig.counts() == Counts()


async def test_a_paused_job_is_not_handed_out_and_all_of_it_comes_back(rig: Rig) -> None:
    second = await rig.add_job("job-2")
    await rig.offer("a", "b", rig.link("c", OTHER_HOST), rig.link("other", job=second))
    await rig.store.set_job_state(rig.job, JobState.PAUSE)
    await rig.end(await rig.take_one())
    await rig.offer(rig.link("d", FAR_HOST))
    rig.tick(3_600)
    assert await rig.take() == []
    assert await rig.counts() == Counts(queued=4)
    assert await rig.counts(second) == Counts(done=1)
    await rig.store.set_job_state(rig.job, JobState.RUN)
    assert sorted(await rig.paths_in_order()) == ["a", "b", "c", "d"]


async def test_a_page_in_flight_when_its_job_is_paused_is_still_acked(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    await rig.store.set_job_state(rig.job, JobState.PAUSE)
    assert (await rig.end(lease, links=[rig.link("b")])).accepted == 1
    assert await rig.counts() == Counts(queued=1, done=1)


async def test_cancelling_drops_everything_that_is_not_finished(rig: Rig) -> None:
    other = await rig.add_job("job-2")
    hosts = MANY_HOSTS[:3]
    await rig.offer(*[rig.link("x", host) for host in hosts])
    await rig.offer("waiting", "waiting-too")
    taken = await rig.take(3)
    await rig.offer(rig.link("y", hosts[0], job=other))
    done, retried, leased = [lease for lease in taken if lease.job == rig.job][:3]
    await rig.end(done)
    await rig.end(retried, Result.RETRY, at_ms=rig.now_ms + 60_000)
    before = await rig.counts()
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert await rig.counts() == Counts(done=1, dropped=before.offered - 1)
    assert (await rig.end(leased, links=[rig.link("z")])).stale == (leased.id,)
    assert await rig.counts() == Counts(done=1, dropped=before.offered - 1)
    rig.tick(3_600)
    assert paths_of(await rig.take()) == ["y"]


async def test_a_cancelled_job_stays_dropped_after_a_crash(rig: Rig) -> None:
    await rig.offer("a", "b", rig.link("later", not_before_ms=rig.now_ms + 5_000))
    await rig.take_one()
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    await rig.crash()
    assert await rig.counts() == Counts(dropped=3)
    rig.tick(10)
    assert await rig.take() == []
    assert await rig.counts() == Counts(dropped=3)


async def test_urls_dropped_by_a_cancel_are_seen_as_dropped(rig: Rig) -> None:
    queued, later = rig.link("b"), rig.link("c", not_before_ms=rig.now_ms + 5_000)
    leased = rig.link("a")
    await rig.offer(leased, queued, later)
    await rig.take_one()
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    for link in (leased, queued, later):
        assert (await rig.look(link)).state is UrlState.DROPPED


async def test_a_url_dropped_by_a_cancel_can_be_forgotten(rig: Rig) -> None:
    queued, later = rig.link("a"), rig.link("b", not_before_ms=rig.now_ms + 5_000)
    await rig.offer(queued, later, "c")
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert await rig.store.forget(rig.job, HOST, later.fp)
    assert await rig.store.forget(rig.job, HOST, queued.fp)
    assert await rig.counts() == Counts(dropped=1)


async def test_clearing_a_cancelled_job_finds_nothing(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", not_before_ms=rig.now_ms + 5_000))
    await rig.store.set_job_state(rig.job, JobState.CANCEL)
    assert await rig.store.clear(rig.job, DATA) == 0
    assert await rig.counts() == Counts(dropped=2)


async def test_clearing_a_class_forgets_what_waits_and_keeps_what_is_leased(rig: Rig) -> None:
    nav = [rig.link(f"n{i}", page_class=NAV) for i in range(3)]
    await rig.offer(*nav, rig.link("later", page_class=NAV, not_before_ms=rig.now_ms + 60_000))
    leased = await rig.take_one()
    await rig.offer("data")
    assert await rig.store.clear(rig.job, NAV) == 3
    assert await rig.counts() == Counts(queued=1, leased=1)
    assert (await rig.look(nav[2])).state is UrlState.UNKNOWN
    assert (await rig.end(leased)).accepted == 1
    assert (await rig.offer(nav[1], nav[2])).new == 2
    rig.tick(1)
    assert await rig.paths_in_order() == ["data", "n1", "n2"]


async def test_a_forgotten_url_can_be_offered_anew(rig: Rig) -> None:
    link = rig.link("a")
    await rig.offer(link, "b")
    await rig.end(await rig.take_one())
    assert await rig.store.forget(rig.job, HOST, link.fp)
    assert await rig.counts() == Counts(queued=1)
    assert (await rig.look(link)).state is UrlState.UNKNOWN
    assert (await rig.offer(link)).new == 1
    rig.tick(1)
    assert await rig.paths_in_order() == ["b", "a"]


async def test_a_forgotten_url_is_not_handed_out_from_the_queue_or_the_schedule(rig: Rig) -> None:
    queued, later = rig.link("b"), rig.link("later", not_before_ms=rig.now_ms + 5_000)
    await rig.offer("a", queued, "c", later)
    await rig.end(await rig.take_one())
    assert await rig.store.forget(rig.job, HOST, queued.fp)
    assert await rig.store.forget(rig.job, HOST, later.fp)
    assert await rig.counts() == Counts(queued=1, done=1)
    rig.tick(10)
    assert await rig.paths_in_order() == ["c"]


async def test_unknown_and_leased_urls_cannot_be_forgotten(rig: Rig) -> None:
    link = rig.link("a")
    assert not await rig.store.forget(rig.job, HOST, link.fp)
    await rig.offer(link)
    await rig.take_one()
    assert not await rig.store.forget(rig.job, HOST, link.fp)
    assert await rig.counts() == Counts(leased=1)


async def test_links_beyond_the_bound_are_spilled_and_counted(rig: Rig) -> None:
    small = await rig.add_job("small", queue_bound=3, overflow=Overflow.SPILL)
    names = [f"p{i}" for i in range(5)]
    receipt = await rig.offer(*[rig.link(name, job=small) for name in names])
    assert receipt.overflow == 2
    assert (await rig.counts(small)).offered == 5
    assert (await rig.offer(rig.link("p4", job=small))).known == 1
    assert await rig.paths_in_order() == names


async def test_links_beyond_the_bound_are_dropped_when_the_job_says_so(rig: Rig) -> None:
    small = await rig.add_job("small", queue_bound=3, overflow=Overflow.DROP)
    names = [f"p{i}" for i in range(5)]
    receipt = await rig.offer(*[rig.link(name, job=small) for name in names])
    assert receipt.overflow == 2
    assert await rig.counts(small) == Counts(queued=3, dropped=2)
    assert (await rig.offer(rig.link("p4", job=small))).known == 1
    assert await rig.paths_in_order() == names[:3]
    assert (await rig.offer(rig.link("p5", job=small))).overflow == 0


async def test_a_link_that_starts_later_takes_no_place_in_a_bounded_queue(rig: Rig) -> None:
    small = await rig.add_job("small", queue_bound=1, overflow=Overflow.DROP)
    later = rig.link("later", job=small, not_before_ms=rig.now_ms + 5_000)
    receipt = await rig.offer(later, rig.link("a", job=small))
    assert (receipt.new, receipt.overflow) == (2, 0)
    assert await rig.counts(small) == Counts(queued=1, scheduled=1)


# Reading


async def test_counts_are_kept_by_registered_domain(rig: Rig) -> None:
    await rig.offer("a", "b", rig.link("c", OTHER_HOST), rig.link("d", FAR_HOST))
    await rig.end(next(lease for lease in await rig.take() if lease.host == FAR_HOST))
    com = await rig.store.counts(rig.job, domain="example.com")
    org = await rig.store.counts(rig.job, domain="example.org")
    assert (com, org) == (Counts(queued=1, leased=2), Counts(done=1))
    assert await rig.store.domains(rig.job) == [("example.com", com), ("example.org", org)]
    assert await rig.store.domains(rig.job, limit=1) == [("example.com", com)]
    assert await rig.store.counts(rig.job, domain="example.net") == Counts()


async def test_seen_tells_every_url_ever_accepted(rig: Rig) -> None:
    await rig.offer("queued", "finished")
    other = await rig.add_job("job-2")
    asked = [rig.link(path) for path in ("finished", "never", "queued")]
    asked.append(rig.link("queued", FAR_HOST))
    urls = [(link.host, link.fp) for link in asked]
    assert await rig.store.seen(rig.job, urls) == [True, False, True, False]
    assert await rig.store.seen(other, urls) == [False] * 4
    assert await rig.store.seen(rig.job, []) == []


async def test_hosts_are_counted_by_job(rig: Rig) -> None:
    other = await rig.add_job("job-2")
    await rig.offer("a", "b", rig.link("c", OTHER_HOST), rig.link("d", FAR_HOST, job=other))
    assert (await rig.store.hosts(rig.job), await rig.store.hosts(other)) == (2, 1)
    await rig.crash()
    assert await rig.store.hosts(rig.job) == 2


async def test_a_look_follows_a_url_through_its_life(rig: Rig) -> None:
    link = rig.link("a", page_class=NAV, depth=2)
    states = [(await rig.look(link)).state]
    await rig.offer(link)
    states.append((await rig.look(link)).state)
    lease = await rig.take_one()
    states.append((await rig.look(link)).state)
    await rig.end(lease, at_ms=rig.now_ms + 1_000)
    states.append((await rig.look(link)).state)
    rig.tick(1)
    await rig.end(await rig.take_one(), Result.DEAD)
    states.append((await rig.look(link)).state)
    assert states == ["unknown", "queued", "leased", "scheduled", "dead"]


async def test_a_claim_without_leases_tells_when_to_come_back(rig: Rig) -> None:
    assert (await rig.ask()).next_ready_ms is None
    await rig.offer("a", rig.link("later", FAR_HOST, not_before_ms=rig.now_ms + 90_000))
    await rig.end(await rig.take_one())
    await rig.offer("b")
    assert (await rig.ask()).next_ready_ms == rig.now_ms + 1_000
    rig.tick(1)
    await rig.end(await rig.take_one())
    assert (await rig.ask()).next_ready_ms == rig.now_ms + 89_000


async def test_a_claim_for_nothing_takes_nothing(rig: Rig) -> None:
    await rig.offer("a")
    assert (await rig.ask(0)).leases == ()
    assert await rig.counts() == Counts(queued=1)


async def test_an_empty_offer_and_an_empty_ack_change_nothing(rig: Rig) -> None:
    assert (await rig.store.offer([])).new == 0
    assert (await rig.store.ack([])).accepted == 0
    assert await rig.counts() == Counts()
