"""The files in which the embedded store keeps events."""

import os
from pathlib import Path

import pytest

from skitter.errors import StoreUnavailable
from skitter.frontier.embedded.journal import Journal


def opened(folder: Path, most: int = 30) -> Journal:
    journal = Journal(folder, segment=10, most=most)
    journal.open()
    return journal


def some(first: int, last: int) -> list[bytes]:
    return [b"event %d" % n for n in range(first, last + 1)]


def told(journal: Journal, after: str = "", limit: int = 10_000) -> list[bytes]:
    return [event for _, event in journal.read(after, limit)]


def test_only_the_last_events_are_kept(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    for n in range(1, 96):
        journal.append(some(n, n))
    assert told(journal) == some(61, 95), "whole files go, and what is left is enough"
    assert len(list(tmp_path.iterdir())) == 4
    assert told(journal, "3") == some(61, 95)
    assert told(journal, "80") == some(81, 95)
    assert told(journal, "80", 3) == some(81, 83)
    assert told(journal, "95") == []
    assert told(journal, "1000") == []


def test_a_call_may_fill_several_files(tmp_path: Path) -> None:
    journal = opened(tmp_path, most=100)
    journal.append(some(1, 35))
    assert told(journal) == some(1, 35)
    assert [id_ for id_, _ in journal.read("8", 4)] == ["9", "10", "11", "12"]


def test_an_opening_begins_behind_all_ids_there_may_have_been(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    journal.append(some(1, 3))
    journal.close()
    [path] = tmp_path.iterdir()
    os.truncate(path, path.stat().st_size - 2)
    again = opened(tmp_path)
    assert told(again) == some(1, 2)
    again.append(some(4, 4))
    assert told(again, "3") == some(4, 4)
    assert told(again) == [*some(1, 2), *some(4, 4)]


def test_many_openings_with_few_events_keep_them(tmp_path: Path) -> None:
    for n in range(1, 41):
        journal = opened(tmp_path)
        journal.append(some(n, n))
        journal.close()
    assert told(opened(tmp_path)) == some(10, 40)


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / f"{5:020}.journal").write_bytes(b"another format")
    journal = opened(tmp_path)
    journal.append(some(1, 1))
    assert told(journal) == some(1, 1)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_disk_that_is_full_loses_that_event_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = opened(tmp_path)
    journal.append(some(1, 2))
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: write(fd, data[:3], at))
    with pytest.raises(StoreUnavailable, match="events cannot be kept"):
        journal.append(some(3, 3))
    monkeypatch.undo()
    journal.append(some(4, 4))
    assert told(journal) == [*some(1, 2), *some(4, 4)]
    journal.close()
    assert told(opened(tmp_path)) == [*some(1, 2), *some(4, 4)]
