"""Who has time to spare hears at once that somebody has queued something."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, FOR_LONG_MS, HOST, OTHER_HOST, SLOTS, Rig, open_rig

from skitter.frontier.model import JobState
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import slot_of

LONG_MS = 60_000
SHARED = sorted(name for name, make in BACKENDS.items() if getattr(make, "shared", False))


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    # Who has never claimed does not know what it may have.
    await rig.take()
    yield rig
    await backend.close()


async def listening(rig: Rig) -> "tuple[int, asyncio.Task[int]]":
    """Begin to wait, and wait until that has begun; answers the last number heard as well."""
    heard = await settled(rig)
    async with asyncio.timeout(60):
        while True:
            task = asyncio.create_task(rig.store.stirs(heard, LONG_MS))
            await asyncio.wait([task], timeout=0.3)
            if not task.done():
                return heard, task
            # A busy machine tells late of what was before.
            heard = await task


async def settled(rig: Rig) -> int:
    """Return the number as it is when nothing more comes."""
    heard = await rig.store.stirs(0, 200)
    async with asyncio.timeout(60):
        while (now := await rig.store.stirs(heard, 200)) != heard:
            heard = now
    return heard


async def told_again(rig: Rig, heard: int, wait_ms: int) -> bool:
    """Tell whether more is to be heard, not only the end of what was before."""
    for _ in range(3):
        if (now := await rig.store.stirs(heard, wait_ms)) == heard:
            return False
        heard = now
    return True


async def test_an_offer_is_heard_by_who_waits(rig: Rig) -> None:
    heard, task = await listening(rig)
    await rig.offer("a")
    assert await asyncio.wait_for(task, 30) != heard
    assert len(await rig.take()) == 1


async def test_what_was_heard_is_not_told_again(rig: Rig) -> None:
    heard = await settled(rig)
    await rig.offer("a")
    told = await rig.store.stirs(heard, LONG_MS)
    assert told != heard
    assert not await told_again(rig, told, 50)


async def test_an_offer_of_known_urls_stirs_nobody(rig: Rig) -> None:
    await rig.offer("a")
    for _ in range(3):
        heard = await settled(rig)
        await rig.offer("a")
        if (now := await rig.store.stirs(heard, 200)) == heard:
            break
    # A busy machine may have told late of the first offer; not three times.
    assert now == heard


async def test_a_job_that_goes_on_is_heard(rig: Rig) -> None:
    await rig.store.set_job_state(rig.job, JobState.PAUSE)
    await rig.offer("a")
    heard, task = await listening(rig)
    await rig.store.set_job_state(rig.job, JobState.RUN)
    assert await asyncio.wait_for(task, 30) != heard


@pytest.mark.parametrize("kind", SHARED)
async def test_a_member_hears_of_its_own_tags_alone(kind: str, tmp_path: Path) -> None:
    backend = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    await rig.store.disown(rig.grants)
    other = await backend.join()  # type: ignore[attr-defined]
    mine = await other.own("other", [slot_of(HOST)], FOR_LONG_MS)
    await rig.store.own("member-1", [slot for slot in SLOTS if slot != slot_of(HOST)], FOR_LONG_MS)
    await other.claim(mine, 1)
    heard = await other.stirs(0, 300)
    await rig.offer(rig.link("b", OTHER_HOST))
    if kind != "redis-wide":
        assert await other.stirs(heard, 300) == heard
    task = asyncio.create_task(other.stirs(await other.stirs(-1, 0), LONG_MS))
    await rig.offer(rig.link("a", HOST))
    await asyncio.wait_for(task, 30)
    assert len((await other.claim(mine, 1)).leases) == 1
    await backend.close()
