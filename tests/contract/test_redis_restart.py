"""Another server than before: what it has forgotten must not make anyone impolite."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import stores
from frontier_backends import FOR_LONG_MS, HOST, OTHER_HOST, SLOTS, Rig, open_rig, paths_of
from redis_backend import RedisBackend

from skitter.errors import Fenced
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.testing.virtual_clock import VirtualClock
from skitter.url.partition import slot_of

QUIET_S = 5.0


class OwnServer(RedisBackend):
    """A server of this test alone, which keeps everything it has confirmed."""

    def __init__(self, root: Path, clock: VirtualClock) -> None:
        durable = {"appendonly": "yes", "appendfsync": "always"}
        self.server = stores.start_redis(root, options=durable)
        super().__init__(root, clock)

    def server_url(self) -> str:
        return self.server.url

    async def close(self) -> None:
        await super().close()
        self.server.stop()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    backend = OwnServer(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


async def kill_and_restart(rig: Rig) -> None:
    """Let the server be another one; its members renew what they own as always."""
    assert isinstance(rig.backend, OwnServer)
    rig.backend.server.kill()
    rig.backend.server.restart()
    await rig.store.own("member-1", SLOTS, FOR_LONG_MS)


async def test_nothing_is_handed_out_until_rights_from_before_have_ended(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    rig.grants = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    await kill_and_restart(rig)
    claim = await rig.ask()
    assert claim.leases == ()
    assert claim.next_ready_ms == rig.now_ms + QUIET_S * 1000
    rig.tick(QUIET_S - 0.001)
    assert await rig.take() == []
    rig.tick(0.001)
    assert sorted(paths_of(await rig.take())) == ["a", "b"]


async def test_a_host_with_a_long_delay_is_not_asked_sooner_than_that(rig: Rig) -> None:
    await rig.offer("a", rig.link("b", OTHER_HOST))
    await rig.store.set_host(HOST, delay_ms=20_000)
    rig.grants = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    await kill_and_restart(rig)
    assert await rig.take() == []
    rig.tick(QUIET_S)
    assert paths_of(await rig.take()) == ["b"]
    rig.tick(20 - QUIET_S - 0.001)
    assert await rig.take() == []
    rig.tick(0.001)
    assert paths_of(await rig.take()) == ["a"]


async def test_a_quiet_time_passes_once(rig: Rig) -> None:
    rig.grants = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    await kill_and_restart(rig)
    await rig.offer("a", "b")
    assert await rig.take() == []
    rig.tick(QUIET_S)
    await rig.end(await rig.take_one())
    rig.tick(1)
    assert paths_of(await rig.take()) == ["b"]


async def test_leases_whose_acks_were_forgotten_do_not_hold_their_hosts(rig: Rig) -> None:
    """As after a failover: the store has the lease, and the member has acked it."""
    await rig.offer("a", "b")
    rig.grants = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    [lost] = await rig.take()
    assert isinstance(rig.store, RedisFrontier)
    rig.store._core.leased.clear()
    await kill_and_restart(rig)
    assert await rig.take() == []
    rig.tick(QUIET_S)
    again = await rig.take_one()
    assert (again.url, again.lost) == (lost.url, 0)


async def test_leases_that_are_worked_on_survive_a_restart(rig: Rig) -> None:
    await rig.offer("a", "b")
    rig.grants = await rig.store.own("member-1", SLOTS, FOR_LONG_MS)
    [lease] = await rig.take()
    await kill_and_restart(rig)
    assert await rig.take() == []
    rig.tick(QUIET_S)
    assert await rig.take() == []
    assert (await rig.end(lease)).accepted == 1


async def test_a_fence_never_comes_back_though_the_last_ones_were_lost(rig: Rig) -> None:
    """As after a failover to a replica that has not heard of the last owner."""
    assert isinstance(rig.backend, OwnServer)
    server, store = rig.backend.server, rig.store
    assert isinstance(store, RedisFrontier)
    tag = store.keys.tag_of_host(HOST)
    names = [store.keys.anchor(tag), store.keys.owners(tag)]
    slots = [slot_of(HOST)]
    await rig.offer("a")
    [first] = await store.own("member-1", slots, 5_000)
    rig.tick(6)
    before = {name: server.cli("DUMP", name) for name in names}

    second = await rig.backend.join()
    [lost] = await second.own("member-2", slots, FOR_LONG_MS)
    assert lost.fence > first.fence
    for name, dump in before.items():
        server.cli("RESTORE", name, 0, dump, "REPLACE")
    # Nobody is taken for dead sooner.
    rig.tick(1)
    third = await rig.backend.join()
    [given] = await third.own("member-3", slots, FOR_LONG_MS)
    assert given.fence > lost.fence
    assert paths_of((await third.claim([given], 1)).leases) == ["a"]
    with pytest.raises(Fenced):
        await second.claim([lost], 1)

    server.cli("HDEL", names[0], "fence")
    rig.tick(1)
    await third.disown([given])
    [last] = await second.own("member-2", slots, FOR_LONG_MS)
    assert last.fence > given.fence
