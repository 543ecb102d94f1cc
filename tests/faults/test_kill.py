"""kill -9 at random moments: nothing lost, no record twice, little fetched again."""

import itertools
import json
import os
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from crawling import demo_run, kill_at_random, summary

from skitter.demo.child import DemoProcess
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
KILLS = 1000 if SOAK else 50
PAGES = 50_000 if SOAK else 2_500
CONCURRENCY = 16
TRIES = 4 if SOAK else 3


def kept(then: bytes, at_the_end: bytes) -> set[str]:
    """Return the URLs whose records were safe when the file was as it was ``then``.

    What stays in place to the end was acked; what a later run cut off was still in flight, and
    came again with another time in its record.
    """
    pairs = zip(then.splitlines(), at_the_end.splitlines(), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    return {json.loads(line)["url"] for line, _ in same}


@pytest.mark.timeout(600)
def test_fifty_kills_over_one_crawl_lose_nothing_and_repeat_only_what_was_in_flight(
    tmp_path: Path,
) -> None:
    rng = random.Random(20)
    with DemoProcess(pages=PAGES, log=tmp_path / "hits") as demo:
        pace = ["--delay", "0.06", "--per-host", "2", "--concurrency", str(CONCURRENCY)]
        run = demo_run(tmp_path, demo, *pace, "--timeout", "4", tries=TRIES)
        killed_at: list[float] = []
        files: list[bytes] = []
        while len(killed_at) < KILLS and kill_at_random(run, rng, 0.8):
            killed_at.append(time.time())
            files.append(run.out.read_bytes() if run.out.exists() else b"")
        assert len(killed_at) == KILLS, "the crawl ended before it was killed often enough"
        ended = summary(run.finish("--delay", "0", timeout=3600 if SOAK else 300))
        hits = demo.hits()
        truth = ground_truth(demo.web, Plan(tries=TRIES))

    records = run.records()
    assert list(record_problems(truth, records)) == []
    assert ended["pages"] == len(records)
    assert ended["queued"] == 0
    per_url = Counter((record["url"], record["visit"]) for record in records)
    assert max(per_url.values()) == 1
    last_asked = {f"http://{hit.host}{hit.path}": hit.time for hit in hits}
    at_the_end = run.out.read_bytes()
    for kill, then in zip(killed_at, files, strict=True):
        again = {url for url in kept(then, at_the_end) if last_asked.get(url, 0) > kill}
        assert not again, "fetched again though their records were safe"
    assert kept(files[-1], at_the_end), "nothing was safe at the last kill"
    assert not truth.never() & set(last_asked)
