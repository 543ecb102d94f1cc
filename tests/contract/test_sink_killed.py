"""kill -9 at random moments: what was said to be safe is there, once, and nothing else."""

import json
import os
import random
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from outputs import READERS, page, read_output

from skitter.pipeline.record import PageRecord
from skitter.pipeline.sinks import make_sink

pytestmark = pytest.mark.fault

CHILD = Path(__file__).with_name("sink_child.py")
KILLS = 24


def run_and_kill(place: Path, run: int, state: list[Any], rng: random.Random) -> list[Any]:
    """Let a child write and kill it; returns the last it said."""
    paths = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, str(CHILD), str(place), str(run), json.dumps(state)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert child.stdout is not None
    with child:
        lines = [child.stdout.readline() for _ in range(rng.randint(1, 25))]
        with suppress(subprocess.TimeoutExpired):
            child.wait(rng.uniform(0, 0.03))
        child.kill()
        lines += child.stdout.readlines()
    assert child.returncode == -9
    said: list[Any] = json.loads([line for line in lines if line.endswith("\n")][-1])
    return said


async def found(place: Path, marks: dict[str, str]) -> dict[str, list[PageRecord]]:
    """Complete every output and return what it holds."""
    for ending in READERS:
        sink = make_sink(place / f"pages{ending}")
        await sink.open(marks[sink.mark_name].encode())
        await sink.close()
    return {ending: read_output(place / f"pages{ending}") for ending in READERS}


@pytest.mark.parametrize("seed", range(3))
async def test_every_kind_is_whole_exact_and_equal_to_the_others_after_any_kill(
    tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    state: list[Any] = [0, {}]
    expected: list[PageRecord] = []
    for run in range(KILLS // 3):
        state = run_and_kill(tmp_path, run, state, rng)
        # What was not safe comes again, and then it looks different.
        expected += [page(n, labels={"run": str(run)}) for n in range(len(expected), state[0])]
        # Mostly the next run finds what the killed one left, and not what this one tidied.
        if run % 3 == 2:
            assert await found(tmp_path, state[1]) == dict.fromkeys(READERS, expected)
    assert await found(tmp_path, state[1]) == dict.fromkeys(READERS, expected)
    assert len(list(tmp_path.iterdir())) == len(READERS)
