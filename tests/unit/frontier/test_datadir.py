"""The state directory: whose it is, and that one process at a time uses it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from skitter.errors import ConfigError, DataDirError, DataDirInUse, SkitterError
from skitter.frontier.embedded.datadir import FRONTIER, MARKER, DataDir
from skitter.frontier.embedded.layout import FORMAT_VERSION


def take(path: Path, *, fresh: bool = False) -> DataDir:
    directory = DataDir(path)
    directory.acquire(fresh=fresh)
    return directory


def test_a_new_directory_is_made_with_its_parents_and_marked(tmp_path: Path) -> None:
    directory = take(tmp_path / "a" / "b")
    marker = json.loads((tmp_path / "a" / "b" / MARKER).read_text())
    assert marker["format"] == FORMAT_VERSION
    assert directory.frontier == tmp_path / "a" / "b" / FRONTIER
    directory.release()


def test_an_empty_directory_is_taken_over(tmp_path: Path) -> None:
    take(tmp_path).release()
    assert (tmp_path / MARKER).exists()


def test_a_directory_of_an_earlier_crawl_is_taken_up_with_all_it_holds(tmp_path: Path) -> None:
    take(tmp_path).release()
    (tmp_path / FRONTIER).mkdir()
    (tmp_path / FRONTIER / "000001.sst").write_text("x")
    take(tmp_path).release()
    assert (tmp_path / FRONTIER / "000001.sst").read_text() == "x"


def test_a_second_taker_is_refused_until_the_first_lets_go(tmp_path: Path) -> None:
    first = take(tmp_path)
    with pytest.raises(DataDirError, match="in use") as caught:
        take(tmp_path)
    assert str(tmp_path) in str(caught.value)
    first.release()
    take(tmp_path).release()


def test_a_refused_taker_does_not_let_a_third_one_in(tmp_path: Path) -> None:
    first = take(tmp_path)
    for _ in range(2):
        with pytest.raises(DataDirError, match="in use"):
            take(tmp_path, fresh=True)
    first.release()


def test_starting_over_in_use_deletes_nothing(tmp_path: Path) -> None:
    first = take(tmp_path)
    (tmp_path / "kept").touch()
    with pytest.raises(DataDirError):
        take(tmp_path, fresh=True)
    assert (tmp_path / "kept").exists()
    first.release()


def test_another_process_is_refused_too_and_its_death_lets_go(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from skitter.frontier.embedded.datadir import DataDir\n"
        "held = DataDir(Path(sys.argv[1]))\nheld.acquire()\nprint('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(DataDirError, match="in use"):
            take(tmp_path)
        process.kill()
    take(tmp_path).release()


async def test_a_directory_that_is_about_to_be_let_go_is_waited_for(tmp_path: Path) -> None:
    first = take(tmp_path)
    second = DataDir(tmp_path)
    waiting = asyncio.create_task(second.acquire_when_free(60))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    first.release()
    await waiting
    with pytest.raises(DataDirInUse, match="in use"):
        await DataDir(tmp_path).acquire_when_free(0.1)
    second.release()


def test_a_child_that_lives_on_does_not_keep_the_directory(tmp_path: Path) -> None:
    directory = take(tmp_path)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        directory.release()
        take(tmp_path).release()
        child.kill()


def test_releasing_twice_is_releasing_once(tmp_path: Path) -> None:
    directory = take(tmp_path)
    directory.release()
    directory.release()
    DataDir(tmp_path).release()


@pytest.mark.parametrize("name", ["thesis.odt", ".hidden", "frontier"])
def test_a_directory_with_other_things_in_it_is_refused_and_left_alone(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    for fresh in (False, True):
        with pytest.raises(DataDirError, match="not a Skitter directory") as caught:
            take(tmp_path, fresh=fresh)
        assert str(tmp_path) in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_starting_over_empties_the_directory_but_follows_no_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    data = tmp_path / "data"
    take(data).release()
    (data / FRONTIER).mkdir()
    (data / FRONTIER / "old").touch()
    (data / "blackbox").touch()
    (data / "link").symlink_to(outside)
    take(data, fresh=True).release()
    assert [path.name for path in data.iterdir()] == [MARKER]
    assert (outside / "precious").exists()


def test_a_directory_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    take(tmp_path).release()
    text = json.dumps({"format": FORMAT_VERSION + 1, "kept": "as it is"})
    (tmp_path / MARKER).write_text(text)
    (tmp_path / "state").touch()
    for fresh in (False, True):
        with pytest.raises(DataDirError, match="newer") as caught:
            take(tmp_path, fresh=fresh)
        assert str(FORMAT_VERSION + 1) in str(caught.value)
    assert (tmp_path / MARKER).read_text() == text
    assert (tmp_path / "state").exists()


@pytest.mark.parametrize(
    "marker", ["not json", "[]", "{}", '{"format": "new"}', '{"format": null}', "\x00\x00"]
)
def test_a_marker_that_cannot_be_read_is_named(tmp_path: Path, marker: str) -> None:
    (tmp_path / MARKER).write_text(marker)
    with pytest.raises(DataDirError, match=MARKER):
        take(tmp_path)
    assert (tmp_path / MARKER).read_text() == marker


def test_a_refused_directory_is_not_held(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("not json")
    with pytest.raises(DataDirError):
        take(tmp_path)
    (tmp_path / MARKER).write_text("")
    take(tmp_path).release()


def test_a_crash_while_the_marker_was_written_does_no_harm(tmp_path: Path) -> None:
    take(tmp_path).release()
    (tmp_path / FRONTIER).mkdir()
    (tmp_path / MARKER).write_text("")
    take(tmp_path).release()
    assert json.loads((tmp_path / MARKER).read_text())["format"] == FORMAT_VERSION


@pytest.mark.parametrize("place", ["file", "file/below", "file/far/below"])
def test_a_place_that_cannot_be_a_directory_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ConfigError, match="wanted a directory") as caught:
        take(tmp_path / place)
    assert str(tmp_path / place) in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_place_where_nothing_can_be_written_is_named() -> None:
    with pytest.raises(SkitterError, match="/proc/skitter"):
        take(Path("/proc/skitter/state"))
