"""How many events wait is counted in few reads, however many receivers there are."""

import json

from skitter.api.hooks.behind import MOST_READS, READ, Place, count_waiting
from skitter.api.live.filters import Filter
from skitter.api.live.history import Row

PAGES = Filter(type=frozenset({"page"}))
JOBS = Filter(type=frozenset({"job"}))


class Log:
    """Events with ids from 1 on, every tenth of them of a job, and how often they were read."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.reads = 0

    async def latest_event(self) -> str:
        return str(self._count)

    async def events(self, after: str, limit: int, wait_ms: int = 0) -> list[Row]:
        del wait_ms
        self.reads += 1
        first = int(after or 0) + 1
        last = min(self._count, first + limit - 1)
        return [(str(n), _event(n)) for n in range(first, last + 1)]


def _event(number: int) -> bytes:
    return json.dumps({"type": "page" if number % 10 else "job"}).encode()


async def test_who_is_up_to_date_costs_no_read() -> None:
    log = Log(5_000)
    assert await count_waiting(log, [Place(PAGES, "5000")] * 100) == [0] * 100
    assert log.reads == 0


async def test_many_receivers_share_what_is_read() -> None:
    log = Log(1_500)
    places = [Place(PAGES, str(500 + n)) for n in range(99)] + [Place(JOBS, "500")]
    found = await count_waiting(log, places)
    assert (found[0], found[90], found[-1]) == (900, 819, 100)
    assert log.reads <= 2


async def test_whoever_is_far_behind_is_counted_as_far_as_was_looked() -> None:
    log = Log(50_000)
    assert await count_waiting(log, [Place(PAGES, "0"), Place(JOBS, "49990")]) == [900, 1]
    assert log.reads == 2


async def test_receivers_behind_at_many_places_are_not_all_counted() -> None:
    log = Log(50_000)
    places = [Place(PAGES, str(n * 2 * READ)) for n in range(20)]
    found = await count_waiting(log, places)
    assert found == [900] * MOST_READS + [None] * (20 - MOST_READS)
    assert log.reads == MOST_READS


async def test_a_log_that_is_empty_has_nothing_waiting() -> None:
    assert await count_waiting(Log(0), [Place(PAGES, "0"), Place(PAGES, "")]) == [0, 0]
