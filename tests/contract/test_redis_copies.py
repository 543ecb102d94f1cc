"""Links into other tags are with a replica, if one answers, before their page is acked."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from frontier_backends import MANY_HOSTS, Rig, open_rig
from redis_backend import Member, RedisBackend
from stores import RedisCluster, RedisServer, start_cluster, wait_until

from skitter.frontier.model import Lease, Link, UrlState
from skitter.frontier.redis import nodes as nodes_module
from skitter.frontier.redis.line import Line, pack
from skitter.testing.virtual_clock import VirtualClock


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisCluster]:
    # A replica is in no map before it has heard anything; one that was cut off may take over.
    options = {"repl-ping-replica-period": "1", "cluster-replica-validity-factor": "0"}
    with start_cluster(tmp_path_factory.mktemp("cluster"), options=options) as cluster:
        yield cluster


@pytest.fixture
async def rig(tmp_path: Path, cluster: RedisCluster) -> AsyncIterator[Rig]:
    cluster.wait_ok()
    wait_until("the replicas", lambda: all(map(has_replica, masters_of(cluster))), 40)

    class OwnCluster(RedisBackend):
        def server_url(self) -> str:
            return cluster.url

    backend = OwnCluster(tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def masters_of(cluster: RedisCluster) -> list[RedisServer]:
    return [node for node in cluster.living() if node.cli("ROLE")[0] == b"master"]


def has_replica(master: RedisServer) -> bool:
    """Tell whether a server names a replica in its map, which it does some time after the start."""
    rows = master.cli("CLUSTER", "SLOTS")
    return len(master.cli("ROLE")[2]) == 1 and any(
        row[2][1] == master.port and len(row) > 3 for row in rows
    )


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let replicas be waited for until a test has seen enough."""
    monkeypatch.setattr(nodes_module, "_COPY", pack(["WAIT", 1, 60_000]))
    monkeypatch.setattr("skitter.frontier.redis.line.PATIENCE_S", 60.0)


def member(rig: Rig) -> Member:
    assert isinstance(rig.store, Member)
    return rig.store


def anchor_of(rig: Rig, link: Link) -> str:
    keys = member(rig).keys
    return keys.anchor(keys.tag_of_host(link.host))


def far_link(rig: Rig, cluster: RedisCluster, path: str) -> Link:
    """Return a link whose host is on another master than the page that has it."""
    here = cluster.master_of(anchor_of(rig, rig.link("a")))
    links = (rig.link(path, host) for host in MANY_HOSTS)
    return next(link for link in links if cluster.master_of(anchor_of(rig, link)) is not here)


def line_to(rig: Rig, server: RedisServer) -> Line:
    [line] = [line for line in member(rig).nodes.masters() if line.place.port == server.port]
    return line


def replica_of(cluster: RedisCluster, master: RedisServer) -> RedisServer:
    [[_, port, _]] = master.cli("ROLE")[2]
    [replica] = [node for node in cluster.living() if node.port == int(port)]
    return replica


def waits(server: RedisServer) -> int:
    """Return how often a server was told to wait for its replica."""
    stats = server.cli("INFO", "commandstats")
    return int(stats["cmdstat_wait"]["calls"]) if "cmdstat_wait" in stats else 0


async def state(rig: Rig, link: Link) -> UrlState:
    return (await rig.look(link)).state


async def ending(rig: Rig, page: Lease, link: Link) -> asyncio.Task[object]:
    """Begin to ack a page with one link; return when its master has the link."""
    task: asyncio.Task[object] = asyncio.create_task(rig.end(page, links=[link]))
    looks = await rig.backend.join()  # type: ignore[attr-defined]
    async with asyncio.timeout(40):
        while (await looks.look(link.job, link.host, link.fp)).state is not UrlState.QUEUED:
            await asyncio.sleep(0.01)
    return task


@pytest.mark.usefixtures("patient")
async def test_a_page_is_acked_when_a_replica_has_heard_of_its_links(
    rig: Rig, cluster: RedisCluster
) -> None:
    link = far_link(rig, cluster, "far")
    replica = replica_of(cluster, cluster.master_of(anchor_of(rig, link)))
    await rig.offer("a")
    page = await rig.take_one()
    replica.pause()
    try:
        ack = await ending(rig, page, link)
        assert await state(rig, rig.link("a")) is UrlState.LEASED
        assert not ack.done(), "acked before any replica knew of the link"
    finally:
        replica.resume()
    await asyncio.wait_for(ack, 40)
    assert await state(rig, rig.link("a")) is UrlState.DONE


async def test_a_replica_that_does_not_answer_is_not_waited_for_again_and_again(
    rig: Rig, cluster: RedisCluster
) -> None:
    link = far_link(rig, cluster, "far")
    master = cluster.master_of(anchor_of(rig, link))
    line, replica = line_to(rig, master), replica_of(cluster, master)
    await rig.offer("a", "b", "c")
    page = await rig.take_one()
    replica.pause()
    try:
        await asyncio.wait_for(rig.end(page, links=[link]), 40)
        assert line.wait_from > asyncio.get_running_loop().time() - 60
        line.wait_from = float("inf")
        before = waits(master)
        rig.tick(1)
        await rig.end(await rig.take_one(), links=[far_link(rig, cluster, "second")])
        assert waits(master) == before, "waited for a replica that is away"
    finally:
        replica.resume()
    line.wait_from = 0.0
    rig.tick(1)
    await rig.end(await rig.take_one(), links=[far_link(rig, cluster, "third")])
    assert waits(master) == before + 1
    assert (await rig.counts()).done == 3


async def test_replicas_that_come_later_are_waited_for(rig: Rig, cluster: RedisCluster) -> None:
    """The map is asked for once; a server whose replica it does not name is asked again."""
    link = far_link(rig, cluster, "far")
    master = cluster.master_of(anchor_of(rig, link))
    line = line_to(rig, master)
    line.copies, line.look_from = 0, asyncio.get_running_loop().time() + 3600
    before = waits(master)
    await rig.offer(link)
    assert (line.copies, waits(master)) == (0, before), "asked for again and again"
    line.look_from = 0.0
    several = (far_link(rig, cluster, path) for path in ("second", "third", "fourth"))
    await asyncio.gather(*(rig.offer(one) for one in several))
    assert (line.copies, waits(master)) == (1, before + 3), "one who came meanwhile did not wait"
    # Nor is it left alone after a look that found nothing, once a map of any reason names one.
    line.copies, line.look_from = 0, asyncio.get_running_loop().time() + 3600
    line.copies = 1
    await rig.offer(far_link(rig, cluster, "fifth"))
    assert waits(master) == before + 4


@pytest.mark.usefixtures("patient")
@pytest.mark.timeout(300)
async def test_links_of_a_master_that_dies_before_its_replica_has_them_are_offered_again(
    rig: Rig, cluster: RedisCluster
) -> None:
    link = far_link(rig, cluster, "far")
    master = cluster.master_of(anchor_of(rig, link))
    replica = replica_of(cluster, master)
    await rig.offer("a")
    page = await rig.take_one()
    replica.pause()
    try:
        # What was on its way to the replica is lost with the connection.
        master.cli("CLIENT", "KILL", "TYPE", "replica")
        ack = await ending(rig, page, link)
        assert not ack.done()
        master.kill()
    finally:
        replica.resume()
    await asyncio.wait_for(ack, 60)
    assert await state(rig, rig.link("a")) is UrlState.DONE
    assert cluster.master_of(anchor_of(rig, link)) is replica
    assert await state(rig, link) is UrlState.QUEUED, "lost with the master"
    await asyncio.to_thread(master.start)
