"""Redirects in the embedded frontier: a target is fetched by one who follows, and by no other."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from embedded_rig import FAR, HOST, LEASE_MS, EmbeddedRig, fp_of

from skitter.frontier.base import KNOWN
from skitter.frontier.model import Freed, Hop, Lease, Result, UrlState

TARGET = 50


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[EmbeddedRig]:
    made = EmbeddedRig(tmp_path)
    await made.open()
    yield made
    await made.frontier.close()


async def enter(rig: EmbeddedRig, lease: Lease, number: int = TARGET) -> int:
    return await rig.frontier.enter(lease, FAR, 10_000, fp_of(number))


async def state(rig: EmbeddedRig, number: int = TARGET) -> UrlState:
    return (await rig.frontier.look(rig.job, FAR, fp_of(number))).state


async def handed_out(rig: EmbeddedRig, *freed: Freed) -> list[str]:
    """Return what can be claimed, also after the little while that a target is put off for."""
    found = list((await rig.claim(freed=freed)).leases)
    rig.clock.advance(1.5)
    found += (await rig.claim()).leases
    return [lease.url for lease in found]


async def offer_target(rig: EmbeddedRig, number: int = TARGET) -> str:
    link = rig.link(number, FAR)
    await rig.frontier.offer([link])
    return link.url


async def test_a_target_that_is_known_is_not_to_be_fetched(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    await offer_target(rig)
    assert await enter(rig, lease) == KNOWN
    # Nothing was taken: the gate of the other host is free.
    assert [found.host for found in (await rig.claim()).leases] == [FAR]


async def test_a_target_that_was_fetched_stays_known(rig: EmbeddedRig) -> None:
    first, second = await rig.leases(1, 2)
    assert await enter(rig, first) == 0
    await rig.end(first, hops=[Hop(fp_of(TARGET), FAR)])
    assert await state(rig) is UrlState.DONE
    assert await enter(rig, second) == KNOWN


@pytest.mark.parametrize("settled", [True, False])
async def test_of_two_redirects_to_one_target_the_second_waits_for_what_the_first_brings(
    rig: EmbeddedRig, settled: bool
) -> None:
    first, second = await rig.leases(1, 2)
    assert await enter(rig, first) == 0
    assert 0 < await enter(rig, second) <= 10_000
    assert await enter(rig, first) == 0
    if settled:
        await rig.end(first, hops=[Hop(fp_of(TARGET), FAR)])
        assert await enter(rig, second) == KNOWN
    else:
        await rig.end(first, result=Result.DEFER)
        assert await enter(rig, second) == 0


async def test_a_target_is_not_handed_out_while_it_is_fetched(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    await offer_target(rig)
    assert await handed_out(rig) == []
    await rig.end(lease, hops=[Hop(fp_of(TARGET), FAR)])


async def test_other_urls_of_the_targets_host_are_handed_out_meanwhile(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    await offer_target(rig)
    other = await offer_target(rig, TARGET + 1)
    assert await handed_out(rig) == [other]


@pytest.mark.parametrize("result", [Result.RETRY, Result.DEFER])
async def test_a_target_that_was_not_settled_is_handed_out_after_all(
    rig: EmbeddedRig, result: Result
) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    target = await offer_target(rig)
    assert await handed_out(rig) == []
    await rig.end(lease, result=result, at_ms=rig.clock.now_ms() + 60_000)
    assert await handed_out(rig) == [target]


async def test_a_target_is_kept_when_its_response_has_come_and_is_not_safe(
    rig: EmbeddedRig,
) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    target = await offer_target(rig)
    assert await handed_out(rig, Freed(lease.id, FAR)) == []
    await rig.end(lease, result=Result.RETRY, at_ms=rig.clock.now_ms() + 60_000)
    assert await handed_out(rig) == [target]


async def test_a_target_is_free_when_the_lease_was_lost(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    target = await offer_target(rig)
    rig.clock.advance(LEASE_MS / 1000 + 1)
    assert sorted(await handed_out(rig)) == sorted([lease.url, target])


async def test_a_place_in_line_keeps_the_target_too(tmp_path: Path) -> None:
    rig = EmbeddedRig(tmp_path)
    await rig.open(per_host=1)
    [busy] = await rig.leases(9, host=FAR)
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) > 0
    await offer_target(rig)
    await rig.end(busy)
    assert await handed_out(rig) == []
    assert await enter(rig, lease) == 0
    await rig.frontier.close()


async def test_a_host_that_rests_too_long_keeps_nothing(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    await rig.frontier.set_host(FAR, not_before_ms=rig.clock.now_ms() + 60_000)
    assert await enter(rig, lease) == 60_000
    target = await offer_target(rig)
    rig.clock.advance(60)
    await rig.frontier.renew([lease], 10 * LEASE_MS)
    assert target in await handed_out(rig)


async def test_a_redirect_within_a_host_keeps_its_target_when_the_first_answer_is_told(
    rig: EmbeddedRig,
) -> None:
    [lease] = await rig.leases(1)
    assert await rig.frontier.enter(lease, HOST, 10_000, fp_of(TARGET)) == 0
    await rig.frontier.offer([rig.link(TARGET)])
    # The answer of the first URL is told after the gate was taken once more for the second.
    assert await handed_out(rig, Freed(lease.id, HOST)) == []
    assert await handed_out(rig, Freed(lease.id, HOST)) == []
    await rig.end(lease, hops=[Hop(fp_of(TARGET), HOST)])
    assert await handed_out(rig) == []
    assert not rig.frontier._core.targets
    assert not rig.frontier._core.brought


async def test_urls_that_were_put_off_are_counted_right_and_survive_a_crash(
    rig: EmbeddedRig,
) -> None:
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    target = await offer_target(rig)
    assert (await rig.claim()).leases == ()
    counts = await rig.frontier.counts(rig.job)
    assert (counts.queued, counts.leased, counts.scheduled, counts.offered) == (0, 1, 1, 2)
    assert await state(rig) is UrlState.SCHEDULED
    await rig.crash()
    counts = await rig.frontier.counts(rig.job)
    assert (counts.queued, counts.leased, counts.scheduled, counts.offered) == (1, 0, 1, 2)
    assert sorted(await handed_out(rig)) == sorted([lease.url, target])
    counts = await rig.frontier.counts(rig.job)
    assert (counts.queued, counts.leased, counts.scheduled) == (0, 2, 0)


async def test_a_target_of_another_job_is_handed_out(rig: EmbeddedRig) -> None:
    other = await rig.add_job("other")
    [lease] = await rig.leases(1)
    assert await enter(rig, lease) == 0
    [theirs] = await rig.leases(TARGET, host=FAR, job=other)
    assert (theirs.job, theirs.fp) == (other, fp_of(TARGET))


async def test_whoever_lost_the_lease_takes_nothing(rig: EmbeddedRig) -> None:
    [lease] = await rig.leases(1)
    await rig.end(lease)
    assert await enter(rig, lease) > 0
    target = await offer_target(rig)
    assert await handed_out(rig) == [target]
