import asyncio
import json
import socket
from pathlib import Path

import aiohttp
import pytest

from skitter.demo.model import Target
from skitter.demo.server import DemoServer, Hit
from skitter.demo.truth import ground_truth
from skitter.errors import ConfigError


async def ask(server: DemoServer, site: str, path: str, **headers: str) -> tuple[int, bytes]:
    """Send one request on a connection of its own; the status is 0 where there is none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    host = server.web.host_key(site)
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{extra}Connection: close\r\n\r\n".encode()
    )
    try:
        data = await reader.read()
    finally:
        writer.close()
    words = data.split(b" ", 2)
    return (int(words[1]) if words[0] == b"HTTP/1.1" else 0), data


async def test_every_host_is_served_on_one_port() -> None:
    async with DemoServer() as server:
        for site, title in {"news": b"Courier", "shop": b"Dry Dock", "lab": b"cabinet"}.items():
            status, data = await ask(server, site, "/")
            assert status == 200
            assert title in data
        assert [hit.host for hit in server.log] == [
            server.web.host_key(site) for site in ("news", "shop", "lab")
        ]
    assert server.port not in {0, 80}


async def test_the_ledger_shows_requests_as_they_were_asked() -> None:
    async with DemoServer() as server:
        await ask(server, "news", "/?utm_source=x")
        await ask(server, "news", "/nothing")
        host = server.web.host_key("news")
        assert [hit[:3] for hit in server.log] == [
            (host, "/?utm_source=x", 200), (host, "/nothing", 404),
        ]  # fmt: skip
        server.forget()
        assert server.log == []


async def test_a_connection_serves_one_request_after_the_other() -> None:
    async with DemoServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        request = f"GET /robots.txt HTTP/1.1\r\nHost: {server.web.host_key('lab')}\r\n\r\n".encode()
        writer.write(request * 3)
        for _ in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
            assert b"Disallow: /private/" in await reader.readexactly(length)
        writer.close()
        assert len(server.log) == 3


async def test_every_normal_page_arrives_as_the_truth_says() -> None:
    async with DemoServer() as server:
        truth = ground_truth(server.web)
        connector = aiohttp.TCPConnector(limit=20)
        async with aiohttp.ClientSession(connector=connector) as session:
            for target, expected in truth.expected.items():
                if not expected.encodings or expected.end != target:
                    continue
                if target.site == "busy" or target.path.startswith(("/flaky/", "/broken/")):
                    continue
                url = f"http://127.0.0.1:{server.port}{target.path}"
                host = {"Host": server.web.host_key(target.site)}
                async with session.get(url, headers=host, allow_redirects=False) as response:
                    body = await response.read()
                    assert response.status == expected.status, target
                    assert body, target
        asked = [server.web.find(hit.host, hit.path) for hit in server.log]
        assert len(asked) == len(set(asked)) > 150


@pytest.mark.parametrize("path", ["/broken/close", "/broken/status-line"])
async def test_some_pages_end_without_a_status(path: str) -> None:
    async with DemoServer() as server:
        status, _ = await ask(server, "lab", path)
        assert status == 0
        assert server.log[-1].status == 0


async def test_a_reset_is_a_real_one() -> None:
    async with DemoServer() as server:
        with pytest.raises(ConnectionResetError):
            await ask(server, "lab", "/broken/reset")


async def test_a_promise_of_more_bytes_is_broken_by_closing() -> None:
    async with DemoServer() as server:
        _, data = await ask(server, "lab", "/broken/long-length")
        head, _, body = data.partition(b"\r\n\r\n")
        promised = int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
        assert len(body) < promised


async def test_a_passing_fault_passes_and_can_be_had_again() -> None:
    async with DemoServer() as server:
        statuses = [(await ask(server, "busy", "/crowded"))[0] for _ in range(3)]
        assert statuses == [429, 200, 200]
        server.forget()
        assert (await ask(server, "busy", "/crowded"))[0] == 429


async def test_a_page_is_not_sent_again_to_who_has_it() -> None:
    async with DemoServer() as server:
        _, data = await ask(server, "news", "/")
        tag = data.partition(b"ETag: ")[2].split(b"\r\n")[0].decode()
        status, again = await ask(server, "news", "/", If_None_Match=tag)
        assert status == 304
        assert again.endswith(b"\r\n\r\n")


async def test_an_unknown_host_gets_404() -> None:
    async with DemoServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: stranger.test\r\nConnection: close\r\n\r\n")
        assert b" 404 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize(
    "request_bytes", [b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"nonsense\r\n\r\n", b"\r\n\r\n"]
)
async def test_what_is_no_plain_request_is_turned_away(request_bytes: bytes) -> None:
    async with DemoServer() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request_bytes)
        assert (await reader.read()).startswith(b"HTTP/1.1 405 ")
        writer.close()


async def test_the_most_requests_under_way_at_once_are_counted_by_host() -> None:
    async with DemoServer() as server:
        await asyncio.gather(*(ask(server, "busy", "/trickle") for _ in range(3)))
        assert server.peak[server.web.host_key("busy")] == 3
        await ask(server, "news", "/")
        assert server.peak[server.web.host_key("news")] == 1


async def test_closing_does_not_wait_for_slow_clients() -> None:
    async with DemoServer() as server:
        waiting = asyncio.ensure_future(ask(server, "busy", "/trickle"))
        while not server.log:
            await asyncio.sleep(0)
    _, data = await waiting
    assert b"</html>" not in data


async def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=str(port)):
            async with DemoServer(port=port):
                pass


async def test_hits_are_written_to_a_ledger_file_too(tmp_path: Path) -> None:
    path = tmp_path / "hits"
    with path.open("a", buffering=1, encoding="utf-8") as ledger:
        async with DemoServer() as server:
            server.ledger = ledger
            await ask(server, "news", "/")
    assert [Hit(*json.loads(line)) for line in path.read_text().splitlines()] == server.log


async def test_the_home_page_is_where_everything_starts() -> None:
    async with DemoServer() as server:
        assert server.web.entry == f"http://www.demo.test:{server.port}/"
        assert server.web.home == Target("www", "/")
        assert f"127.0.0.1 {server.web.hosts['www']}\n" in server.hosts_file()
