"""The frontier as a plain dictionary: slow, in memory, and simple enough to be believed.

The oracle judges a store by its answers and then follows them. Where the contract leaves a store
room (which of several ready hosts comes first; when exactly an expired lease is noticed) the
oracle keeps bounds instead of values and takes the store's word inside them.

A claim that brings less than it was asked for has looked everywhere: leases that are over and times
that have come are noticed then. One that brings enough may have looked at its own hosts alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from skitter.frontier.model import (
    Ack,
    Claim,
    Counts,
    Freed,
    Grant,
    JobEntry,
    JobState,
    Lease,
    Link,
    Overflow,
    Receipt,
    Result,
    UrlState,
)
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.partition import TAGS, is_wide

Key = tuple[JobNumber, HostKey, Fingerprint]
FOREVER = 1 << 62


@dataclass(slots=True)
class Page:
    """One known URL."""

    link: Link | None
    """None for a redirect hop, which is never handed out."""
    state: UrlState
    place: tuple[int, int] = (0, 0)
    """Bounds of its place in line; a page that waited for a time may join anywhere before."""
    attempts: int = 0
    lost: tuple[int, int] = (0, 0)
    visit: int = 1
    due_ms: int = 0
    found_s: int = 0

    def surely_before(self, other: "Page") -> bool:
        """Tell whether this page must be handed out before the other of its line."""
        assert self.link is not None
        assert other.link is not None
        mine = (-self.link.priority, self.link.rank, self.place[1])
        return mine < (-other.link.priority, other.link.rank, other.place[0])


@dataclass(slots=True)
class Gate:
    """How one host may be asked."""

    delay_ms: int
    per_host: int = 1
    earliest_ms: int = 0
    """A request before this time is impolite."""
    latest_ms: int = 0
    """A host with work that is refused after this time is starved."""
    held: set[int] = field(default_factory=set)
    """Leases with a request in flight, or with the promise of one."""
    promised: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Leases whose redirect may ask from a time between these two on."""
    line: list[int] = field(default_factory=list)
    """Leases whose redirect waits until a request in flight ends."""

    @property
    def full(self) -> bool:
        return len(self.held) >= self.per_host

    def take(self, lease_id: int, now_ms: int) -> None:
        assert not self.full, f"{len(self.held)} in flight, {self.per_host} allowed"
        assert now_ms >= self.earliest_ms, f"asked {self.earliest_ms - now_ms} ms too soon"
        self.held.add(lease_id)
        self.rest(now_ms + self.delay_ms)

    def let_go(self, lease_id: int, since_ms: int, now_ms: int) -> None:
        """End a request that was answered at some moment between the two times."""
        if lease_id in self.line:
            self.line.remove(lease_id)
        if lease_id in self.held:
            self.held.remove(lease_id)
            self.promised.pop(lease_id, None)
            if self.per_host == 1:
                self.earliest_ms = max(self.earliest_ms, since_ms + self.delay_ms)
            self.latest_ms = max(self.latest_ms, now_ms + self.delay_ms)
        while self.line and not self.full:
            self.promise(self.line.pop(0), since_ms, now_ms)

    def let_all_go(self, ended: Mapping[int, int], now_ms: int) -> None:
        """End what leases hold that are over, each since a time, in any order.

        One that is in line may get the gate before its own end is noticed, or not.
        """
        late = replace(self, held=set(self.held), promised=dict(self.promised), line=[*self.line])
        for lease_id, since_ms in ended.items():
            late.let_go(lease_id, since_ms, now_ms)
        self.line = [lease_id for lease_id in self.line if lease_id not in ended]
        for lease_id, since_ms in ended.items():
            self.let_go(lease_id, since_ms, now_ms)
        assert self.held == late.held
        self.latest_ms = late.latest_ms
        for lease_id, (first_ms, _) in self.promised.items():
            self.promised[lease_id] = (first_ms, late.promised[lease_id][1])

    def promise(self, lease_id: int, since_ms: int, now_ms: int) -> None:
        """Keep the next request for a redirect that came at some moment between the two times."""
        turn = (max(self.earliest_ms, since_ms), max(self.latest_ms, now_ms))
        self.held.add(lease_id)
        self.promised[lease_id] = turn
        self.earliest_ms, self.latest_ms = turn[0] + self.delay_ms, turn[1] + self.delay_ms

    def rest(self, until_ms: int) -> None:
        self.earliest_ms = max(self.earliest_ms, until_ms)
        self.latest_ms = max(self.latest_ms, until_ms)

    def reopen(self, over: Mapping[int, int], now_ms: int) -> None:
        """Follow a restart: what was in flight is unknown, so the host rests for its delay.

        A promise whose time had not come is void: nobody asked the host on it. Of a lease that was
        over since some time, the store may have known before.
        """
        unused = [first_ms for first_ms, _ in self.promised.values() if first_ms > now_ms]
        self.earliest_ms = min([self.earliest_ms, *unused])
        for lease_id in self.held:
            asked_ms = over.get(lease_id, now_ms)
            self.earliest_ms = max(self.earliest_ms, asked_ms + self.delay_ms)
        self.latest_ms = max(self.latest_ms, now_ms + self.delay_ms)
        self.held.clear()
        self.promised.clear()
        self.line.clear()


@dataclass(slots=True)
class Held:
    """One lease that has not been seen to end."""

    lease: Lease
    expires_ms: int


class Oracle:
    """What a frontier must know and may do."""

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self.jobs: dict[JobNumber, JobEntry] = {}
        self.states: dict[JobNumber, JobState] = {}
        self.pages: dict[Key, Page] = {}
        self.gates: dict[HostKey, Gate] = {}
        self.leases: dict[int, Held] = {}
        self.ghosts: dict[int, Held] = {}
        """Leases that are over, and may still hold the gates of redirects elsewhere."""
        self.contents: dict[tuple[JobNumber, bytes], str] = {}
        self.marks: dict[str, bytes] = {}
        self._places = 0

    # Questions

    def gate(self, host: HostKey) -> Gate:
        return self.gates.setdefault(host, Gate(self.delay_ms))

    def runs(self, job: JobNumber) -> bool:
        return self.states[job] is JobState.RUN

    def overdue(self, now_ms: int) -> list[Held]:
        """Leases whose end the store may or may not have noticed."""
        return [held for held in self.leases.values() if held.expires_ms <= now_ms]

    def loose_ends(self, now_ms: int) -> set[int]:
        """Leases that are over, but whose gates the store may or may not have let go."""
        return {held.lease.id for held in self.overdue(now_ms)} | set(self.ghosts)

    def possible_states(self, key: Key, now_ms: int) -> set[UrlState]:
        """The states a store may truthfully tell of a URL."""
        page = self.pages.get(key)
        if page is None:
            return {UrlState.UNKNOWN}
        late = page.state is UrlState.SCHEDULED and page.due_ms <= now_ms
        lapsed = page.state is UrlState.LEASED and any(
            key_of(held.lease) == key for held in self.overdue(now_ms)
        )
        return {page.state, UrlState.QUEUED} if late or lapsed else {page.state}

    def counts_bounds(
        self, job: JobNumber, now_ms: int, hosts: Iterable[HostKey] | None = None
    ) -> dict[UrlState, tuple[int, int]]:
        """How many URLs of a job (on some hosts) may be in each state: least and most."""
        bounds = dict.fromkeys(UrlState, (0, 0))
        chosen = None if hosts is None else set(hosts)
        for key in self.pages:
            if key[0] == job and (chosen is None or key[1] in chosen):
                possible = self.possible_states(key, now_ms)
                for state in possible:
                    least, most = bounds[state]
                    bounds[state] = (least + (len(possible) == 1), most + 1)
        return bounds

    def check_counts(
        self,
        counts: Counts,
        job: JobNumber,
        now_ms: int,
        hosts: Iterable[HostKey] | None = None,
    ) -> None:
        bounds = self.counts_bounds(job, now_ms, hosts)
        for state, (least, most) in bounds.items():
            if state is not UrlState.UNKNOWN:
                told = getattr(counts, state.value)
                assert least <= told <= most, f"{told} {state}, wanted {least} to {most}"
        chosen = None if hosts is None else set(hosts)
        known = sum(k[0] == job and (chosen is None or k[1] in chosen) for k in self.pages)
        assert counts.offered == known, f"{counts.offered} offered, {known} known"

    # Links

    def offer(self, links: Sequence[Link], receipt: Receipt, now_ms: int) -> list[Key]:
        """Follow an offer; answers the pages that may have been dropped."""
        new = overflow_least = overflow_most = 0
        unsure: list[Key] = []
        for link in links:
            key = key_of(link)
            if key in self.pages:
                continue
            new += 1
            least, most = self.counts_bounds(link.job, now_ms)[UrlState.QUEUED]
            bound = self.jobs[link.job].queue_bound
            overflow_least += least >= bound
            overflow_most += most >= bound
            self._add(link, now_ms)
            if self.jobs[link.job].overflow is Overflow.DROP and most >= bound:
                if least >= bound:
                    self.pages[key].state = UrlState.DROPPED
                else:
                    unsure.append(key)
        assert (receipt.new, receipt.known) == (new, len(links) - new)
        assert overflow_least <= receipt.overflow <= overflow_most
        return unsure

    def _add(self, link: Link, now_ms: int) -> None:
        self.gate(link.host)
        self._places += 1
        waits = link.not_before_ms > now_ms
        self.pages[key_of(link)] = Page(
            link,
            UrlState.SCHEDULED if waits else UrlState.QUEUED,
            (0, FOREVER) if waits else (self._places, self._places),
            due_ms=link.not_before_ms,
            found_s=now_ms // 1000,
        )

    # Leases

    def free(self, freed: Sequence[Freed], now_ms: int) -> None:
        for item in freed:
            gate = self.gate(item.host)
            if item.delay_ms is not None:
                gate.delay_ms = item.delay_ms
            gate.rest(item.not_before_ms)
            held = self.leases.get(item.lease_id) or self.ghosts.get(item.lease_id)
            since_ms = min(held.expires_ms, now_ms) if held else now_ms
            gate.let_go(item.lease_id, since_ms, now_ms)

    def claim(
        self, claim: Claim, k: int, lease_ms: int, grants: Sequence[Grant], now_ms: int
    ) -> None:
        """Judge and follow a claim."""
        if len(claim.leases) < k:
            self._expire(now_ms)
            self._wake(now_ms)
        for host in {lease.host for lease in claim.leases}:
            self._look_at(host, now_ms)
        must_give = {host for host in self._hosts_with_work() if self._is_ready(host, now_ms)}
        assert len(claim.leases) <= k
        for lease in claim.leases:
            self._hand_out(lease, grants)
            self.gate(lease.host).take(lease.id, now_ms)
            self.leases[lease.id] = Held(lease, now_ms + lease_ms)
        if len(claim.leases) < k:
            starved = must_give - {lease.host for lease in claim.leases}
            assert not starved, f"{starved} are ready and got nothing"
        if not claim.leases and k:
            self._check_next_ready(claim.next_ready_ms, now_ms)

    def _expire(self, now_ms: int) -> None:
        over = self.overdue(now_ms)
        for held in over:
            self._lose(held)
        self._end_all([*over, *self.ghosts.values()], now_ms)

    def _end_all(self, ended: Sequence[Held], now_ms: int) -> None:
        since = {held.lease.id: min(held.expires_ms, now_ms) for held in ended}
        for lease_id in since:
            self.leases.pop(lease_id, None)
            self.ghosts.pop(lease_id, None)
        for gate in self.gates.values():
            gate.let_all_go(since, now_ms)

    def _lose(self, held: Held) -> None:
        page = self.pages[key_of(held.lease)]
        page.state = UrlState.QUEUED
        page.lost = (page.lost[0] + 1, page.lost[1] + 1)

    def _look_at(self, host: HostKey, now_ms: int) -> None:
        """Follow what a store has noticed when it hands out a URL of a host."""
        over = self.overdue(now_ms)
        for held in over:
            if held.lease.host == host:
                self._lose(held)
                del self.leases[held.lease.id]
                self.ghosts[held.lease.id] = held
        ended = [*over, *self.ghosts.values()]
        since = {held.lease.id: held.expires_ms for held in ended}
        self.gate(host).let_all_go(since, now_ms)
        self._wake(now_ms, host)

    def _end(self, held: Held, since_ms: int, now_ms: int) -> None:
        del self.leases[held.lease.id]
        for gate in self.gates.values():
            gate.let_go(held.lease.id, since_ms, now_ms)

    def _wake(self, now_ms: int, only: HostKey | None = None) -> None:
        for (job, host, _), page in self.pages.items():
            if only not in (None, host) or not self.runs(job):
                continue
            if page.state is UrlState.SCHEDULED and page.due_ms <= now_ms:
                page.state = UrlState.QUEUED
                page.place = (0, self._places)

    def _hosts_with_work(self) -> Iterator[HostKey]:
        for (job, host, _), page in self.pages.items():
            if page.state is UrlState.QUEUED and self.runs(job):
                yield host

    def _is_ready(self, host: HostKey, now_ms: int) -> bool:
        gate = self.gate(host)
        return not gate.full and gate.latest_ms <= now_ms

    def _hand_out(self, lease: Lease, grants: Sequence[Grant]) -> None:
        page = self.pages.get(key_of(lease))
        assert page is not None, f"{lease.url} is not known"
        assert page.state is UrlState.QUEUED, f"{lease.url} is {page.state}"
        assert self.runs(lease.job), f"job {lease.job} is {self.states[lease.job]}"
        assert lease.id not in self.leases
        if not is_wide(lease.slot):
            assert (lease.slot, lease.fence) in {(grant.slot, grant.fence) for grant in grants}
        self._check_fields(lease, page)
        for other in self._line_of(lease):
            assert not other.surely_before(page), f"{lease.url} came before {other.link}"
        page.state = UrlState.LEASED

    def _check_fields(self, lease: Lease, page: Page) -> None:
        link = page.link
        assert link is not None
        assert (lease.url, lease.page_class) == (link.url, link.page_class)
        assert lease.slot % TAGS == link.slot % TAGS
        assert lease.slot == link.slot or is_wide(lease.slot)
        assert (lease.priority, lease.depth) == (link.priority, link.depth)
        assert (lease.referrer, lease.found_s) == (link.referrer, page.found_s)
        assert lease.data == link.data
        assert (lease.attempts, lease.visit) == (page.attempts, page.visit)
        assert page.lost[0] <= lease.lost <= page.lost[1]
        page.lost = (lease.lost, lease.lost)

    def _line_of(self, lease: Lease) -> Iterator[Page]:
        for (job, host, _), page in self.pages.items():
            if (job, host) == (lease.job, lease.host) and page.state is UrlState.QUEUED:
                assert page.link is not None
                if page.link.page_class is lease.page_class:
                    yield page

    def _check_next_ready(self, next_ready_ms: int | None, now_ms: int) -> None:
        waiting = [self._latest_turn(self.gate(host)) for host in self._hosts_with_work()]
        waiting += [
            page.due_ms
            for (job, _, _), page in self.pages.items()
            if page.state is UrlState.SCHEDULED and self.runs(job)
        ]
        if waiting:
            assert next_ready_ms is not None, "URLs wait, but the claim says to never come back"
            late_ms = next_ready_ms - min(waiting)
            assert late_ms <= 0, f"told to come back {late_ms} ms too late"
        assert next_ready_ms is None or next_ready_ms > now_ms, "told to come back at once"

    def _latest_turn(self, gate: Gate) -> int:
        """When a host is handed out at the latest if nobody calls in between."""
        if not gate.full:
            return gate.latest_ms
        first_end = min(self.leases[lease_id].expires_ms for lease_id in gate.held)
        return max(gate.latest_ms, first_end + gate.delay_ms)

    def enter(
        self, lease: Lease, host: HostKey, at_most_ms: int | None, wait_ms: int, now_ms: int
    ) -> None:
        """Judge and follow a redirect hop's request for a gate."""
        gate = self.gate(host)
        if lease.id not in gate.held:
            if at_most_ms is not None and wait_ms > at_most_ms:
                assert gate.earliest_ms <= now_ms + wait_ms <= gate.latest_ms
                return
            if gate.full:
                assert wait_ms > 0, f"entered a host with {len(gate.held)} in flight"
                if lease.id not in gate.line:
                    gate.line.append(lease.id)
                return
            gate.promise(lease.id, now_ms, now_ms)
        if lease.id in gate.promised:
            least, most = (max(0, turn_ms - now_ms) for turn_ms in gate.promised[lease.id])
            assert least <= wait_ms <= most, f"told to wait {wait_ms} ms, wanted {least} to {most}"

    def renew(self, lease: Lease, lease_ms: int, gone: bool, now_ms: int) -> None:
        held = self.leases.get(lease.id)
        if held is None:
            assert gone, "an ended lease was renewed"
        elif held.expires_ms > now_ms:
            assert not gone, "a live lease is called gone"
        if held is not None and not gone:
            held.expires_ms = now_ms + lease_ms

    # Acks

    def accepts(self, ack: Ack, stale: bool, now_ms: int) -> bool:
        """Judge whether an ack had to be stale; answers whether it counts."""
        held = self.leases.get(ack.lease.id)
        if held is None:
            assert stale, f"ack of the ended lease {ack.lease.id} was accepted"
        elif held.expires_ms > now_ms:
            assert not stale, f"ack of the live lease {ack.lease.id} was refused"
        return not stale

    def ack(self, ack: Ack, now_ms: int) -> None:
        """Follow one accepted ack, except for its links."""
        held = self.leases[ack.lease.id]
        page = self.pages[key_of(ack.lease)]
        self._follow_result(page, ack)
        self._end(held, now_ms, now_ms)
        for hop in ack.hops:
            self.gate(hop.host)
            self.pages.setdefault((ack.lease.job, hop.host, hop.fp), Page(None, UrlState.DONE))
        if ack.digest:
            self.contents.setdefault((ack.lease.job, ack.digest), ack.lease.url)

    def _follow_result(self, page: Page, ack: Ack) -> None:
        assert page.link is not None
        if ack.result is Result.DEAD:
            page.state = UrlState.DEAD
        elif ack.result is Result.DONE and (
            page.link.page_class is PageClass.DATA or ack.at_ms is None
        ):
            page.state = UrlState.DONE
        elif ack.result is Result.DEFER and ack.at_ms is None:
            page.state = UrlState.QUEUED
        else:
            assert ack.at_ms is not None
            page.state, page.due_ms, page.place = UrlState.SCHEDULED, ack.at_ms, (0, FOREVER)
            page.attempts += ack.result is Result.RETRY
        if ack.result is Result.DONE and page.state is UrlState.SCHEDULED:
            page.visit, page.attempts, page.lost = page.visit + 1, 0, (0, 0)

    # Control

    def set_state(self, job: JobNumber, state: JobState, now_ms: int) -> None:
        self.states[job] = state
        if state is not JobState.CANCEL:
            return
        known = [*self.leases.values(), *self.ghosts.values()]
        self._end_all([held for held in known if held.lease.job == job], now_ms)
        for (owner, _, _), page in self.pages.items():
            if owner == job and page.state in PENDING:
                page.state = UrlState.DROPPED

    def waiting(self, job: JobNumber, page_class: PageClass) -> list[Key]:
        """The URLs a ``clear`` forgets."""
        return [
            key
            for key, page in self.pages.items()
            if key[0] == job
            and page.state in (UrlState.QUEUED, UrlState.SCHEDULED)
            and page.link is not None
            and page.link.page_class is page_class
        ]

    def forget(self, key: Key, now_ms: int) -> None:
        """Drop a page, and the lease that had run out on it."""
        del self.pages[key]
        for held in [held for held in self.leases.values() if key_of(held.lease) == key]:
            self._end(held, held.expires_ms, now_ms)

    def reopen(self, now_ms: int) -> None:
        """Follow a restart: leases vanish, their URLs wait again."""
        for held in self.leases.values():
            page = self.pages[key_of(held.lease)]
            page.state = UrlState.QUEUED
            page.lost = (page.lost[0], page.lost[1] + 1)
        ended = [*self.overdue(now_ms), *self.ghosts.values()]
        over = {held.lease.id: held.expires_ms for held in ended}
        self.leases.clear()
        self.ghosts.clear()
        for gate in self.gates.values():
            gate.reopen(over, now_ms)


PENDING = (UrlState.QUEUED, UrlState.LEASED, UrlState.SCHEDULED)


def key_of(thing: Link | Lease) -> Key:
    """Return what identifies a URL."""
    return (thing.job, thing.host, thing.fp)
