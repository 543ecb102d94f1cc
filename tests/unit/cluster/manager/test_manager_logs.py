"""Logs that turn over, are read from their end, and are read on while they grow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.cluster.manager import logs
from skitter.cluster.manager.logs import (
    GENERATIONS,
    last_lines,
    lines_after,
    open_log,
    remove_log,
    turn_over,
)
from skitter.errors import ConfigError


class Writer:
    """A process that writes to a log and turns it over, as a worker does."""

    def __init__(self, path: Path, max_bytes: int = 100) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.fd = open_log(path, max_bytes)

    def say(self, *lines: str) -> None:
        for line in lines:
            os.write(self.fd, f"{line}\n".encode())

    def look(self) -> bool:
        return turn_over(self.path, self.fd, self.max_bytes)

    def close(self) -> None:
        os.close(self.fd)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "3.log"


def test_a_log_is_bounded_in_size_and_number_of_files(log: Path) -> None:
    writer = Writer(log)
    for number in range(300):
        writer.say(f"line {number:04}")
        writer.look()
    writer.close()
    files = sorted(path.name for path in log.parent.iterdir())
    assert (files[0], len(files)) == ("3.log", 1 + GENERATIONS)
    assert all(path.stat().st_size <= 110 for path in log.parent.iterdir())
    assert last_lines(log, 2).text == "line 0298\nline 0299\n"
    remove_log(log)
    assert list(log.parent.iterdir()) == []


def test_a_log_that_is_large_is_turned_over_when_a_process_begins(log: Path) -> None:
    first = Writer(log)
    first.say("x" * 200)
    first.close()
    again = Writer(log)
    again.say("new")
    again.close()
    assert log.read_text() == "new\n"
    assert log.with_name("3.log.1").read_text() == "x" * 200 + "\n"


def test_the_last_lines_reach_back_into_older_files(log: Path) -> None:
    writer = Writer(log)
    for number in range(25):
        writer.say(f"line {number:04}")
        writer.look()
    writer.close()
    assert last_lines(log, 15).text.splitlines() == [f"line {n:04}" for n in range(10, 25)]
    assert last_lines(log, 15, 35).text.splitlines() == [f"line {n:04}" for n in (22, 23, 24)]
    assert last_lines(log, 0).text == ""


def test_there_may_be_no_log_yet(log: Path) -> None:
    piece = last_lines(log, 5)
    assert (piece.text, piece.cursor) == ("", "")
    assert lines_after(log, "").text == ""
    writer = Writer(log)
    writer.say("first")
    assert lines_after(log, piece.cursor).text == "first\n"
    writer.close()


@pytest.mark.parametrize("cursor", ["x", "1", "1:", "1:x", "1:-5", "-1:5", ":5", "1:" + "9" * 30])
def test_a_place_that_is_none_is_refused_in_words(log: Path, cursor: str) -> None:
    log.write_text("one\n")
    with pytest.raises(ConfigError, match="in a log; wanted one that came with earlier lines"):
        lines_after(log, cursor)


def test_a_place_behind_the_end_has_nothing(log: Path) -> None:
    log.write_text("one\n")
    assert lines_after(log, "1:" + "9" * 12).text == ""


def test_a_line_is_read_when_it_is_whole(log: Path) -> None:
    log.write_text("one\ntw")
    piece = last_lines(log, 5)
    assert piece.text == "one\n"
    with log.open("a") as file:
        file.write("o\n")
    assert lines_after(log, piece.cursor).text == "two\n"


def test_a_line_that_is_longer_than_a_piece_comes_in_several(log: Path) -> None:
    log.write_text("x" * 95 + "\n" + "last\n")
    found, cursor, more = "", "", True
    while more:
        piece = lines_after(log, cursor, 30)
        found, cursor, more = found + piece.text, piece.cursor, piece.more
    assert found == "x" * 95 + "\nlast\n"


def test_whoever_was_away_for_too_long_goes_on_with_the_oldest_line(log: Path) -> None:
    writer = Writer(log)
    writer.say("long ago")
    cursor = last_lines(log, 1).cursor
    for number in range(200):
        writer.say(f"line {number:04}")
        writer.look()
    writer.close()
    lines = lines_after(log, cursor).text.splitlines()
    assert lines[-1] == "line 0199"
    assert len(lines) >= 30


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.one_of(st.integers(1, 12), st.sampled_from(["turn", "read"])), min_size=1, max_size=40
    ),
    piece=st.integers(20, 200),
)
def test_a_reader_meets_every_line_once_in_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int | str], piece: int
) -> None:
    log = tmp_path_factory.mktemp("logs") / "1.log"
    writer = Writer(log, 60)
    said: list[str] = []
    found = ""
    cursor = last_lines(log, 0).cursor
    turned = 0
    for step in [*steps, "read"]:
        if isinstance(step, int):
            lines = [f"line {len(said) + n}" for n in range(step)]
            writer.say(*lines)
            said += lines
        elif step == "turn":
            # A reader that looks at least once in so many turns misses nothing.
            if turned < GENERATIONS - 1:
                turned += writer.look()
        else:
            more = True
            while more:
                got = lines_after(log, cursor, piece)
                found, cursor, more = found + got.text, got.cursor, got.more
            turned = 0
    writer.close()
    assert found.splitlines() == said


def test_a_process_turns_its_own_words_over(log: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from skitter.cluster.manager.logs import turn_over\n"
        "print('x' * 50, file=sys.stderr, flush=True)\n"
        f"assert turn_over(Path({str(log)!r}), max_bytes=40)\n"
        "print('behind', file=sys.stderr, flush=True)\n"
    )
    fd = open_log(log)
    subprocess.run([sys.executable, "-c", code], stderr=fd, check=True, timeout=30)
    os.close(fd)
    assert log.read_text() == "behind\n"
    assert log.with_name("3.log.1").read_text() == "x" * 50 + "\n"


def test_pieces_are_bounded(log: Path) -> None:
    log.write_text("line\n" * 100_000)
    assert len(last_lines(log, 1_000_000).text) <= logs.MAX_PIECE
    assert len(lines_after(log, "").text) <= logs.MAX_PIECE
    assert lines_after(log, "").more
