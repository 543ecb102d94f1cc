"""kill -9 at random moments: nothing lost, no record twice, little fetched again."""

import os
import random
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from crawling import Run, demo_run, summary

from skitter.demo.child import DemoProcess
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
KILLS = 1000 if SOAK else 50
PAGES = 50_000 if SOAK else 2_500
CONCURRENCY = 16
UNSAFE = 64
"""Visits that may have ended without being acked when the process dies."""


def kill_at_random(run: Run, rng: random.Random) -> bool:
    """Start the crawl and kill it; False when it ended by itself first."""
    process = run.start()
    try:
        _, errors = process.communicate(timeout=0.45 + rng.random() * 0.9)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
    assert process.returncode == 0, errors
    return False


@pytest.mark.timeout(600)
def test_fifty_kills_over_one_crawl_lose_nothing_and_repeat_only_what_was_in_flight(
    tmp_path: Path,
) -> None:
    rng = random.Random(20)
    with DemoProcess(pages=PAGES, log=tmp_path / "hits") as demo:
        pace = ["--delay", "0.06", "--per-host", "2", "--concurrency", str(CONCURRENCY)]
        run = demo_run(tmp_path, demo, *pace, "--timeout", "4")
        kills = 0
        while kills < KILLS and kill_at_random(run, rng):
            kills += 1
        assert kills == KILLS, "the crawl ended before it was killed often enough"
        ended = summary(run.finish("--delay", "0", timeout=3600 if SOAK else 300))
        hits = demo.hits()
        truth = ground_truth(demo.web, Plan(tries=4))

    records = run.records()
    assert list(record_problems(truth, records)) == []
    assert ended["pages"] == len(records)
    assert ended["queued"] == 0
    per_url = Counter((record["url"], record["visit"]) for record in records)
    assert max(per_url.values()) == 1
    asked = Counter(f"http://{hit.host}{hit.path}" for hit in hits)
    once = [url for url in truth.fetched_once if url in asked]
    again = sum(asked[url] - 1 for url in once)
    assert again <= KILLS * (CONCURRENCY + UNSAFE)
    assert not truth.never() & set(asked)
