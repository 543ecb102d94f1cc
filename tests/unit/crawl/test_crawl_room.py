from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from skitter.crawl.room import LONGEST_MS, SHORTEST_MS, NoRoom, Room, stay_ms
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.testing.virtual_clock import VirtualClock

MOST = 100_000


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def store(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[EmbeddedFrontier]:
    made = EmbeddedFrontier(tmp_path / "store", clock=clock, durable=False)
    await made.open()
    yield made
    await made.close()


def test_what_comes_slowly_stays_for_a_day_and_what_comes_fast_for_less() -> None:
    assert stay_ms(0, MOST) == stay_ms(MOST // 96, MOST) == LONGEST_MS
    assert stay_ms(MOST // 4, MOST) == 4 * SHORTEST_MS
    assert stay_ms(MOST, MOST) == SHORTEST_MS


async def test_all_that_is_kept_is_bounded(store: EmbeddedFrontier, clock: VirtualClock) -> None:
    room = Room(store, store, clock, MOST)
    ends: list[tuple[float, int]] = []
    worst = 0
    for _ in range(400):
        try:
            stays = await room.stay_ms(MOST // 200)
        except NoRoom:
            stays = 0
        now = clock.boot()
        ends = [(until, size) for until, size in ends if until > now]
        if stays:
            ends.append((now + stays / 1000, MOST // 200))
        worst = max(worst, sum(size for _, size in ends))
        clock.advance(2.0)
    assert worst <= 1.1 * MOST
    clock.advance(2 * SHORTEST_MS / 1000)
    assert await room.stay_ms(1) == LONGEST_MS


async def test_several_processes_share_the_room(
    store: EmbeddedFrontier, clock: VirtualClock
) -> None:
    one, other = (Room(store, store, clock, MOST) for _ in range(2))
    await one.stay_ms(MOST - 10)
    clock.advance(1.0)
    await one.stay_ms(0)
    with pytest.raises(NoRoom, match="ask again in 30 s"):
        await other.stay_ms(11)
