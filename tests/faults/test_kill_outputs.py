"""kill -9 with every output on at once: all of them whole, and equal to each other."""

import csv
import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from crawling import demo_run, kill_at_random, summary
from warcio.archiveiterator import ArchiveIterator

from skitter.demo.child import DemoProcess
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.fault

SOAK = "SOAK" in os.environ
KILLS = 300 if SOAK else 30
PAGES = 20_000 if SOAK else 1_600
TRIES = 4 if SOAK else 2
TOOLS = Path(sys.executable).parent

Key = tuple[str, int, str | None]
"""What is compared: URL, visit and title of a record."""


def in_jsonl(path: Path) -> set[Key]:
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    return each_once([(r["url"], r["visit"], r["title"]) for r in records])


def in_csv(path: Path) -> set[Key]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return each_once([(r["url"], int(r["visit"]), r["title"] or None) for r in rows])


def in_parquet(path: Path) -> set[Key]:
    query = "select url, visit, nullif(title, '') from read_parquet(?)"
    return each_once(duckdb.execute(query, [str(path)]).fetchall())


def in_sqlite(path: Path) -> set[Key]:
    with sqlite3.connect(path) as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        rows = database.execute("select url, visit, nullif(title, '') from pages").fetchall()
    database.close()
    return each_once(rows)


def each_once(keys: list[Any]) -> set[Key]:
    found = {tuple(key) for key in keys}
    assert len(found) == len(keys), "a record is there twice"
    return found


def archived(directory: Path) -> Iterator[dict[str, Any]]:
    """Yield the page records that the archive's metadata holds."""
    for path in sorted(directory.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "metadata":
                    for line in record.content_stream().read().splitlines():
                        name, _, value = line.partition(b": ")
                        if name == b"skitter-record":
                            yield json.loads(value)


@pytest.mark.timeout(600)
def test_thirty_kills_leave_every_output_whole_and_equal_to_the_others(tmp_path: Path) -> None:
    rng = random.Random(3)
    arc = tmp_path / "arc"
    outs = {ending: tmp_path / f"pages.{ending}" for ending in ("csv", "parquet", "sqlite")}
    more = [word for path in outs.values() for word in ("--out", str(path))]
    with DemoProcess(pages=PAGES) as demo:
        pace = ["--delay", "0.05", "--per-host", "2", "--concurrency", "16", "--timeout", "4"]
        run = demo_run(tmp_path, demo, *pace, *more, "--warc", str(arc), tries=TRIES)
        kills = 0
        while kills < KILLS and kill_at_random(run, rng, 1.0):
            kills += 1
        assert kills == KILLS, "the crawl ended before it was killed often enough"
        ended = summary(run.finish("--delay", "0", timeout=3600 if SOAK else 300))
        truth = ground_truth(demo.web, Plan(tries=TRIES, sitemaps="auto"))
    records = run.records()
    assert list(record_problems(truth, records)) == []
    assert ended["pages"] == len(records)
    wanted = in_jsonl(run.out)
    assert in_csv(outs["csv"]) == wanted
    assert in_parquet(outs["parquet"]) == wanted
    assert in_sqlite(outs["sqlite"]) == wanted
    responded = {(r["url"], r["visit"]) for r in records if r["warc_file"]}
    in_archive = [(r["url"], r["visit"]) for r in archived(arc)]
    assert len(in_archive) == len(set(in_archive)), "a page is archived twice"
    assert responded <= set(in_archive)
    for tool in ("warcio", "fastwarc"):
        command = [str(TOOLS / tool), "check", *map(str, sorted(arc.glob("*.warc.gz")))]
        checked = subprocess.run(command, capture_output=True, text=True, check=False)
        assert checked.returncode == 0, f"{tool}: {checked.stdout}{checked.stderr}"
    assert not list(tmp_path.glob("*.parts")), "parts are left behind"
