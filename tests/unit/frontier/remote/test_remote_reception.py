"""Who is asked for at a master's address: its own server, or somebody else."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from skitter.frontier.remote.door import Door
from skitter.frontier.remote.reception import OWN, Reception


class Own(asyncio.Protocol):
    """Answers in this process, and tells what came."""

    def __init__(self, came: "asyncio.Queue[bytes]") -> None:
        self._came = came

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._came.put_nowait(data)


class Hall:
    """A reception, and what came of those who were received."""

    def __init__(self, patience_s: float = 60.0, most: int = 256) -> None:
        self.own: asyncio.Queue[bytes] = asyncio.Queue()
        self.passed: asyncio.Queue[socket.socket] = asyncio.Queue()
        listening = socket.create_server(("127.0.0.1", 0))
        listening.setblocking(False)
        self.port = listening.getsockname()[1]
        door = Door(lambda: Own(self.own))
        self.reception = Reception(
            listening, door, self.passed.put_nowait, patience_s=patience_s, most=most
        )

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


@asynccontextmanager
async def hall(patience_s: float = 60.0, most: int = 256) -> AsyncIterator[Hall]:
    made = Hall(patience_s, most)
    made.reception.open()
    try:
        yield made
    finally:
        made.reception.close()
        while not made.passed.empty():
            made.passed.get_nowait().close()


async def test_calls_of_nodes_stay_here_with_every_byte() -> None:
    async with hall() as here:
        _, writer = await here.connect()
        writer.write(OWN + b"beat HTTP/1.1\r\n")
        assert await asyncio.wait_for(here.own.get(), 30) == OWN + b"beat HTTP/1.1\r\n"
        assert here.passed.empty()
        writer.close()


@pytest.mark.parametrize(
    "request_", [b"GET /v1/frontier/x HTTP/1.1\r\n", b"POST /v1/fron", b"P", b"\x16\x03\x01"]
)
async def test_everything_else_is_passed_on_unread(request_: bytes) -> None:
    async with hall() as here:
        _, writer = await here.connect()
        # What may still become a call of a node is waited for.
        writer.write(request_)
        if OWN.startswith(request_):
            await asyncio.sleep(0.05)
            assert here.passed.empty()
            writer.write(b"!")
            request_ += b"!"
        passed = await asyncio.wait_for(here.passed.get(), 30)
        passed.setblocking(True)
        assert passed.recv(100) == request_
        passed.close()
        writer.close()


async def test_a_call_that_comes_byte_by_byte_is_known_in_the_end() -> None:
    async with hall() as here:
        _, writer = await here.connect()
        for byte in OWN:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert (await asyncio.wait_for(here.own.get(), 30)).startswith(OWN)
        writer.close()


async def test_who_says_nothing_is_hung_up_on() -> None:
    async with hall(patience_s=0.1) as here:
        reader, writer = await here.connect()
        assert await asyncio.wait_for(reader.read(), 30) == b""
        assert here.reception.waiting == 0
        writer.close()


async def test_the_oldest_who_says_nothing_makes_room() -> None:
    async with hall(most=2) as here:
        ends = [await here.connect() for _ in range(3)]
        assert await asyncio.wait_for(ends[0][0].read(), 30) == b""
        assert here.reception.waiting == 2
        for _, writer in ends:
            writer.close()


async def test_who_leaves_is_forgotten() -> None:
    async with hall() as here:
        _, writer = await here.connect()
        writer.close()
        await writer.wait_closed()
        async with asyncio.timeout(30):
            while here.reception.waiting:
                await asyncio.sleep(0.01)
        assert here.passed.empty()
