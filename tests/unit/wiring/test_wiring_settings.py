"""Settings are kept in a store: changed by several, refused when newer, and told to gates."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skitter.crawl.inspect import Question
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Freed, JobEntry, Link
from skitter.frontier.tuning import Tuning
from skitter.politeness.settings.live import LiveSettings
from skitter.politeness.settings.table import MARKS
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.wiring.host_rules import stored_rules
from skitter.wiring.settings import LOCK_MS, SettingsKeeper

HOST = HostKey("www.a.com")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
async def store(tmp_path: Path, clock: VirtualClock) -> AsyncIterator[EmbeddedFrontier]:
    frontier = EmbeddedFrontier(tmp_path / "frontier", clock=clock, durable=False)
    await frontier.open()
    yield frontier
    await frontier.close()


@pytest.fixture
async def keeper(store: EmbeddedFrontier, clock: VirtualClock) -> SettingsKeeper:
    made = SettingsKeeper(store, clock, LiveSettings())
    await made.open()
    return made


async def ask(keeper: SettingsKeeper, verb: str, pattern: str = "", *words: str) -> list[Any]:
    question: Question = {
        "settings": verb,
        **({"pattern": pattern} if pattern else {}),
        **({"words": list(words), "by": "ana@desk"} if verb in ("set", "unset") else {}),
    }
    return [json.loads(line) async for line in keeper.answer(question)]


async def add_host(store: EmbeddedFrontier, urls: int = 2) -> None:
    job = await store.put_job(JobEntry(id="job"))
    links = [
        Link(f"http://{HOST}/{n}", Fingerprint(n), HOST, JobNumber(job)) for n in range(1, urls + 1)
    ]
    await store.offer(links)


async def take(store: EmbeddedFrontier, *freed: Freed) -> int:
    grants = await store.own("member", [0])
    return len((await store.claim(grants, 10, freed=freed)).leases)


async def test_what_is_set_is_told_with_who_and_when(
    keeper: SettingsKeeper, clock: VirtualClock
) -> None:
    [row, end] = await ask(keeper, "set", "*.A.com", "delay=2", "types=text/html")
    assert end == {"complete": True}
    assert row == {
        "pattern": "*.a.com",
        "settings": {"delay": 2.0, "types": ["text/html"]},
        "changed_by": "ana@desk",
        "changed_at": row["changed_at"],
        "revision": 1,
        "version": 1,
        "known_hosts": 0,
    }
    clock.advance(60)
    [row, _] = await ask(keeper, "set", "*.a.com", "delay=3")
    assert row["settings"] == {"delay": 3.0, "types": ["text/html"]}
    assert (row["revision"], row["version"]) == (2, 2)
    [found, _] = await ask(keeper, "get", HOST)
    assert found["settings"]["delay"] == {"value": 3.0, "from": "*.a.com"}


async def test_changes_of_several_operators_at_once_all_survive(
    store: EmbeddedFrontier, clock: VirtualClock
) -> None:
    keepers = [SettingsKeeper(store, clock, LiveSettings()) for _ in range(6)]
    names = ("a.com", "b.com", "a.com", "c.com", "b.com", "a.com")
    keys = ("delay=1", "delay=2", "per_host=3", "depth=4", "types=text/*", "depth=5")
    changes = zip(keepers, names, keys, strict=True)
    await asyncio.gather(*(ask(one, "set", name, key) for one, name, key in changes))
    *rows, _ = await ask(keepers[0], "list")
    assert {row["pattern"]: row["settings"] for row in rows} == {
        "a.com": {"delay": 1.0, "per_host": 3, "depth": 5},
        "b.com": {"delay": 2.0, "types": ["text/*"]},
        "c.com": {"depth": 4},
    }
    assert {row["version"] for row in rows} == {6}


async def test_every_change_is_news(store: EmbeddedFrontier, keeper: SettingsKeeper) -> None:
    before = (await store.claim([], 0)).version
    await ask(keeper, "set", "a.com", "delay=1")
    assert (await store.claim([], 0)).version > before


async def test_a_member_that_reads_on_goes_by_the_change(
    store: EmbeddedFrontier, keeper: SettingsKeeper
) -> None:
    member = LiveSettings()
    assert not await member.refresh(store)
    await ask(keeper, "set", "*", "delay=4")
    assert await member.refresh(store)
    assert member.of(HOST).delay == 4.0
    await ask(keeper, "unset", "*")
    assert await member.refresh(store)
    assert member.of(HOST).delay is None


async def test_nothing_is_changed_where_settings_are_newer(
    store: EmbeddedFrontier, keeper: SettingsKeeper
) -> None:
    await ask(keeper, "set", "b.com", "delay=1")
    await store.ack([], marks={f"{MARKS}a.com": b'{"format": 7}'})
    before = await store.marks("settings")
    for words in (["list"], ["get", "b.com"], ["set", "b.com", "delay=2"], ["unset", "b.com"]):
        [answer] = await ask(keeper, *words)
        assert answer["error"].startswith("settings of a.com: written by a newer Skitter (format 7")
    assert await store.marks("settings") == before


@pytest.mark.parametrize(
    ("verb", "pattern", "word", "why"),
    [
        ("set", "a.com", "rate=0/0s", "rate: '0/0s': wanted "),
        ("set", "a.com/x", "delay=1", "pattern 'a.com/x': "),
        ("unset", "a.com", "delay", "delay: is not set for a.com"),
        ("burn", "a.com", "delay", "not a question about settings"),
    ],
)
async def test_a_bad_question_is_answered_in_words(
    keeper: SettingsKeeper, verb: str, pattern: str, word: str, why: str
) -> None:
    [answer] = await ask(keeper, verb, pattern, word)
    assert answer["error"].startswith(why)
    assert await ask(keeper, "list") == [{"complete": True}]


async def test_the_gates_of_known_hosts_follow_a_change(
    store: EmbeddedFrontier, keeper: SettingsKeeper, clock: VirtualClock
) -> None:
    await add_host(store)
    assert await take(store) == 1
    [row, _] = await ask(keeper, "set", ".a.com", "delay=60")
    assert row["known_hosts"] == 1
    lease_id = next(iter(store._core.leases.by_id))
    clock.advance(10)
    assert await take(store, Freed(lease_id, HOST)) == 0
    await ask(keeper, "unset", ".a.com", "delay")
    clock.advance(1)
    assert await take(store) == 1


async def test_a_walk_that_takes_long_goes_by_what_others_set_meanwhile(
    store: EmbeddedFrontier,
    keeper: SettingsKeeper,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = SettingsKeeper(store, clock, LiveSettings())
    await add_host(store, urls=9)
    tune = store.tune

    async def wait(tuning: Tuning) -> int:
        monkeypatch.setattr(store, "tune", tune)
        await ask(other, "set", HOST, "per_host=2")
        return await tune(tuning)

    monkeypatch.setattr(store, "tune", wait)
    await ask(keeper, "set", "*", "per_host=8", "delay=0")
    assert await take(store) == 2


async def test_a_part_of_a_walk_that_came_too_late_is_mended_at_its_end(
    store: EmbeddedFrontier,
    keeper: SettingsKeeper,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = SettingsKeeper(store, clock, LiveSettings())
    await add_host(store, urls=9)
    tune = store.tune

    async def come_late(tuning: Tuning) -> int:
        monkeypatch.setattr(store, "tune", tune)
        old = tuning.rule(HOST)
        await ask(other, "set", HOST, "per_host=2")
        return await tune(replace(tuning, rule=lambda _: old))

    monkeypatch.setattr(store, "tune", come_late)
    [row, _] = await ask(keeper, "set", "*", "per_host=8", "delay=0")
    assert row["settings"] == {"delay": 0.0, "per_host": 8}
    assert await take(store) == 2


async def test_a_slow_store_does_not_let_one_operator_undo_what_another_sets(
    store: EmbeddedFrontier,
    keeper: SettingsKeeper,
    clock: VirtualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = SettingsKeeper(store, clock, LiveSettings())
    marks = store.marks

    async def read_slowly(prefix: str) -> Mapping[str, bytes]:
        monkeypatch.setattr(store, "marks", marks)
        found = await marks(prefix)
        clock.advance(LOCK_MS / 1000)
        await ask(other, "set", "a.com", "depth=4")
        return found

    monkeypatch.setattr(store, "marks", read_slowly)
    await ask(keeper, "set", "a.com", "delay=1")
    [row, _] = await ask(keeper, "list")
    assert row["settings"] == {"delay": 1.0, "depth": 4}


async def test_hosts_to_come_begin_with_what_is_set(
    store: EmbeddedFrontier, keeper: SettingsKeeper
) -> None:
    await ask(keeper, "set", "*", "delay=0", "per_host=3")
    await add_host(store, urls=5)
    assert await take(store) == 3


async def test_a_job_that_is_changed_by_a_new_process_leaves_alone_what_is_set(
    store: EmbeddedFrontier, keeper: SettingsKeeper
) -> None:
    await add_host(store, urls=5)
    await ask(keeper, "set", HOST, "delay=0", "per_host=2")
    store.rules = await stored_rules(store)
    await store.put_job(JobEntry(id="job", per_host=4))
    assert await take(store) == 2


async def test_what_was_blacklisted_while_nobody_crawled_is_drained_at_once(
    store: EmbeddedFrontier, keeper: SettingsKeeper, clock: VirtualClock
) -> None:
    await add_host(store)
    await store.set_host(HOST, not_before_ms=clock.now_ms() + 86_400_000)
    await ask(keeper, "set", "*.a.com", "blacklist=true")
    clock.advance(3600)
    assert await take(store) == 0
    await SettingsKeeper(store, clock, LiveSettings()).open()
    assert await take(store) == 2
