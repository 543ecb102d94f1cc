"""Worker processes of this machine: as a node's members, or as the helpers of one crawl."""

import os
from contextlib import AsyncExitStack

from skitter.cluster.crew import Crew, worker_command
from skitter.config import RunOptions, env_name
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.wiring.node import NodeOptions
from skitter.wiring.store import Store

SOCKET = "frontier.sock"
PROGRAM_WORDS = len(worker_command())
"""How many words of a worker's command line are the program itself."""


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


def node_crew(options: NodeOptions) -> Crew:
    """Return the workers of a machine, not yet started."""
    return Crew(options.workers, lambda index: words_of(options, index), environment(options))


def words_of(options: NodeOptions, index: int) -> list[str]:
    """Return the command line of a worker that works in place ``index``."""
    args = ["node", "--index", str(index), "--concurrency", str(options.concurrency)]
    args += ["--data", str(options.data)]
    if options.control is not None:
        args += ["--control", options.control]
    if options.name:
        args += ["--name", options.name]
    if options.idle_exit is not None:
        args += ["--idle-exit", str(options.idle_exit)]
    if options.egress:
        args += ["--egress", options.egress]
    if options.hosts is not None:
        args += ["--hosts", str(options.hosts)]
    if options.store is not None:
        args += ["--picker", options.picker]
    args += ["--allow-private"] if options.allow_private else []
    args += ["--fast"] if options.fast else []
    return worker_command(*args)


def environment(options: NodeOptions) -> dict[str, str]:
    """Hand over what must not be seen in a list of processes."""
    env = {**os.environ}
    given = {
        "store": options.store,
        "cold": options.cold,
        "token": options.token,
        "control": None,
    }
    for name, value in given.items():
        env.pop(env_name(name), None)
        if value:
            env[env_name(name)] = value
    return env
