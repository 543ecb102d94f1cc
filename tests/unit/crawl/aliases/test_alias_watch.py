"""Aliases are recognised from pages as they come, from the store, and over restarts."""

from collections.abc import Mapping
from typing import Any, cast

import pytest
from xxhash import xxh3_128_digest

from skitter.crawl.aliases import watch as module
from skitter.crawl.aliases.evidence import SAMPLE
from skitter.crawl.aliases.rows import (
    AliasRow,
    aliases_mark,
    decode_alias,
    encode,
    host_mark,
    links_rows,
    undone_mark,
)
from skitter.crawl.aliases.standing import Standing
from skitter.crawl.aliases.watch import AliasWatch
from skitter.crawl.trip import Visit
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import Lease, Result
from skitter.pipeline.record import PageRecord, encode_line
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.canonical import CanonicalRules
from skitter.url.fingerprint import Fingerprinter
from skitter.url.host import host_key
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope, ScopeKind

JOB = JobNumber(1)
A, B, C = HostKey("a.test"), HostKey("b.test"), HostKey("c.test")
PATHS = ["/", *(f"/d/{n}" for n in range(14))]


class Store:
    """Marks and notes, as a frontier keeps them."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.pages: dict[tuple[HostKey, Fingerprint], bytes] = {}
        self.alike: dict[bytes, str] = {}
        self.asked = 0

    async def mark(self, name: str) -> bytes | None:
        return self.kept.get(name)

    async def marks(self, prefix: str) -> dict[str, bytes]:
        return {name: value for name, value in self.kept.items() if name.startswith(prefix)}

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        assert job == JOB
        self.asked += 1
        return self.pages.get((host, fp), b"")


class Member:
    """One process that crawls, over a store it shares with others."""

    def __init__(self, store: Store, *entries: str, name: str = "") -> None:
        self.store = store
        self.clock = VirtualClock()
        self.normaliser = Normaliser(CanonicalRules(), Fingerprinter(b"0" * 16))
        urls = [f"http://{entry}/" for entry in entries]
        self.watch = AliasWatch(
            JOB,
            reader=cast("FrontierReader", store),
            normaliser=self.normaliser,
            clock=self.clock,
            seniority=Standing(
                map(host_key, urls), Scope(ScopeKind.HOST, urls), Scope(ScopeKind.DOMAIN, urls)
            ),
            member=name,
        )
        self._number = 0

    async def fetch(self, host: str, path: str, text: str | None = None) -> None:
        """Fetch a page and ack it; sites have the same pages unless ``text`` says otherwise."""
        visit = self.visit(host, path, text)
        if self.watch.is_due:
            await self.watch.decide()
        await self.commit(visit)

    def visit(self, host: str, path: str, text: str | None = None) -> Visit:
        self._number += 1
        self.clock.advance(0.001)
        url = f"http://{host}{path}"
        body = (f"<p>{path}" * 30 if text is None else text).encode()
        plain = xxh3_128_digest(body)
        record = PageRecord(
            job="j",
            url=url,
            final_url=url,
            outcome="ok",
            status=200,
            depth=1,
            page_class="data",
            fetched_at=f"2026-01-01T00:00:{self._number / 1000:06.3f}Z",
            digest=plain.hex(),
            bytes=len(body),
            n_links=0,
            title=path,
            visit=1,
        )
        alike = self.watch.saw(record, body, plain, HostKey(host))
        normal = self.normaliser.absolute(url)
        lease = _lease(self._number, url, normal.fp, HostKey(host))
        return Visit(lease=lease, result=Result.DONE, record=record, digest=plain, alike=alike)

    async def commit(self, visit: Visit, duplicate_of: str | None = None) -> None:
        assert visit.record is not None
        visit.record.duplicate_of = duplicate_of
        if visit.alike:
            visit.first_alike = self.store.alike.setdefault(visit.alike, visit.record.url)
        self.watch.named([visit])
        if self.watch.is_due:
            await self.watch.decide()
        self.store.kept |= self.watch.take_news()
        self.store.kept |= self.watch.take_marks(self.clock.boot())
        self.store.pages[visit.lease.host, visit.lease.fp] = encode_line(visit.record)

    @property
    def names(self) -> dict[str, str]:
        return self.watch.book.kept_names()


def _lease(number: int, url: str, fp: Fingerprint, host: HostKey) -> Lease:
    return Lease(
        number, url, fp, host, JOB, 0, 1, PageClass.DATA, 5, 1, 0, 0, 1, "", 0, float("inf")
    )


async def test_a_mirror_is_recognised_after_a_few_pages_and_told_to_all() -> None:
    member = Member(Store(), "a.test")
    for count, path in enumerate(PATHS, start=1):
        await member.fetch("a.test", path)
        await member.fetch("b.test", path)
        assert (member.names == {B: A}) is (count >= 6)
    row = decode_alias(member.store.kept[host_mark(JOB, B)])
    assert row is not None
    assert (row.kept, row.origin, row.equal, row.different) == (A, "http://a.test", 6, 0)
    assert row.since_ms <= member.clock.now_ms()
    assert [sample.path for sample in row.samples] == sorted(PATHS[:6])
    other = Member(member.store)
    await other.watch.take_up_news()
    assert other.names == {B: A}


async def test_hosts_with_other_pages_stay_two_sites() -> None:
    member = Member(Store(), "a.test")
    for path in PATHS:
        await member.fetch("a.test", path)
        own = f"<p>what b has to say about {path}" if path == "/" else None
        await member.fetch("b.test", path, own and own * 30)
    assert member.names == {}


async def test_a_hundred_sites_of_one_layout_stay_a_hundred() -> None:
    """The same paths and titles, a few equal pages, and text that differs in one number."""
    member = Member(Store(), "h0.test")
    legal = [f"/legal/{n}" for n in range(5)]
    for path in [*PATHS[:8], *legal, *PATHS[8:]]:
        for host in range(100):
            own = f"<p>what is at {path} " * 20 + f"number {host:03}"
            await member.fetch(f"h{host}.test", path, None if path in legal else own)
    assert member.names == {}
    assert not [name for name in member.store.kept if ":host:" in name]


async def test_three_names_have_one_kept_host() -> None:
    member = Member(Store(), "c.test", "a.test")
    for path in PATHS:
        for host in ("b.test", "a.test", "c.test"):
            if host not in member.names:
                await member.fetch(host, path)
    assert member.names == {A: C, B: C}


async def test_the_page_index_fills_in_what_this_process_did_not_fetch() -> None:
    store = Store()
    first, second = Member(store, "a.test", name="one"), Member(store, "a.test", name="two")
    for path in PATHS:
        await first.fetch("a.test", path)
    for count, path in enumerate(PATHS[:6], start=1):
        assert second.names == {}
        await second.commit(second.visit("b.test", path), f"http://a.test{path}")
        assert (second.names == {B: A}) is (count == 6)
    assert store.asked > 0


async def test_what_was_noticed_outlives_the_process() -> None:
    store = Store()
    for paths in (PATHS[:2], PATHS[2:4], PATHS[4:6]):
        member = Member(store, "a.test")
        await member.watch.open()
        assert member.names == {}
        for path in paths:
            await member.fetch("a.test", path)
            await member.fetch("b.test", path)
    assert member.names == {B: A}


async def test_contradictions_seen_before_a_restart_count() -> None:
    store = Store()
    before = Member(store, "a.test")
    for path in PATHS[:4]:
        await before.fetch("a.test", path)
        await before.fetch("b.test", path, f"<p>b and {path}" * 20 if path == "/" else None)
    after = Member(store, "a.test")
    await after.watch.open()
    for path in PATHS[4:]:
        await after.fetch("a.test", path)
        await after.fetch("b.test", path)
    assert after.names == {}


async def test_an_operator_has_the_last_word() -> None:
    member = Member(Store(), "a.test")
    for path in PATHS[:6]:
        await member.fetch("a.test", path)
        await member.fetch("b.test", path)
    row = decode_alias(member.store.kept[host_mark(JOB, B)])
    assert row is not None
    undone = AliasRow(**{**_fields(row), "undone_ms": 5})
    member.store.kept[host_mark(JOB, B)] = encode(undone)
    await member.watch.take_up_news()
    assert member.names == {}
    again = Member(member.store, "a.test")
    await again.watch.open()
    for path in PATHS:
        for watched in (member, again):
            await watched.fetch("a.test", path)
            await watched.fetch("b.test", path)
    assert member.names == again.names == {}


async def test_who_decides_after_an_undo_hears_of_it_first() -> None:
    member = Member(Store(), "a.test")
    undone = AliasRow(
        alias=B,
        kept=A,
        origin="http://a.test",
        since_ms=1,
        equal=6,
        common=6,
        different=0,
        undone_ms=5,
    )
    member.store.kept[undone_mark(JOB, B)] = encode(undone)
    for path in PATHS:
        await member.fetch("a.test", path)
        await member.fetch("b.test", path)
    assert member.names == {}
    assert host_mark(JOB, B) not in member.store.kept


def _fields(row: AliasRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__struct_fields__}


async def test_a_decision_of_another_member_comes_first() -> None:
    store = Store()
    made = AliasRow(
        alias=B, kept=C, origin="http://c.test", since_ms=1, equal=9, common=9, different=0
    )
    member = Member(store, "a.test")
    store.kept[host_mark(JOB, B)] = encode(made)
    for path in PATHS[:6]:
        await member.fetch("a.test", path)
        await member.fetch("b.test", path)
    assert member.names == {B: C}
    assert decode_alias(store.kept[host_mark(JOB, B)]) == made


async def test_pages_that_name_their_own_address_are_equal() -> None:
    member = Member(Store(), "a.test")
    for path in PATHS:
        for host in ("a.test", "b.test"):
            own = f'<link rel="canonical" href="http://{host}{path}">' + f"<p>{path}" * 30
            await member.fetch(host, path, own)
    assert member.names == {B: A}


async def test_copies_that_all_name_one_of_the_hosts_are_equal() -> None:
    member = Member(Store(), "a.test")
    for path in PATHS:
        for host in ("a.test", "b.test"):
            await member.fetch(host, path, f'<a href="http://a.test/">home</a><p>{path}' * 9)
    assert member.names == {B: A}


async def test_members_know_pages_that_name_their_own_address_from_each_other() -> None:
    store = Store()
    members = {"a.test": Member(store, "a.test"), "b.test": Member(store, "a.test", name="two")}
    for number, path in enumerate(PATHS):
        # Now the one is first, now the other.
        for host in sorted(members, reverse=number % 2 == 1):
            own = f'<link rel="canonical" href="http://{host}{path}">' + f"<p>{path}" * 30
            await members[host].fetch(host, path, own)
    assert {B: A} in [member.names for member in members.values()]


async def test_only_pages_that_name_their_own_address_have_another_digest() -> None:
    member = Member(Store(), "a.test")
    assert not member.visit("a.test", "/plain").alike
    assert member.visit("a.test", "/own", '<a href="//a.test/">x</a>').alike
    for number in range(SAMPLE):
        member.visit("a.test", f"/{number}")
    assert not member.visit("a.test", "/late", '<a href="//a.test/">late</a>').alike


async def test_turned_links_are_stored_now_and_then_and_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LINKS_S", 1e9)
    store = Store()
    member = Member(store, "a.test", name="m")
    member.watch.take_marks(member.clock.boot())
    member.watch.take(
        [
            AliasRow(
                alias=B, kept=A, origin="http://a.test", since_ms=1, equal=6, common=6, different=0
            )
        ]
    )
    member.watch.book.turn("http://b.test/x", B, 1, C)
    assert not member.watch.take_marks(member.clock.boot())
    store.kept |= member.watch.take_marks(0.0, force=True)
    [name] = store.kept
    assert name == f"{aliases_mark(JOB)}links:{B} m"
    again = Member(store, "a.test", name="m")
    await again.watch.open()
    assert [row.count for row in again.watch.book.take_links()] == []
    other = Member(store, "a.test", name="another")
    await other.watch.open()
    assert _counted(again.watch) == {B: 1}
    assert _counted(other.watch) == {}


async def test_a_member_that_hears_of_an_undo_stores_the_links_of_that_alias_at_once() -> None:
    store = Store()
    member = Member(store, "a.test", name="m")
    rows = {
        alias: AliasRow(
            alias=alias, kept=A, origin="http://a.test", since_ms=1, equal=6, common=6, different=0
        )
        for alias in (B, C)
    }
    store.kept = {host_mark(JOB, alias): encode(row) for alias, row in rows.items()}
    assert await member.watch.take_up_news() == {}
    member.watch.take_marks(member.clock.boot())
    for alias in (B, C):
        member.watch.book.turn(f"http://{alias}/x", alias, 1, HostKey("d.test"))
    assert await member.watch.take_up_news() == {}
    store.kept[undone_mark(JOB, B)] = encode(AliasRow(**{**_fields(rows[B]), "undone_ms": 5}))
    marks = await member.watch.take_up_news()
    assert list(marks) == [f"{aliases_mark(JOB)}links:{B} m"]
    [links] = links_rows(marks)
    assert links.urls == [("http://b.test/x", 1)]
    assert await member.watch.take_up_news() == {}


def _counted(watch: AliasWatch) -> Mapping[str, int]:
    turned = watch.book._turned
    return {alias: one.count for alias, one in turned.items()}


@pytest.mark.parametrize(
    ("hosts", "wanted"),
    [
        (("b.test", "a.test"), ("b.test", "a.test")),
        (("seed.test", "new.test"), ("seed.test", "new.test")),
        (("www.entry.test", "new.test"), ("www.entry.test", "new.test")),
    ],
)
def test_standing_goes_from_entries_to_strangers(
    hosts: tuple[str, str], wanted: tuple[str, str]
) -> None:
    entries = ["http://b.test/", "http://a.test/", "http://entry.test/"]
    seeds = [*entries, "http://seed.test/"]
    standing = Standing(
        map(host_key, entries), Scope(ScopeKind.HOST, seeds), Scope(ScopeKind.DOMAIN, seeds)
    )
    assert tuple(sorted(map(HostKey, hosts), key=standing)) == wanted
