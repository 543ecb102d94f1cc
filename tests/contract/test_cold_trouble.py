"""The cold store while its server is killed, away, silent, read-only or another: nothing lost."""

import asyncio
import secrets
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cold_rig import ODD, chunk, new_space, opened, whole
from cut_proxy import CutProxy
from postgres import PASSWORD, PostgresServer, shared_postgres, start_postgres
from stores import HOST

from skitter.database import connection
from skitter.errors import StoreUnavailable
from skitter.frontier.cold.postgres import PostgresStore


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server of one's own, to be harmed."""
    with start_postgres(tmp_path) as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STATEMENT_S", 1.5)


async def test_what_was_put_outlives_a_kill_of_the_server(tmp_path: Path) -> None:
    # Such a server forgets what it confirmed, unless it is told not to.
    lax = {"synchronous_commit": "off", "wal_writer_delay": "10s", "wal_writer_flush_after": "1GB"}
    with start_postgres(tmp_path, lax) as server:
        async with opened(server.url) as store:
            for turn in range(3):
                made = [chunk(*ODD, b"%d" % turn) for _ in range(3)]
                for one in made:
                    await store.put(one)
                server.kill()
                server.start()
                found = await store.get([one.id for one in made])
                assert found == {one.id: one.records for one in made}


async def test_a_server_that_is_away_is_said_so_and_found_again(server: PostgresServer) -> None:
    async with opened(server.url) as store:
        one = chunk(b"a")
        await store.put(one)
        assert store.trouble == ""
        server.kill()
        for call in (store.put(one), store.get([one.id]), store.done([one.id]), store.sizes()):
            with pytest.raises(StoreUnavailable, match="does not answer") as raised:
                await call
            assert PASSWORD not in whole(raised.value)
        assert f":{server.port}/postgres does not answer (connection refused)" in store.trouble
        assert PASSWORD not in store.trouble
        server.start()
        assert await store.get([one.id]) == {one.id: (b"a",)}
        assert store.trouble == ""


async def test_a_restart_between_two_calls_is_not_noticed(server: PostgresServer) -> None:
    async with opened(server.url) as store:
        one = chunk(b"a")
        for _ in range(2):
            await store.put(one)
            server.restart()
        assert await store.get([one.id]) == {one.id: (b"a",)}


def by_line(server: PostgresServer, line: CutProxy) -> str:
    return server.url.replace(f":{server.port}/", f":{line.port}/")


@pytest.mark.usefixtures("impatient")
async def test_a_silent_server_is_not_waited_for() -> None:
    server = shared_postgres()
    with CutProxy(server.port) as line:
        async with opened(by_line(server, line), new_space()) as store:
            one = chunk(b"a")
            await store.put(one)
            line.hang()
            began = time.monotonic()
            calls = [asyncio.create_task(store.put(chunk(b"b"))) for _ in range(20)]
            failed = await asyncio.gather(*calls, return_exceptions=True)
            assert {type(error) for error in failed} == {StoreUnavailable}
            assert "silent for too long" in store.trouble
            # One after the other they would wait for 30 s.
            assert time.monotonic() - began < 15, "one of them waited for all"
            line.heal()
            assert await store.get([one.id]) == {one.id: (b"a",)}
            line.cut()
            with pytest.raises(StoreUnavailable, match="connection refused"):
                await store.get([one.id])
            line.heal()
            assert await store.get([one.id]) == {one.id: (b"a",)}


async def test_a_call_that_is_cancelled_ends_at_once_and_harms_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = shared_postgres()
    monkeypatch.setattr(connection, "STATEMENT_S", 60.0)
    with CutProxy(server.port) as line:
        async with opened(by_line(server, line), new_space()) as store:
            line.hang()
            call = asyncio.create_task(store.put(chunk(b"a")))
            await asyncio.sleep(0.1)
            call.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert time.monotonic() - began < 30
            line.heal()
            one = chunk(b"b")
            await store.put(one)
            assert await store.get([one.id]) == {one.id: (b"b",)}


async def test_closing_does_not_wait_for_a_silent_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = shared_postgres()
    monkeypatch.setattr(connection, "STATEMENT_S", 60.0)
    with CutProxy(server.port) as line:
        store = PostgresStore(by_line(server, line), new_space())
        await store.open()
        line.hang()
        call = asyncio.create_task(store.put(chunk(b"a")))
        await asyncio.sleep(0.1)
        began = time.monotonic()
        await store.close()
        with pytest.raises(StoreUnavailable):
            await call
        assert time.monotonic() - began < 30
        with pytest.raises(StoreUnavailable, match="is closed"):
            await store.sizes()


def drop_clients(server: PostgresServer, name: str) -> None:
    server.sql(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")


async def test_another_database_under_the_same_name_is_not_used() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    async with opened(server.url_of(database=name)) as store:
        one = chunk(b"a")
        await store.put(one)
        was = store.identity
        server.sql("UPDATE skitter_cold_spaces SET identity = 'other'", name)
        drop_clients(server, name)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="is another database than it was"):
                await store.get([one.id])
        server.sql(f"UPDATE skitter_cold_spaces SET identity = '{was}'", name)
        assert await store.get([one.id]) == {one.id: (b"a",)}
        server.sql("ALTER TABLE skitter_cold RENAME TO away", name)
        with pytest.raises(StoreUnavailable, match="has lost Skitter's tables"):
            await store.get([one.id])
        server.sql("ALTER TABLE away RENAME TO skitter_cold", name)
        assert await store.get([one.id]) == {one.id: (b"a",)}


async def test_damage_is_said() -> None:
    async with opened(shared_postgres().url, new_space()) as store:
        one = chunk(b"a")
        await store.put(one)
        shared_postgres().sql(f"UPDATE skitter_cold SET records = '\\x0102' WHERE id = {one.id}")
        with pytest.raises(StoreUnavailable, match=f"has a damaged chunk, {one.id} "):
            await store.get([one.id])
        assert "damaged" in store.trouble


async def test_an_opening_that_is_cancelled_ends_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "CONNECT_S", 60.0)
    with socket.create_server((HOST, 0)) as silent:
        url = f"postgresql://{HOST}:{silent.getsockname()[1]}/cold?connect_timeout=60"
        store = PostgresStore(url, "skitter")
        opening = asyncio.create_task(store.open())
        await asyncio.sleep(0.1)
        opening.cancel()
        began = time.monotonic()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert time.monotonic() - began < 30
        await store.close()


async def test_a_database_that_becomes_read_only_is_waited_for() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    async with opened(server.url_of(database=name)) as store:
        server.sql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        drop_clients(server, name)
        for _ in range(2):
            with pytest.raises(StoreUnavailable, match="is read-only"):
                await store.put(chunk(b"a"))
        server.sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        await store.put(chunk(b"a"))
