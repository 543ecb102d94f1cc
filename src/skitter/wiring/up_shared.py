"""``skitter up`` on a store that many share: a node of it, and a service of its own."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from skitter.crawl.load import raise_file_limit
from skitter.errors import ConfigError
from skitter.frontier.remote.shell import listen_tcp
from skitter.observability.stats import CrawlStats
from skitter.wiring.manager import NodeRun, open_node
from skitter.wiring.node_options import NodeOptions
from skitter.wiring.service_process import ServiceProcess, start_service
from skitter.wiring.tokens import Token, admin_token
from skitter.wiring.up import UpOptions, service_options


class SharedUp:
    """The workers of this machine, and the process that serves people."""

    def __init__(self, node: NodeRun, service: ServiceProcess, port: int, token: Token) -> None:
        self.port = port
        self.token = token.file
        """Where the token is, if it was not given."""
        self.made_token = token.value if token.is_new else ""
        self._node = node
        self._service = service

    @property
    def stats(self) -> CrawlStats:
        """The counters of this machine."""
        return self._node.stats

    async def until_served(self) -> None:
        """Return when people are served."""
        await self._service.until_ready()

    async def run(self) -> str:
        """Work and serve until stopped."""
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(self._service.run())
            ended = await self._node.run()
            await self._service.stop()
            serving.cancel()
        return ended

    def stop(self) -> None:
        """Let the workers finish their requests."""
        self._node.stop()

    def abort(self) -> None:
        """End everything at once."""
        self._node.abort()
        self._service.kill()


@asynccontextmanager
async def open_shared_up(options: UpOptions, node: NodeOptions) -> AsyncIterator[SharedUp]:
    """Join a store with the workers of this machine, and serve people beside them."""
    raise_file_limit()
    if node.store is None:
        raise ConfigError("skitter up joins a store; for a master elsewhere there is: skitter node")
    async with AsyncExitStack() as stack:
        node.data.mkdir(parents=True, exist_ok=True)
        token = admin_token(options.token, node.data)
        listening = listen_tcp(options.host, options.port)
        stack.callback(listening.close)
        told = msgspec.structs.replace(
            service_options(options, token.value),
            data=str(node.data),
            store=node.store,
            cold=node.cold,
            index=node.index,
        )
        service = start_service(stack, told, listening, options.child)
        # The token is for people; members of a store need none.
        run = await stack.enter_async_context(open_node(dataclasses.replace(node, token="")))
        service.begin()
        yield SharedUp(run, service, listening.getsockname()[1], token)
