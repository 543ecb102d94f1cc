"""Any history of redirects and links to the same URLs: every page is had once, and none is lost."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from frontier_backends import BACKENDS, FAR_HOST, HOST, OTHER_HOST, Rig, open_rig
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skitter.frontier.model import Freed, Hop, Lease, Link, Result
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint

LEASE_MS = 20_000
HOSTS = (HOST, OTHER_HOST, FAR_HOST)
KINDS = ("embedded", "embedded-bare-bloom", "redis", "redis-wide", "remote")

places = st.integers(0, 3)
steps = st.one_of(
    st.tuples(st.just("page"), places, places),
    st.tuples(st.just("link"), places, places),
    st.tuples(st.just("follow"), places, places),
    st.tuples(st.just("free"), places, places),
    st.tuples(st.just("end"), places, st.sampled_from((0, 0, 0, 1, 2))),
    st.tuples(st.just("wait"), places, st.sampled_from((0, 1, 1, 21))),
)


class History:
    """Pages that redirect to a few targets, and what was had of those."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.targets = [rig.link(f"target{n}", HOSTS[n % 3]) for n in range(4)]
        self.leases: dict[int, Lease] = {}
        self.hops: dict[int, list[Link]] = {}
        self.had: dict[Fingerprint, int] = {}
        self.wanted: set[Fingerprint] = set()
        self.pages = 0

    async def step(self, verb: str, at: int, to: int) -> None:
        """Do one thing with one of the leases."""
        rig, target = self.rig, self.targets[to % 4]
        if verb == "page":
            self.pages += 1
            await rig.offer(rig.link(f"page{self.pages}", HOSTS[at % 3]))
            await self.claim()
        elif verb == "link":
            self.wanted.add(target.fp)
            await rig.offer(target)
            await self.claim()
        elif verb == "wait":
            rig.tick(to)
            await self.claim()
        elif self.leases:
            lease = list(self.leases.values())[at % len(self.leases)]
            await self.go_on(verb, lease, target, to)

    async def go_on(self, verb: str, lease: Lease, target: Link, how: int) -> None:
        """Go on with a visit."""
        rig = self.rig
        if verb == "free":
            await self.claim(Freed(lease.id, target.host))
        elif verb == "end":
            await self.end(lease, (Result.DONE, Result.RETRY, Result.DEAD)[how])
        elif target.fp != lease.fp:
            if target.host == lease.host or how % 2:
                taken = await rig.store.reserve(lease, target.host, target.fp)
            else:
                taken = await rig.store.enter(lease, target.host, 10_000, target.fp)
            if taken == 0 and target not in self.hops[lease.id]:
                self.hops[lease.id].append(target)

    async def claim(self, *freed: Freed) -> None:
        """Take what is there; who claims is not told what has ended."""
        for lease in await self.rig.take(3, lease_ms=LEASE_MS, freed=freed):
            self.leases[lease.id] = lease
            self.hops[lease.id] = []

    async def end(self, lease: Lease, result: Result) -> None:
        """End a visit; what it brought counts if the lease was live."""
        hops = self.hops.pop(lease.id)
        del self.leases[lease.id]
        names = [Hop(link.fp, link.host) for link in hops]
        at_ms = self.rig.now_ms + 1_000 if result is Result.RETRY else None
        receipt = await self.rig.end(lease, result, at_ms=at_ms, hops=names)
        if receipt.accepted and result is not Result.RETRY:
            for fp in (lease.fp, *(hop.fp for hop in names)):
                self.had[fp] = self.had.get(fp, 0) + 1

    async def finish(self) -> None:
        """Go on until nothing is left."""
        for _ in range(200):
            for lease in list(self.leases.values()):
                await self.end(lease, Result.DONE)
            self.rig.tick(2)
            await self.claim()
            if not self.leases and not (await self.rig.counts()).pending:
                return
        raise AssertionError(f"not finished: {await self.rig.counts()}")


async def run(kind: str, root: Path, history: list[tuple[str, int, int]]) -> None:
    backend = BACKENDS[kind](root, VirtualClock())
    try:
        rig = await open_rig(backend)
        for host in HOSTS:
            await rig.store.set_host(host, delay_ms=0, per_host=2)
        told = History(rig)
        for verb, at, to in history:
            await told.step(verb, at, to)
        await told.finish()
        twice = {fp for fp, times in told.had.items() if times > 1}
        assert not twice, f"{len(twice)} were had more than once"
        assert told.wanted <= told.had.keys(), "what was offered was never had"
        counts = await rig.counts()
        assert counts.done + counts.dead == len(told.had)
    finally:
        await backend.close()


@pytest.mark.parametrize("kind", KINDS)
@given(history=st.lists(steps, max_size=40))
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_page_is_had_once(kind: str, history: list[tuple[str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as root:
        asyncio.run(run(kind, Path(root), history))
