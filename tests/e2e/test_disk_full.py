"""The disk fills up: one clear line, exit code 3, and with room again nothing is lost or twice.

A limit on the size of files stands in for a full disk where nothing can be mounted; where it can,
a small file system in memory is the real thing.
"""

import os
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crawling import Run, summary

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = [pytest.mark.e2e, pytest.mark.fault]

ENTRY = Target("news", "/")
PAGES = 800
OUT_BYTES = 250_000
"""A little less than the results of this crawl."""
STORE_OPENS_BYTES = 45_000
"""The store's own option file is nearly this long; with less it does not open."""
ROOM_BYTES = 64 << 20

LIMITED = """
import os, resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=PAGES) as process:
        yield process


@pytest.fixture(scope="module")
def truth(demo: DemoProcess) -> GroundTruth:
    return ground_truth(demo.web, Plan(entries=(ENTRY,), scope="host"))


def news_run(place: Path, demo: DemoProcess) -> Run:
    hosts = place / "hosts"
    hosts.write_text(demo.hosts)
    reach = ["--hosts", str(hosts), "--allow-private", "--delay", "0", "--per-host", "8"]
    return Run(place, [demo.web.url(ENTRY)], reach)


def assert_stopped(ended: subprocess.CompletedProcess[str], *words: str) -> None:
    """Check that a run ended for want of room and said so in one line."""
    assert ended.returncode == 3, (ended.returncode, ended.stderr)
    assert ended.stdout == ""
    lines = ended.stderr.splitlines()
    assert len(lines) == 1, ended.stderr
    [line] = lines
    assert line.startswith("skitter: ")
    assert [word for word in words if word not in line] == []


def assert_complete(run: Run, truth: GroundTruth) -> None:
    """Check that with room again the same command completes, and nothing is there twice."""
    ended = summary(run.finish())
    records = run.records()
    assert ended["queued"] == 0
    assert ended["pages"] == len(records)
    assert max(Counter(record["url"] for record in records).values()) == 1
    assert list(record_problems(truth, records)) == []


# Files that may not grow


def limited(run: Run, limit: int) -> subprocess.CompletedProcess[str]:
    """Run a crawl none of whose files may grow beyond ``limit`` bytes."""
    command = [sys.executable, "-c", LIMITED, str(limit), *run.command()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_files_that_may_not_grow_stop_the_crawl_and_it_goes_on_with_room(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    run = news_run(tmp_path, demo)
    rng = random.Random(6)
    limits = sorted(rng.randrange(STORE_OPENS_BYTES, OUT_BYTES) for _ in range(4))
    for limit in limits:
        assert_stopped(limited(run, limit), str(tmp_path), "File too large")
        assert run.out.stat().st_size <= limit
    assert_complete(run, truth)


def test_a_state_that_cannot_be_opened_for_want_of_room_is_no_bad_input(
    demo: DemoProcess, tmp_path: Path
) -> None:
    run = news_run(tmp_path, demo)
    assert_stopped(limited(run, STORE_OPENS_BYTES // 3), str(run.data), "File too large")
    assert summary(run.finish("--pages", "2"))["pages"] == 2


# A small file system


Resize = Callable[[int], None]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[tuple[Path, Resize]]:
    """A file system in memory of one page, and a way to make it larger; needs root."""
    place = tmp_path / "small"
    place.mkdir()

    def mount(options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        subprocess.run(command, check=True, capture_output=True)

    if os.geteuid() != 0:
        pytest.skip("only root can mount a file system")
    try:
        mount(f"size={resource.getpagesize()}")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no file system can be mounted here")
    yield place, lambda size: mount(f"remount,size={size}")
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_under_the_results_stops_the_crawl_and_it_goes_on_with_room(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path, small_disk: tuple[Path, Resize]
) -> None:
    place, resize = small_disk
    run = news_run(tmp_path, demo)
    run.flags += ["--data", str(run.data)]
    run.directory = place
    page = resource.getpagesize()
    rng = random.Random(7)
    sizes = sorted(page * rng.randrange(1, OUT_BYTES // page) for _ in range(3))
    for size in (page, *sizes):
        resize(size)
        assert_stopped(run.finish(), str(run.out), "No space left on device")
    resize(ROOM_BYTES)
    assert_complete(run, truth)


def test_a_full_disk_under_the_state_stops_the_crawl_and_it_goes_on_with_room(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path, small_disk: tuple[Path, Resize]
) -> None:
    place, resize = small_disk
    run = news_run(tmp_path, demo)
    run.flags += ["--data", str(place)]
    rng = random.Random(8)
    for size in sorted(rng.randrange(200_000, 500_000) for _ in range(3)):
        resize(size)
        assert_stopped(run.finish(), str(place), "No space left on device")
    resize(ROOM_BYTES)
    assert_complete(run, truth)
