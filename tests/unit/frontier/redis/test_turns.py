"""Locks on real servers, by the servers' own time."""

import asyncio
from uuid import uuid4

import pytest
from stores import shared_store

from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes


@pytest.mark.parametrize("kind", ["redis", "valkey", "cluster"])
async def test_a_lock_leaves_nothing_behind(kind: str) -> None:
    url = f"{shared_store(kind).url}?namespace=turns-{uuid4().hex[:8]}"
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    store = RedisFrontier(nodes)
    await store.open()
    key = store.keys.lock("name")
    assert await store.lock("name", 7, 60_000) == 0
    assert await nodes.run(key, "GET", key) is not None
    assert 0 < await store.lock("name", 8, 60_000) <= 60_000
    assert 0 < await nodes.run(key, "PTTL", key) <= 60_000
    assert await store.lock("name", 7, 0) == 0
    assert await nodes.run(key, "EXISTS", key) == 0

    assert await store.lock("name", 7, 50) == 0
    async with asyncio.timeout(30):
        while await nodes.run(key, "EXISTS", key):
            await asyncio.sleep(0.01)
    assert await store.lock("name", 8, 50) == 0
    await nodes.close()
