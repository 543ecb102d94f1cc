"""Settings of a store that several processes have open."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import HOST, Rig, open_rig
from redis_backend import Member, RedisBackend

from skitter.frontier.model import Freed
from skitter.frontier.tuning import Tuning
from skitter.politeness.settings.live import LiveSettings
from skitter.testing.virtual_clock import VirtualClock
from skitter.wiring.settings import SettingsKeeper


class SlowMember(Member):
    """One whose walks over hosts wait for a word."""

    def __init__(self, url: str, clock: VirtualClock) -> None:
        super().__init__(url, clock)
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

    async def tune(self, tuning: Tuning) -> int:
        self.begun.set()
        await self.go_on.wait()
        return await super().tune(tuning)


@pytest.fixture
async def backend(tmp_path: Path) -> AsyncIterator[RedisBackend]:
    made = RedisBackend(tmp_path, VirtualClock())
    yield made
    await made.close()


@pytest.fixture
async def rig(backend: RedisBackend) -> Rig:
    return await open_rig(backend, delay_ms=0, per_host=4)


def keeper(store: Member) -> SettingsKeeper:
    return SettingsKeeper(store, store.clock, LiveSettings())


async def offer(rig: Rig) -> None:
    await rig.offer(*(f"p{n}" for n in range(10)))


async def test_the_slower_of_two_operators_does_not_undo_what_the_other_set(
    backend: RedisBackend, rig: Rig
) -> None:
    await offer(rig)
    backend.member = SlowMember
    slow, other = await backend.join(), await backend.join()
    assert isinstance(slow, SlowMember)
    assert isinstance(other, SlowMember)
    other.go_on.set()

    first = asyncio.create_task(keeper(slow).set("*", ["per_host=8"], "anna"))
    await slow.begun.wait()
    await keeper(other).set(str(HOST), ["per_host=1"], "bert")
    slow.go_on.set()
    await first

    assert len(await rig.take(20)) == 1


async def test_an_answer_mends_a_host_that_was_met_by_a_member_that_heard_late(
    backend: RedisBackend, rig: Rig
) -> None:
    store = rig.store
    assert isinstance(store, Member)
    live = LiveSettings()
    await SettingsKeeper(store, store.clock, live).open()
    await keeper(await backend.join()).set("*", ["per_host=1"], "anna")
    await offer(rig)
    leases = await rig.take(20)
    assert len(leases) == 4, "as the job has it"

    await live.refresh(store)
    [first, *others] = leases
    await rig.take(0, freed=[Freed(first.id, HOST, 0, per_host=live.of(HOST).per_host)])
    await rig.end(first)
    for lease in others:
        assert await rig.take(20) == []
        await rig.end(lease)
    assert len(await rig.take(20)) == 1
