"""The leases a process has in hand, until they are acked, lost or given back."""

import asyncio

import pytest
from crawl_rig import fake_lease

from skitter.crawl.in_hand import InHand
from skitter.errors import LeaseLost
from skitter.frontier.model import Lease


def lease(number: int, *, slot: int = 0, fp: int | None = None) -> Lease:
    return fake_lease(f"http://site.test/{number}", number=number, fp=fp or number, slot=slot)


def in_hand(*leases: Lease) -> InHand:
    hand = InHand(None)
    for each in leases:
        assert hand.begin(each)
    return hand


class Visit:
    """A visit that lasts until it is broken off or told to end."""

    def __init__(self, hand: InHand, of: Lease) -> None:
        self._hand = hand
        self.lease = of
        self.go_on = asyncio.Event()
        hand.waiting.remove(of)
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            with self._hand.visiting(self.lease):
                await self.go_on.wait()
        except LeaseLost:
            self._hand.lose(self.lease)


def test_a_url_is_in_hand_once() -> None:
    """A store that lost its last second may lease what it had leased before."""
    first, again = lease(1, fp=7), lease(2, fp=7)
    hand = in_hand(first)
    assert not hand.begin(again)
    hand.end(again)
    assert list(hand.live) == [first.id]
    assert not hand.begin(again), "the end of the second lease is not that of the first"
    hand.end(first)
    assert hand.begin(again)


def test_the_slots_of_everything_in_hand_are_busy() -> None:
    hand = in_hand(lease(1, slot=4), lease(2, slot=4), lease(3, slot=9))
    assert set(hand.slots) == {4, 9}
    hand.end(lease(3, slot=9))
    assert set(hand.slots) == {4}


def test_what_nobody_began_with_is_given_back_when_its_slot_is_lost() -> None:
    mine, lost = lease(1, slot=1), lease(2, slot=2)
    hand = in_hand(mine, lost)
    hand.abort({2})
    assert (list(hand.waiting), list(hand.live)) == ([mine], [mine.id])
    assert hand.take_returned() == [lost]
    assert hand.take_returned() == []


async def test_a_visit_is_broken_off_and_then_given_back_once() -> None:
    hand = in_hand(lease(1, slot=1), lease(2, slot=2))
    lost, other = Visit(hand, lease(1, slot=1)), Visit(hand, lease(2, slot=2))
    await asyncio.sleep(0)
    hand.abort({1})
    hand.abort({1})
    hand.drop(lost.lease)
    assert hand.take_returned() == [], "its request may still be under way"
    await lost.task
    assert hand.take_returned() == [lost.lease]
    assert list(hand.live) == [other.lease.id]
    other.go_on.set()
    await other.task
    assert hand.take_returned() == []


async def test_a_visit_that_was_stopped_is_not_taken_for_one_that_was_lost() -> None:
    hand = in_hand(lease(1))
    visit = Visit(hand, lease(1))
    await asyncio.sleep(0)
    visit.task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await visit.task
    assert list(hand.live) == [1]


@pytest.mark.parametrize("loss_first", [True, False])
async def test_a_stop_in_the_moment_of_a_loss_is_not_swallowed(loss_first: bool) -> None:
    hand = in_hand(lease(1))
    visit = Visit(hand, lease(1))
    await asyncio.sleep(0)
    if loss_first:
        hand.abort({0})
    visit.task.cancel()
    if not loss_first:
        hand.abort({0})
    with pytest.raises(asyncio.CancelledError):
        await visit.task


async def test_what_was_visited_stays_in_hand_until_its_ack_tells() -> None:
    hand = in_hand(lease(1))
    visit = Visit(hand, lease(1))
    visit.go_on.set()
    await visit.task
    hand.abort({0})
    hand.drop(lease(1))
    assert (list(hand.live), hand.take_returned()) == ([1], [])


def test_a_lease_that_the_store_has_ended_is_not_given_back() -> None:
    hand = in_hand(lease(1), lease(2))
    hand.drop(lease(1))
    assert (list(hand.waiting), hand.take_returned()) == ([lease(2)], [])


def test_what_waits_can_be_taken_back_all_at_once() -> None:
    hand = in_hand(lease(1), lease(2))
    assert hand.take_waiting() == [lease(1), lease(2)]
    assert (hand.live, list(hand.waiting)) == ({}, [])
    assert hand.begin(lease(1))
