"""Worker processes of this machine: as a node's members, or as the helpers of one crawl."""

from contextlib import AsyncExitStack

from skitter.cluster.crew import Crew
from skitter.config import RunOptions
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.wiring.node_options import NodeOptions
from skitter.wiring.store import Store
from skitter.wiring.worker_words import node_crew

SOCKET = "frontier.sock"


class Helpers:
    """Worker processes that help a crawl of this process."""

    def __init__(self, crew: Crew, quiet_s: float = 0.0) -> None:
        self._crew = crew
        self.quiet_s = quiet_s
        """How long workers of an earlier run may still be at work."""

    async def run(self) -> None:
        """Keep the workers going, until cancelled."""
        await self._crew.run()

    async def settle(self) -> None:
        """Let them finish their requests and bring what they have."""
        await self._crew.stop()


async def open_helpers(
    stack: AsyncExitStack, frontier: EmbeddedFrontier, store: Store, options: RunOptions
) -> Helpers:
    """Serve the store of this process to workers of its own, not yet started."""
    from skitter.frontier.remote.server import RemoteServer  # noqa: PLC0415  brings a web server
    from skitter.frontier.remote.shell import RemoteShell  # noqa: PLC0415

    path = options.data / SOCKET
    server = RemoteServer(frontier, secret=store.secret, clock=store.clock)
    server.guests = True
    shell = RemoteShell(server, socket_path=path)
    await shell.open()
    stack.push_async_callback(shell.close)
    node = NodeOptions(
        control=str(path.resolve()),
        workers=options.workers,
        name="worker",
        data=options.data / "workers",
        concurrency=options.concurrency,
        allow_private=options.allow_private,
        hosts=options.hosts,
        fast=options.fast,
    )
    crew = node_crew(node)
    stack.callback(crew.kill)
    return Helpers(crew, server.quiet_left_s)
