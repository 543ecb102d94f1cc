"""An app on a port of its own, and those who are told its events: listeners, a webhook."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from aiohttp import web
from fastapi import FastAPI

Event = dict[str, Any]


@asynccontextmanager
async def on_a_port(app: FastAPI) -> AsyncIterator[int]:
    """Serve an app whose lifespan has begun already."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        server.config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup([listening])
        try:
            yield listening.getsockname()[1]
        finally:
            app.state.herald.hub.close()
            await server.shutdown([listening])


@dataclass(slots=True)
class Listening:
    """One connection to the events of a service."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    status: int
    headers: dict[str, str]
    heard: list[Event] = field(default_factory=list)

    @property
    def last_id(self) -> str:
        """The id of the last event, as the messages say it."""
        return str(self.heard[-1]["id"]) if self.heard else ""

    @property
    def known(self) -> int:
        """How many events were heard of, those left out included."""
        return sum(1 + event.get("dropped", 0) for event in self.heard)

    async def next(self) -> Event:
        """Return the next event; raises ``EOFError`` at the end."""
        event_id = ""
        async for line in self._lines():
            name, _, value = line.partition(": ")
            if name == "id":
                event_id = value
            elif name == "data":
                event: Event = json.loads(value)
                assert event["id"] == event_id
                self.heard.append(event)
                return event
        raise EOFError

    async def until(self, known: int, seconds: float = 60.0) -> None:
        """Listen until so many events are known of."""
        async with asyncio.timeout(seconds):
            while self.known < known:
                await self.next()

    async def _lines(self) -> AsyncIterator[str]:
        """Yield lines of the body; chunks are whole messages, so their frames are lines, too."""
        while (line := await self.reader.readline()) not in {b"", b"0\r\n"}:
            yield line.decode().rstrip("\r\n")


@asynccontextmanager
async def listening(
    port: int, token: str, query: str = "", headers: Mapping[str, str] | None = None
) -> AsyncIterator[Listening]:
    """Listen to the events of the service on a port."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        given = {"Host": "skitter", "Authorization": f"Bearer {token}", **(headers or {})}
        lines = [f"GET /v1/events{query} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items())]
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
        said = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        yield Listening(reader, writer, int(head[0].split()[1]), said)
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


class Ears:
    """Somebody who listens, over all breaks."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.heard: list[Event] = []
        self.broken = 0

    async def listen(self, until: int) -> None:
        """Listen until so many events are known of; come back after every break."""
        while self.known < until:
            last = {"Last-Event-ID": str(self.heard[-1]["id"])} if self.heard else {}
            try:
                async with listening(self.port, self.token, headers=last) as ears:
                    if ears.status != 200:
                        raise ConnectionError(ears.status)
                    while self.known < until:
                        self.heard.append(await ears.next())
            except (OSError, EOFError):
                self.broken += 1
                await asyncio.sleep(0.05)

    @property
    def known(self) -> int:
        return sum(1 + event.get("dropped", 0) for event in self.heard)

    def check(self) -> None:
        """Every event is told or counted: those of this store have numbers without a gap."""
        ids = [int(event["id"]) for event in self.heard]
        for before, event in zip(ids, self.heard[1:], strict=False):
            assert int(event["id"]) == before + 1 + event.get("dropped", 0)


class Receiver:
    """Keeps all events it was sent."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.url = ""

    @property
    def ids(self) -> list[int]:
        """The ids of all events, in the order they came, as the embedded store numbers them."""
        return [int(event["id"]) for event in self.events]

    async def take(self, request: web.Request) -> web.Response:
        self.events += (await request.json())["events"]
        return web.Response()


@asynccontextmanager
async def a_receiver() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_post("/", receiver.take)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        yield receiver
    finally:
        await runner.cleanup()
