"""What every frontier back end promises of URLs that are ended without a request."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, HOST, OTHER_HOST, Rig, open_rig, path_of

from skitter.frontier.model import Ack, Freed, Lease, Result
from skitter.testing.virtual_clock import VirtualClock

DELAY_MS = 1_000


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


@pytest.fixture(params=sorted(BACKENDS))
async def wide(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    """A store whose hosts take several requests at once."""
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend, per_host=3)
    await backend.close()


def unasked(lease: Lease) -> Freed:
    return Freed(lease.id, lease.host, unasked=True)


async def test_a_host_that_was_not_asked_need_not_rest(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    for path in ("a", "b", "c"):
        lease = await rig.take_one()
        assert path_of(lease) == path
        assert await rig.take() == [], "one at a time"
        await rig.store.claim((), 0, freed=[unasked(lease)])
        await rig.store.ack([Ack(lease, Result.DONE)])
    assert (await rig.store.counts(rig.job)).done == 3


async def test_what_was_asked_before_keeps_its_rest(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    first = await rig.take_one()
    await rig.store.claim((), 0, freed=[Freed(first.id, first.host)])
    assert await rig.take() == []
    rig.tick(DELAY_MS / 1000)
    await rig.store.claim((), 0, freed=[unasked(await rig.take_one())])
    third = await rig.take_one()
    await rig.store.claim((), 0, freed=[Freed(third.id, third.host)])
    await rig.offer("d")
    assert await rig.take() == []
    rig.tick(DELAY_MS / 1000)
    assert [path_of(lease) for lease in await rig.take()] == ["d"]


async def test_a_back_off_and_a_delay_of_the_host_stay(rig: Rig) -> None:
    await rig.offer("a", "b", "c")
    until_ms = rig.now_ms + 5_000
    lease = await rig.take_one()
    await rig.store.claim((), 0, freed=[Freed(lease.id, lease.host, 3_000, until_ms)])
    rig.tick(5)
    lease = await rig.take_one()
    await rig.store.claim((), 0, freed=[unasked(lease)])
    lease = await rig.take_one()
    await rig.store.claim((), 0, freed=[Freed(lease.id, lease.host)])
    await rig.offer("d")
    rig.tick(2.999)
    assert await rig.take() == []
    rig.tick(0.001)
    assert [path_of(one) for one in await rig.take()] == ["d"]


async def test_a_later_request_of_another_keeps_its_rest(wide: Rig) -> None:
    await wide.offer("a", "b", "c")
    first = await wide.take_one()
    wide.tick(DELAY_MS / 1000)
    second = await wide.take_one()
    await wide.store.claim((), 0, freed=[unasked(first)])
    assert await wide.take() == [], f"{path_of(second)} was asked for at this moment"
    wide.tick(DELAY_MS / 1000)
    assert [path_of(one) for one in await wide.take()] == ["c"]


async def test_a_redirect_in_line_comes_next(rig: Rig) -> None:
    await rig.offer("a")
    await rig.offer(rig.link("x", OTHER_HOST))
    leases = {lease.host: lease for lease in await rig.take()}
    assert await rig.store.enter(leases[OTHER_HOST], HOST) > 0
    await rig.store.claim((), 0, freed=[unasked(leases[HOST])])
    assert await rig.store.enter(leases[OTHER_HOST], HOST) == 0


async def test_one_that_was_ended_before_changes_nothing(rig: Rig) -> None:
    await rig.offer("a", "b")
    lease = await rig.take_one()
    await rig.store.ack([Ack(lease, Result.DONE)])
    await rig.store.claim((), 0, freed=[unasked(lease)])
    assert await rig.take() == []


async def test_marks_of_aliases_go_with_their_job(rig: Rig) -> None:
    name = f"aliases:{rig.job}:host:b.test"
    await rig.store.ack([], marks={name: b"1", "aliases:999:host:b.test": b"2"})
    await rig.store.drop_job(rig.job)
    assert await rig.store.marks("aliases:") == {"aliases:999:host:b.test": b"2"}
