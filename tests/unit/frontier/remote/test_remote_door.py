"""Who may stay connected to a master without having shown its token."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell
from skitter.frontier.remote.wire import PATH, SESSION_HEADER, VERBS, Call
from skitter.testing.virtual_clock import VirtualClock

TOKEN = "open-sesame"
HELLO = VERBS["hello"].write_call(Call(0, 0, ("child", 1)), 0.0)
STRANGER_S = 1.0
"""What the patience of these tests is; a slow machine may take longer to act on it."""
SLACK_S = 30.0


def head(token: str = "", length: int = 0, more: str = "") -> bytes:
    guard = f"Authorization: Bearer {token}\r\n" if token else ""
    return (
        f"POST {PATH}hello HTTP/1.1\r\nHost: h\r\n{SESSION_HEADER}: key\r\n{guard}{more}"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@asynccontextmanager
async def serving(tmp_path: Path, most: int = 256) -> AsyncIterator[RemoteShell]:
    clock = VirtualClock()
    store = EmbeddedFrontier(tmp_path / "store", clock=clock, durable=False)
    await store.open()
    core = RemoteServer(store, secret=store.secret, clock=clock, token=TOKEN)
    shell = RemoteShell(core, tcp=("127.0.0.1", 0), stranger_s=STRANGER_S, most_strangers=most)
    await shell.open()
    try:
        yield shell
    finally:
        await shell.close()
        await store.close()


class Caller:
    """A connection that says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, words: bytes) -> None:
        self.writer.write(words)
        await self.writer.drain()

    async def drip(self, words: bytes) -> None:
        """Say it a byte at a time, for as long as someone listens."""
        for byte in words:
            try:
                await self.say(bytes([byte]))
            except ConnectionError:
                return
            await asyncio.sleep(0.05)

    async def hears_the_end(self, within_s: float = STRANGER_S + SLACK_S) -> float:
        """Return how long it took until the other side hung up."""
        began = time.monotonic()
        async with asyncio.timeout(within_s):
            with suppress(ConnectionError):
                while await self.reader.read(65_536):
                    pass
        return time.monotonic() - began

    async def answer(self) -> bytes:
        async with asyncio.timeout(30):
            said = await self.reader.readuntil(b"\r\n\r\n")
            length = int(said.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            return said + await self.reader.readexactly(length)

    async def hang_up(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def calling(shell: RemoteShell) -> AsyncIterator[Caller]:
    caller = Caller(*await asyncio.open_connection("127.0.0.1", shell.port))
    try:
        yield caller
    finally:
        await caller.hang_up()


async def test_whoever_says_nothing_is_hung_up_on(tmp_path: Path) -> None:
    async with serving(tmp_path) as shell, calling(shell) as silent:
        assert await silent.hears_the_end() >= STRANGER_S / 2
        assert shell.strangers == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(head(TOKEN, len(HELLO)), id="head"),
        pytest.param(b"GET / HTTP/1.1\r\nX-A: " + b"a" * 4_000, id="endless-head"),
        pytest.param(b"\r\n" * 4_000, id="empty-lines"),
    ],
)
async def test_a_head_that_comes_a_byte_at_a_time_is_not_waited_for(
    tmp_path: Path, words: bytes
) -> None:
    async with serving(tmp_path) as shell, calling(shell) as slow:
        dripping = asyncio.create_task(slow.drip(words))
        await slow.hears_the_end()
        dripping.cancel()


@pytest.mark.parametrize("token", ["", "wrong"])
async def test_without_the_token_the_body_is_not_waited_for(tmp_path: Path, token: str) -> None:
    async with serving(tmp_path) as shell, calling(shell) as slow:
        await slow.say(head(token, 1_000_000))
        assert (await slow.answer()).startswith(b"HTTP/1.1 401")
        dripping = asyncio.create_task(slow.drip(b"x" * 1_000))
        await slow.hears_the_end()
        dripping.cancel()


@pytest.mark.parametrize(("token", "status"), [("", b"401"), ("wrong", b"401"), (TOKEN, b"100")])
async def test_a_body_is_asked_for_when_the_token_is_right(
    tmp_path: Path, token: str, status: bytes
) -> None:
    async with serving(tmp_path) as shell, calling(shell) as announcing:
        await announcing.say(head(token, len(HELLO), "Expect: 100-continue\r\n"))
        async with asyncio.timeout(30):
            said = await announcing.reader.readuntil(b"\r\n\r\n")
        assert said.startswith(b"HTTP/1.1 " + status)
        if token == TOKEN:
            await announcing.say(HELLO)
            assert (await announcing.answer()).startswith(b"HTTP/1.1 200")


async def test_a_slow_body_with_the_token_is_read_to_its_end(tmp_path: Path) -> None:
    async with serving(tmp_path) as shell, calling(shell) as child:
        await child.say(head(TOKEN, len(HELLO)))
        for half in (HELLO[:5], HELLO[5:]):
            await asyncio.sleep(STRANGER_S * 1.5)
            await child.say(half)
        assert (await child.answer()).startswith(b"HTTP/1.1 200")


async def test_a_connection_that_was_used_is_kept_and_has_to_show_the_token_again(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as shell, calling(shell) as child:
        for _ in range(2):
            await child.say(head(TOKEN, len(HELLO)) + HELLO)
            assert (await child.answer()).startswith(b"HTTP/1.1 200")
            assert shell.strangers == 0
            await asyncio.sleep(STRANGER_S * 1.5)
        dripping = asyncio.create_task(child.drip(head(TOKEN, 0) * 3))
        await child.hears_the_end()
        dripping.cancel()


async def test_strangers_are_bounded_and_do_not_keep_children_out(tmp_path: Path) -> None:
    async with serving(tmp_path, most=4) as shell:
        callers = [
            Caller(*await asyncio.open_connection("127.0.0.1", shell.port)) for _ in range(40)
        ]
        await asyncio.sleep(0.05)
        assert shell.strangers <= 4
        child = RemoteFrontier(f"http://127.0.0.1:{shell.port}", TOKEN, name="child")
        await child.open()
        assert await child.jobs() == {}
        await child.close()
        for caller in callers:
            await caller.hears_the_end()
            await caller.hang_up()
