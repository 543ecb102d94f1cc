"""A store that restarts, hangs, is slow, full or away: the crawl waits, says so, and goes on."""

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from cluster_world import (
    ACK_S,
    DELAY_S,
    SAFE,
    Span,
    World,
    count_problems,
    ledger_problems,
    now_ms,
    overlaps,
    record_problems,
    records_in,
    repeat_problems,
    repeats,
    rushes,
    told_too_late,
)
from killable import INTERRUPTED, Command
from ledger_web import LedgerWeb, WebPlan
from stores import RedisServer, start_redis

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
WEB = WebPlan(hosts=6, pages=20, large=40, slow=1, hops=2)
SMALL = WebPlan(hosts=5, pages=10, large=20, slow=1, hops=2)
AWAY_S = 60 if SOAK else 12
HANGS_S = 6
EVERYSEC_S = 1.0
POSTPONED_S = 2.0
"""How long a server may hold back what it writes, with `everysec`, while its disk is busy."""
BACK_S = 2.0
"""How long after its return a store is found again."""


@pytest.fixture
def web(tmp_path: Path) -> Iterator[LedgerWeb]:
    with LedgerWeb(WEB, tmp_path / "asked") as web:
        yield web


@pytest.fixture
def small_web(tmp_path: Path) -> Iterator[LedgerWeb]:
    with LedgerWeb(SMALL, tmp_path / "asked") as web:
        yield web


def more_pages(world: World, number: int = 4) -> None:
    """Wait until that many more pages are in the file."""
    goal = world.lines_written() + number
    world.wait(lambda: world.lines_written() >= goal, 90)


def said_since(command: Command, before: int, *words: str) -> Callable[[], bool]:
    """Return a question whether a command has said one of some words after a moment."""
    return lambda: any(word in command.told[before:] for word in words)


def waits_and_says(world: World, *words: str, seconds: float = 60) -> None:
    """Wait until crawl and node say why they wait."""
    everyone = [world.crawl, *world.nodes.values()]
    before = [len(command.told) for command in everyone]
    for command, place in zip(everyone, before, strict=True):
        world.wait(said_since(command, place, *words), seconds)


@pytest.mark.timeout(0 if SOAK else 900)
def test_a_store_that_is_slow_hangs_is_full_or_away_is_waited_for(
    tmp_path: Path, web: LedgerWeb
) -> None:
    with start_redis(tmp_path / "redis", options=SAFE) as store, World(tmp_path, web, store) as w:
        w.begin("two-a")

        for line in w.lines.values():
            line.slow(0.1)
        more_pages(w)
        for line in w.lines.values():
            line.heal()

        store.pause()
        began = time.monotonic()
        waits_and_says(w, "does not answer")
        time.sleep(max(0.0, HANGS_S - (time.monotonic() - began)))
        store.resume()
        more_pages(w)

        store.cli("CONFIG", "SET", "maxmemory", "1mb")
        waits_and_says(w, "is full")
        store.cli("CONFIG", "SET", "maxmemory", "0")
        more_pages(w)

        for line in w.lines.values():
            line.cut()
        began = time.monotonic()
        waits_and_says(w, "does not answer")
        time.sleep(max(0.0, AWAY_S - (time.monotonic() - began)))
        for line in w.lines.values():
            line.heal()
        more_pages(w)

        w.finish(150)
        assert w.crawl.started == 1
        assert ledger_problems(w) == []


@pytest.mark.timeout(0 if SOAK else 900)
def test_with_appendfsync_always_a_killed_store_has_lost_nothing(
    tmp_path: Path, web: LedgerWeb
) -> None:
    with start_redis(tmp_path / "redis", options=SAFE) as store, World(tmp_path, web, store) as w:
        w.begin("two-a")
        spans: list[Span] = []
        for _ in range(6 if SOAK else 2):
            more_pages(w, 8)
            recorded = {record["url"] for record in whole_records(w)}
            at = now_ms()
            store.kill()
            time.sleep(0.5)
            store.start()
            spans.append(Span(at, now_ms() + BACK_S * 1000))
            more_pages(w, 1)
            again = {asked.url for asked in web.asked() if asked.begin > at}
            assert not again & recorded, "asked for again though recorded"
        w.finish(150)
        assert ledger_problems(w) == []
        assert repeat_problems(web.asked(), spans, WEB.hosts) == []


def whole_records(world: World) -> list[dict[str, object]]:
    """Return the records of a file that may have half of one at its end."""
    lines = world.out.read_bytes().rpartition(b"\n")[0]
    (world.folder / "so-far").write_bytes(lines)
    return records_in(world.folder / "so-far")


def aof(store: RedisServer) -> Path:
    """Return the file that a server appends to."""
    [path] = (store.folder / "appendonlydir").glob("*.incr.aof")
    return path


@pytest.mark.timeout(0 if SOAK else 900)
def test_with_appendfsync_everysec_a_kill_or_power_cut_repeats_a_second_and_loses_nothing(
    tmp_path: Path, web: LedgerWeb, capsys: pytest.CaptureFixture[str]
) -> None:
    options = {"appendonly": "yes", "appendfsync": "everysec"}
    with (
        start_redis(tmp_path / "redis", options=options) as store,
        World(tmp_path, web, store) as w,
    ):
        w.begin("two-a")
        spans: list[Span] = []
        for cut in [False, True] * (3 if SOAK else 1):
            more_pages(w, 8)
            synced = aof(store).stat().st_size
            time.sleep(EVERYSEC_S)
            at = now_ms()
            store.kill()
            if cut:
                # A killed process loses nothing that it has written: only a power cut does.
                os.truncate(aof(store), synced)
            store.start()
            lost_s = EVERYSEC_S if cut else POSTPONED_S
            spans.append(Span(at - lost_s * 1000, now_ms() + BACK_S * 1000))
        w.finish(200)

        asked = web.asked()
        assert repeat_problems(asked, spans, answered_at_most(spans)) == []
        doubtful = {request.url for request in asked if told_too_late(request, spans)}
        problems = record_problems(web, records_in(w.out))
        twice = [line for line in problems if line.startswith("recorded 2 times")]
        assert {line.rpartition(" ")[2] for line in twice} <= doubtful
        assert [line for line in problems if line not in twice] == []
        assert count_problems(w.counts()) == []
        with capsys.disabled():
            again = len(repeats(asked))
            print(f"\n{len(spans)} kills: {again} asked for again, {len(twice)} recorded twice")
        # Whatever it has forgotten, a server that is back lets nobody be asked too soon.
        assert overlaps(asked) == []
        assert rushes(asked, w.delay_s) == []


def answered_at_most(spans: Sequence[Span]) -> int:
    """Return how many pages all hosts together can have answered in one span."""
    longest_s = max(high - low for low, high in spans) / 1000 + ACK_S
    return WEB.hosts * math.ceil(longest_s / DELAY_S)


@pytest.mark.timeout(0 if SOAK else 900)
def test_a_crawl_that_is_told_to_stop_while_the_store_is_away_ends(
    tmp_path: Path, small_web: LedgerWeb
) -> None:
    with (
        start_redis(tmp_path / "redis", options=SAFE) as store,
        World(tmp_path, small_web, store) as w,
    ):
        w.begin("two-a")
        store.kill()
        waits_and_says(w, "does not answer")
        for command in (w.nodes["two-a"], w.crawl):
            # One lets it finish, which it cannot; the third one is enough for everybody.
            for _ in range(3):
                if command.up:
                    command.send(signal.SIGTERM)
                    time.sleep(1.0)
            assert command.wait(60) == INTERRUPTED
        store.start()
        w.crawl.start()
        w.finish(150)
        assert record_problems(small_web, records_in(w.out)) == []


def await_output(command: Command, words: str, seconds: float = 90) -> None:
    """Wait until a command has printed some words."""
    until = time.monotonic() + seconds
    while words not in command.output:
        assert command.up, command.told
        assert time.monotonic() < until, command.told
        time.sleep(0.02)


@pytest.mark.timeout(0 if SOAK else 900)
def test_one_word_is_enough_for_a_crawl_whose_store_stays_away(
    tmp_path: Path, small_web: LedgerWeb
) -> None:
    with (
        start_redis(tmp_path / "redis", options=SAFE) as store,
        World(tmp_path, small_web, store) as w,
    ):
        w.begin("two-a")
        store.kill()
        waits_and_says(w, "does not answer")
        for command in (w.nodes["two-a"], w.crawl):
            command.send(signal.SIGTERM)
        for command in (w.nodes["two-a"], w.crawl):
            assert command.wait(60) == INTERRUPTED
        assert "what was not acked is fetched again" in w.crawl.told


CLOCKS = Path(__file__).with_name("wrong_clock.py")


@pytest.mark.timeout(0 if SOAK else 900)
@pytest.mark.parametrize("hours", ["1", "-1"] if SOAK else ["1"])
def test_a_node_whose_clock_is_an_hour_off_works_all_the_same(
    tmp_path: Path, small_web: LedgerWeb, hours: str
) -> None:
    runner = [sys.executable, str(CLOCKS), hours]
    with (
        start_redis(tmp_path / "redis", options=SAFE) as store,
        World(tmp_path, small_web, store) as w,
    ):
        # A member alone: a manager would start it with the right time. It is there before the
        # crawl, so that it has a share of the sites while there is something to do.
        node = w.node("two-a", "--place", "1", runner=runner)
        node.start()
        await_output(node, '"member":')
        w.crawl.start()
        w.finish(150)
        assert ledger_problems(w) == []
        assert '"200":' in w.nodes["two-a"].output, "the node has fetched nothing"
