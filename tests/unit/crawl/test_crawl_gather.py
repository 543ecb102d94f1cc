"""Calls of many are made together."""

import asyncio
from collections.abc import Sequence

import pytest

from skitter.crawl.gather import Gather


class Store:
    """Doubles numbers when it is let."""

    def __init__(self) -> None:
        self.calls: list[list[int]] = []
        self.go = asyncio.Event()

    async def ask(self, items: Sequence[int]) -> list[int]:
        self.calls.append(list(items))
        await self.go.wait()
        if 0 in items:
            raise ValueError("zero")
        return [2 * item for item in items]


async def test_what_comes_during_a_call_goes_together_with_the_next() -> None:
    store = Store()
    gather = Gather(store.ask)
    callers = [asyncio.create_task(gather([n, n + 10])) for n in (1, 2, 3)]
    while not store.calls:
        await asyncio.sleep(0)
    late = asyncio.create_task(gather([7]))
    store.go.set()
    assert [await caller for caller in callers] == [[2, 22], [4, 24], [6, 26]]
    assert await late == [14]
    assert store.calls[0][:2] == [1, 11]
    assert [item for call in store.calls for item in call] == [1, 11, 2, 12, 3, 13, 7]
    assert len(store.calls) <= 3
    assert await gather([]) == []


async def test_a_call_is_no_larger_than_it_may_be() -> None:
    store = Store()
    store.go.set()
    gather = Gather(store.ask, most=3)
    await asyncio.gather(*(gather([n, n]) for n in range(1, 6)), gather([1, 2, 3, 4, 5]))
    assert max(map(len, store.calls)) == 5
    assert all(len(call) <= 3 for call in store.calls if call != [1, 2, 3, 4, 5])


async def test_an_error_reaches_those_of_its_call_alone() -> None:
    store = Store()
    gather = Gather(store.ask)
    bad = asyncio.create_task(gather([0]))
    while not store.calls:
        await asyncio.sleep(0)
    good = asyncio.create_task(gather([1]))
    await asyncio.sleep(0)
    store.go.set()
    with pytest.raises(ValueError, match="zero"):
        await bad
    assert await good == [2]


async def test_who_goes_away_takes_nobody_along() -> None:
    store = Store()
    gather = Gather(store.ask)
    first, second = asyncio.create_task(gather([1])), asyncio.create_task(gather([2]))
    await asyncio.sleep(0)
    first.cancel()
    store.go.set()
    assert await second == [4]
    await gather.close()


async def test_a_pause_between_calls_makes_them_fewer_and_the_first_waits_for_nobody() -> None:
    store = Store()
    store.go.set()
    gather = Gather(store.ask, pause_s=3_600)
    assert await gather([1]) == [2]
    late = [asyncio.create_task(gather([n])) for n in (2, 3)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert store.calls == [[1]]
    for task in late:
        task.cancel()

    brief = Gather(store.ask, pause_s=0.001)
    await asyncio.gather(*(brief([n]) for n in range(1, 50)))
    await asyncio.gather(*(brief([n]) for n in range(1, 50)))
    assert len(store.calls) <= 5
