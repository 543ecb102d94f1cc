"""A server and a fetcher that may reach it, for tests on real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from fetch_servers import RawServer, Script, Talk, raw_server

from skitter.fetch.base import FetchLimits, Request, Response
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher
from skitter.fetch.pool import PoolOptions

SMALL = FetchLimits(
    connect_s=30, first_byte_s=30, total_s=1.0, header_bytes=2000, body_bytes=10_000
)
"""Little time in all, and enough for each part: which limit is reached depends on no machine."""
QUICK_ANSWER = replace(SMALL, first_byte_s=0.3, total_s=60)
QUICK_CONNECT = replace(SMALL, connect_s=0.3, total_s=60)
GENEROUS = FetchLimits(header_bytes=2000, body_bytes=10_000)
PRIVATE = AddressGuard(allow_private=True)
TICK = PoolOptions(tick_s=0.02)


@asynccontextmanager
async def fetching(
    scripts: dict[str, Script] | Script,
    limits: FetchLimits = GENEROUS,
    **options: Any,
) -> AsyncIterator[tuple[RawServer, HttpFetcher]]:
    """Run a server and a fetcher that may reach it."""
    table = scripts if isinstance(scripts, dict) else {"/": scripts}
    options.setdefault("resolver", Resolver(PRIVATE, hosts=HostsTable.parse("127.0.0.1 *.test")))
    options.setdefault("pool", TICK)
    async with raw_server(table) as server:
        fetcher = HttpFetcher(limits, **options)
        try:
            yield server, fetcher
        finally:
            await fetcher.close()


async def get(script: Script, caps: FetchLimits = GENEROUS, **request: Any) -> Response:
    """Fetch "/" from a server that runs ``script``."""
    async with fetching(script, caps) as (server, fetcher):
        return await fetcher.fetch(Request(url=server.url(), **request))


async def hang(talk: Talk) -> None:
    await talk.until_closed()


def trickle(start: bytes, drop: bytes) -> Script:
    async def script(talk: Talk) -> None:
        await talk.send(start)
        while not talk.reader.at_eof():
            await talk.send(drop)
            await asyncio.sleep(0.02)

    return script


def flood(start: bytes, piece: bytes) -> Script:
    async def script(talk: Talk) -> None:
        await talk.send(start)
        while True:
            await talk.send(piece)

    return script


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n"
