"""The cold store on a real PostgreSQL: nothing lost, nothing mixed up, every fault in words."""

import asyncio
import logging
import secrets
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from cut_proxy import CutProxy
from postgres import (
    OWNER,
    PASSWORD,
    PostgresServer,
    as_server_user,
    shared_postgres,
    start_postgres,
)
from stores import HOST, free_port

from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.cold import database
from skitter.frontier.cold.base import Chunk, ChunkId, ColdStore, Held
from skitter.frontier.cold.packing import FORMAT
from skitter.frontier.cold.postgres import PAGE, PostgresStore
from skitter.types import HostKey, JobNumber

JOB = JobNumber(7)
ODD = (b"", b"/path", bytes(range(256)) * 8, b"\x00\xff", b"")


def new_space() -> str:
    return f"t{secrets.token_hex(8)}"


def chunk(*records: bytes, job: int = JOB, host: str = "a.test") -> Chunk:
    chunk_id = ChunkId(secrets.randbits(63))
    line = f"{job}:1:5:{host}"
    return Chunk(chunk_id, JobNumber(job), HostKey(host), line, records)


@asynccontextmanager
async def opened(
    url: str, space: str = "skitter", *, keep_s: float = 3600, sweep_s: float = 0
) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(url, space, keep_s=keep_s, sweep_s=sweep_s)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store() -> AsyncIterator[PostgresStore]:
    async with opened(shared_postgres().url, new_space()) as store:
        yield store


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server of one's own, to be harmed."""
    with start_postgres(tmp_path) as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "STATEMENT_S", 0.5)


async def all_of(store: ColdStore, job: JobNumber, host: HostKey | None = None) -> list[Chunk]:
    return [one async for one in store.chunks(job, host)]


async def test_records_come_back_as_they_were(store: PostgresStore) -> None:
    first, empty, last = chunk(*ODD), chunk(), chunk(*[secrets.token_bytes(2000)] * 512)
    for one in (first, empty, last):
        await store.put(one)
    unknown = ChunkId(secrets.randbits(63))
    assert await store.get([last.id, unknown, first.id, empty.id]) == {
        first.id: first.records,
        empty.id: (),
        last.id: last.records,
    }
    assert await store.get([]) == {}
    assert await all_of(store, JOB) == sorted([first, empty, last], key=lambda one: one.id)


@pytest.mark.parametrize("number", [0, 1, 2**31, 2**63 - 1])
async def test_any_id_of_63_bits_will_do(store: PostgresStore, number: int) -> None:
    one = Chunk(ChunkId(number), JOB, HostKey("a.test"), "", (b"x",))
    await store.put(one)
    assert await store.get([one.id]) == {one.id: (b"x",)}
    assert await all_of(store, JOB) == [one]


async def test_every_verb_may_be_repeated(store: PostgresStore) -> None:
    one, other = chunk(b"a"), chunk(b"b")
    for _ in range(2):
        await store.put(one)
        await store.put(other)
    assert (await store.sizes()).chunks == 2
    for _ in range(2):
        await store.done([one.id])
        await store.drop([other.id])
        await store.drop_job(JobNumber(8))
    assert await store.get([one.id, other.id]) == {one.id: (b"a",)}
    await store.done([])
    await store.drop([])


async def test_spaces_of_one_database_are_apart() -> None:
    url = shared_postgres().url
    async with opened(url, new_space(), keep_s=0) as mine, opened(url, new_space()) as yours:
        assert mine.identity != yours.identity
        one = chunk(b"mine")
        await mine.put(one)
        assert await yours.get([one.id]) == {}
        other = Chunk(one.id, one.job, one.host, one.line, (b"yours",))
        await yours.put(other)
        assert await mine.get([one.id]) == {one.id: (b"mine",)}
        await mine.drop_job(one.job)
        assert await mine.sizes() == Held(0, 0, 0)
        await mine.put(one)
        await yours.done([one.id])
        await mine.done([one.id])
        await mine.done([])
        assert await all_of(mine, JOB) == []
        assert await all_of(yours, JOB) == [other]


async def test_a_space_keeps_its_identity() -> None:
    url, space = shared_postgres().url, new_space()
    async with opened(url, space) as first:
        identity = first.identity
    async with opened(url, space) as again:
        assert again.identity == identity
    assert len(identity) == 32


async def test_members_that_open_an_empty_database_at_once_do_not_collide() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    stores = [PostgresStore(server.url_of(database=name), "skitter") for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    assert len({store.identity for store in stores}) == 1
    one = chunk(b"a")
    await stores[0].put(one)
    assert await stores[7].get([one.id]) == {one.id: one.records}
    await asyncio.gather(*(store.close() for store in stores))


async def test_what_is_done_is_kept_for_a_while() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space) as store:
        kept, gone = chunk(b"a"), chunk(b"b", b"c")
        for one in (kept, gone):
            await store.put(one)
        assert (await store.sizes())[:2] == (2, 3)
        await store.done([gone.id])
        assert (await store.sizes())[:2] == (1, 1)
        await store.done([])
        assert len(await all_of(store, JOB)) == 2
        hour_ago = f"now() - interval '61 minutes' WHERE space = '{space}' AND used IS NOT NULL"
        shared_postgres().sql(f"UPDATE skitter_cold SET used = {hour_ago}")
        await store.done([kept.id])
        assert await all_of(store, JOB) == [kept]


async def test_what_is_asked_for_again_is_kept_until_it_is_done_again() -> None:
    async with opened(shared_postgres().url, new_space(), keep_s=0.2) as store:
        one = chunk(b"a")
        await store.put(one)
        await store.done([one.id])
        assert await store.get([one.id]) == {one.id: (b"a",)}
        await asyncio.sleep(0.3)
        await store.done([])
        assert await store.get([one.id]) == {one.id: (b"a",)}
        await store.done([one.id])
        await asyncio.sleep(0.3)
        await store.done([])
        assert await store.get([one.id]) == {}


async def test_sweeping_is_rare_but_goes_on_while_there_is_much() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space, keep_s=0, sweep_s=60) as store:
        fill(shared_postgres(), space, 2500, used=True)
        left = []
        for _ in range(4):
            await store.done([])
            left.append(rows(shared_postgres(), space))
        fill(shared_postgres(), space, 10, used=True)
        await store.done([])
        left.append(rows(shared_postgres(), space))
    assert left == [1500, 500, 0, 0, 10]


def fill(server: PostgresServer, space: str, count: int, *, used: bool = False) -> None:
    """Put rows there that nobody reads."""
    server.sql(
        f"INSERT INTO skitter_cold SELECT '{space}', id, {JOB}, 'a.test', '', 1, now(),"
        f" {'now()' if used else 'NULL'}, '' FROM generate_series(1, {count}) AS id"
    )


def rows(server: PostgresServer, space: str) -> int:
    [(count,)] = server.sql(f"SELECT count(*) FROM skitter_cold WHERE space = '{space}'")
    return int(count)


async def test_a_job_is_dropped_whole_and_alone() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space) as store:
        other = chunk(b"a", job=JOB + 1)
        await store.put(other)
        fill(shared_postgres(), space, 2000)
        await store.drop_job(JOB)
        assert await store.sizes() == (1, 1, (await store.sizes()).bytes)
        assert await all_of(store, other.job) == [other]


async def test_chunks_are_read_page_by_page(store: PostgresStore) -> None:
    hosts = ["a.test", "a.test:8080", "b.test", "ab.test"]
    made = [chunk(b"%d" % n, host=host) for n in range(PAGE) for host in hosts]
    for one in made:
        await store.put(one)
    await store.put(chunk(b"x", job=JOB + 1))
    in_order = sorted(made, key=lambda one: (one.host, one.id))
    assert await all_of(store, JOB) == in_order
    for host in hosts:
        assert await all_of(store, JOB, HostKey(host)) == [c for c in in_order if c.host == host]
    assert await all_of(store, JOB, HostKey("none.test")) == []
    assert await all_of(store, JobNumber(9)) == []


async def test_other_calls_come_in_between_two_pages(store: PostgresStore) -> None:
    for _ in range(2 * PAGE):
        await store.put(chunk(b"x"))
    reading = store.chunks(JOB)
    first = await anext(reading)
    await store.drop([first.id])
    assert len([one async for one in reading]) == 2 * PAGE - 1


async def test_many_calls_at_once_wait_for_each_other(store: PostgresStore) -> None:
    made = [chunk(b"%d" % n) for n in range(50)]
    await asyncio.gather(*map(store.put, made))
    found = await asyncio.gather(*(store.get([one.id]) for one in made))
    assert found == [{one.id: one.records} for one in made]


async def test_the_fast_event_loop_will_do() -> None:
    async def use() -> None:
        async with opened(shared_postgres().url, new_space()) as store:
            one = chunk(*ODD)
            await store.put(one)
            assert await store.get([one.id]) == {one.id: ODD}

    await asyncio.to_thread(uvloop.run, use())


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
            assert time.monotonic() - began < 5, "one of them waited for all"
            line.heal()
            assert await store.get([one.id]) == {one.id: (b"a",)}
            line.cut()
            with pytest.raises(StoreUnavailable, match="connection refused"):
                await store.get([one.id])
            line.heal()
            assert await store.get([one.id]) == {one.id: (b"a",)}


async def test_a_call_that_is_cancelled_ends_at_once_and_harms_no_other() -> None:
    server = shared_postgres()
    with CutProxy(server.port) as line:
        async with opened(by_line(server, line), new_space()) as store:
            line.hang()
            call = asyncio.create_task(store.put(chunk(b"a")))
            await asyncio.sleep(0.1)
            call.cancel()
            began = time.monotonic()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert time.monotonic() - began < 2
            line.heal()
            one = chunk(b"b")
            await store.put(one)
            assert await store.get([one.id]) == {one.id: (b"b",)}


async def test_closing_does_not_wait_for_a_silent_server() -> None:
    server = shared_postgres()
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
        assert time.monotonic() - began < 2
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


async def test_damage_is_said(store: PostgresStore) -> None:
    one = chunk(b"a")
    await store.put(one)
    shared_postgres().sql(f"UPDATE skitter_cold SET records = '\\x0102' WHERE id = {one.id}")
    with pytest.raises(StoreUnavailable, match=f"has a damaged chunk, {one.id} "):
        await store.get([one.id])
    assert "damaged" in store.trouble


def whole(error: BaseException) -> str:
    """Return everything that could be shown of an error."""
    return "".join(traceback.format_exception(error)) + repr(error)


async def refused(url: str, space: str = "skitter", secret: str = PASSWORD) -> str:
    """Open a store that must be refused; return the line that is said."""
    store = PostgresStore(url, space)
    with pytest.raises(ConfigError) as raised:
        await store.open()
    line = str(raised.value)
    assert line.startswith("cold store")
    assert "\n" not in line
    assert ";" in line, "a line says what is wrong; and what to do"
    assert secret not in whole(raised.value) + repr(store)
    return line


async def test_a_server_that_does_not_answer_is_refused() -> None:
    port = free_port()
    line = await refused(f"postgresql://ann:secret@{HOST}:{port}/cold", secret="secret")
    assert line == (
        f"cold store postgresql://ann@{HOST}:{port}/cold does not answer (connection refused);"
        " start PostgreSQL there or check the address"
    )
    line = await refused("postgresql://ann:secret@no.such.name.invalid/cold", secret="secret")
    assert "does not answer (the name is not known);" in line
    line = await refused("postgresql:///cold?host=/nowhere&password=secret", secret="secret")
    assert "postgresql:///nowhere/cold does not answer (no socket there);" in line


async def test_a_login_that_fails_is_refused() -> None:
    server = shared_postgres()
    for url in (server.url_of(password="secret"), server.url_of(user="nobody", password="secret")):
        assert "does not know this user and password;" in await refused(url, secret="secret")
    line = await refused(f"postgresql://{OWNER}@{HOST}:{server.port}/postgres")
    assert "wants a password;" in line
    line = await refused(server.url_of(database="elsewhere"))
    assert 'has no "elsewhere"; make it there, or check the URL' in line
    line = await refused(server.url_of(query="?sslmode=require"))
    assert "does not speak TLS;" in line
    line = await refused(server.url_of(query="?sslmode=perhaps"))
    assert 'refused the connection (invalid sslmode value: "perhaps"); check the URL' in line
    line = await refused(server.url_of(query="?colour=red"))
    assert 'PostgreSQL does not take it (invalid URI query parameter: "colour"); check' in line


async def test_tls_is_spoken_and_a_certificate_of_nobody_refused(
    server: PostgresServer, tmp_path: Path
) -> None:
    key, certificate = server.data / "server.key", server.data / "server.crt"
    made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=cold.test"]
    command = ["openssl", "req", *made, "-keyout", key, "-out", certificate]
    subprocess.run(as_server_user(*command), check=True, capture_output=True, cwd="/")
    server.sql("ALTER SYSTEM SET ssl = on; SELECT pg_reload_conf()")
    ours = tmp_path / "ours.crt"
    ours.write_bytes(certificate.read_bytes())
    for query in ("?sslmode=require", f"?sslmode=verify-ca&sslrootcert={ours}"):
        async with opened(server.url_of(query=query)) as store:
            one = chunk(*ODD, *[secrets.token_bytes(2000)] * 100)
            await store.put(one)
            server.restart()
            assert await store.get([one.id]) == {one.id: one.records}
    for query in ("?sslmode=verify-full&sslrootcert=/nowhere", "?sslrootcert=system"):
        line = await refused(server.url_of(query=query))
        assert "is not trusted (" in line
    line = await refused(server.url_of(query=f"?sslmode=verify-full&sslrootcert={ours}"))
    assert "is not trusted (server certificate for" in line


async def test_a_user_without_rights_is_refused() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE USER {name} PASSWORD '{PASSWORD}'")
    server.sql(f"CREATE DATABASE {name}")
    url = server.url_of(user=name, database=name)
    line = await refused(url)
    assert "does not let this user make and use tables (permission denied for schema" in line
    assert "GRANT CREATE" in line
    async with opened(server.url_of(database=name)):
        pass
    server.sql(f"GRANT SELECT ON skitter_cold, skitter_cold_spaces TO {name}", name)
    assert "has tables that this user may not use; GRANT" in await refused(url)
    server.sql(f"GRANT ALL ON skitter_cold, skitter_cold_spaces TO {name}", name)
    async with opened(url) as store:
        await store.put(chunk(b"a"))


async def test_a_standby_is_refused(server: PostgresServer) -> None:
    async with opened(server.url):
        pass
    server.stop()
    (server.data / "standby.signal").touch()
    server.start()
    assert "is read-only, a standby perhaps; name the server that" in await refused(server.url)
    both = server.url.replace(f"@{HOST}", f"@{HOST}:{free_port()},{HOST}")
    assert "is read-only" in await refused(both)


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


async def test_of_several_servers_the_one_that_answers_is_used() -> None:
    server = shared_postgres()
    url = server.url.replace(f"@{HOST}", f"@{HOST}:{free_port()},{HOST}")
    async with opened(url, new_space()) as store:
        await store.put(chunk(b"a"))


@asynccontextmanager
async def saying(answer: bytes) -> AsyncIterator[str]:
    """Serve what is not PostgreSQL."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65_536)
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(talk, HOST, 0) as server:
        yield f"postgresql://ann:secret@{HOST}:{server.sockets[0].getsockname()[1]}/cold"


@pytest.mark.parametrize("query", ["", "?sslmode=disable"])
async def test_what_is_not_postgresql_is_refused(query: str) -> None:
    async with saying(b"HTTP/1.1 400 Bad Request\r\n\r\n") as url:
        line = await refused(url + query, secret="secret")
    assert "does not speak PostgreSQL's language; check host and port" in line
    async with saying(b"") as url:
        line = await refused(url + query, secret="secret")
    assert "does not answer (the connection broke off);" in line


async def test_a_server_that_says_nothing_is_refused() -> None:
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://ann:secret@{HOST}:{port}/cold?connect_timeout=2"
        began = time.monotonic()
        line = await refused(url, secret="secret")
        assert "does not answer (silent for too long);" in line
        assert time.monotonic() - began < 4


async def test_another_version_is_refused() -> None:
    space = new_space()
    async with opened(shared_postgres().url, space):
        pass
    shared_postgres().sql(
        f"UPDATE skitter_cold_spaces SET version = {FORMAT + 1} WHERE space = '{space}'"
    )
    line = await refused(shared_postgres().url, space)
    assert f"has chunks of version {FORMAT + 1} in space {space!r}, and this Skitter" in line


async def test_tables_of_others_are_refused() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    server.sql("CREATE TABLE skitter_cold (a int); CREATE TABLE skitter_cold_spaces (a int)", name)
    line = await refused(server.url_of(database=name))
    assert "has lost Skitter's tables, or has others under their names;" in line


async def test_a_missing_client_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.partition(".")[0] == "psycopg" or name.startswith("skitter.frontier.cold."):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    line = await refused("postgresql://ann:secret@host/cold", secret="secret")
    assert line.endswith("is missing; pip install 'skitter[postgres]'")


async def test_a_server_that_does_not_sync_is_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(shared_postgres().url, new_space()):
        pass
    assert caplog.records == []
    with start_postgres(tmp_path, {"fsync": "off"}) as server:
        async with opened(server.url):
            pass
    [warning] = caplog.records
    assert warning.levelno == logging.WARNING
    assert "(fsync is off)" in warning.getMessage()
    assert PASSWORD not in warning.getMessage()


def test_no_url_is_taken_that_is_none() -> None:
    for url in ("redis://host/", "cold.db", "postgresql://ann:secret@host"):
        with pytest.raises(ConfigError, match="cold store"):
            PostgresStore(url, "skitter")
