"""TLS: certificates are verified unless the operator's own context says otherwise."""

import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from fetch_servers import RawServer, on_each_loop, raw_server

from skitter.errors import TlsError
from skitter.fetch.base import Request
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher, verified_tls


@dataclass(frozen=True)
class Certificate:
    path: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path, self.key)
        return context


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    """A certificate for good.test that nobody has signed but itself."""
    folder = tmp_path_factory.mktemp("tls")
    made = Certificate(folder / "cert.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=good.test"]
    command += ["-addext", "subjectAltName=DNS:good.test"]
    command += ["-out", str(made.path), "-keyout", str(made.key)]
    subprocess.run(command, check=True, capture_output=True)
    return made


@asynccontextmanager
async def served(
    certificate: Certificate, tls: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[RawServer, HttpFetcher]]:
    hosts = HostsTable.parse("127.0.0.1 *.test")
    fetcher = HttpFetcher(resolver=Resolver(AddressGuard(), hosts=hosts), tls=tls)
    async with raw_server({}, certificate.server_context()) as server:
        try:
            yield server, fetcher
        finally:
            await fetcher.close()


@on_each_loop
async def test_a_certificate_nobody_vouches_for_is_a_tls_error(certificate: Certificate) -> None:
    async with served(certificate) as (server, fetcher):
        with pytest.raises(TlsError, match="self-signed"):
            await fetcher.fetch(Request(url=server.url("/", "good.test")))
        assert not server.heads


@on_each_loop
async def test_a_trusted_certificate_for_another_name_is_a_tls_error(
    certificate: Certificate,
) -> None:
    trusting = verified_tls()
    trusting.load_verify_locations(certificate.path)
    async with served(certificate, trusting) as (server, fetcher):
        with pytest.raises(TlsError, match="ostname mismatch"):
            await fetcher.fetch(Request(url=server.url("/", "other.test")))
        assert not server.heads


@on_each_loop
async def test_pages_come_over_tls_and_the_connection_is_used_again(
    certificate: Certificate,
) -> None:
    trusting = verified_tls()
    trusting.load_verify_locations(certificate.path)
    async with served(certificate, trusting) as (server, fetcher):
        for path in ("/a", "/b"):
            response = await fetcher.fetch(Request(url=server.url(path, "good.test")))
            assert response.body == f"<p>page {path}</p>".encode()
        assert server.connections == 1
