"""What is refused when a cold store is opened: one line each, with what to do and no password."""

import asyncio
import logging
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cold_rig import ODD, chunk, new_space, opened, whole
from postgres import (
    OWNER,
    PASSWORD,
    PostgresServer,
    as_server_user,
    shared_postgres,
    start_postgres,
)
from stores import HOST, free_port

from skitter.database import connection
from skitter.errors import ConfigError, SkitterError, StoreUnavailable
from skitter.frontier.cold.packing import FORMAT
from skitter.frontier.cold.postgres import PostgresStore


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresServer]:
    """A server of one's own."""
    with start_postgres(tmp_path) as server:
        yield server


async def refused(
    url: str,
    space: str = "skitter",
    secret: str = PASSWORD,
    kind: type[SkitterError] = ConfigError,
) -> str:
    """Open a store that must be refused; return the line that is said."""
    store = PostgresStore(url, space)
    with pytest.raises(kind) as raised:
        await store.open()
    line = str(raised.value)
    assert line.startswith("cold store")
    assert "\n" not in line
    assert ";" in line, "a line says what is wrong; and what to do"
    assert secret not in whole(raised.value) + repr(store)
    return line


async def away(url: str) -> str:
    """The same of a fault that is none of the configuration: who comes later may be let in."""
    return await refused(url, secret="secret", kind=StoreUnavailable)


async def test_a_server_that_does_not_answer_is_asked_again_later() -> None:
    port = free_port()
    line = await away(f"postgresql://ann:secret@{HOST}:{port}/cold")
    assert line == (
        f"cold store postgresql://ann@{HOST}:{port}/cold does not answer (connection refused);"
        " start PostgreSQL there or check the address"
    )
    line = await away("postgresql://ann:secret@no.such.name.invalid/cold")
    assert "does not answer (the name is not known);" in line
    line = await away("postgresql:///cold?host=/nowhere&password=secret")
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
    certificate = server.data / "server.crt"
    made = ["-x509", "-nodes", "-newkey", "rsa:2048", "-days", "2", "-subj", "/CN=cold.test"]
    files = ["-keyout", str(server.data / "server.key"), "-out", str(certificate)]
    command = as_server_user("openssl", "req", *made, *files)
    subprocess.run(command, check=True, capture_output=True, cwd="/")
    server.options["ssl"] = "on"
    server.restart()
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
        line = await away(url + query)
    assert "does not answer (the connection broke off);" in line


async def test_a_server_that_says_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What the URL says is to be kept, not what is usual.
    monkeypatch.setitem(connection._SETTINGS, "connect_timeout", "60")
    monkeypatch.setattr(connection, "CONNECT_S", 60.0)
    with socket.create_server((HOST, 0)) as silent:
        port = silent.getsockname()[1]
        url = f"postgresql://ann:secret@{HOST}:{port}/cold?connect_timeout=2"
        began = time.monotonic()
        line = await away(url)
        assert "does not answer (silent for too long);" in line
        assert time.monotonic() - began < 30


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
    for name in (
        "frontier.cold.schema",
        "database.spaces",
        "database.connection",
        "database.faults",
    ):
        monkeypatch.delitem(sys.modules, f"skitter.{name}", raising=False)
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
