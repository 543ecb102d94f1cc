"""Hash slots that are moved key by key while URLs come and go: nothing is lost or miscounted."""

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from frontier_backends import HOST, KIN, Rig, open_rig
from redis_backend import ClusterBackend, Member
from stores import HOST as ADDRESS
from stores import RedisServer, shared_cluster

from skitter.frontier.model import Ack, Lease, Result
from skitter.testing.virtual_clock import VirtualClock

ROUNDS = 6
"""Even, so that the slot is where it was."""
QUIET_S = 5.0


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    backend = ClusterBackend(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


class Move:
    """A hash slot on its way, with some of its keys at the new place already."""

    def __init__(self, anchor: str) -> None:
        self.cluster = shared_cluster()
        self.slot = self.cluster.slot_of(anchor)
        self.source = self.cluster.master_of(anchor)
        masters = [node for node in self.cluster.nodes if node.cli("ROLE")[0] == b"master"]
        self.target = next(node for node in masters if node is not self.source)

    def begin(self, rng: random.Random) -> None:
        share = rng.choice([0.1, 0.3, 0.6])
        source, target = self.source, self.target
        target.cli("CLUSTER", "SETSLOT", self.slot, "IMPORTING", self.cluster.id_of(source))
        source.cli("CLUSTER", "SETSLOT", self.slot, "MIGRATING", self.cluster.id_of(target))
        for key in source.cli("CLUSTER", "GETKEYSINSLOT", self.slot, 10_000):
            if rng.random() < share:
                source.cli("MIGRATE", ADDRESS, target.port, key, 0, 5000)

    def finish(self) -> None:
        self.cluster.move_slot(self.slot, self.source, self.target)


async def claim(rig: Rig, k: int) -> list[Lease]:
    """Lease some URLs, when the new server of the slot hands any out."""
    for _ in range(3):
        if leases := await rig.take(k):
            return leases
        rig.tick(QUIET_S)
    return []


def waiting_in(server: RedisServer, prefix: str) -> int:
    """Count what waits in the queues of a tag."""
    return sum(server.cli("LLEN", key) for key in server.cli("KEYS", f"{prefix}q:*"))


@pytest.mark.parametrize("seed", [0, 3, 13])
@pytest.mark.timeout(300)
async def test_urls_come_and_go_while_their_keys_are_moved(rig: Rig, seed: int) -> None:
    assert isinstance(rig.store, Member)
    nodes, keys = rig.store.nodes, rig.store.keys
    tag = keys.tag_of_host(HOST)
    anchor, prefix = keys.anchor(tag), keys.prefix(tag)
    rng = random.Random(seed)
    hosts = list(KIN[:3])
    links = [rig.link(f"{n}", host) for host in hosts for n in range(4)]
    await rig.store.offer(links)
    gone: list[str] = []
    for round_ in range(ROUNDS):
        leases = await claim(rig, 2)
        gone += [lease.url for lease in leases]
        if round_ % 3 == 2:
            # A host without any keys yet.
            hosts.append(KIN[3 + round_])
        brought = [rig.link(f"{round_}/{n}", host) for n, host in enumerate(hosts)]
        found = [rig.link(f"{round_}/found/{n}", lease.host) for n, lease in enumerate(leases)]
        acks = [Ack(a, Result.DONE, links=[b]) for a, b in zip(leases, found, strict=True)]
        links += brought + found
        move = Move(anchor)
        move.begin(rng)
        try:
            offer = asyncio.create_task(rig.store.offer(brought))
            ack = asyncio.create_task(rig.store.ack(acks))
            async with asyncio.timeout(40):
                while "is moving keys" not in nodes.trouble:
                    await asyncio.sleep(0.01)
        finally:
            move.finish()
        await asyncio.wait_for(offer, 40)
        assert (await asyncio.wait_for(ack, 40)).accepted == len(leases)
        counts = await rig.counts()
        assert (counts.leased, counts.done) == (0, len(gone))
        assert counts.queued == waiting_in(move.target, prefix) == len(links) - len(gone)
    while leases := await claim(rig, 100):
        gone += [lease.url for lease in leases]
        await rig.store.ack([Ack(lease, Result.DONE) for lease in leases])
        rig.tick(1)
    assert sorted(gone) == sorted(link.url for link in links)
    counts = await rig.counts()
    assert (counts.pending, counts.done) == (0, len(links))
