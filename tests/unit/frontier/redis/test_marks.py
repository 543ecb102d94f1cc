"""Marks on real servers: one, and a Cluster."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from stores import shared_redis, shared_store

from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.marks import Marks, scan_hashes
from skitter.frontier.redis.nodes import Nodes


@pytest.fixture(params=["redis", "cluster"])
async def nodes(request: pytest.FixtureRequest) -> AsyncIterator[Nodes]:
    nodes = Nodes(StoreAddress.parse(shared_store(request.param).url))
    await nodes.open()
    yield nodes
    await nodes.close()


@pytest.fixture
def keys() -> Keys:
    return Keys(f"marks-{uuid4().hex[:8]}")


async def test_marks_are_found_by_name_and_by_prefix(nodes: Nodes, keys: Keys) -> None:
    marks = Marks(nodes, keys)
    await marks.put({"file:a": b"1", "file:b": b"\x00\xff", "other": b""}, {})
    await marks.put({"file:a": b"2"}, {})
    assert await marks.get("file:a") == b"2"
    assert await marks.get("none") is None
    assert await marks.all("file:") == {"file:a": b"2", "file:b": b"\x00\xff"}
    assert await marks.all("") == {"file:a": b"2", "file:b": b"\x00\xff", "other": b""}
    assert await marks.all("x") == {}


async def test_robots_marks_are_spread_over_the_tags(nodes: Nodes, keys: Keys) -> None:
    marks = Marks(nodes, keys)
    robots = {f"robots:https://h{n}.example": str(n).encode() for n in range(300)}
    await marks.put({**robots, "roads": b"x"}, {})
    assert await nodes.run(keys.marks, "HKEYS", keys.marks) == [b"roads"]
    assert await marks.get("robots:https://h7.example") == b"7"
    assert await marks.all("robots:") == robots
    assert await marks.all("ro") == {**robots, "roads": b"x"}
    assert await marks.all("robots:https://h29") == {
        name: value for name, value in robots.items() if name.startswith("robots:https://h29")
    }


@pytest.mark.parametrize("odd", ["a*", "a?", "a[b]", "a[", "a\\", "ä^-", "a\nb"])
async def test_a_prefix_is_taken_as_it_is_written(keys: Keys, odd: str) -> None:
    nodes = Nodes(StoreAddress.parse(shared_redis().url))
    await nodes.open()
    marks = Marks(nodes, keys)
    await marks.put({odd + "1": b"1", "ab1": b"2", "b": b"3", "ä": b"4"}, {})
    assert await marks.all(odd) == {odd + "1": b"1"}
    await nodes.close()


async def test_news_change_the_version_and_marks_do_not(nodes: Nodes, keys: Keys) -> None:
    marks = Marks(nodes, keys)
    await marks.put({"a": b"1"}, {})
    await marks.put({}, {})
    assert await nodes.run(keys.version, "GET", keys.version) is None
    await marks.put({"a": b"2"}, {"scope:1": b"x", "robots:o": b"y"})
    assert await nodes.run(keys.version, "GET", keys.version) == b"1"
    assert (await marks.get("a"), await marks.get("scope:1")) == (b"2", b"x")
    assert await marks.get("robots:o") == b"y"


async def test_large_hashes_are_read_in_pieces(keys: Keys) -> None:
    nodes = Nodes(StoreAddress.parse(shared_redis().url))
    await nodes.open()
    many = {f"m{n}": b"v" * 70 for n in range(5_000)}
    await Marks(nodes, keys).put(many, {})
    pieces = [fields async for _, fields in scan_hashes(nodes, [keys.marks])]
    assert len(pieces) >= 4
    assert await Marks(nodes, keys).all("m") == many
    await nodes.close()
