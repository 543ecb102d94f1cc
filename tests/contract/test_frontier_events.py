"""What has happened, told to everyone who listens, in the order in which it did."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, Rig, open_rig

from skitter.errors import FrontierError
from skitter.frontier.events import MAX_EVENT_BYTES
from skitter.testing.virtual_clock import VirtualClock

SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def some(first: int, last: int) -> list[bytes]:
    return [b'{"n":%d}' % n for n in range(first, last + 1)]


async def test_events_come_in_their_order_and_may_be_read_on(rig: Rig) -> None:
    await rig.store.publish(some(1, 3))
    await rig.store.publish(some(4, 5))
    found = await rig.store.events("")
    assert [event for _, event in found] == some(1, 5)
    assert len({id_ for id_, _ in found}) == 5
    for place, (id_, _) in enumerate(found):
        assert await rig.store.events(id_) == found[place + 1 :]
    assert await rig.store.events("", 2) == found[:2]
    assert await rig.store.events(found[1][0], 2) == found[2:4]
    assert await rig.store.latest_event() == found[-1][0]


async def test_a_store_without_events_has_a_place_to_read_on_from(rig: Rig) -> None:
    assert await rig.store.events("") == []
    assert await rig.store.events("$") == []
    start = await rig.store.latest_event()
    assert await rig.store.events(start) == []
    await rig.store.publish([])
    assert await rig.store.latest_event() == start
    await rig.store.publish(some(1, 2))
    assert [event for _, event in await rig.store.events(start)] == some(1, 2)


async def test_who_waits_is_told_at_once(rig: Rig) -> None:
    await rig.store.publish(some(1, 1))
    listeners = [
        asyncio.create_task(rig.store.events("$", wait_ms=60_000)),
        asyncio.create_task(rig.store.events(await rig.store.latest_event(), wait_ms=60_000)),
    ]
    await asyncio.wait(listeners, timeout=0.2)
    assert not any(task.done() for task in listeners)
    begun = asyncio.get_running_loop().time()
    await rig.store.publish(some(2, 2))
    found = await asyncio.gather(*listeners)
    assert asyncio.get_running_loop().time() - begun < 30
    assert [[event for _, event in events] for events in found] == [some(2, 2)] * 2


async def test_who_waits_in_vain_is_answered(rig: Rig) -> None:
    assert await rig.store.events("", wait_ms=50) == []
    await rig.store.publish(some(1, 1))
    assert await rig.store.events("$", wait_ms=50) == []


async def test_ids_grow_over_restarts_and_crashes(rig: Rig) -> None:
    await rig.store.publish(some(1, 2))
    await rig.restart()
    await rig.store.publish(some(3, 3))
    last = await rig.store.latest_event()
    await rig.crash()
    assert await rig.store.latest_event() != ""
    assert await rig.store.events(last) == []
    await rig.store.publish(some(4, 4))
    assert [event for _, event in await rig.store.events(last)] == some(4, 4)
    found = await rig.store.events("")
    assert [event for _, event in found] == some(1, 4)
    ids = [tuple(map(int, id_.split("-"))) for id_, _ in found]
    assert ids == sorted(set(ids))


async def test_what_is_no_id_is_refused(rig: Rig) -> None:
    for wrong in ("x", "1-2-3", "-1", "１", "9" * 40):
        with pytest.raises(FrontierError, match="no id of an event"):
            await rig.store.events(wrong)


async def test_events_are_small(rig: Rig) -> None:
    with pytest.raises(FrontierError, match="an event of 16385 bytes"):
        await rig.store.publish([b"small", b"x" * (MAX_EVENT_BYTES + 1)])
    assert await rig.store.events("") == []
    await rig.store.publish([b"x" * MAX_EVENT_BYTES])
    [(_, event)] = await rig.store.events("")
    assert event == b"x" * MAX_EVENT_BYTES


async def test_many_events_are_told_at_once_and_in_parts(rig: Rig) -> None:
    await rig.store.publish(some(1, 1_300))
    found = []
    after = ""
    while events := await rig.store.events(after, 400):
        assert len(events) <= 400
        found += [event for _, event in events]
        after = events[-1][0]
    assert found == some(1, 1_300)


@pytest.mark.parametrize("kind", SHARED)
async def test_one_member_hears_what_another_publishes(kind: str, tmp_path: Path) -> None:
    backend = BACKENDS[kind](tmp_path, VirtualClock())
    store = await backend.open()
    other = await backend.join()  # type: ignore[attr-defined]
    listening = asyncio.create_task(store.events("$", wait_ms=60_000))
    await asyncio.wait([listening], timeout=0.2)
    await other.publish(some(1, 1))
    assert [event for _, event in await listening] == some(1, 1)
    await backend.close()
