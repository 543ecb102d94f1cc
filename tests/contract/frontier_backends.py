"""Every frontier back end, opened, restarted and crashed the same way.

A new back end is one class here and one entry in ``BACKENDS``; the contract tests and the state
machine then run on it unchanged.
"""

import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from redis_backend import (
    ClusterBackend,
    ColdBackend,
    CompactBackend,
    FilterBackend,
    RedisBackend,
    ValkeyBackend,
    WideBackend,
)
from remote_backend import RemoteBackend, RemoteTcpBackend

from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.embedded.seen.bloom import BloomSeen
from skitter.frontier.model import (
    LEASE_MS,
    Ack,
    Claim,
    Counts,
    Freed,
    Grant,
    JobEntry,
    Lease,
    Link,
    Receipt,
    Result,
    SeenOptions,
    Sighting,
)
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.partition import slot_of, tag_of

HOST = HostKey("www.example.com")
OTHER_HOST = HostKey("shop.example.com")
FAR_HOST = HostKey("far.example.org:8080")
LONE_HOST = HostKey("203.0.113.7")
BUSY_HOST = HostKey("busy.example.net")
MANY_HOSTS = tuple(HostKey(f"h{n}.example.com") for n in range(20))


def hosts_like(host: HostKey, n: int) -> tuple[HostKey, ...]:
    """Return hosts of the tag of another one: their order is one script's to decide."""
    names = (HostKey(f"k{number}.example.com") for number in itertools.count())
    return tuple(itertools.islice((name for name in names if tag_of(name) == tag_of(host)), n))


KIN = hosts_like(HOST, 9)
HOSTS = (HOST, OTHER_HOST, FAR_HOST, LONE_HOST, BUSY_HOST, *MANY_HOSTS, *KIN)
SLOTS = tuple(sorted({slot_of(host) for host in HOSTS}))
"""Those of every host that tests use."""
FOR_LONG_MS = 100 * 86_400_000
"""How long slots are owned where ownership is not what a test is about."""


class Store(Frontier, FrontierControl, FrontierReader, Protocol):
    """All three parts of the seam in one object."""


class Backend(Protocol):
    """One stored frontier over its whole life: opened, closed and killed."""

    clock: VirtualClock

    async def open(self) -> Store:
        """Open the frontier for the first time."""

    async def restart(self) -> Store:
        """Close it in good order and open it again."""

    async def crash(self) -> Store:
        """Open what a kill -9 at this moment leaves behind."""

    async def close(self) -> None:
        """Close it for good."""


class BareFrontier(EmbeddedFrontier):
    """The store in a local directory; a host leaves its memory as soon as it has nothing to do."""

    async def open(self) -> None:
        await super().open()
        self._walk = self.vultures(lambda _: False, idle_ms=0, pause_ms=0)

    async def offer(self, links: Sequence[Link]) -> Receipt:
        await self._walk.step()
        return await super().offer(links)

    async def claim(self, *args: Any, **options: Any) -> Claim:
        claim = await super().claim(*args, **options)
        await self._walk.step()
        return claim

    async def ack(self, *args: Any, **options: Any) -> Receipt:
        receipt = await super().ack(*args, **options)
        await self._walk.step()
        return receipt


class EmbeddedBackend:
    """The store in a local directory.

    Everything a returned call wrote has reached the operating system, so a copy of the files
    under the running store is what a kill of the process leaves. Syncing would add time and no
    difference: only a power cut could tell.
    """

    kind: ClassVar = EmbeddedFrontier
    seen: ClassVar[SeenOptions | None] = None

    def __init__(self, root: Path, clock: VirtualClock) -> None:
        self.clock = clock
        self._root = root
        self._generation = 0
        self._store = self._make()

    def _make(self) -> EmbeddedFrontier:
        folder = self._root / f"store-{self._generation}"
        store: EmbeddedFrontier = self.kind(folder, clock=self.clock, durable=False, seen=self.seen)
        return store

    async def open(self) -> Store:
        await self._store.open()
        return self._store

    async def restart(self) -> Store:
        await self.close()
        self._store = self._make()
        return await self.open()

    async def crash(self) -> Store:
        source = self._root / f"store-{self._generation}"
        self._generation += 1
        copy_still(source, self._root / f"store-{self._generation}")
        await self._store.close()
        shutil.rmtree(source)
        self._store = self._make()
        return await self.open()

    async def close(self) -> None:
        await self._store.close()


class UnbufferedBackend(EmbeddedBackend):
    """The same store with no room for waiting URLs in memory, as with very many hosts."""

    async def open(self) -> Store:
        await self._store.open()
        self._store._core.registry.budget.left = 0
        return self._store


class BloomBackend(EmbeddedBackend):
    """The same store with a Bloom filter for its seen-set.

    It is so large for the few URLs of a test that no history meets a false positive, and so eager
    to settle that every history meets each of its steps.
    """

    seen = SeenOptions("bloom", expected=2_000, rate=1e-12, groups=3)

    async def open(self) -> Store:
        await self._store.open()
        seen = self._store._core.seen
        assert isinstance(seen, BloomSeen)
        seen.settle_at, seen.hold_at, seen.sync_at = 3, 9, 9
        return self._store


class BareBackend(EmbeddedBackend):
    """The same store, from whose memory every host goes that has nothing to do."""

    kind = BareFrontier


class BareBloomBackend(BloomBackend):
    """Both: what only a filter and the queues tell of URLs, and nobody awake to ask."""

    kind = BareFrontier


def copy_still(source: Path, target: Path, tries: int = 1_000) -> None:
    """Copy a directory as it is at one moment, though its owner tidies up in the background."""
    for _ in range(tries):
        before = _sizes(source)
        shutil.rmtree(target, ignore_errors=True)
        try:
            shutil.copytree(source, target)
        except shutil.Error:
            continue
        if before and _sizes(source) == before:
            return
    raise AssertionError(f"{source} did not hold still")


def _sizes(folder: Path) -> dict[str, int]:
    """Return the sizes of the data files; empty when one vanished meanwhile."""
    try:
        return {p.name: p.stat().st_size for p in folder.iterdir() if p.name != "LOG"}
    except FileNotFoundError:
        return {}


BACKENDS: dict[str, Callable[[Path, VirtualClock], Backend]] = {
    "embedded": EmbeddedBackend,
    "embedded-bare": BareBackend,
    "embedded-bare-bloom": BareBloomBackend,
    "embedded-bloom": BloomBackend,
    "embedded-unbuffered": UnbufferedBackend,
    "redis": RedisBackend,
    "redis-cluster": ClusterBackend,
    "redis-cold": ColdBackend,
    "redis-wide": WideBackend,
    "remote": lambda root, clock: RemoteBackend(root, EmbeddedBackend(root, clock)),
    "remote-tcp": lambda root, clock: RemoteTcpBackend(root, EmbeddedBackend(root, clock)),
    "valkey": ValkeyBackend,
}

MACHINES = BACKENDS | {"redis-bloom": FilterBackend, "redis-compact": CompactBackend}
"""Those that random histories run on: more than every single test is worth running on."""


def fingerprint(url: str) -> Fingerprint:
    """Return a stand-in for the keyed hash of a canonical URL, over all 64 bits."""
    return Fingerprint(int.from_bytes(hashlib.blake2b(url.encode(), digest_size=8).digest()))


@dataclass(slots=True)
class Rig:
    """A store with one running job, and short words for what tests do to it."""

    backend: Backend
    store: Store
    job: JobNumber
    grants: list[Grant] = field(default_factory=list)

    @property
    def clock(self) -> VirtualClock:
        return self.backend.clock

    @property
    def now_ms(self) -> int:
        return self.backend.clock.now_ms()

    def tick(self, seconds: float) -> None:
        self.backend.clock.advance(seconds)

    async def own(self) -> None:
        self.grants = await self.store.own("member-1", SLOTS, FOR_LONG_MS)

    async def add_job(self, name: str, **entry: Any) -> JobNumber:
        return await self.store.put_job(JobEntry(id=name, **entry))

    def link(self, path: str, host: HostKey = HOST, **fields: Any) -> Link:
        url = f"https://{host}/{path}"
        fields = {"job": self.job, "slot": slot_of(host), **fields}
        return Link(url, fingerprint(url), host, **fields)

    async def offer(self, *links: Link | str) -> Receipt:
        made = [self.link(link) if isinstance(link, str) else link for link in links]
        return await self.store.offer(made)

    async def ask(
        self, k: int = 100, *, lease_ms: int = LEASE_MS, freed: Sequence[Freed] = ()
    ) -> Claim:
        return await self.store.claim(self.grants, k, lease_ms=lease_ms, freed=freed)

    async def take(
        self, k: int = 100, *, lease_ms: int = LEASE_MS, freed: Sequence[Freed] = ()
    ) -> list[Lease]:
        return list((await self.ask(k, lease_ms=lease_ms, freed=freed)).leases)

    async def take_one(self, *, lease_ms: int = LEASE_MS, freed: Sequence[Freed] = ()) -> Lease:
        [lease] = await self.take(1, lease_ms=lease_ms, freed=freed)
        return lease

    async def end(self, lease: Lease, result: Result = Result.DONE, **fields: Any) -> Receipt:
        return await self.store.ack([Ack(lease, result, **fields)])

    async def paths_in_order(self, *, step: float = 1.0, limit: int = 100) -> list[str]:
        """Finish everything one URL at a time and tell the paths as they came."""
        paths: list[str] = []
        for _ in range(limit):
            taken = await self.take(1)
            if not taken:
                break
            await self.end(taken[0])
            paths.append(path_of(taken[0]))
            self.tick(step)
        return paths

    async def counts(self, job: JobNumber | None = None) -> Counts:
        return await self.store.counts(self.job if job is None else job)

    async def look(self, link: Link) -> Sighting:
        return await self.store.look(link.job, link.host, link.fp)

    async def restart(self) -> None:
        self.store = await self.backend.restart()
        await self.own()

    async def crash(self) -> None:
        self.store = await self.backend.crash()
        await self.own()


async def open_rig(backend: Backend, **entry: Any) -> Rig:
    """Open the back end with one job of one second's delay."""
    store = await backend.open()
    rig = Rig(backend, store, await store.put_job(JobEntry(id="job-1", **entry)))
    await rig.own()
    return rig


def path_of(thing: Link | Lease) -> str:
    """Return the URL's path without its slash."""
    return thing.url.removeprefix(f"https://{thing.host}/")


def paths_of(things: Iterable[Link | Lease]) -> list[str]:
    """Return the paths of links or leases."""
    return [path_of(thing) for thing in things]
