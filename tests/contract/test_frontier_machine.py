"""Random histories of every back end, judged step by step by the oracle.

No precondition depends on what a store chose to hand out, or a history could not be replayed.
Virtual time moves in steps of ten milliseconds and no lease lasts a multiple of that, so a lease
is never looked at in the very millisecond in which it ends.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from frontier_backends import (
    FAR_HOST,
    FOR_LONG_MS,
    HOST,
    LONE_HOST,
    MACHINES,
    OTHER_HOST,
    SLOTS,
    Backend,
    Store,
    fingerprint,
)
from frontier_oracle import Key, Oracle, key_of
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skitter.errors import Fenced
from skitter.frontier.model import (
    Ack,
    Claim,
    Counts,
    Freed,
    Grant,
    Hop,
    JobEntry,
    JobState,
    Lease,
    Link,
    Overflow,
    Receipt,
    Result,
    UrlState,
)
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey, JobNumber, PageClass
from skitter.url.partition import slot_of

T = TypeVar("T")

SOAK = os.environ.get("SOAK") == "1"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Opening a store waits for the disk; hundreds of openings need not."""
pytestmark = [pytest.mark.timeout(0)] if SOAK else []
HISTORIES = settings(
    max_examples=3_000 if SOAK else 60,
    stateful_step_count=120 if SOAK else 40,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

DELAY_MS = 1_000
HOSTS = (HOST, OTHER_HOST, FAR_HOST, LONE_HOST)
DOMAINS = {
    "example.com": (HOST, OTHER_HOST),
    "example.org": (FAR_HOST,),
    LONE_HOST: (LONE_HOST,),
}
KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"queue_bound": 4, "overflow": Overflow.DROP},
    {"queue_bound": 3, "overflow": Overflow.SPILL},
)
UNBOUNDED = 0
MAX_SHOCKS = 4
PATHS = range(12)
EVERY_URL = [(host, fingerprint(f"https://{host}/{path}")) for host in HOSTS for path in PATHS]


@dataclass(frozen=True, slots=True)
class Draft:
    """A link in the making: numbers that shrink well."""

    job: int
    host: int
    path: int
    page_class: PageClass
    priority: int
    rank: int
    wait_ms: int
    data: bytes

    @property
    def url(self) -> str:
        return f"https://{HOSTS[self.host]}/{self.path}"


@dataclass(frozen=True, slots=True)
class Ending:
    """An ``Ack`` in the making."""

    result: Result
    wait_ms: int | None
    links: list[Draft]
    hops: list[Draft]
    digest: bytes


@dataclass(frozen=True, slots=True)
class Release:
    """A ``Freed`` in the making."""

    pick: int
    delay_ms: int | None
    rest_ms: int


drafts = st.builds(
    Draft,
    job=st.sampled_from((0, 0, 1, 2)),
    host=st.sampled_from((0, 0, 0, 1, 2, 3)),
    path=st.sampled_from(PATHS),
    page_class=st.sampled_from((PageClass.DATA, PageClass.DATA, PageClass.NAV)),
    priority=st.sampled_from((5, 5, 5, 9, 0)),
    # Plain ranks: what scores do besides has tests of its own.
    rank=st.sampled_from((5_000, 5_000, 5_000, 5_002, 5_001)),
    wait_ms=st.sampled_from((0, 0, 0, 0, 2_000, 90_000)),
    data=st.sampled_from((b"", b"", b"x" * 300)),
)
endings = st.builds(
    Ending,
    result=st.sampled_from((Result.DONE, Result.DONE, Result.RETRY, Result.DEFER, Result.DEAD)),
    wait_ms=st.sampled_from((None, 0, 1_500, 60_000)),
    links=st.lists(drafts, max_size=4),
    hops=st.lists(drafts, max_size=2),
    digest=st.sampled_from((b"", b"x", b"y")),
)
releases = st.builds(
    Release,
    pick=st.integers(0, 30),
    delay_ms=st.sampled_from((None, None, 0, 3_000)),
    rest_ms=st.sampled_from((0, 0, 20_000)),
)
picks = st.integers(0, 30)
pauses_s = st.sampled_from((1, 0, 0.01, 7))
jobs = st.integers(0, len(KINDS) - 1)
hosts = st.sampled_from(HOSTS)
lease_times_ms = st.sampled_from((120_003, 30_003, 4_003))
classes = st.sampled_from(tuple(PageClass))


class FrontierMachine(RuleBasedStateMachine):
    """Any sequence of verbs, clock steps, restarts and crashes."""

    backend_name: ClassVar[str]
    jobs_checked: ClassVar[int] = 100
    """Of how many jobs the counters are compared after a step, in turns where there are more."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory(prefix="frontier-", dir=MEMORY)
        self.clock = VirtualClock()
        self.backend: Backend = MACHINES[self.backend_name](Path(self.folder.name), self.clock)
        self.store: Store = self.run(self.backend.open())
        self.oracle = Oracle(DELAY_MS)
        self.grants: list[Grant] = []
        self.every_lease: list[Lease] = []
        self.jobs: list[JobNumber] = []
        self.offered_hosts: set[HostKey] = set()
        self.calls = 0
        self.steps = 0
        self.shocks = 0
        """How often most of a job was thrown away; bounded, or histories would be empty."""
        self.busy = False
        """Whether anything was offered, claimed or acked since the last opening."""

    def run(self, verb: Awaitable[T]) -> T:
        async def wait() -> T:
            return await verb

        return self.runner.run(wait())

    def teardown(self) -> None:
        self.run(self.backend.close())
        self.runner.close()
        self.folder.cleanup()

    @property
    def now_ms(self) -> int:
        return self.clock.now_ms()

    @initialize(offered=st.lists(drafts, min_size=8, max_size=24))
    def begin(self, offered: list[Draft]) -> None:
        self.jobs = [self.new_job(kind) for kind in range(len(KINDS))]
        self.grants = self.run(self.store.own("member-1", SLOTS, FOR_LONG_MS))
        self.offer(offered)

    def new_job(self, kind: int) -> JobNumber:
        entry = JobEntry(id=f"job-{len(self.oracle.jobs)}", delay_ms=DELAY_MS, **KINDS[kind])
        number = self.run(self.store.put_job(entry))
        assert number not in self.oracle.jobs
        self.oracle.jobs[number] = entry
        self.oracle.states[number] = JobState.RUN
        return number

    def link(self, draft: Draft) -> Link:
        """Make a link; one that starts later goes to a job without a bound."""
        kind = UNBOUNDED if draft.wait_ms else draft.job
        return Link(
            draft.url,
            fingerprint(draft.url),
            HOSTS[draft.host],
            self.jobs[kind],
            slot_of(HOSTS[draft.host]),
            draft.page_class,
            draft.priority,
            draft.path,
            draft.rank,
            f"https://{HOST}/from-{draft.path}",
            self.now_ms + draft.wait_ms if draft.wait_ms else 0,
            data=draft.data,
        )

    def pick_lease(self, pick: int) -> Lease | None:
        """Choose among all leases ever given, those that have not ended with better chances."""
        live = [held.lease for held in self.oracle.leases.values()]
        everyone = [*live, *live, *live, *reversed(self.every_lease)]
        return everyone[pick % len(everyone)] if everyone else None

    def state_of(self, key: Key) -> UrlState:
        return self.run(self.store.look(*key)).state

    def settle_drops(self, unsure: Sequence[Key]) -> None:
        """Take the store's word on links at the edge of a bound that was not known exactly."""
        for key in unsure:
            state = self.state_of(key)
            assert state in (UrlState.QUEUED, UrlState.DROPPED)
            self.oracle.pages[key].state = state

    # Verbs

    @rule(offered=st.lists(drafts, min_size=1, max_size=8))
    def offer(self, offered: list[Draft]) -> None:
        links = [self.link(draft) for draft in offered]
        self.busy = True
        self.offered_hosts.update(link.host for link in links)
        receipt = self.run(self.store.offer(links))
        self.settle_drops(self.oracle.offer(links, receipt, self.now_ms))

    @rule(
        k=st.sampled_from((3, 1, 8, 0)),
        lease_ms=lease_times_ms,
        freed=st.lists(releases, max_size=3),
        pause_s=pauses_s,
    )
    def claim(self, k: int, lease_ms: int, freed: list[Release], pause_s: float) -> None:
        self.clock.advance(pause_s)
        made = [item for release in freed if (item := self.freed(release)) is not None]
        claim = self.run(self.store.claim(self.grants, k, lease_ms=lease_ms, freed=made))
        self.oracle.free(made, self.now_ms)
        self.follow_claim(claim, k, lease_ms)

    def freed(self, release: Release) -> Freed | None:
        lease = self.pick_lease(release.pick)
        if lease is None:
            return None
        held = [host for host in HOSTS if lease.id in self.oracle.gate(host).held]
        if not held:
            return Freed(lease.id, lease.host)
        host = held[release.pick % len(held)]
        rest_ms = self.now_ms + release.rest_ms if release.rest_ms else 0
        return Freed(lease.id, host, None if self.unsettled(host) else release.delay_ms, rest_ms)

    def unsettled(self, host: HostKey) -> bool:
        """Tell whether a lease that may be over holds this host's gate."""
        gate = self.oracle.gate(host)
        return not self.oracle.loose_ends(self.now_ms).isdisjoint(gate.held.union(gate.line))

    def follow_claim(self, claim: Claim, k: int, lease_ms: int) -> None:
        self.busy = True
        self.oracle.claim(claim, k, lease_ms, self.grants, self.now_ms)
        for lease in claim.leases:
            assert lease.expires_at == pytest.approx(self.clock.boot() + lease_ms / 1000)
        self.every_lease += claim.leases

    @rule(chosen=st.lists(picks, min_size=1, max_size=4), ending=endings)
    def ack(self, chosen: list[int], ending: Ending) -> None:
        self.send([self.end_of(lease, ending) for lease in self.leases_of(chosen)])

    @rule(k=st.sampled_from((8, 2, 1)), rounds=st.lists(endings, min_size=1, max_size=4))
    def work(self, k: int, rounds: list[Ending]) -> None:
        """Run the crawl's own loop: wait, claim, ack."""
        for ending in rounds:
            self.clock.advance(1)
            claim = self.run(self.store.claim(self.grants, k, lease_ms=30_003))
            self.follow_claim(claim, k, 30_003)
            if claim.leases:
                self.send([self.end_of(lease, ending) for lease in claim.leases])

    def end_of(self, lease: Lease, ending: Ending) -> Ack:
        """Make an ack; only a page that was fetched brings links and hops."""
        fetched = ending.result in (Result.DONE, Result.DEAD)
        at_ms = None if ending.wait_ms is None else self.now_ms + ending.wait_ms
        if at_ms is None and ending.result is Result.RETRY:
            at_ms = self.now_ms
        return Ack(
            lease,
            ending.result,
            at_ms=at_ms,
            links=[self.link(draft) for draft in ending.links] if fetched else (),
            hops=[Hop(fingerprint(draft.url), HOSTS[draft.host]) for draft in ending.hops]
            if fetched
            else (),
            digest=ending.digest if ending.result is Result.DONE else b"",
        )

    def leases_of(self, chosen: Sequence[int]) -> list[Lease]:
        return [lease for pick in chosen if (lease := self.pick_lease(pick)) is not None]

    def send(self, acks: Sequence[Ack]) -> None:
        """Ack, and judge the receipt: the second of two acks of a lease is always stale."""
        self.busy = True
        self.calls += 1
        value = str(self.calls).encode()
        live = any(ack.lease.id in self.oracle.leases for ack in acks)
        receipt = self.run(self.store.ack(acks, marks={"calls": value} if live else None))
        if live:
            self.oracle.marks["calls"] = value
        self.follow_acks(acks, receipt)

    def follow_acks(self, acks: Sequence[Ack], receipt: Receipt) -> None:
        stale = list(receipt.stale)
        links: list[Link] = []
        judged: set[int] = set()
        for ack in acks:
            again = ack.lease.id in judged
            is_stale = ack.lease.id in stale and (
                again or stale.count(ack.lease.id) == sum(a.lease.id == ack.lease.id for a in acks)
            )
            judged.add(ack.lease.id)
            if self.oracle.accepts(ack, is_stale, self.now_ms):
                self.oracle.ack(ack, self.now_ms)
                links += ack.links
        assert receipt.accepted + len(stale) == len(acks)
        self.settle_drops(self.oracle.offer(links, receipt, self.now_ms))

    @rule(chosen=st.lists(picks, min_size=1, max_size=3, unique=True), lease_ms=lease_times_ms)
    def renew(self, chosen: list[int], lease_ms: int) -> None:
        leases = {lease.id: lease for lease in self.leases_of(chosen)}
        gone = self.run(self.store.renew(list(leases.values()), lease_ms))
        for lease in leases.values():
            self.oracle.renew(lease, lease_ms, lease.id in gone, self.now_ms)

    @rule(pick=picks, host=hosts, at_most_ms=st.sampled_from((None, 5_000)))
    def enter(self, pick: int, host: HostKey, at_most_ms: int | None) -> None:
        lease = self.pick_lease(pick)
        held = self.oracle.leases.get(lease.id) if lease else None
        if held is None or held.expires_ms <= self.now_ms or self.unsettled(host):
            return
        gate = self.oracle.gate(host)
        if held.lease.id not in gate.held or held.lease.id in gate.promised:
            wait_ms = self.run(self.store.enter(held.lease, host, at_most_ms))
            self.oracle.enter(held.lease, host, at_most_ms, wait_ms, self.now_ms)

    # Time

    @rule(seconds=st.sampled_from((0.5, 5, 30, 130)))
    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    # Control

    @rule(job=jobs, state=st.sampled_from((JobState.PAUSE, JobState.RUN, JobState.RUN)))
    def set_state(self, job: int, state: JobState) -> None:
        self.run(self.store.set_job_state(self.jobs[job], state))
        self.oracle.set_state(self.jobs[job], state, self.now_ms)

    @precondition(lambda self: self.shocks < MAX_SHOCKS)
    @rule(job=jobs)
    def cancel(self, job: int) -> None:
        """Cancel a job; a new one of its kind takes its part."""
        self.run(self.store.set_job_state(self.jobs[job], JobState.CANCEL))
        self.oracle.set_state(self.jobs[job], JobState.CANCEL, self.now_ms)
        self.jobs[job] = self.new_job(job)
        self.shocks += 1

    @precondition(lambda self: self.shocks < MAX_SHOCKS)
    @rule(pick=picks, page_class=classes)
    def clear(self, pick: int, page_class: PageClass) -> None:
        job = self.pick_job(pick)
        removed = self.run(self.store.clear(job, page_class))
        forgotten = self.oracle.waiting(job, page_class)
        for held in self.oracle.overdue(self.now_ms):
            key = key_of(held.lease)
            if key[0] == job and self.state_of(key) is UrlState.UNKNOWN:
                forgotten.append(key)
        for key in forgotten:
            self.oracle.forget(key, self.now_ms)
        assert removed == len(forgotten)
        self.shocks += 1

    def pick_job(self, pick: int) -> JobNumber:
        """Choose a job, the running ones first, then the cancelled ones."""
        everyone = [*self.jobs, *sorted(set(self.oracle.jobs) - set(self.jobs))]
        return everyone[pick % len(everyone)]

    @rule(pick=st.integers(0, 200), draft=drafts)
    def forget(self, pick: int, draft: Draft) -> None:
        """Forget one of the known URLs, or ask for one that may be unknown."""
        known = list(self.oracle.pages)
        key = (self.pick_job(pick), HOSTS[draft.host], fingerprint(draft.url))
        if pick < len(known):
            key = known[pick]
        possible = self.oracle.possible_states(key, self.now_ms)
        forgotten = self.run(self.store.forget(*key))
        if possible in ({UrlState.UNKNOWN}, {UrlState.LEASED}):
            assert not forgotten
        elif UrlState.LEASED not in possible:
            assert forgotten
        if forgotten:
            self.oracle.forget(key, self.now_ms)

    @rule(
        host=hosts,
        delay_ms=st.sampled_from((None, 0, 1_000, 7_000)),
        per_host=st.sampled_from((None, 1, 2, 3)),
        rest_ms=st.sampled_from((None, None, 0, 15_000)),
    )
    def set_host(
        self, host: HostKey, delay_ms: int | None, per_host: int | None, rest_ms: int | None
    ) -> None:
        if host not in self.offered_hosts or self.unsettled(host):
            return
        gate = self.oracle.gate(host)
        if gate.line:
            per_host = None
        until_ms = None if rest_ms is None else self.now_ms + rest_ms
        self.run(
            self.store.set_host(host, delay_ms=delay_ms, per_host=per_host, not_before_ms=until_ms)
        )
        gate.delay_ms = gate.delay_ms if delay_ms is None else delay_ms
        gate.per_host = gate.per_host if per_host is None else per_host
        gate.rest(until_ms or 0)

    # Interruptions

    @precondition(lambda self: self.busy)
    @rule(orderly=st.booleans(), offered=st.lists(drafts, max_size=4))
    def reopen(self, orderly: bool, offered: list[Draft]) -> None:
        """Restart or crash, and go on at once; what was given out before counts no more."""
        self.busy = False
        self.store = self.run(self.backend.restart() if orderly else self.backend.crash())
        self.oracle.reopen(self.now_ms)
        old = self.grants
        self.grants = self.run(self.store.own("member-1", SLOTS, FOR_LONG_MS))
        with pytest.raises(Fenced):
            self.run(self.store.claim(old, 3))
        self.follow_claim(self.run(self.store.claim(self.grants, 8, lease_ms=4_003)), 8, 4_003)
        self.offer(offered)

    @precondition(lambda self: self.shocks < MAX_SHOCKS)
    @rule()
    def drain(self) -> None:
        """Finish everything: whatever was offered comes out, in finite time."""
        for job in self.jobs:
            self.run(self.store.set_job_state(job, JobState.RUN))
            self.oracle.set_state(job, JobState.RUN, self.now_ms)
        for _ in range(1_000):
            claim = self.run(self.store.claim(self.grants, 100, lease_ms=120_003))
            self.follow_claim(claim, 100, 120_003)
            if claim.leases:
                self.send([Ack(lease, Result.DONE) for lease in claim.leases])
            elif claim.next_ready_ms is None:
                break
            else:
                wait_ms = claim.next_ready_ms - self.now_ms
                self.clock.advance((wait_ms + 9) // 10 / 100)
        for job in self.jobs:
            assert self.run(self.store.counts(job)).pending == 0
        self.shocks += 1

    # What holds after every step

    @invariant()
    def the_store_tells_what_the_oracle_knows(self) -> None:
        self.run(self.check_everything())

    async def check_everything(self) -> None:
        for job in self.oracle.jobs:
            await self.check_seen(job)
        for job in self.jobs_in_turn():
            await self.check_counters(job)
        for key in self.oracle.pages:
            sighting = await self.store.look(*key)
            assert sighting.state in self.oracle.possible_states(key, self.now_ms), key
        for (job, digest), url in self.oracle.contents.items():
            assert await self.store.contents(job, [digest]) == [url]
        for name, value in self.oracle.marks.items():
            assert await self.store.mark(name) == value

    def jobs_in_turn(self) -> list[JobNumber]:
        known = list(self.oracle.jobs)
        self.steps += 1
        return [*known[self.steps % len(known) :], *known][: min(self.jobs_checked, len(known))]

    async def check_counters(self, job: JobNumber) -> None:
        """Kept counters equal a recount, for the job and for each domain."""
        self.oracle.check_counts(await self.store.counts(job), job, self.now_ms)
        domains = dict(await self.store.domains(job))
        assert domains.keys() <= DOMAINS.keys()
        for domain, members in DOMAINS.items():
            counts = await self.store.counts(job, domain=domain)
            self.oracle.check_counts(counts, job, self.now_ms, members)
            assert counts == domains.get(domain, Counts())

    async def check_seen(self, job: JobNumber) -> None:
        """Seen is what was accepted and not forgotten since."""
        seen = await self.store.seen(job, EVERY_URL)
        assert seen == [(job, *url) in self.oracle.pages for url in EVERY_URL]


class EmbeddedMachine(FrontierMachine):
    backend_name = "embedded"


class UnbufferedMachine(FrontierMachine):
    backend_name = "embedded-unbuffered"


class BareMachine(FrontierMachine):
    backend_name = "embedded-bare"


class BareBloomMachine(FrontierMachine):
    backend_name = "embedded-bare-bloom"


class BloomMachine(FrontierMachine):
    backend_name = "embedded-bloom"


class RemoteMachine(FrontierMachine):
    backend_name = "remote"


class RedisMachine(FrontierMachine):
    backend_name = "redis"
    jobs_checked = 1


class ValkeyMachine(RedisMachine):
    backend_name = "valkey"


class ClusterMachine(RedisMachine):
    backend_name = "redis-cluster"


class ColdMachine(RedisMachine):
    backend_name = "redis-cold"


class WideMachine(RedisMachine):
    backend_name = "redis-wide"


class CompactMachine(RedisMachine):
    backend_name = "redis-compact"


class FilterMachine(RedisMachine):
    backend_name = "redis-bloom"


class RemoteTcpMachine(FrontierMachine):
    backend_name = "remote-tcp"


TestEmbeddedFrontier = EmbeddedMachine.TestCase
TestEmbeddedFrontier.settings = HISTORIES
TestUnbufferedFrontier = UnbufferedMachine.TestCase
TestUnbufferedFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 2)
TestBareFrontier = BareMachine.TestCase
TestBareFrontier.settings = HISTORIES
TestBareBloomFrontier = BareBloomMachine.TestCase
TestBareBloomFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 2)
TestBloomFrontier = BloomMachine.TestCase
TestBloomFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 2)
TestRemoteFrontier = RemoteMachine.TestCase
TestRemoteFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 6)
TestRedisFrontier = RedisMachine.TestCase
TestRedisFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 5)
TestValkeyFrontier = ValkeyMachine.TestCase
TestValkeyFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 15)
TestClusterFrontier = ClusterMachine.TestCase
TestClusterFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 20)
TestColdFrontier = ColdMachine.TestCase
TestColdFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 30)
TestWideFrontier = WideMachine.TestCase
TestWideFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 20)
TestCompactFrontier = CompactMachine.TestCase
TestCompactFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 30)
TestFilterFrontier = FilterMachine.TestCase
TestFilterFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 30)
TestRemoteTcpFrontier = RemoteTcpMachine.TestCase
TestRemoteTcpFrontier.settings = settings(HISTORIES, max_examples=HISTORIES.max_examples // 30)
