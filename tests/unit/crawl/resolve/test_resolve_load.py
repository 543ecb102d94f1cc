"""Overload is refused, with when to come again."""

import pytest

from skitter.crawl.resolve.load import LOOK_S, MOST_RETRY_S, Load, Overloaded
from skitter.frontier.model import Counts


class Lane:
    def __init__(self) -> None:
        self.counts = Counts()
        self.now = 0.0
        self.looks = 0

    async def look(self) -> Counts:
        self.looks += 1
        return self.counts


async def test_as_many_are_admitted_as_may_wait_counting_those_added_since() -> None:
    lane = Lane()
    load = Load(lane.look, most=10, now=lambda: lane.now)
    await load.admit(6)
    await load.admit(4)
    assert (lane.looks, load.pending) == (1, 10)
    with pytest.raises(Overloaded, match="10 URLs wait"):
        await load.admit(1)
    lane.now += LOOK_S
    lane.counts = Counts(queued=5, leased=1, scheduled=1, done=3)
    await load.admit(3)
    assert (lane.looks, load.pending) == (2, 10)


async def test_the_rate_of_late_says_when_there_is_room() -> None:
    lane = Lane()
    load = Load(lane.look, most=100, now=lambda: lane.now)
    for second in range(11):
        lane.now = float(second)
        lane.counts = Counts(queued=100, done=20 * second)
        with pytest.raises(Overloaded) as refused:
            await load.admit(100)
    assert refused.value.retry_s == 5
    lane.now += 60
    lane.counts = Counts(queued=100_000, done=220)
    with pytest.raises(Overloaded) as refused:
        await load.admit(1)
    assert refused.value.retry_s == MOST_RETRY_S
