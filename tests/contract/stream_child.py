"""Streams a large body in a process of its own and prints by how much that has grown.

The server is another process still, so that only the fetching counts.
"""

import asyncio
import gzip
import json
import multiprocessing
import os
import resource
import socket
import sys
import zlib
from collections.abc import Callable
from multiprocessing.connection import Connection

import brotli
from backports import zstd

from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.http import HttpFetcher

BLOCK = os.urandom(512) * 1953 + bytes(64)
BLOCKS = 50
CODERS: dict[str, Callable[[bytes], bytes]] = {
    "identity": bytes,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "zstd": zstd.compress,
}


def serve(coding: str, told: Connection) -> None:
    """Answer two requests: a short one to warm up, and the long one."""
    listener = socket.create_server(("127.0.0.1", 0))
    told.send(listener.getsockname()[1])
    for blocks in (1, BLOCKS):
        body = CODERS[coding](BLOCK * blocks)
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Encoding: {coding}\r\n"
        peer, _ = listener.accept()
        with peer:
            peer.recv(65536)
            peer.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


async def fetch_twice(port: int) -> dict[str, int]:
    """Return how many bytes came and by how many KiB the second fetch made this process grow."""
    count = 0

    def take(piece: bytes) -> None:
        nonlocal count
        count += len(piece)

    limits = FetchLimits(body_bytes=60_000_000)
    fetcher = HttpFetcher(limits, resolver=Resolver(AddressGuard(allow_private=True)))
    url = f"http://127.0.0.1:{port}/"
    await fetcher.fetch(Request(url=url, stream=take, headers={"Connection": "close"}))
    count = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await fetcher.fetch(Request(url=url, stream=take, headers={"Connection": "close"}))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await fetcher.close()
    return {"bytes": count, "grown_kib": after - before}


def main() -> None:
    """Run server and fetcher."""
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=serve, args=(sys.argv[1], there), daemon=True)
    server.start()
    print(json.dumps(asyncio.run(fetch_twice(here.recv()))))
    server.join()


if __name__ == "__main__":
    main()
