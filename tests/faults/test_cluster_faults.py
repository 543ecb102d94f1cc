"""A crawl by four members and its writer while everything fails at random: the ledger is right."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from cluster_events import Events
from cluster_world import SAFE, World, ledger_problems, repeat_problems, repeats
from ledger_web import LedgerWeb, WebPlan
from stores import RedisCluster, RedisServer, start_cluster, start_redis

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
SEED = int(os.environ.get("FAULT_SEED", "0")) or 4
SINGLE = ("member", "control", "store", "pause", "join", "leave", "cut", "crawl")
CLUSTER = ("member", "control", "failover", "pause", "join", "leave", "crawl")
WEB = WebPlan(large=450, pages=90, hops=9) if SOAK else WebPlan(large=50, pages=16)
MOST_BURIED = 3 if SOAK else 0
"""Pages that may be given up because members died again and again while they had them."""
PATIENCE_S = 1800 if SOAK else 300
WINDOW_MS = 2_000
"""What a master may have promised before its death and not passed on to its replica."""


def drawn(kinds: Sequence[str], rng: random.Random, soak: int = 30) -> list[str]:
    """Return every kind once, in any order; for a soak, so many of them."""
    each = rng.sample(kinds, len(kinds))
    return each + rng.choices(kinds, k=soak - len(each)) if SOAK else each


def run_with(
    folder: Path, store: RedisServer | RedisCluster, kinds: Sequence[str], rng: random.Random
) -> tuple[list[str], str]:
    """Crawl while events happen; return what is wrong at the end, and a line about the run."""
    with (
        LedgerWeb(WEB, folder / "asked") as web,
        World(folder, web, store) as world,
    ):
        world.begin("one-a", "one-b", "two-a", "two-b")
        events = Events(world, rng)
        try:
            events.happen(kinds)
            events.mend()
            world.finish(PATIENCE_S)
        except BaseException:
            print(f"seed {SEED}", events.told(), sep="\n")
            raise
        problems = ledger_problems(world, forgiven_ms=events.failovers, window_ms=WINDOW_MS)
        asked = web.asked()
        again = repeats(asked)
        problems += repeat_problems(asked, events.spans, WEB.hosts)
        if world.buried > MOST_BURIED:
            problems.append(f"{world.buried} pages were given up")
        if problems:
            print(f"seed {SEED}", events.told(), sep="\n")
        line = (
            f"{len(kinds)} events, {len(asked)} requests, {len(again)} pages asked for again,"
            f" {world.buried} given up, {world.forgiven} recorded twice after"
            f" {len(events.failovers)} failovers"
        )
        return problems, line


@pytest.mark.timeout(0 if SOAK else 900)
def test_members_control_and_store_fail_and_the_ledger_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(SEED)
    with start_redis(tmp_path / "redis", options=SAFE) as store:
        problems, line = run_with(tmp_path, store, drawn(SINGLE, rng), rng)
    with capsys.disabled():
        print(f"\none server: {line}")
    assert problems == []


@pytest.mark.timeout(0 if SOAK else 900)
def test_masters_of_a_cluster_fail_and_the_ledger_is_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = random.Random(SEED)
    kinds = drawn(CLUSTER, rng) if SOAK else ["pause", "failover", "member", "control", "failover"]
    with start_cluster(tmp_path / "cluster") as store:
        problems, line = run_with(tmp_path, store, kinds, rng)
    with capsys.disabled():
        print(f"\ncluster: {line}")
    assert problems == []
