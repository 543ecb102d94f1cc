"""Ranks that are scores: they order hosts as well, and a better one moves a waiting page up.

Where a store is spread over many servers, hosts are ordered within a tag; so those here share one.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, HOST, KIN, Rig, open_rig, path_of, paths_of

from skitter.frontier.model import SCORED_RANKS, Counts, Freed, Result
from skitter.testing.virtual_clock import VirtualClock

OTHER_HOST, PLAIN_HOST, *_ = KIN


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


async def test_a_waiting_page_moves_up_when_a_better_link_to_it_is_found(rig: Rig) -> None:
    await rig.offer(*[rig.link(f"p{n}", rank=500 + n) for n in range(30)])
    receipt = await rig.offer(rig.link("p20", rank=100), rig.link("p3", rank=900))
    assert (receipt.new, receipt.known) == (0, 2)
    assert await rig.counts() == Counts(queued=30)
    expected = ["p20", *(f"p{n}" for n in range(30) if n != 20)]
    assert await rig.paths_in_order() == expected


async def test_a_page_found_on_another_page_moves_up_with_that_pages_ack(rig: Rig) -> None:
    await rig.offer("start", rig.link("a", rank=800), rig.link("b", rank=700))
    start = await rig.take_one()
    await rig.end(start, links=[rig.link("a", rank=20)])
    rig.tick(1)
    assert path_of(await rig.take_one()) == "a"


async def test_of_two_links_in_one_offer_the_better_counts(rig: Rig) -> None:
    await rig.offer(rig.link("a", rank=900), rig.link("b", rank=500), rig.link("a", rank=100))
    assert await rig.paths_in_order() == ["a", "b"]


async def test_a_page_that_is_being_fetched_or_done_stays_where_it_is(rig: Rig) -> None:
    await rig.offer(rig.link("a", rank=500), rig.link("b", rank=600))
    first = await rig.take_one()
    await rig.offer(rig.link("a", rank=1))
    await rig.end(first)
    await rig.offer(rig.link("a", rank=0))
    assert await rig.counts() == Counts(queued=1, done=1)
    rig.tick(1)
    assert await rig.paths_in_order() == ["b"]


async def test_a_page_given_back_moves_up_as_well(rig: Rig) -> None:
    await rig.offer(rig.link("a", rank=500), rig.link("b", rank=600), rig.link("c", rank=550))
    await rig.end(await rig.take_one(), Result.DEFER)
    await rig.offer(rig.link("b", rank=10))
    rig.tick(1)
    assert await rig.paths_in_order() == ["b", "a", "c"]


async def test_what_moved_up_is_there_once_after_a_crash(rig: Rig) -> None:
    await rig.offer(*[rig.link(f"p{n}", rank=500) for n in range(5)])
    await rig.offer(rig.link("p4", rank=1))
    rig.store = await rig.backend.crash()
    await rig.own()
    rig.tick(1)
    assert await rig.counts() == Counts(queued=5)
    assert await rig.paths_in_order() == ["p4", "p0", "p1", "p2", "p3"]


async def test_a_plain_rank_moves_nothing(rig: Rig) -> None:
    await rig.offer(rig.link("a", rank=9_000), rig.link("b", rank=8_000))
    await rig.offer(rig.link("a", rank=SCORED_RANKS))
    assert await rig.paths_in_order() == ["b", "a"]


async def test_hosts_with_better_scores_are_asked_first(rig: Rig) -> None:
    await rig.offer(*[rig.link(f"{n}", host, rank=900 - 90 * n) for n, host in enumerate(KIN)])
    assert paths_of(await rig.take(4)) == ["8", "7", "6", "5"]


async def test_a_host_lets_a_much_better_one_go_first_while_it_is_busy(rig: Rig) -> None:
    await rig.offer(
        rig.link("good", rank=100),
        rig.link("better", rank=50),
        rig.link("poor", OTHER_HOST, rank=900),
    )
    job = await rig.add_job("other", delay_ms=0)
    await rig.offer(rig.link("plain", PLAIN_HOST, rank=5_000, job=job))
    first, plain = await rig.take(3)
    assert {path_of(first), path_of(plain)} == {"better", "plain"}
    assert await rig.take(1) == []


async def test_a_host_that_was_held_back_gets_its_turn_in_time(rig: Rig) -> None:
    await rig.offer(rig.link("a", rank=100), rig.link("b", rank=100))
    await rig.offer(rig.link("poor", OTHER_HOST, rank=900))
    lease = await rig.take_one()
    claim = await rig.ask()
    assert claim.leases == ()
    assert claim.next_ready_ms is not None
    assert claim.next_ready_ms > rig.now_ms
    rig.tick(3)
    assert paths_of(await rig.take()) == ["poor"]
    assert lease.host == HOST


async def test_a_held_back_host_goes_when_nothing_better_is_left(rig: Rig) -> None:
    await rig.offer(rig.link("only", rank=100), rig.link("poor", OTHER_HOST, rank=900))
    lease = await rig.take_one()
    assert paths_of(await rig.take()) == ["poor"]
    assert await rig.take(freed=[Freed(lease.id, HOST)]) == []
