"""Seed lists are streams; a file with a bad line starts nothing."""

import io
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from skitter.errors import ConfigError
from skitter.job.seeds import MAX_LINE_BYTES, BadSeed, open_seeds, stream_seeds


def never(bad: BadSeed) -> None:
    raise AssertionError(bad)


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_blank_lines_comments_bom_and_crlf_are_taken_as_people_write_them(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbfhttps://a.example\r\n\r\n  # a note\n\thttps://b.example/#x \nc.example"
    seeds = open_seeds(write(tmp_path / "s.txt", content), never)
    assert list(seeds) == ["https://a.example/", "https://b.example/", "https://c.example/"]


def test_bad_lines_of_a_file_are_all_named_before_the_first_url_is_given_out(
    tmp_path: Path,
) -> None:
    path = write(tmp_path / "s.txt", b"https://a.example\nnonsense\n\nftp://b.example\n\xff\xfe\n")
    with pytest.raises(ConfigError) as caught:
        open_seeds(path, never)
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{path}:{n}" for n in (2, 4, 5)]
    assert "wanted an http or https URL" in lines[0]


def test_a_thousand_bad_lines_are_not_a_thousand_lines_of_complaint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        open_seeds(write(tmp_path / "s.txt", b"bad\n" * 1000), never)
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1].endswith("and 990 more bad lines")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.txt: cannot be read: No such file"):
        open_seeds(tmp_path / "none.txt", never)


def test_bad_lines_of_a_stream_are_reported_and_skipped() -> None:
    bad: list[BadSeed] = []
    stream = io.BytesIO(b"https://a.example\nnonsense\nhttps://b.example\n")
    seeds = list(stream_seeds(stream, "standard input", bad.append))
    assert seeds == ["https://a.example/", "https://b.example/"]
    assert [str(one) for one in bad] == [
        "standard input:2: 'nonsense': wanted an http or https URL"
    ]


def test_an_endless_line_is_one_bad_line_and_is_never_held_whole() -> None:
    class Endless(io.BytesIO):
        longest = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            line = super().readline(size)
            self.longest = max(self.longest, len(line))
            return line

    bad: list[BadSeed] = []
    stream = Endless(b"x" * (5 * MAX_LINE_BYTES + 7) + b"\nhttps://a.example\n")
    assert list(stream_seeds(stream, "s", bad.append)) == ["https://a.example/"]
    assert [(one.line, one.why) for one in bad] == [(1, f"longer than {MAX_LINE_BYTES} bytes")]
    assert stream.longest == MAX_LINE_BYTES + 1


def test_seeds_come_one_by_one_from_a_list_without_end() -> None:
    class Tap(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: object, /) -> int:
            assert isinstance(buffer, memoryview)
            line = b"https://a.example/x\n"
            buffer[: len(line)] = line
            return len(line)

    seeds = stream_seeds(io.BufferedReader(Tap()), "tap", never)
    assert [next(seeds) for _ in range(3)] == ["https://a.example/x"] * 3


@pytest.fixture
def fifo(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"https://a.example\nbad\n",))
    writer.start()
    yield path
    writer.join()


def test_a_named_pipe_is_read_once_like_a_stream(fifo: Path) -> None:
    bad: list[BadSeed] = []
    assert list(open_seeds(fifo, bad.append)) == ["https://a.example/"]
    assert [one.line for one in bad] == [2]
