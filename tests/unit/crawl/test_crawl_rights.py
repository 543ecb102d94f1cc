"""Whether a process may still act on a lease, by its own clock and its own slots alone."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from crawl_rig import fake_lease

from skitter.crawl.rights import SAFE_SHARE, EverySlot, Rights
from skitter.errors import Fenced, LeaseLost
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Grant
from skitter.testing.virtual_clock import VirtualClock

LEASE_MS = 100_000
LASTS_S = LEASE_MS / 1000 * SAFE_SHARE


class Slots:
    """Holdings that a test gives and takes away."""

    def __init__(self, *slots: int) -> None:
        self.held = set(slots)
        self.fence = 1
        self.since = 0.0
        self.refreshed = 0

    @property
    def grants(self) -> Sequence[Grant]:
        return [Grant(slot, 1, 0.0) for slot in sorted(self.held)]

    @property
    def complete(self) -> bool:
        return False

    def holds(self, slot: int, fence: int, asked_at: float) -> bool:
        return slot in self.held and fence == self.fence and asked_at >= self.since

    async def refresh(self) -> None:
        self.refreshed += 1


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def slots() -> Slots:
    return Slots(7)


@pytest.fixture
def rights(slots: Slots, clock: VirtualClock) -> Rights:
    return Rights(slots, clock, LEASE_MS)


def test_a_lease_ends_a_little_before_its_time_by_the_boot_clock(
    rights: Rights, clock: VirtualClock
) -> None:
    lease = fake_lease(slot=7)
    rights.begin([lease], clock.boot())
    clock.advance(LASTS_S - 0.001)
    rights.check(lease)
    clock.advance(0.001)
    with pytest.raises(LeaseLost, match=f"lease on {lease.url} has ended"):
        rights.check(lease)


def test_a_deadline_counts_from_before_the_call_that_gave_it(
    rights: Rights, clock: VirtualClock
) -> None:
    """The answer may have been on its way for long; the store counts from when it gave it."""
    asked_at = clock.boot()
    clock.advance(60)
    lease = fake_lease(slot=7)
    rights.begin([lease], asked_at)
    clock.advance(LASTS_S - 60)
    with pytest.raises(LeaseLost):
        rights.check(lease)


def test_what_the_store_says_of_a_leases_end_does_not_count(
    rights: Rights, clock: VirtualClock
) -> None:
    """Its boot clock is another machine's."""
    lease = fake_lease(slot=7, expires_at=clock.boot() + 10 * LEASE_MS)
    rights.begin([lease], clock.boot())
    clock.advance(LASTS_S)
    with pytest.raises(LeaseLost):
        rights.check(lease)


def test_a_prolonged_lease_lasts_from_then(rights: Rights, clock: VirtualClock) -> None:
    one, two = fake_lease(number=1, slot=7), fake_lease(number=2, slot=7)
    rights.begin([one, two], clock.boot())
    clock.advance(LASTS_S - 1)
    rights.begin([two], clock.boot())
    clock.advance(2)
    rights.check(two)
    with pytest.raises(LeaseLost):
        rights.check(one)


def test_a_lease_in_a_slot_that_is_not_held_is_lost_at_once(
    rights: Rights, slots: Slots, clock: VirtualClock
) -> None:
    lease = fake_lease(slot=7)
    rights.begin([lease], clock.boot())
    slots.held.clear()
    with pytest.raises(LeaseLost, match=r"slot 7 .* is not held any more"):
        rights.check(lease)
    slots.held.add(7)
    rights.check(lease)


def test_a_slot_that_was_lost_and_won_back_does_not_bring_its_old_leases_back(
    rights: Rights, slots: Slots, clock: VirtualClock
) -> None:
    lease = fake_lease(slot=7, fence=1)
    rights.begin([lease], clock.boot())
    slots.fence = 2
    with pytest.raises(LeaseLost):
        rights.check(lease)


def test_a_lease_from_before_a_break_is_lost_until_it_is_prolonged(
    rights: Rights, slots: Slots, clock: VirtualClock
) -> None:
    lease = fake_lease(slot=7)
    rights.begin([lease], clock.boot())
    clock.advance(1)
    slots.since = clock.boot()
    with pytest.raises(LeaseLost):
        rights.check(lease)
    rights.begin([lease], clock.boot())
    rights.check(lease)


def test_nothing_may_be_done_under_a_lease_that_ended_or_never_was(
    rights: Rights, clock: VirtualClock
) -> None:
    lease = fake_lease(slot=7)
    with pytest.raises(LeaseLost):
        rights.check(lease)
    rights.begin([lease], clock.boot())
    rights.end(lease)
    with pytest.raises(LeaseLost):
        rights.check(lease)
    rights.end(lease)


# Where one store grants everything


@pytest.fixture
async def frontier(tmp_path: Path) -> AsyncIterator[EmbeddedFrontier]:
    opened = EmbeddedFrontier(tmp_path / "frontier", clock=VirtualClock(), durable=False)
    await opened.open()
    yield opened
    await opened.close()


async def test_everything_is_owned_by_everybody_once_it_was_asked_for(
    frontier: EmbeddedFrontier,
) -> None:
    everything = EverySlot(frontier, "member")
    assert (list(everything.grants), everything.complete) == ([], True)
    await everything.refresh()
    assert len(everything.grants) == 1
    assert all(everything.holds(slot, 5, 0.0) for slot in (0, 1, 16_383))
    await frontier.claim(everything.grants, 1)


async def test_a_store_that_was_opened_anew_is_owned_anew(frontier: EmbeddedFrontier) -> None:
    everything = EverySlot(frontier, "member")
    await everything.refresh()
    await frontier.close()
    await frontier.open()
    with pytest.raises(Fenced):
        await frontier.claim(everything.grants, 1)
    await everything.refresh()
    await frontier.claim(everything.grants, 1)
