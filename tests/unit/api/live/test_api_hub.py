"""Everybody who listens is told by one reader of the store's events."""

import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from event_log import Log

from skitter.api.live import hub as hubs
from skitter.api.live.filters import Filter
from skitter.api.live.history import REPEATED
from skitter.api.live.hub import EventHub, TooManyListeners
from skitter.api.live.listener import Listener
from skitter.crawl import kept_going


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
async def hub(log: Log) -> AsyncIterator[EventHub]:
    hub = EventHub(log)
    running = asyncio.create_task(hub.run())
    yield hub
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def heard(hub: EventHub, listener: Listener, n: int) -> list[tuple[int, int]]:
    """Return ids and drop counts of what a listener is sent, until it knows of ``n`` events."""
    found: list[tuple[int, int]] = []
    async with asyncio.timeout(60):
        while sum(1 + dropped for _, dropped in found) < n:
            await listener.wait()
            for line in hub.take(listener).data.decode().splitlines():
                if line.startswith("data: "):
                    facts = json.loads(line[6:])
                    number = int(facts["id"].partition("-")[0])
                    found.append((number, facts.get("dropped", 0)))
    return found


async def test_who_comes_hears_what_happens_from_then_on(log: Log, hub: EventHub) -> None:
    log.publish(3)
    async with hub.listen(Filter()) as listener:
        log.publish(2)
        assert await heard(hub, listener, 2) == [(4, 0), (5, 0)]


async def test_nothing_else_is_sent_than_what_the_filter_wants(log: Log, hub: EventHub) -> None:
    async with hub.listen(Filter(job=frozenset({"b"}))) as listener:
        log.publish(5, job="a")
        log.publish(2, job="b")
        assert await heard(hub, listener, 2) == [(6, 0), (7, 0)]


async def test_who_comes_back_is_told_what_it_missed(log: Log, hub: EventHub) -> None:
    log.publish(10)
    async with hub.listen(Filter(), after="004-0") as listener:
        log.publish(1)
        assert await heard(hub, listener, 7) == [(n, 0) for n in range(5, 12)]


async def test_of_a_long_absence_the_newest_is_told_and_the_rest_is_counted(
    log: Log, hub: EventHub
) -> None:
    log.publish(3 * REPEATED)
    async with hub.listen(Filter(), after="1-0") as listener:
        found = await heard(hub, listener, 2 * REPEATED)
    assert found[0] == (2 * REPEATED + 1, 2 * REPEATED - 1)


async def test_many_who_come_back_are_answered_by_one_read(log: Log, hub: EventHub) -> None:
    log.publish(20)
    async with hub.listen(Filter(), after="10-0"):
        before = log.reads
        for _ in range(5):
            async with hub.listen(Filter(), after="10-0") as listener:
                assert len(await heard(hub, listener, 3)) == 3
    assert log.reads - before <= 1


async def test_who_heard_more_elsewhere_hears_nothing_twice(log: Log, hub: EventHub) -> None:
    async with hub.listen(Filter()) as first:
        log.publish(3)
        assert len(await heard(hub, first, 3)) == 3
        coming = asyncio.create_task(_first(hub, "5-0"))
        await asyncio.sleep(0)
        log.publish(3)
        assert await coming == (6, 0)


async def _first(hub: EventHub, after: str) -> tuple[int, int]:
    async with hub.listen(Filter(), after=after) as listener:
        return (await heard(hub, listener, 1))[0]


async def test_a_slow_listener_loses_events_and_learns_how_many(log: Log, hub: EventHub) -> None:
    async with hub.listen(Filter()) as quick, hub.listen(Filter()) as slow:
        log.publish(500)
        await heard(hub, quick, 500)
        log.publish(1)
        found = await heard(hub, slow, 501)
    assert sum(1 + dropped for _, dropped in found) == 501
    assert len(found) < 50


async def test_a_listener_gets_ten_messages_a_second_at_most(log: Log, hub: EventHub) -> None:
    loop = asyncio.get_running_loop()
    async with hub.listen(Filter()) as listener:
        began = loop.time()
        log.publish(8)
        await heard(hub, listener, 8)
        assert loop.time() - began >= 0.7


async def test_reading_goes_on_when_the_store_is_back(
    log: Log, hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "WAIT_MS", 50)
    async with hub.listen(Filter()) as listener:
        log.is_away = True
        log.publish(2)
        while log.reads < 2:
            await asyncio.sleep(0.01)
        log.is_away = False
        assert await heard(hub, listener, 2) == [(1, 0), (2, 0)]


async def test_nothing_is_read_while_nobody_listens(
    log: Log, hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "WAIT_MS", 20)
    async with hub.listen(Filter()):
        log.publish(1)
    while hub.is_reading:
        await asyncio.sleep(0.01)
    before = log.reads
    log.publish(4)
    async with hub.listen(Filter()) as listener:
        assert log.reads == before
        log.publish(1)
        assert await heard(hub, listener, 1) == [(6, 0)]
    assert hub.count == 0


async def test_there_is_an_end_to_how_many_may_listen(
    hub: EventHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MOST_LISTENERS", 1)
    async with hub.listen(Filter()):
        with pytest.raises(TooManyListeners):
            async with hub.listen(Filter()):
                pass


async def test_a_reader_that_failed_is_begun_again_where_it_was(
    log: Log, hub: EventHub, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_going, "FIRST_S", 0.01)
    async with hub.listen(Filter()) as listener:
        log.publish(2)
        assert await heard(hub, listener, 2) == [(1, 0), (2, 0)]
        log.fault = RuntimeError("a fault of this program")
        log.publish(2)
        assert await heard(hub, listener, 2) == [(3, 0), (4, 0)]
    assert "the reader of events has failed" in caplog.text


async def test_an_event_that_cannot_be_told_keeps_no_other_back(log: Log, hub: EventHub) -> None:
    wanted = Filter(host=frozenset({"h"}), job=frozenset({"a"}))
    async with hub.listen(wanted) as listener:
        log.publish(1, host="h", job=["not", "a", "name"])
        log.publish(1, host="h", job="a")
        assert await heard(hub, listener, 1) == [(2, 0)]
