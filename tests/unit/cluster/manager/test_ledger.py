"""What a manager keeps on disk: whole or not at all, and one manager at a time."""

from pathlib import Path

import pytest

from skitter.cluster.manager.ledger import FILE, Kept, Ledger, read_kept
from skitter.cluster.manager.roster import Roster
from skitter.errors import DataDirError
from skitter.testing.virtual_clock import VirtualClock


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    roster = Roster(2, VirtualClock())
    roster.want(kind="news", priority=8, count=2)
    ledger = Ledger.take(tmp_path)
    assert ledger.read() == Kept()
    kept = Kept(name="a", session="s", roster=roster.stored, answers={"id": b"\x00answer"})
    ledger.write(kept)
    assert ledger.read() == kept
    ledger.close()
    again = Ledger.take(tmp_path)
    assert (again.number, again.read()) == (1, kept)
    again.close()


def test_a_second_manager_in_the_same_directory_has_a_folder_of_its_own(tmp_path: Path) -> None:
    first, second = Ledger.take(tmp_path), Ledger.take(tmp_path)
    assert (first.folder.name, second.folder.name) == ("manager", "manager-2")
    assert second.number == 2
    first.close()
    third = Ledger.take(tmp_path)
    assert third.folder == first.folder
    second.close()
    third.close()


def test_a_list_that_was_being_written_is_as_if_it_was_not(tmp_path: Path) -> None:
    ledger = Ledger.take(tmp_path)
    kept = Kept(name="a")
    ledger.write(kept)
    (ledger.folder / f"{FILE}.new").write_text('{"version": 1, "na')
    assert ledger.read() == kept
    ledger.close()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"version": 2, "roster": "new"}', "of version 2, which is newer than this Skitter"),
        ('{"version": 1, "roster": 7}', "cannot be read"),
        ("", "cannot be read"),
    ],
)
def test_a_list_that_is_none_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(DataDirError) as raised:
        read_kept(tmp_path)
    assert said in str(raised.value)
    assert str(tmp_path / FILE) in str(raised.value)


def test_a_place_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataDirError, match="wanted a place to keep"):
        Ledger.take(tmp_path / "file")
