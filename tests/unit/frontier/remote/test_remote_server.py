"""The master's side of a remote frontier: sessions, leases and repeated calls."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from skitter.crawl.commit import scope_mark, traps_mark
from skitter.crawl.drift import drift_mark
from skitter.crawl.fitted import fitted_mark
from skitter.crawl.history import history_mark
from skitter.crawl.linked import linked_mark
from skitter.crawl.news import templates_mark
from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError, Fenced, FrontierError, StoreUnavailable
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import (
    JOB_MARKS,
    Ack,
    Claim,
    Grant,
    JobEntry,
    Lease,
    Link,
    Receipt,
    Result,
)
from skitter.frontier.remote import server as server_module
from skitter.frontier.remote.server import GUEST_MARKS, MEMBERS_MARK, RemoteServer
from skitter.frontier.remote.wire import VERBS, Call, Closing, SessionLost, Welcome
from skitter.pipeline.base import SINK_MARKS
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber


class SlowStore(EmbeddedFrontier):
    """A store whose acks take as long as a test wants, and fail when it wants."""

    def __init__(self, path: Path, clock: VirtualClock) -> None:
        super().__init__(path, clock=clock, durable=False)
        self.gate = asyncio.Event()
        self.gate.set()
        self.acks: list[list[int]] = []
        self.fails_with: Exception | None = None
        self.busy = ""

    @property
    def trouble(self) -> str:
        return self.busy

    async def ack(
        self,
        acks: Sequence[Ack],
        *,
        marks: Mapping[str, bytes] | None = None,
        news: Mapping[str, bytes] | None = None,
    ) -> Receipt:
        self.acks.append([ack.lease.id for ack in acks])
        await self.gate.wait()
        if self.fails_with is not None:
            raise self.fails_with
        return await super().ack(acks, marks=marks, news=news)

    async def renew(self, leases: Sequence[Lease], lease_ms: int = 120_000) -> list[int]:
        if self.fails_with is not None:
            raise self.fails_with
        return await super().renew(leases, lease_ms)


class Child:
    """Calls a core as a child would, without a connection in between."""

    def __init__(self, core: RemoteServer, clock: VirtualClock, key: str) -> None:
        self.core = core
        self.clock = clock
        self.key = key
        self.number = 0
        self.grants: list[Grant] = []

    async def __call__(self, name: str, *arguments: Any) -> Any:
        self.number += 1
        return await self.again(self.number, name, *arguments)

    async def again(self, number: int, name: str, *arguments: Any) -> Any:
        verb = VERBS[name]
        body = verb.write_call(Call(number, number, arguments), self.clock.boot())
        return verb.read_answer(await self.core.handle(name, self.key, body), self.clock.boot())

    async def hello(self) -> Welcome:
        welcome: Welcome = await self("hello", self.key, 42)
        return welcome

    async def claim(self, k: int = 10) -> list[Lease]:
        if not self.grants:
            self.grants = await self("own", self.key, [0], 5_000)
        claim: Claim = await self("claim", self.grants, k, 120_000, [])
        return list(claim.leases)

    async def ack(self, *leases: Lease, result: Result = Result.DONE) -> Receipt:
        receipt: Receipt = await self("ack", [Ack(x, result) for x in leases], None, None)
        return receipt


class Rig:
    """A core on a store with one job, in virtual time."""

    def __init__(self, folder: Path) -> None:
        self.clock = VirtualClock()
        self.folder = folder
        self.store = SlowStore(folder, self.clock)
        self.job = JobNumber(0)

    async def open(self, **options: Any) -> None:
        await self.store.open()
        self.core = RemoteServer(self.store, secret=self.store.secret, clock=self.clock, **options)
        await self.core.open()
        self.job = await self.store.put_job(JobEntry(id="job", delay_ms=0))

    async def close(self) -> None:
        await self.core.close()
        await self.store.close()

    async def restart(self, *, orderly: bool = True, **options: Any) -> None:
        if orderly:
            await self.core.close()
        await self.store.close()
        self.store = SlowStore(self.folder, self.clock)
        await self.open(**options)

    async def offer(self, *paths: str) -> None:
        links = [
            Link(f"http://{p}.test/", Fingerprint(hash(p) % 2**64), HostKey(f"{p}.test"), self.job)
            for p in paths
        ]
        assert (await self.store.offer(links)).new == len(paths)

    async def child(self, key: str) -> Child:
        child = Child(self.core, self.clock, key)
        await child.hello()
        return child


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    made = Rig(tmp_path / "store")
    await made.open()
    yield made
    made.store.fails_with = None
    made.store.gate.set()
    await made.close()


# Sessions


async def test_a_child_is_told_all_it_needs(rig: Rig) -> None:
    rig.core.settings = {"agent": "x"}
    welcome = await Child(rig.core, rig.clock, "a").hello()
    assert (welcome.secret, welcome.now_ms) == (rig.store.secret, rig.clock.now_ms())
    assert (welcome.silence_ms, welcome.settings) == (5_000, {"agent": "x"})
    assert welcome.version == (await (await rig.child("b"))("claim", [], 0, 1, [])).version


async def test_epoch_and_version_grow_when_the_store_is_opened_again(rig: Rig) -> None:
    before = await Child(rig.core, rig.clock, "a").hello()
    for name in ("x", "y", "z"):
        await rig.store.put_job(JobEntry(id=name))
    later = await Child(rig.core, rig.clock, "b").hello()
    await rig.restart()
    after = await Child(rig.core, rig.clock, "c").hello()
    assert before.epoch == later.epoch < after.epoch
    assert before.version < later.version < after.version


async def test_a_session_that_never_said_hello_is_told_so(rig: Rig) -> None:
    with pytest.raises(SessionLost):
        await Child(rig.core, rig.clock, "a")("jobs")


@pytest.mark.parametrize("who", [("", "name"), ("key", "two\nlines"), ("key", "n" * 500)])
async def test_who_has_no_key_or_no_name_to_show_is_refused(rig: Rig, who: tuple[str, str]) -> None:
    key, name = who
    with pytest.raises(FrontierError, match="name that cannot be shown"):
        await Child(rig.core, rig.clock, key)("hello", name, 1)
    assert rig.core.sessions() == []


async def test_saying_hello_twice_changes_nothing(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    [lease] = await child.claim()
    await child.hello()
    assert [facts.leases for facts in rig.core.sessions()] == [1]
    assert (await child.ack(lease)).accepted == 1


async def test_a_silent_child_loses_its_leases_and_others_get_them(rig: Rig) -> None:
    await rig.offer("p", "q")
    silent, other = await rig.child("silent"), await rig.child("other")
    held = await silent.claim()
    rig.clock.advance(4.999)
    await other("beat")
    await rig.core.sweep()
    assert await other.claim() == []
    rig.clock.advance(0.001)
    await other("beat")
    await rig.core.sweep()
    assert (await rig.store.counts(rig.job)).leased == 0
    taken = await other.claim()
    assert {lease.url for lease in taken} == {lease.url for lease in held}
    assert {lease.lost for lease in taken} == {1}
    assert [facts.name for facts in rig.core.sessions()] == ["other"]


async def test_a_child_that_comes_back_late_is_told_and_its_acks_change_nothing(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    [lease] = await child.claim()
    rig.clock.advance(6)
    await rig.core.sweep()
    with pytest.raises(SessionLost):
        await child.ack(lease)
    back = await rig.child("a2")
    assert (await back.ack(lease)).stale == (lease.id,)
    assert (await rig.store.counts(rig.job)).queued == 1


@pytest.mark.parametrize("name", ["beat", "jobs"])
async def test_any_call_is_a_sign_of_life(rig: Rig, name: str) -> None:
    child = await rig.child("a")
    for _ in range(4):
        rig.clock.advance(4)
        await child(name)
        await rig.core.sweep()
    assert len(rig.core.sessions()) == 1


async def test_a_child_is_not_given_up_while_it_may_believe_in_its_grants(rig: Rig) -> None:
    child = await rig.child("a")
    await child("own", "a", [0], 9_000)
    rig.clock.advance(8.999)
    await rig.core.sweep()
    assert len(rig.core.sessions()) == 1
    rig.clock.advance(0.001)
    await rig.core.sweep()
    assert rig.core.sessions() == []


async def test_a_master_that_stood_still_gives_nobody_up_for_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.core.close()
    monkeypatch.setattr(server_module, "SWEEP_S", 0.01)
    core = RemoteServer(rig.store, secret=b"s", clock=rig.clock)
    await core.open()
    await Child(core, rig.clock, "a").hello()
    rig.clock.advance(60)
    await asyncio.sleep(0.1)
    assert [facts.name for facts in core.sessions()] == ["a"]
    async with asyncio.timeout(60):
        while core.sessions():
            rig.clock.advance(0.1)
            await asyncio.sleep(0.012)
    await core.close()


async def test_leases_that_cannot_be_ended_now_are_ended_later(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    await child.claim()
    rig.clock.advance(6)
    rig.store.fails_with = StoreUnavailable("disk full")
    with pytest.raises(StoreUnavailable):
        await rig.core.sweep()
    rig.store.fails_with = None
    await rig.core.sweep()
    assert (await rig.store.counts(rig.job)).queued == 1


async def test_who_says_goodbye_gives_back_without_a_loss(rig: Rig) -> None:
    await rig.offer("p")
    child, other = await rig.child("a"), await rig.child("b")
    await child.claim()
    await child("bye")
    [lease] = await other.claim()
    assert lease.lost == 0
    with pytest.raises(SessionLost):
        await child("beat")


async def test_slots_given_back_take_the_leases_of_that_child_alone_with_them(rig: Rig) -> None:
    await rig.offer("p")
    leaving, staying = await rig.child("a"), await rig.child("b")
    [first] = await leaving.claim()
    await rig.offer("q")
    [kept] = await staying.claim()
    await leaving("disown", leaving.grants)
    [again] = await staying.claim()
    assert (again.url, again.lost) == (first.url, 0)
    assert (await staying.ack(kept, again)).accepted == 2
    assert (await leaving.ack(first)).stale == (first.id,)


async def test_the_list_of_sessions_shows_who_does_what(rig: Rig) -> None:
    await rig.offer("p", "q")
    child = await rig.child("a")
    [first, _] = await child.claim()
    await child.ack(first)
    rig.clock.advance(2)
    [facts] = rig.core.sessions()
    assert (facts.name, facts.pid, facts.silent_s) == ("a", 42, 2.0)
    assert (facts.leases, facts.acked) == (1, 1)


async def test_leases_that_ended_by_themselves_are_not_counted_as_held(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    held = await child.claim()
    await rig.store.renew(held, 0)
    assert await child("renew", held, 120_000) == [held[0].id]
    assert rig.core.sessions()[0].leases == 0


async def test_a_sign_of_life_brings_the_troubles_of_the_store(rig: Rig) -> None:
    child = await rig.child("a")
    assert await child("beat") == ""
    rig.store.busy = "the disk is slow"
    assert await child("beat") == "the disk is slow"


# Calls


async def test_a_claim_whose_reply_was_lost_gives_the_same_leases_again(rig: Rig) -> None:
    await rig.offer("p", "q")
    child = await rig.child("a")
    grants = await child("own", "a", [0], 5_000)
    first = await child.again(7, "claim", grants, 1, 120_000, [])
    assert await child.again(7, "claim", grants, 1, 120_000, []) == first
    assert rig.core.sessions()[0].leases == 1
    other = await child.again(8, "claim", grants, 1, 120_000, [])
    assert other.leases[0].url != first.leases[0].url


async def test_an_ack_whose_reply_was_lost_counts_once(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    acks = [Ack(lease, Result.DONE) for lease in await child.claim()]
    first = await child.again(50, "ack", acks, None, None)
    assert await child.again(50, "ack", acks, None, None) == first
    assert (first.accepted, first.stale) == (1, ())


async def test_an_error_is_repeated_as_well(rig: Rig) -> None:
    child = await rig.child("a")
    for _ in range(2):
        with pytest.raises(Fenced):
            await child.again(5, "claim", [Grant(0, 999, 0.0)], 1, 1_000, [])


async def test_acks_of_all_children_reach_the_store_in_the_order_they_came(rig: Rig) -> None:
    names = [f"p{n}" for n in range(8)]
    await rig.offer(*names)
    children = [await rig.child(f"child-{n}") for n in range(4)]
    leases = [(await child.claim(1))[0] for child in (*children, *children)]
    rig.store.gate.clear()
    rig.store.acks.clear()
    senders = zip((*children, *children), leases, strict=True)
    sent = [asyncio.create_task(child.ack(lease)) for child, lease in senders]
    async with asyncio.timeout(30):
        while len(rig.store.acks) < len(leases):
            await asyncio.sleep(0.01)
    # None waits for the one before it: several may be made safe at once.
    assert rig.store.acks == [[lease.id] for lease in leases]
    assert (await children[0]("counts", rig.job, None)).leased == 8
    rig.store.gate.set()
    assert [receipt.accepted for receipt in await asyncio.gather(*sent)] == [1] * 8


async def test_an_ack_that_has_come_is_not_overtaken_by_the_end_of_its_session(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    [lease] = await child.claim()
    rig.store.gate.clear()
    sent = asyncio.create_task(child.ack(lease))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    rig.clock.advance(6)
    await rig.core.sweep()
    assert rig.core.sessions() == []
    rig.store.gate.set()
    assert (await sent).accepted == 1
    assert (await rig.store.counts(rig.job)).done == 1


@pytest.mark.parametrize("gone", [False, True])
async def test_a_lease_whose_ack_failed_is_still_minded(rig: Rig, gone: bool) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    [lease] = await child.claim()
    rig.store.gate.clear()
    sent = asyncio.create_task(child.ack(lease))
    await asyncio.sleep(0.01)
    if gone:
        rig.clock.advance(6)
        await rig.core.sweep()
    rig.store.fails_with = StoreUnavailable("disk full")
    rig.store.gate.set()
    with pytest.raises(StoreUnavailable, match="disk full"):
        await sent
    rig.store.fails_with = None
    if not gone:
        assert rig.core.sessions()[0].leases == 1
        rig.clock.advance(6)
    await rig.core.sweep()
    assert (await rig.store.counts(rig.job)).queued == 1


async def test_what_was_claimed_for_a_session_that_has_ended_goes_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    child.grants = await child("own", "a", [0], 5_000)
    claim, gate = rig.store.claim, asyncio.Event()

    async def slow(*ordered: Any, **named: Any) -> Claim:
        await gate.wait()
        return await claim(*ordered, **named)

    monkeypatch.setattr(rig.store, "claim", slow)
    asked = asyncio.create_task(child.claim())
    await asyncio.sleep(0.01)
    rig.clock.advance(6)
    await rig.core.sweep()
    gate.set()
    with pytest.raises(SessionLost):
        await asked
    counts = await rig.store.counts(rig.job)
    assert (counts.queued, counts.leased) == (1, 0)


async def test_a_failure_of_the_master_is_told_and_logged(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    child = await rig.child("a")
    rig.store.fails_with = ZeroDivisionError("oh")
    with pytest.raises(FrontierError, match="could not do renew: ZeroDivisionError: oh"):
        await child("renew", [], 1_000)
    assert caplog.records[-1].levelno == logging.ERROR


async def test_an_unknown_call_is_refused(rig: Rig) -> None:
    answer = await rig.core.handle("explode", "a", b"")
    with pytest.raises(FrontierError, match="no call 'explode'"):
        VERBS["beat"].read_answer(answer, 0.0)


# Token


def test_the_token_opens_and_nothing_else_does(tmp_path: Path) -> None:
    store = EmbeddedFrontier(tmp_path)
    core = RemoteServer(store, secret=b"", clock=VirtualClock(), token="sesame")
    assert core.guarded
    assert core.admits("sesame")
    for wrong in ("", "sesam", "sesame ", "Sesame", "\udcff", "sésame"):
        assert not core.admits(wrong)


def test_without_a_token_no_token_is_right(tmp_path: Path) -> None:
    core = RemoteServer(EmbeddedFrontier(tmp_path), secret=b"", clock=VirtualClock())
    assert not core.guarded
    assert not core.admits("")


def test_a_token_with_a_space_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="token"):
        RemoteServer(EmbeddedFrontier(tmp_path), secret=b"", clock=VirtualClock(), token="a b")


# The end, and what comes after it


async def test_a_master_that_ends_lets_calls_finish_and_takes_no_more(rig: Rig) -> None:
    await rig.offer("p")
    child = await rig.child("a")
    [lease] = await child.claim()
    rig.store.gate.clear()
    sent = asyncio.create_task(child.ack(lease))
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(rig.core.close())
    await asyncio.sleep(0.01)
    with pytest.raises(Closing):
        await child("beat")
    assert not closing.done()
    rig.store.gate.set()
    await closing
    assert (await sent).accepted == 1


@pytest.mark.parametrize("orderly", [True, False])
async def test_a_master_that_had_children_hands_out_nothing_until_they_have_noticed(
    rig: Rig, orderly: bool
) -> None:
    await rig.offer("p")
    await (await rig.child("a")).claim()
    await rig.restart(orderly=orderly)
    other = await rig.child("b")
    assert rig.core.quiet_left_s == 5.0
    grants = await other("own", "b", [0], 5_000)
    claim = await other("claim", grants, 5, 1_000, [])
    assert claim.leases == ()
    assert claim.next_ready_ms == rig.clock.now_ms() + 5_000
    rig.clock.advance(5)
    assert rig.core.quiet_left_s == 0.0
    assert len(await other.claim()) == 1


async def test_a_master_whose_children_had_left_begins_at_once(rig: Rig) -> None:
    await rig.offer("p")
    await (await rig.child("a"))("bye")
    await rig.restart()
    assert await rig.store.mark(MEMBERS_MARK) == b""
    assert len(await (await rig.child("b")).claim()) == 1


def test_a_child_keeps_what_it_learned_and_nothing_of_the_outputs() -> None:
    job, fp = JobNumber(3), Fingerprint(7)
    learned = [
        scope_mark(job),
        f"{traps_mark(job)}a.test",
        linked_mark(job, "child"),
        templates_mark(job, "child"),
        f"{drift_mark(job)}detail.title",
        f"{fitted_mark(job)}links[0]",
        history_mark(job, fp),
    ]
    assert all(map(GUEST_MARKS.match, learned)), learned
    own = {name.partition(":")[0] for name in learned} | {"aliases", "job"}
    # Whoever adds a kind of mark that goes with jobs says here who writes it.
    assert own == set(JOB_MARKS)
    assert not GUEST_MARKS.match(job_mark(job, f"{SINK_MARKS}jsonl:out.jsonl"))
