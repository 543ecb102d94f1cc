"""The HTTP server around the core."""

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from skitter.errors import ConfigError
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.remote import shell as shell_module
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell
from skitter.frontier.remote.wire import PATH, SESSION_HEADER, VERBS, Call
from skitter.testing.virtual_clock import VirtualClock

TOKEN = "open-sesame"
LOCAL = ("127.0.0.1", 0)
HELLO = VERBS["hello"].write_call(Call(0, 0, ("child", 1)), 0.0)


@pytest.fixture
async def core(tmp_path: Path) -> AsyncIterator[RemoteServer]:
    clock = VirtualClock()
    store = EmbeddedFrontier(tmp_path / "store", clock=clock, durable=False)
    await store.open()
    yield RemoteServer(store, secret=store.secret, clock=clock, token=TOKEN)
    await store.close()


@asynccontextmanager
async def serving(shell: RemoteShell) -> AsyncIterator[RemoteShell]:
    await shell.open()
    try:
        yield shell
    finally:
        await shell.close()


async def post(
    shell: RemoteShell, body: bytes, *, path: str = PATH + "hello", **headers: str
) -> tuple[int, bytes]:
    url = f"http://127.0.0.1:{shell.port}{path}"
    async with (
        aiohttp.ClientSession(headers={SESSION_HEADER: "key", **headers}) as http,
        http.post(url, data=body) as response,
    ):
        return response.status, await response.read()


async def test_the_right_token_is_let_in(core: RemoteServer) -> None:
    async with serving(RemoteShell(core, tcp=LOCAL)) as shell:
        status, answer = await post(shell, HELLO, Authorization=f"Bearer {TOKEN}")
    assert status == 200
    assert VERBS["hello"].read_answer(answer, 0.0).silence_ms == 5_000


@pytest.mark.parametrize(
    "header",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": TOKEN},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer schlüssel"},
    ],
)
async def test_anything_else_is_refused_in_the_words_of_the_api(
    core: RemoteServer, header: dict[str, str]
) -> None:
    async with serving(RemoteShell(core, tcp=LOCAL)) as shell:
        status, answer = await post(shell, HELLO, **header)
    assert status == 401
    assert json.loads(answer) == {
        "error": {
            "code": "unauthorized",
            "message": "the token is missing or wrong",
            "field": "Authorization",
        }
    }
    assert core.sessions() == []


async def test_a_body_beyond_the_limit_is_refused(
    core: RemoteServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_module, "MAX_BODY_BYTES", 1_000)
    async with serving(RemoteShell(core, tcp=LOCAL)) as shell:
        status, answer = await post(shell, b"x" * 2_000, Authorization=f"Bearer {TOKEN}")
        assert status == 413
        assert json.loads(answer)["error"]["code"] == "too_large"
        assert (await post(shell, HELLO, Authorization=f"Bearer {TOKEN}"))[0] == 200


async def test_other_paths_are_not_found(core: RemoteServer) -> None:
    async with serving(RemoteShell(core, tcp=LOCAL)) as shell:
        assert (await post(shell, b"", path="/v1/other"))[0] == 404


async def test_a_local_socket_is_for_its_user_alone_and_needs_no_token(
    core: RemoteServer, tmp_path: Path
) -> None:
    path = tmp_path / "master.sock"
    async with serving(RemoteShell(core, socket_path=path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        child = RemoteFrontier(path, name="child")
        await child.open()
        assert await child.jobs() == {}
        await child.close()
    assert not path.exists()


async def test_both_ways_at_once_lead_to_the_same_store(core: RemoteServer, tmp_path: Path) -> None:
    path = tmp_path / "master.sock"
    async with serving(RemoteShell(core, tcp=LOCAL, socket_path=path)) as shell:
        near = RemoteFrontier(path, name="near")
        far = RemoteFrontier(f"http://127.0.0.1:{shell.port}", TOKEN, name="far")
        for child in (near, far):
            await child.open()
        assert sorted(facts.name for facts in core.sessions()) == ["far", "near"]
        assert near.secret == far.secret
        for child in (near, far):
            await child.close()


async def test_a_long_path_works_on_both_sides(core: RemoteServer, tmp_path: Path) -> None:
    path = tmp_path / ("d" * 120) / "master.sock"
    path.parent.mkdir()
    async with serving(RemoteShell(core, socket_path=path)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        child = RemoteFrontier(path, name="child")
        await child.open()
        assert await child.jobs() == {}
        await child.close()


async def test_the_socket_of_a_dead_process_is_taken_over(
    core: RemoteServer, tmp_path: Path
) -> None:
    path = tmp_path / "master.sock"
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(path))
    async with serving(RemoteShell(core, socket_path=path)):
        child = RemoteFrontier(path, name="child")
        await child.open()
        await child.close()


async def test_the_socket_of_a_living_process_is_left_alone(
    core: RemoteServer, tmp_path: Path
) -> None:
    path = tmp_path / "master.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with pytest.raises(ConfigError, match="another process answers there"):
            await RemoteShell(core, socket_path=path).open()
    assert path.exists()


async def test_an_address_in_use_is_named(core: RemoteServer) -> None:
    with socket.socket() as other:
        other.bind(LOCAL)
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: Address already in use"):
            await RemoteShell(core, tcp=("127.0.0.1", port)).open()


async def test_a_place_that_is_not_there_is_named(core: RemoteServer, tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "master.sock"
    with pytest.raises(ConfigError, match=r"master\.sock: No such file or directory"):
        await RemoteShell(core, socket_path=path).open()


def test_a_master_on_the_network_without_a_token_does_not_start(tmp_path: Path) -> None:
    open_to_all = RemoteServer(
        EmbeddedFrontier(tmp_path), secret=b"", clock=VirtualClock(), token=""
    )
    with pytest.raises(ConfigError, match="needs a token"):
        RemoteShell(open_to_all, tcp=LOCAL)
    with pytest.raises(ConfigError, match="an address or a socket"):
        RemoteShell(open_to_all)


async def test_closing_twice_and_hanging_up_on_idle_connections_is_quick(
    core: RemoteServer,
) -> None:
    shell = RemoteShell(core, tcp=LOCAL)
    await shell.open()
    reader, writer = await asyncio.open_connection("127.0.0.1", shell.port)
    async with asyncio.timeout(20):
        await shell.close()
        await shell.close()
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
