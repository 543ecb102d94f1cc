"""The black box remembers which page was being read when the process died, and how often."""

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from crawl_rig import fake_lease
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.blackbox import BlackBox

DIES_READING = """
import os, signal, sys
from pathlib import Path
from skitter.crawl.blackbox import BlackBox
from skitter.frontier.model import Lease
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
fp = Fingerprint(int(sys.argv[2]))
lease = Lease(1, "http://site.test/", fp, HostKey("site.test"), JobNumber(int(sys.argv[3])),
              0, 1, PageClass.DATA, 5, 0, 0, 0, 1, "", 0, 0.0)
BlackBox(Path(sys.argv[1])).note(lease)
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A reader that is killed inside the page, without a chance to close anything."""


def die_reading(path: Path, fp: int, job: int = 1) -> None:
    command = [sys.executable, "-c", DIES_READING, str(path), str(fp), str(job)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


def losses(path: Path, fp: int, job: int = 1) -> int:
    box = BlackBox(path)
    found = box.losses(fake_lease(fp=fp, job=job))
    box.close()
    return found


def test_a_new_box_knows_no_losses(tmp_path: Path) -> None:
    assert losses(tmp_path / "box", 7) == 0


def test_a_process_killed_while_reading_counts_against_that_page_alone(tmp_path: Path) -> None:
    path = tmp_path / "box"
    largest = 2**64 - 1
    die_reading(path, largest, job=2)
    box = BlackBox(path)
    assert box.losses(fake_lease(fp=largest, job=2)) == 1
    assert box.losses(fake_lease(fp=largest, job=1)) == 0
    assert box.losses(fake_lease(fp=7, job=2)) == 0
    box.close()
    assert losses(path, largest, job=2) == 1


def test_every_further_death_adds_to_the_count_and_other_pages_keep_theirs(tmp_path: Path) -> None:
    path = tmp_path / "box"
    die_reading(path, 7)
    die_reading(path, 8)
    die_reading(path, 7)
    assert losses(path, 7) == 2
    assert losses(path, 8) == 1


def test_a_page_that_was_read_to_its_end_counts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "box"
    box = BlackBox(path)
    box.note(fake_lease(fp=7))
    box.clear()
    # Never closed: as if killed after the page.
    assert losses(path, 7) == 0
    box.close()


def test_a_restart_that_reads_nothing_counts_nothing_again(tmp_path: Path) -> None:
    path = tmp_path / "box"
    box = BlackBox(path)
    box.note(fake_lease(fp=7))
    box.close()
    assert [losses(path, 7) for _ in range(3)] == [1, 1, 1]


def test_the_count_ends_at_what_a_byte_holds(tmp_path: Path) -> None:
    path = tmp_path / "box"
    for _ in range(260):
        box = BlackBox(path)
        box.note(fake_lease(fp=7))
        box.close()
    assert losses(path, 7) == 255


def test_a_death_while_the_box_is_rewritten_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "box"
    box = BlackBox(path)
    box.note(fake_lease(fp=7))
    box.close()
    (tmp_path / "box.new").write_bytes(b"half")
    assert losses(path, 7) == 1


@given(st.binary(max_size=64))
def test_a_damaged_box_is_opened_all_the_same(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "box"
        path.write_bytes(content)
        box = BlackBox(path)
        assert 0 <= box.losses(fake_lease(fp=7)) <= 255
        box.note(fake_lease(fp=7))
        box.clear()
        box.close()
        assert path.stat().st_size >= 12
