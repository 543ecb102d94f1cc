"""What is said of nodes, hosts and names, from rows and numbers."""

import asyncio
from typing import Any

import pytest

from skitter.api.counters.names import Asked, Stretch, asked_for, stretch_of
from skitter.api.counters.standing import Once, mean_times, node_alarms, ranked, standing_of
from skitter.client.events import Step

WORKER: dict[str, Any] = {
    "node": "a",
    "worker": 1,
    "state": "running",
    "health": "ok",
    "trouble": "",
}


def test_workers_in_trouble_are_named() -> None:
    rows: list[dict[str, Any]] = [
        WORKER,
        {**WORKER, "worker": 2, "health": "silent"},
        {**WORKER, "worker": 3, "trouble": "the disk is full"},
        {"node": "b", "worker": None, "state": "away", "health": "away", "trouble": ""},
    ]
    assert node_alarms(rows) == [
        "worker 2 of a is silent",
        "worker 3 of a: the disk is full",
        "b is away",
    ]
    assert standing_of([], rows)["nodes"] == 2
    assert standing_of([], rows)["workers"] == 3


def test_jobs_add_up() -> None:
    jobs: list[dict[str, Any]] = [
        {"state": "running", "queued": 3, "leased": 1},
        {"state": "paused", "queued": 4, "leased": 0},
    ]
    found = standing_of(jobs, [])
    assert (found["jobs"], found["running"], found["queued"], found["leased"]) == (2, 1, 7, 1)


def test_a_host_that_answered_once_is_not_called_slow() -> None:
    assert mean_times({"a": 900, "b": 90, "c": 5}, {"a": 1, "b": 10}) == {"b": 9.0}


def test_equal_numbers_are_in_the_order_of_their_names() -> None:
    assert [row.host for row in ranked({"b": 1, "a": 1, "c": 2, "other": 9})] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("pages", Asked("pages", exact=True)),
        ("pages|job=a", Asked("pages|job=a", exact=True)),
        ("pages|job", Asked("pages|job=", exact=False)),
        ("status", Asked("status:", exact=False)),
        ("status:2*", Asked("status:2", exact=False)),
        ("status:200|host", Asked("status:200|host=", exact=False)),
    ],
)
def test_names_stand_for_one_counter_or_for_several(name: str, asked: Asked) -> None:
    assert asked_for(name) == asked


def test_a_time_that_is_not_named_depends_on_the_step() -> None:
    now = 1_750_000_000_000
    assert stretch_of(Step.MINUTE, None, None, now) == Stretch(now - 180 * 60_000, now)
    assert stretch_of(Step.DAY, "5", "86405.5", now) == Stretch(5_000, 86_405_500)


async def test_a_value_is_found_once_for_all_who_ask_at_the_same_time() -> None:
    found = 0

    async def find() -> int:
        nonlocal found
        found += 1
        await asyncio.sleep(0)
        return found

    once = Once(find, 60)
    assert await asyncio.gather(*(once.get() for _ in range(10))) == [1] * 10
    again = Once(find, 0)
    assert [await again.get(), await again.get()] == [2, 3]
