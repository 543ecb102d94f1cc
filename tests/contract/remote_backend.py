"""A store behind a real socket, opened, restarted and crashed like any other back end.

The store is another back end's, in the same process and on the same virtual clock. Its master is
never silent long enough to give anybody up, and hands out at once after a restart: both are about
real time and have tests of their own.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.link import Patience
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell

if TYPE_CHECKING:
    from frontier_backends import Backend, Store

TOKEN = "a-token-for-tests"
HASTY = Patience(first_s=0.002, most_s=0.05)


class RemoteBackend:
    """The store of ``inner`` over a local socket.

    A restart leaves the client as it is: a child lives on when its master restarts. After a crash
    there is a new one, as if the whole machine had died.
    """

    def __init__(self, root: Path, inner: "Backend") -> None:
        self.clock = inner.clock
        self._socket = root / "master.sock"
        self._inner = inner
        self._shell: RemoteShell | None = None
        self._client: RemoteFrontier | None = None

    async def open(self) -> "Store":
        await self._serve(await self._inner.open())
        return await self._join()

    async def restart(self) -> "Store":
        await self._stop()
        await self._serve(await self._inner.restart())
        assert self._client is not None
        return self._client

    async def crash(self) -> "Store":
        await self._stop()
        await self._leave()
        await self._serve(await self._inner.crash())
        return await self._join()

    async def close(self) -> None:
        await self._leave()
        await self._stop()
        await self._inner.close()

    async def _serve(self, store: "Store") -> None:
        secret: bytes = getattr(store, "secret", b"")
        core = RemoteServer(
            store, secret=secret, clock=self.clock, token=TOKEN, silence_s=1e9, quiet_s=0.0
        )
        self._shell = self._make_shell(core)
        await self._shell.open()

    def _make_shell(self, core: RemoteServer) -> RemoteShell:
        return RemoteShell(core, socket_path=self._socket)

    def _make_client(self) -> RemoteFrontier:
        return RemoteFrontier(self._socket, name="member-1", clock=self.clock, patience=HASTY)

    async def _join(self) -> "Store":
        self._client = self._make_client()
        await self._client.open()
        return self._client

    async def _leave(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def _stop(self) -> None:
        if self._shell is not None:
            await self._shell.close()


class RemoteTcpBackend(RemoteBackend):
    """The same over TCP, with the token."""

    _port = 0

    def _make_shell(self, core: RemoteServer) -> RemoteShell:
        return RemoteShell(core, tcp=("127.0.0.1", self._port))

    async def _serve(self, store: "Store") -> None:
        await super()._serve(store)
        assert self._shell is not None
        self._port = self._shell.port

    def _make_client(self) -> RemoteFrontier:
        address = f"http://127.0.0.1:{self._port}"
        return RemoteFrontier(address, TOKEN, name="member-1", clock=self.clock, patience=HASTY)
