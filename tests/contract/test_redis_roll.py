"""Who is there and who has how much, read from every kind of store by somebody who is no member."""

import pytest
from stores import KINDS, own_store

from skitter.frontier.members import DEAD_MS, Beat
from skitter.frontier.model import JobEntry, Link
from skitter.frontier.redis import roll
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.members import RedisMembers
from skitter.frontier.redis.nodes import Nodes
from skitter.types import Fingerprint, HostKey


@pytest.mark.parametrize("kind", KINDS)
async def test_members_and_hosts_are_read_without_becoming_a_member(kind: str) -> None:
    nodes = Nodes(StoreAddress.parse(own_store(kind)))
    await nodes.open()
    frontier = RedisFrontier(nodes)
    await frontier.open()
    keys = frontier.keys
    try:
        assert await roll.members(nodes, keys, frontier.clock) == []
        assert await roll.hosts_by_slot(nodes, keys) == {}

        now_ms = frontier.clock.now_ms()
        late = RedisMembers(nodes, keys, now_ms=lambda: now_ms - DEAD_MS)
        await late.beat(Beat(name="dead", session="x"))
        for name in ("b", "a"):
            await RedisMembers(nodes, keys).beat(
                Beat(name=name, session=f"s{name}", node="vega", pages=7)
            )
        found = await roll.members(nodes, keys, frontier.clock)
        assert [member.beat.name for member in found] == ["a", "b"]
        assert found[0].beat.pages == 7
        assert all(member.silent_ms < DEAD_MS for member in found)

        job = await frontier.put_job(JobEntry(id="job"))
        hosts = [HostKey(f"h{n}.test") for n in range(40)]
        await frontier.offer(
            [
                Link(f"http://{host}/{page}", Fingerprint(100 * n + page + 1), host, job)
                for n, host in enumerate(hosts)
                for page in range(3)
            ]
        )
        count = await roll.hosts_by_slot(nodes, keys)
        assert count.total() == await frontier.hosts_with_work() == len(hosts)
        assert set(count) == {keys.slot_of_host(host) for host in hosts}
    finally:
        await frontier.close()
        await nodes.close()
