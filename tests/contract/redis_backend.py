"""A frontier on a real server or Cluster, opened, restarted and crashed like any other back end."""

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import msgspec
import postgres
import stores

from skitter.frontier.base import OWNER_TTL_MS
from skitter.frontier.cold.postgres import PostgresStore
from skitter.frontier.model import Grant, JobEntry, SeenOptions
from skitter.frontier.pages.postgres import PostgresPages
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes
from skitter.frontier.redis.tails import Sizes
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import JobNumber
from skitter.url.partition import Partition


class Member(RedisFrontier):
    """A frontier with connections of its own that remembers what it owns."""

    known: ClassVar[SeenOptions | None] = None
    """How known URLs are remembered, unless as always."""

    def __init__(self, url: str, clock: VirtualClock) -> None:
        self.url = url
        self.nodes = Nodes(StoreAddress.parse(url))
        super().__init__(self.nodes, clock=clock, virtual=True, seen=self.known)
        self.granted: dict[int, Grant] = {}

    async def open(self) -> None:
        await self.nodes.open()
        await super().open()

    async def own(
        self, member: str, slots: Iterable[int], ttl_ms: int = OWNER_TTL_MS
    ) -> list[Grant]:
        grants = await super().own(member, slots, ttl_ms)
        self.granted |= {grant.slot: grant for grant in grants}
        return grants

    async def leave(self) -> None:
        """Go in good order."""
        await self.disown(self.granted.values())
        await self.vanish()

    async def vanish(self) -> None:
        """Go as a killed process does: nobody is told."""
        await self.close()
        await self.nodes.close()


class RedisBackend:
    """A namespace of its own on a server that all tests share."""

    shared = True
    member = Member

    def __init__(self, root: Path, clock: VirtualClock) -> None:
        del root
        self.clock = clock
        self._url = f"{self.server_url()}?namespace=t{secrets.token_hex(8)}"
        self._members: list[Member] = []

    def server_url(self) -> str:
        return stores.shared_redis().url

    async def open(self) -> Member:
        return await self.join()

    async def join(self) -> Member:
        """Open the same store once more, as another process would."""
        member = self.member(self._url, self.clock)
        await member.open()
        self._members.append(member)
        return member

    async def restart(self) -> Member:
        await self._members.pop(0).leave()
        return await self.open()

    async def crash(self) -> Member:
        await self._members.pop(0).vanish()
        return await self.open()

    async def close(self) -> None:
        for member in self._members:
            await member.vanish()


class WideMember(Member):
    """One whose jobs are not bound to the owner of a slot."""

    async def put_job(self, entry: JobEntry) -> JobNumber:
        if entry.id != "by host":
            entry = msgspec.structs.replace(entry, partition=Partition.URL)
        return await super().put_job(entry)


class WideBackend(RedisBackend):
    """The same with jobs whose URLs any member may have."""

    member = WideMember


class CompactMember(Member):
    """One that keeps half of each fingerprint."""

    known = SeenOptions("compact")


class CompactBackend(RedisBackend):
    """The same with smaller seen-sets."""

    member = CompactMember


class BloomMember(Member):
    """One with filters so large that no test meets a false positive."""

    known = SeenOptions("bloom", expected=100_000, rate=1e-9)


class FilterBackend(RedisBackend):
    """The same with Bloom filters for seen-sets."""

    member = BloomMember


SMALL = Sizes(head=4, chunk=2, warm=2)
"""So small that the queues of tests are long."""


class ColdMember(Member):
    """One that keeps the tails of queues and the page index in PostgreSQL."""

    async def open(self) -> None:
        await super().open()
        self.cold = PostgresStore(postgres.shared_postgres().url, self.cold_space)
        await self.cold.open()
        await self.keep_tails(self.cold, SMALL)
        self.index = PostgresPages(postgres.shared_postgres().url, self.pages_space)
        await self.index.open()
        await self.keep_pages(self.index)

    async def vanish(self) -> None:
        await super().vanish()
        await self.close()
        await self.cold.close()
        await self.index.close()


class ColdBackend(RedisBackend):
    """The same with hardly any room in Redis: all but a few waiting URLs are in the cold store, and
    all pages in the page index there.
    """

    member = ColdMember


class ValkeyBackend(RedisBackend):
    """The same on Valkey."""

    def server_url(self) -> str:
        return stores.shared_redis("valkey").url


class ClusterBackend(RedisBackend):
    """The same on three masters with a replica each."""

    def server_url(self) -> str:
        return stores.shared_cluster().url
