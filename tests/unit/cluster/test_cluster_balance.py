"""Shares that follow speeds: the crawl as a whole, in virtual time, with the real control."""

from collections.abc import Mapping

import pytest
from balance_sim import Crawl

from skitter.cluster.balance import MOVED
from skitter.url.partition import SLOTS

SPEEDS = {"first": 360.0, "second": 420.0, "third": 480.0}


def shares(crawl: Crawl) -> Mapping[str, float]:
    """Return what everyone's share ought to be."""
    total = sum(worker.speed for worker in crawl.workers.values())
    return {name: worker.speed / total for name, worker in crawl.workers.items()}


def most_in_a_minute(crawl: Crawl, since: float) -> int:
    moves = [(at, moved) for at, moved in crawl.moves if at > since]
    return max(sum(n for at, n in moves if begin <= at < begin + 1) for begin, _ in moves)


def test_shares_follow_360_420_and_480_pages_a_minute_and_both_changes_of_speed() -> None:
    crawl = Crawl(SPEEDS, urls=100_000)
    for until, speed in ((30, 360.0), (50, 420.0), (70, 480.0)):
        crawl.workers["first"].speed = speed
        wanted = pytest.approx(shares(crawl), rel=0.03)
        assert crawl.pages(10) == wanted
        assert crawl.slots() == wanted
        assert crawl.pages(until - crawl.minutes) == wanted
        assert crawl.slots() == wanted
    assert most_in_a_minute(crawl, since=0.1) <= SLOTS * MOVED
    assert sum(moved for at, moved in crawl.moves if at > 0.1) < SLOTS * 0.12


def test_nothing_moves_while_speeds_stay_what_they_are() -> None:
    crawl = Crawl(SPEEDS, urls=50_000)
    crawl.run(20)
    plan = crawl.plan
    crawl.run(20)
    assert crawl.plan == plan


def test_members_that_are_never_short_of_time_keep_equal_shares() -> None:
    crawl = Crawl(dict.fromkeys(SPEEDS, 400.0))
    crawl.refill = False
    crawl.run(20, arriving=30)
    assert all(at < 0.1 for at, _ in crawl.moves)
    assert crawl.slots() == pytest.approx(dict.fromkeys(SPEEDS, 1 / 3), rel=0.001)


def test_one_with_time_to_spare_relieves_one_that_cannot_keep_up() -> None:
    crawl = Crawl({"slow": 100.0, "fast": 300.0})
    crawl.refill = False
    crawl.run(40, arriving=300)
    assert crawl.slots()["slow"] < 0.34
    assert crawl.workers["slow"].backlog < 250
    assert crawl.workers["fast"].backlog < 50


def test_without_a_word_of_spare_time_the_backlog_of_a_slow_one_would_grow() -> None:
    crawl = Crawl({"slow": 100.0, "fast": 300.0})
    crawl.refill = False
    for worker in crawl.workers.values():
        worker.tells_spare = False
    crawl.run(40, arriving=300)
    assert crawl.workers["slow"].backlog > 1_000


def test_one_that_joins_gets_a_usual_share_at_once_and_then_its_own() -> None:
    crawl = Crawl(SPEEDS, urls=100_000)
    crawl.run(15)
    crawl.join("late", 120.0)
    crawl.run(0.1)
    assert crawl.slots()["late"] == pytest.approx(1 / 4, rel=0.02)
    crawl.run(20)
    assert crawl.slots() == pytest.approx(shares(crawl), rel=0.03)


def test_whoever_has_control_next_goes_on_with_the_speeds_that_were_measured() -> None:
    crawl = Crawl(SPEEDS, urls=100_000)
    crawl.run(15)
    crawl.change_control()
    plans = len(crawl.moves)
    crawl.run(15)
    assert len(crawl.moves) - plans <= 1
    assert crawl.slots() == pytest.approx(shares(crawl), rel=0.03)
