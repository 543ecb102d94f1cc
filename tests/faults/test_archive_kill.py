"""kill -9 while an archive is written: what was marked is there, whole, once."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from archiving import check_with_tools, warcs_in

from skitter.pipeline.archive.model import Location
from skitter.pipeline.archive.read import find_capture, read_response
from skitter.pipeline.archive.writer import Archive

pytestmark = pytest.mark.fault

HERE = Path(__file__).resolve().parent
KILLS = 200 if "SOAK" in os.environ else 6


def killed_run(
    place: Path, mark: str, start: int, batches: int
) -> list[tuple[str, list[Location]]]:
    """Let a child write some batches, kill it in the next, and return what it said."""
    path = os.pathsep.join([str(HERE.parent / "support"), os.environ.get("PYTHONPATH", "")])
    child = subprocess.Popen(
        [sys.executable, HERE / "archive_child.py", place, mark, str(start)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert child.stdout is not None
    try:
        lines = [child.stdout.readline() for _ in range(batches + 1)]
    finally:
        child.kill()
        lines += child.stdout.readlines()
        child.stdout.close()
        child.wait()
    said = [json.loads(line) for line in lines if line.endswith(b"\n")]
    return [(one["mark"], [Location(*at) for at in one["locations"]]) for one in said]


def payload(place: Path, location: Location) -> tuple[str, bytes]:
    """Return URL and body of what is there, of its original when it is a revisit."""
    there = read_response(place / location.file, location.offset)
    url = there.url
    if there.refers_to is not None:
        original = find_capture(place, *there.refers_to)
        assert original is not None
        there = read_response(*original)
    return url, there.payload


async def test_what_was_marked_outlives_every_kill(tmp_path: Path) -> None:
    rng = random.Random(3)
    mark, marked = "", list[Location]()
    for _ in range(KILLS):
        said = killed_run(tmp_path, mark, len(marked), rng.randrange(1, 12))
        mark = said[-1][0]
        marked += [location for _, locations in said for location in locations]
    archive = Archive(tmp_path, job="kill", max_file_bytes=60_000)
    assert await archive.open(mark.encode()) == mark.encode()
    await archive.close()
    assert len(marked) > 8 * KILLS
    assert len(warcs_in(tmp_path)) > 3
    assert sum(map(check_with_tools, warcs_in(tmp_path))) == len(warcs_in(tmp_path)) + 3 * len(
        marked
    )
    for number, location in enumerate(marked):
        same = number - 3 if number % 5 == 4 else number
        url = f"https://www.example.com/{number}"
        assert payload(tmp_path, location) == (url, b"%d " % same * 3000)
    lines = [line for index in tmp_path.glob("*.cdxj") for line in index.read_text().splitlines()]
    assert len(lines) == len(marked)
    assert list(tmp_path.glob("*.part")) == list(tmp_path.glob("*.tmp")) == []
