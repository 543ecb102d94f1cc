"""Calls to a store: they come to an end whatever the store goes through, and cancel at once."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cut_proxy import CutProxy
from stores import (
    KINDS,
    RedisCluster,
    RedisServer,
    shared_cluster,
    shared_store,
    start_cluster,
    start_redis,
)

from skitter.errors import Fenced, FrontierError
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.nodes import Call, Nodes
from skitter.frontier.redis.routes import hash_slot

LIBRARY = """#!lua name=nodestest
local function echo(keys, args) return {keys[1], args[1]} end
local function add(keys, args) redis.call('SADD', keys[1], args[1]) return 1 end
local function fill(keys, args) redis.call('SET', keys[1], args[1]) return 1 end
local function say(keys, args) return redis.error_reply(args[1]) end
local function thaw(keys, args)
    if redis.call('EXISTS', keys[1]) == 1 then return redis.error_reply('FROZEN for a test') end
    return 1
end
local function touch(keys, args)
    redis.call('GET', keys[1])
    redis.call('SET', keys[1] .. 'x', 1)
    return 1
end
local function crash(keys, args) return {} .. 1 end
redis.register_function('nodestest_echo', echo)
redis.register_function('nodestest_add', add)
redis.register_function('nodestest_fill', fill)
redis.register_function('nodestest_say', say)
redis.register_function('nodestest_thaw', thaw)
redis.register_function('nodestest_touch', touch)
redis.register_function('nodestest_crash', crash)
"""


@asynccontextmanager
async def opened(
    url: str, on_trouble: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Nodes]:
    nodes = Nodes(StoreAddress.parse(url), on_trouble=on_trouble)
    await nodes.open()
    try:
        await nodes.load(LIBRARY)
        yield nodes
    finally:
        await nodes.close()


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest) -> str:
    return shared_store(request.param).url


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with start_redis(tmp_path) as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[RedisCluster]:
    with start_cluster(tmp_path) as cluster:
        yield cluster


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let connections be given up after half a second of silence."""
    monkeypatch.setattr("skitter.frontier.redis.line.PATIENCE_S", 0.5)


async def until(check: Callable[[], object], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.01)


def key(tag: int, name: str = "a") -> str:
    return f"{{nodestest:{tag:03}}}:{name}"


def test_hash_slots_are_those_of_the_servers() -> None:
    server = shared_cluster().nodes[0]
    for name in ("foo", "{foo}bar", "bar{foo}baz{x}", "{}foo", "{foo", "foo}{", "{ns:012}:h:ü", ""):
        assert hash_slot(name) == server.cli("CLUSTER", "KEYSLOT", name)


async def test_answers_come_in_the_order_of_the_calls(url: str) -> None:
    async with opened(url) as nodes:
        calls = [Call(key(n % 256), "nodestest_echo", (n,)) for n in range(700)]
        answers = await nodes.call_many(calls)
        assert answers == [[key(n % 256).encode(), b"%d" % n] for n in range(700)]
        assert await nodes.call_many([]) == []


async def test_words_of_every_kind_arrive_as_they_are(url: str) -> None:
    async with opened(url) as nodes:
        for given, arrives in (
            (b"\0\r\n\xff", b"\0\r\n\xff"),
            ("zwölf", "zwölf".encode()),
            (-12, b"-12"),
            (0.25, b"0.25"),
            (b"x" * 300_000, b"x" * 300_000),
        ):
            assert await nodes.call(key(1), "nodestest_echo", given) == [key(1).encode(), arrives]


async def test_plain_commands_go_where_their_keys_are(url: str) -> None:
    async with opened(url) as nodes:
        names = [key(tag, "plain") for tag in range(20)]
        assert set(await nodes.run_many([(name, ("SET", name, name)) for name in names])) == {b"OK"}
        assert await nodes.run_many([(name, ("GET", name)) for name in names]) == [
            name.encode() for name in names
        ]
        assert await nodes.run(names[0], "DEL", names[0]) == 1
        assert await nodes.run(names[0], "GET", names[0]) is None


async def test_calls_of_many_tasks_do_not_mix_up(url: str) -> None:
    async with opened(url) as nodes:
        calls = [nodes.call(key(n % 256), "nodestest_echo", n) for n in range(300)]
        answers = await asyncio.gather(*calls)
        assert [int(answer[1]) for answer in answers] == list(range(300))


async def test_a_fenced_call_is_told_apart_and_the_others_are_made(url: str) -> None:
    async with opened(url) as nodes:
        await nodes.run(key(3, "set"), "DEL", key(3, "set"))
        with pytest.raises(Fenced, match="FENCED slot 7"):
            await nodes.call_many(
                [
                    Call(key(3, "set"), "nodestest_add", ("one",)),
                    Call(key(3), "nodestest_say", ("FENCED slot 7",)),
                    Call(key(3, "set"), "nodestest_add", ("two",)),
                ]
            )
        assert await nodes.run(key(3, "set"), "SCARD", key(3, "set")) == 2
        assert nodes.trouble == ""


@pytest.mark.parametrize(
    ("name", "args", "why"),
    [
        ("nodestest_say", ("ERR of mine",), "of mine"),
        ("nodestest_say", ("BUSYGROUP of mine",), "BUSYGROUP of mine"),
        ("nodestest_crash", (), "attempt to concatenate"),
        ("nodestest_absent", (), "Function not found"),
    ],
)
async def test_an_error_of_a_script_is_raised(
    url: str, name: str, args: tuple[str, ...], why: str
) -> None:
    async with opened(url) as nodes:
        with pytest.raises(FrontierError, match=why) as raised:
            await nodes.call(key(1), name, *args)
        assert not isinstance(raised.value, Fenced)
        assert str(raised.value).startswith("store redis://127.0.0.1:")


async def test_a_library_with_a_mistake_is_an_error(url: str) -> None:
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    with pytest.raises(FrontierError, match="Error compiling function"):
        await nodes.load("#!lua name=nodestest\nnot lua")
    await nodes.close()


async def test_a_frozen_tag_is_waited_for(url: str) -> None:
    async with opened(url) as nodes:
        await nodes.run(key(9, "ice"), "SET", key(9, "ice"), 1)
        call = asyncio.create_task(nodes.call(key(9, "ice"), "nodestest_thaw"))
        await until(lambda: "is frozen by its operator for" in nodes.trouble)
        await nodes.run(key(9, "ice"), "DEL", key(9, "ice"))
        assert await call == 1
        assert nodes.trouble == ""


async def test_calls_after_closing_are_refused_and_waiting_ones_end(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        server.kill()
        call = asyncio.create_task(nodes.call(key(1), "nodestest_echo", 1))
        await until(lambda: nodes.trouble)
    with pytest.raises(FrontierError, match="is closed"):
        await asyncio.wait_for(call, 60)
    with pytest.raises(FrontierError, match="is closed"):
        await nodes.call(key(1), "nodestest_echo", 1)


async def test_a_server_that_restarts_gets_its_library_again(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        for _ in range(2):
            server.kill()
            calls = [nodes.call(key(n), "nodestest_echo", n) for n in range(20)]
            waiting = asyncio.gather(*calls)
            await until(lambda: nodes.trouble)
            server.restart()
            assert [int(answer[1]) for answer in await waiting] == list(range(20))
        server.cli("FUNCTION", "FLUSH")
        assert await nodes.call(key(1), "nodestest_echo", 1) == [key(1).encode(), b"1"]


async def test_a_line_that_is_cut_is_waited_for_in_words(server: RedisServer) -> None:
    told: list[str] = []
    with CutProxy(server.port) as line:
        async with opened(line.url, told.append) as nodes:
            line.cut()
            call = asyncio.create_task(nodes.call(key(1), "nodestest_echo", 1))
            await until(lambda: nodes.trouble)
            words = f"store redis://127.0.0.1:{line.port}/ does not answer for "
            assert len(told) == 1
            assert re.fullmatch(f"{words}[0-9] s", told[0])
            await asyncio.sleep(1.6)
            assert re.fullmatch(f"{words}([2-9]|[1-9][0-9]) s", nodes.trouble)
            line.heal()
            assert (await call)[1] == b"1"
            assert nodes.trouble == ""
            assert len(told) == 2
            assert told[1] == ""


@pytest.mark.usefixtures("impatient")
async def test_a_line_that_hangs_is_given_up_and_made_anew(server: RedisServer) -> None:
    with CutProxy(server.port) as line:
        async with opened(line.url) as nodes:
            line.hang()
            calls = [nodes.call(key(1, "set"), "nodestest_add", n) for n in range(10)]
            waiting = asyncio.gather(*calls)
            await until(lambda: "does not answer" in nodes.trouble)
            line.heal()
            assert await waiting == [1] * 10
            assert server.cli("SCARD", key(1, "set")) == 10


async def test_silence_is_trouble_before_it_is_given_up(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        server.pause()
        began = time.monotonic()
        call = asyncio.create_task(nodes.call(key(1), "nodestest_echo", 1))
        await asyncio.sleep(1)
        trouble = nodes.trouble
        # On a machine that was held up here it may be trouble by now.
        assert trouble == "" or time.monotonic() - began > 1.9
        await until(lambda: re.search("does not answer for [2-9] s", nodes.trouble))
        server.resume()
        assert (await call)[1] == b"1"
        assert nodes.trouble == ""


async def test_a_slow_line_is_no_trouble(server: RedisServer) -> None:
    with CutProxy(server.port) as line:
        async with opened(line.url) as nodes:
            line.slow(0.1)
            calls = [Call(key(n % 256), "nodestest_echo", (n,)) for n in range(300)]
            assert len(await nodes.call_many(calls)) == 300


@pytest.mark.parametrize("how", ["cut", "hang"])
async def test_cancelling_works_at_once(
    server: RedisServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr("skitter.frontier.redis.line.PATIENCE_S", 60.0)
    with CutProxy(server.port) as line:
        async with opened(line.url) as nodes:
            {"cut": line.cut, "hang": line.hang}[how]()
            calls = [asyncio.create_task(nodes.call(key(n), "nodestest_echo")) for n in range(5)]
            await asyncio.sleep(0.3)
            began = time.monotonic()
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)
            # Long before the connection would be given up.
            assert time.monotonic() - began < 20
            assert all(call.cancelled() for call in calls)
            assert nodes.trouble == ""
            line.heal()
            assert (await nodes.call(key(7), "nodestest_echo", 7))[1] == b"7"


async def test_who_cancels_disturbs_nobody_else(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        server.pause()
        calls = [asyncio.create_task(nodes.call(key(n), "nodestest_echo", n)) for n in range(9)]
        await asyncio.sleep(0.05)
        for call in calls[::2]:
            call.cancel()
        server.resume()
        await asyncio.wait(calls)
        assert [call.result()[1] for call in calls[1::2]] == [b"1", b"3", b"5", b"7"]
        clients = server.cli("INFO", "clients")["connected_clients"]
        assert clients == 2


async def test_a_full_store_is_waited_for(tmp_path: Path) -> None:
    options = {"maxmemory": "5mb", "maxmemory-policy": "noeviction"}
    with start_redis(tmp_path, options=options) as server:
        async with opened(server.url) as nodes:
            filling = asyncio.create_task(
                nodes.call_many(
                    [Call(key(n), "nodestest_fill", (b"x" * 500_000,)) for n in range(20)]
                )
            )
            await until(lambda: "is full" in nodes.trouble)
            assert nodes.trouble.startswith(f"store redis://127.0.0.1:{server.port}/ is full for")
            assert await nodes.run(key(0), "STRLEN", key(0)) == 500_000
            server.cli("CONFIG", "SET", "maxmemory", "100mb")
            assert await filling == [1] * 20
            assert nodes.trouble == ""


async def test_a_server_without_enough_replicas_is_waited_for(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        server.cli("CONFIG", "SET", "min-replicas-to-write", 1)
        call = asyncio.create_task(nodes.call(key(1), "nodestest_add", 1))
        await until(lambda: "has too few replicas" in nodes.trouble)
        server.cli("CONFIG", "SET", "min-replicas-to-write", 0)
        assert await call == 1


async def test_a_server_that_loads_its_data_is_waited_for(tmp_path: Path) -> None:
    options = {
        "appendonly": "yes",
        "key-load-delay": "5000",
        "loading-process-events-interval-bytes": "1024",
    }
    with start_redis(tmp_path, options=options) as server:
        async with opened(server.url) as nodes:
            names = [key(n, "loads") for n in range(256)]
            await nodes.run_many([(name, ("SET", name, b"x" * 1000)) for name in names])
            server.cli("BGREWRITEAOF")
            await until(lambda: not server.cli("INFO")["aof_rewrite_in_progress"])
            server.kill()
            starting = asyncio.create_task(asyncio.to_thread(server.restart))
            call = asyncio.create_task(nodes.call(key(255, "loads"), "nodestest_echo", 1))
            await until(lambda: "is loading its data" in nodes.trouble)
            assert (await call)[1] == b"1"
            await starting


async def test_a_right_that_is_taken_away_is_an_error(server: RedisServer) -> None:
    async with opened(server.url) as nodes:
        server.cli("ACL", "SETUSER", "default", "-fcall")
        with pytest.raises(FrontierError, match="NOPERM"):
            await nodes.call(key(1), "nodestest_echo", 1)


async def test_a_password_that_has_changed_is_an_error(tmp_path: Path) -> None:
    with start_redis(tmp_path, options={"requirepass": "old"}) as server:
        async with opened(server.url) as nodes:
            assert (await nodes.call(key(1), "nodestest_echo", 1))[1] == b"1"
            server.cli("CONFIG", "SET", "requirepass", "new")
            server.options["requirepass"] = "new"
            server.cli("CLIENT", "KILL", "SKIPME", "yes")
            with pytest.raises(FrontierError, match="WRONGPASS") as raised:
                await nodes.call(key(1), "nodestest_echo", 1)
            assert "old" not in str(raised.value)


async def test_a_hash_slot_that_moved_is_followed() -> None:
    cluster = shared_cluster()
    name = "{nodestest:moved}:a"
    async with opened(cluster.url) as nodes:
        source = cluster.master_of(name)
        target = next(node for node in cluster.nodes[:3] if node is not source)
        await nodes.call(name, "nodestest_add", 1)
        for here, there in ((source, target), (target, source)):
            cluster.move_slot(cluster.slot_of(name), here, there)
            assert await nodes.call(name, "nodestest_add", 2) == 1
            assert there.cli("SCARD", name) == 2
            assert nodes.trouble == ""


@pytest.mark.parametrize("function", ["nodestest_add", "nodestest_touch"])
async def test_keys_that_are_being_moved_are_waited_for(function: str) -> None:
    cluster = shared_cluster()
    name = f"{{nodestest:{function}}}:a"
    async with opened(cluster.url) as nodes:
        source = cluster.master_of(name)
        target = next(node for node in cluster.nodes[:3] if node is not source)
        slot = cluster.slot_of(name)
        if function == "nodestest_touch":
            source.cli("SET", name, 1)
        target.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", cluster.id_of(source))
        source.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", cluster.id_of(target))
        call = asyncio.create_task(nodes.call(name, function, 1))
        await until(lambda: "is moving keys" in nodes.trouble)
        cluster.move_slot(slot, source, target)
        assert await asyncio.wait_for(call, 60) == 1
        assert target.cli("EXISTS", name) == 1


@pytest.mark.timeout(300)
async def test_calls_go_on_when_a_master_dies(cluster: RedisCluster) -> None:
    troubles: set[str] = set()
    async with opened(cluster.url, troubles.add) as nodes:
        names = [key(tag, "set") for tag in range(256)]
        made = 0
        victim = cluster.master_of(names[0])
        survivor = next(name for name in names if cluster.master_of(name) is not victim)
        after = 0
        while after < 30:
            if made == 20:
                cluster.fail(victim)
            answers = await nodes.call_many(
                [Call(name, "nodestest_add", (made,)) for name in names]
            )
            assert answers == [1] * len(names)
            made += 1
            after += made > 20
        assert victim not in cluster.living()
        assert cluster.master_of(names[0]) is not victim
        assert await nodes.run(survivor, "SCARD", survivor) == made
        assert nodes.trouble == ""
        assert any(f":{victim.port}/ does not answer" in words for words in troubles)


@pytest.mark.usefixtures("impatient")
async def test_a_cluster_is_found_through_any_of_its_nodes(cluster: RedisCluster) -> None:
    dead, alive = cluster.nodes[5], cluster.nodes[4]
    cluster.fail(dead)
    async with opened(f"redis://127.0.0.1:{dead.port},127.0.0.1:{alive.port}/") as nodes:
        calls = [Call(key(n % 256), "nodestest_echo", (n,)) for n in range(256)]
        assert len(await nodes.call_many(calls)) == 256
