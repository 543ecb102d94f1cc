"""What is refused when a store is opened: one line each, with what to do and no password."""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from certificates import Certificate, certificate
from stores import (
    RedisServer,
    free_port,
    shared_cluster,
    shared_redis,
    start_cluster,
    start_redis,
)

from skitter.errors import ConfigError, SkitterError, StoreUnavailable
from skitter.frontier.redis import checks
from skitter.frontier.redis.address import LAYOUT_VERSION, StoreAddress
from skitter.frontier.redis.nodes import Nodes


async def refused(url: str, kind: type[SkitterError] = ConfigError) -> str:
    """Open a store that must be refused; return the line that is said."""
    nodes = Nodes(StoreAddress.parse(url))
    with pytest.raises(SkitterError) as raised:
        await nodes.open()
    line = str(raised.value)
    assert type(raised.value) is kind, line
    assert "\n" not in line
    assert line.startswith("store redis")
    assert ";" in line, "a line says what is wrong; and what to do"
    return line


async def accepted(url: str) -> None:
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open()
    assert await nodes.run("{skitter}:meta", "EXISTS", "{skitter}:meta") in {0, 1}
    await nodes.close()


@asynccontextmanager
async def saying(*answers: bytes, at_once: bytes = b"") -> AsyncIterator[str]:
    """Serve what is no store to be used: each request gets the next answer."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(at_once)
        for answer in answers:
            await reader.read(65_536)
            writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/"


def bulk(*words: str) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(
        b"$%d\r\n%b\r\n" % (len(w), w.encode()) for w in words
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with start_redis(tmp_path / "server", options={"requirepass": "secret"}) as server:
        yield server


async def test_good_stores_are_accepted() -> None:
    for url in (shared_redis().url, shared_redis("valkey").url, shared_cluster().url):
        await accepted(url)
    await accepted(f"redis://127.0.0.1:{shared_cluster().nodes[4].port}")
    await accepted(shared_redis().url + "7")


async def test_nothing_answers() -> None:
    port = free_port()
    line = await refused(f"redis://:secret@127.0.0.1:{port}", StoreUnavailable)
    assert line == (
        f"store redis://127.0.0.1:{port}/ does not answer (connection refused);"
        " start Redis there or check the address"
    )
    line = await refused("redis://no-such-host.invalid", StoreUnavailable)
    assert "does not answer (the name is not known)" in line
    line = await refused(f"redis://127.0.0.1:{port},127.0.0.1:{free_port()}", StoreUnavailable)
    assert "connection refused" in line


async def test_a_server_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skitter.frontier.redis.line.PATIENCE_S", 0.3)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        line = await refused(f"redis://127.0.0.1:{deaf.getsockname()[1]}", StoreUnavailable)
    assert "does not answer (silent for too long)" in line


async def test_passwords(server: RedisServer) -> None:
    at = f"127.0.0.1:{server.port}"
    assert "wants a password" in await refused(f"redis://{at}")
    for login in (":false", "default:false", "nobody:secret"):
        line = await refused(f"redis://{login}@{at}")
        assert "does not know this user and password" in line
        assert "false" not in line
        assert "secret" not in line
    await accepted(f"redis://:secret@{at}")
    await accepted(f"redis://default:secret@{at}")
    line = await refused(f"redis://:secret@127.0.0.1:{shared_redis().port}")
    assert "has no password; leave it out" in line


async def test_rights(server: RedisServer) -> None:
    at = f"127.0.0.1:{server.port}"
    server.cli("ACL", "SETUSER", "weak", "on", ">word", "~*", "+@all", "-function")
    line = await refused(f"redis://weak:word@{at}")
    assert f"store redis://weak@{at}/ does not let this user do what is needed" in line
    assert "'function|load'" in line
    server.cli("ACL", "SETUSER", "weak", "+function", "-fcall")
    assert "'fcall'" in await refused(f"redis://weak:word@{at}")
    server.cli("ACL", "SETUSER", "weak", "+fcall", "resetkeys", "~{other*")
    assert "NOPERM" in await refused(f"redis://weak:word@{at}")
    server.cli("ACL", "SETUSER", "weak", "~{skitter*", "-@dangerous", "-config", "-info")
    await accepted(f"redis://weak:word@{at}")


async def test_a_server_that_throws_keys_away(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.cli("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
    await accepted(server.url)
    assert "has maxmemory-policy volatile-lru" in caplog.text
    server.cli("CONFIG", "SET", "maxmemory", "100mb")
    line = await refused(server.url)
    assert "maxmemory-policy volatile-lru); set maxmemory-policy noeviction there" in line
    server.cli("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await accepted(server.url)


async def test_a_server_that_throws_keys_away_and_hides_its_settings(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Those who rent a server may ask it for INFO, not for its settings."""
    server.cli("ACL", "SETUSER", "tenant", "on", ">word", "~*", "&*", "+@all", "-config", "+info")
    url = f"redis://tenant:word@127.0.0.1:{server.port}"
    await accepted(url)
    assert "maxmemory-policy" not in caplog.text
    server.cli("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    await accepted(url)
    assert "has maxmemory-policy allkeys-lru" in caplog.text
    server.cli("CONFIG", "SET", "maxmemory", "100mb")
    line = await refused(url)
    assert "maxmemory-policy allkeys-lru); set maxmemory-policy noeviction there" in line
    server.cli("CONFIG", "SET", "maxmemory-policy", "noeviction")
    await accepted(url)


async def test_a_replica(tmp_path: Path) -> None:
    port = shared_redis().port
    with start_redis(tmp_path, options={"replicaof": f"127.0.0.1 {port}"}) as replica:
        assert "is a read-only replica; name its master" in await refused(replica.url)


async def test_durability_is_warned_about_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await accepted(shared_redis().url)
    assert [record.getMessage() for record in caplog.records] == [
        f"store {shared_redis().url} has neither an append-only file nor a replica: the crawl is"
        " lost when it stops; set appendonly yes there, or add a replica"
    ]
    caplog.clear()
    await accepted(shared_cluster().url)
    with start_redis(tmp_path / "aof", options={"appendonly": "yes"}) as server:
        await accepted(server.url)
    assert caplog.records == []
    with start_cluster(tmp_path, replicas=0) as bare:
        await accepted(bare.url)
    assert len(caplog.records) == 1


async def test_data_of_another_version() -> None:
    server = shared_redis()
    server.cli("HSET", "{newer}:meta", "version", LAYOUT_VERSION + 1)
    server.cli("HSET", "{same}:meta", "version", LAYOUT_VERSION)
    server.cli("SET", "{other}:meta", "something else")
    line = await refused(server.url + "?namespace=newer")
    assert f"data of version {LAYOUT_VERSION + 1} under namespace 'newer'" in line
    assert "data of version ?" in await refused(server.url + "?namespace=other")
    await accepted(server.url + "?namespace=same")


async def test_databases() -> None:
    assert "does not have this database" in await refused(shared_redis().url + "99")
    node = shared_cluster().nodes[0]
    assert "is a Cluster, which has no" in await refused(f"redis://127.0.0.1:{node.port}/1")


async def test_several_hosts_that_are_no_cluster() -> None:
    ports = shared_redis().port, shared_redis("valkey").port
    line = await refused(f"redis://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}")
    assert "is not part of a Cluster; name one host alone" in line


async def test_a_cluster_that_is_not_whole(tmp_path: Path) -> None:
    with start_redis(tmp_path, cluster=True) as node:
        assert "does not serve all hash slots" in await refused(node.url, StoreUnavailable)
        node.cli("CLUSTER", "ADDSLOTSRANGE", 0, 16_000)
        assert "does not serve all hash slots" in await refused(node.url, StoreUnavailable)


async def test_what_is_no_store() -> None:
    async with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        assert "does not speak Redis's language" in await refused(url)
    async with saying(b"-ERR unknown command 'HELLO'\r\n") as url:
        assert "is older than Redis 7.0" in await refused(url)
    denied = b"-DENIED Redis is running in protected mode because no password is set.\r\n"
    async with saying(at_once=denied) as url:
        assert "is in protected mode" in await refused(url)
    async with saying(bulk("mode", "sentinel", "version", "7.0.0")) as url:
        assert "is a Sentinel" in await refused(url)
    old = bulk("mode", "standalone", "version", "6.2.14", "role", "master")
    async with saying(old, old + b"-ERR of old\r\n" * 4) as url:
        assert "is older than Redis 7.0" in await refused(url)
    async with saying(b"-LOADING Redis is loading the dataset in memory\r\n") as url:
        line = await refused(url, StoreUnavailable)
    assert line.endswith("is loading its data; try again later")


@asynccontextmanager
async def over_tls(folder: Path, names: str) -> AsyncIterator[tuple[RedisServer, Certificate]]:
    made = certificate(folder, names)
    with start_redis(folder / "server", options=made.redis_options) as server:
        yield server, made


async def test_tls_is_verified(tmp_path: Path) -> None:
    async with over_tls(tmp_path, "IP:127.0.0.1") as (server, own):
        line = await refused(server.url)
        assert "is not trusted (certificate: self-signed certificate)" in line
        assert "?ca=FILE" in line
        await accepted(f"{server.url}?ca={own.path}")
        line = await refused(f"{server.url}?ca={tmp_path}/absent.pem")
        assert f"cannot read {tmp_path}/absent.pem" in line
        line = await refused(f"{server.url}?ca={own.key}")
        assert f"cannot read {own.key}" in line


async def test_tls_where_there_is_none_and_none_where_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skitter.frontier.redis.line.PATIENCE_S", 0.5)
    async with over_tls(tmp_path, "IP:127.0.0.1") as (server, _):
        line = await refused(server.url.replace("rediss:", "redis:"), StoreUnavailable)
        assert line.endswith("check the address (it is rediss:// with TLS)")
    line = await refused(f"rediss://127.0.0.1:{shared_redis().port}", StoreUnavailable)
    assert line.endswith("check the address (it is redis:// without TLS)")
    async with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        line = await refused(url.replace("redis:", "rediss:"))
        assert "it may not speak TLS there; try redis://" in line


async def test_a_certificate_for_another_name(tmp_path: Path) -> None:
    async with over_tls(tmp_path, "DNS:store.test") as (server, own):
        line = await refused(f"{server.url}?ca={own.path}")
        assert "IP address mismatch" in line
        assert "check the host's name" in line


async def test_hosts_of_the_newer_kind(tmp_path: Path) -> None:
    with start_redis(tmp_path, options={"bind": "127.0.0.1 ::1"}) as server:
        await accepted(f"redis://[::1]:{server.port}")


def test_a_server_that_still_reads_its_file_is_not_taken_for_one_without() -> None:
    assert checks.keeps(b"loading:1\r\naof_enabled:0\r\nconnected_slaves:0\r\n")
    assert not checks.keeps(b"loading:0\r\naof_enabled:0\r\nconnected_slaves:0\r\n")
    assert checks.keeps(b"loading:0\r\naof_enabled:1\r\nconnected_slaves:0\r\n")
