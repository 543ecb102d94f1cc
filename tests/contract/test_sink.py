"""What every sink promises: safe when it says so, whole when it opens, each record once.

A new sink is one class here and one entry in ``KINDS``.
"""

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.base import Sink
from skitter.pipeline.jsonl import JsonlSink

LINES = [f'{{"n":{n},"text":"{"x" * n}"}}\n'.encode() for n in range(40)]


class Kind(Protocol):
    """One kind of sink, seen from outside."""

    name: str

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        """Return a sink that is not open yet."""

    def held(self, place: Path) -> list[bytes]:
        """Return what a reader finds there, unread remains of a torn write included."""

    def tear(self, place: Path) -> None:
        """Leave half a record at the end, as a crash in mid-write does."""


class JsonlKind:
    """Lines in a file."""

    name = "pages.jsonl"

    def make(self, place: Path, *, overwrite: bool = False) -> Sink:
        return JsonlSink(place / self.name, overwrite=overwrite)

    def held(self, place: Path) -> list[bytes]:
        return (place / self.name).read_bytes().splitlines(keepends=True)

    def tear(self, place: Path) -> None:
        with (place / self.name).open("ab") as file:
            file.write(LINES[9] + LINES[8][:-4])


KINDS: dict[str, Callable[[], Kind]] = {"jsonl": JsonlKind}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]()


async def opened(kind: Kind, place: Path, mark: bytes | None, *, overwrite: bool = False) -> Sink:
    sink = kind.make(place, overwrite=overwrite)
    await sink.open(mark)
    return sink


async def written(kind: Kind, place: Path, lines: Sequence[bytes]) -> bytes:
    """Write into a new sink, close it and return its mark."""
    sink = await opened(kind, place, None)
    mark = await sink.write(lines)
    await sink.close()
    return mark


# Writing


async def test_what_was_written_is_there_when_write_returns(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    await sink.write(LINES[:2])
    assert kind.held(tmp_path) == LINES[:2]
    await sink.write(LINES[2:5])
    assert kind.held(tmp_path) == LINES[:5]
    await sink.close()


async def test_each_write_answers_a_new_mark(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    marks = [await sink.write([line]) for line in LINES[:5]]
    assert len(set(marks)) == 5
    await sink.close()


async def test_an_empty_write_changes_nothing(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(LINES[:3])
    assert await sink.write([]) == mark
    assert kind.held(tmp_path) == LINES[:3]
    await sink.close()


async def test_closing_twice_is_closing_once(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    await sink.close()
    await sink.close()


async def test_closing_what_was_never_opened_is_allowed(kind: Kind, tmp_path: Path) -> None:
    await kind.make(tmp_path).close()


async def test_the_name_of_the_mark_is_that_of_the_place_whatever_its_spelling(
    kind: Kind, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    assert kind.make(tmp_path).mark_name == kind.make(tmp_path / "sub" / "..").mark_name
    assert kind.make(tmp_path).mark_name != kind.make(tmp_path / "sub").mark_name


# Opening again


async def test_writing_goes_on_after_the_mark(kind: Kind, tmp_path: Path) -> None:
    mark = await written(kind, tmp_path, LINES[:3])
    sink = await opened(kind, tmp_path, mark)
    await sink.write(LINES[3:5])
    await sink.close()
    assert kind.held(tmp_path) == LINES[:5]


async def test_what_came_after_the_mark_is_cut_and_never_there_twice(
    kind: Kind, tmp_path: Path
) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(LINES[:2])
    await sink.write(LINES[2:4])
    await sink.close()
    again = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == LINES[:2]
    await again.write(LINES[2:4])
    await again.close()
    assert kind.held(tmp_path) == LINES[:4]


async def test_a_torn_tail_is_cut_on_opening(kind: Kind, tmp_path: Path) -> None:
    mark = await written(kind, tmp_path, LINES[:3])
    kind.tear(tmp_path)
    sink = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == LINES[:3]
    await sink.close()


async def test_a_crash_before_the_first_mark_leaves_nothing(kind: Kind, tmp_path: Path) -> None:
    """A new crawl whose mark says that nothing is safe yet owns what it wrote."""
    sink = await opened(kind, tmp_path, None)
    empty = await sink.write([])
    await sink.write(LINES[:2])
    await sink.close()
    again = await opened(kind, tmp_path, empty)
    assert kind.held(tmp_path) == []
    await again.close()


@pytest.mark.parametrize("marked", [True, False])
async def test_opening_changes_nothing_that_is_safe(
    kind: Kind, tmp_path: Path, *, marked: bool
) -> None:
    mark = await written(kind, tmp_path, LINES[:3])
    for _ in range(3):
        if marked:
            await (await opened(kind, tmp_path, mark)).close()
        else:
            with pytest.raises(ConfigError):
                await opened(kind, tmp_path, None)
    assert kind.held(tmp_path) == LINES[:3]


# What is not ours


async def test_results_of_someone_else_are_refused_and_left_alone(
    kind: Kind, tmp_path: Path
) -> None:
    (tmp_path / kind.name).write_bytes(b"my diary\n")
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=kind.name) as caught:
        await sink.open(None)
    await sink.close()
    assert "--fresh" in str(caught.value)
    assert (tmp_path / kind.name).read_bytes() == b"my diary\n"


async def test_an_empty_file_is_as_good_as_none(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / kind.name).touch()
    sink = await opened(kind, tmp_path, None)
    await sink.write(LINES[:1])
    await sink.close()
    assert kind.held(tmp_path) == LINES[:1]


async def test_starting_over_replaces_what_is_there(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / kind.name).write_bytes(b"my diary\n")
    sink = await opened(kind, tmp_path, None, overwrite=True)
    assert kind.held(tmp_path) == []
    await sink.write(LINES[:1])
    await sink.close()
    assert kind.held(tmp_path) == LINES[:1]


@pytest.mark.parametrize("left", [0, 1, 10])
async def test_results_that_lost_their_end_are_refused_until_they_are_put_back(
    kind: Kind, tmp_path: Path, left: int
) -> None:
    mark = await written(kind, tmp_path, LINES[:5])
    whole = (tmp_path / kind.name).read_bytes()
    (tmp_path / kind.name).write_bytes(whole[:left])
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=f"{left} bytes") as caught:
        await sink.open(mark)
    await sink.close()
    assert str(len(whole)) in str(caught.value)
    (tmp_path / kind.name).write_bytes(whole)
    await (await opened(kind, tmp_path, mark)).close()


async def test_results_that_were_deleted_are_missed(kind: Kind, tmp_path: Path) -> None:
    mark = await written(kind, tmp_path, LINES[:5])
    (tmp_path / kind.name).unlink()
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=kind.name):
        await sink.open(mark)
    await sink.close()


async def test_other_contents_of_the_right_length_are_noticed_by_their_line_ends(
    kind: Kind, tmp_path: Path
) -> None:
    mark = await written(kind, tmp_path, LINES[:5])
    size = (tmp_path / kind.name).stat().st_size
    (tmp_path / kind.name).write_bytes(b"x" * (size + 100))
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=kind.name):
        await sink.open(mark)
    await sink.close()
    assert (tmp_path / kind.name).read_bytes() == b"x" * (size + 100)


@pytest.mark.parametrize("place", ["no/such/directory", "a-file/below"])
async def test_a_place_that_cannot_be_written_is_named(
    kind: Kind, tmp_path: Path, place: str
) -> None:
    (tmp_path / "a-file").touch()
    with pytest.raises(ConfigError, match=kind.name):
        await opened(kind, tmp_path / place, None)


# Faults


def fails_from(call: int, code: int) -> Callable[..., int]:
    """Return a write that writes half of what it should, then fails with ``code``."""
    real, calls = os.pwrite, 0

    def pwrite(fd: int, data: bytes | memoryview, at: int) -> int:
        nonlocal calls
        calls += 1
        if calls >= call:
            raise OSError(code, os.strerror(code))
        return real(fd, bytes(data)[: max(1, len(data) // 2)], at)

    return pwrite


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EIO])
async def test_a_write_that_fails_is_told_and_what_opens_next_is_whole(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(LINES[:3])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fails_from(2, code))
        with pytest.raises(SinkError, match=kind.name) as caught:
            await sink.write(LINES[20:30])
        assert os.strerror(code) in str(caught.value)
    await sink.close()
    again = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == LINES[:3]
    await again.write(LINES[20:30])
    await again.close()
    assert kind.held(tmp_path) == LINES[:3] + LINES[20:30]


async def test_a_write_after_one_that_failed_begins_where_the_safe_ones_end(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = await opened(kind, tmp_path, None)
    await sink.write(LINES[:3])
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", fails_from(2, errno.ENOSPC))
        with pytest.raises(SinkError):
            await sink.write(LINES[5:6])
    mark = await sink.write(LINES[20:30])
    await sink.close()
    await (await opened(kind, tmp_path, mark)).close()
    assert kind.held(tmp_path) == LINES[:3] + LINES[20:30]


async def test_a_sync_that_fails_means_that_nothing_is_safe(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(LINES[:1])

    def fdatasync(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fdatasync)
        with pytest.raises(SinkError):
            await sink.write(LINES[1:2])
    await sink.close()
    await (await opened(kind, tmp_path, mark)).close()
    assert kind.held(tmp_path) == LINES[:1]


async def test_writes_of_a_few_bytes_at_a_time_make_whole_records(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, bytes(data)[:7], at))
    sink = await opened(kind, tmp_path, None)
    await sink.write(LINES[:10])
    await sink.close()
    assert kind.held(tmp_path) == LINES[:10]


class SlowStart:
    """A write of which the first one hangs until it is told to go on."""

    def __init__(self) -> None:
        self._real = os.pwrite
        self.begun, self.go_on, self.ended = (threading.Event() for _ in range(3))

    def __call__(self, fd: int, data: bytes | memoryview, at: int) -> int:
        if self.begun.is_set():
            return self._real(fd, data, at)
        self.begun.set()
        self.go_on.wait(20)
        try:
            return self._real(fd, data, at)
        finally:
            self.ended.set()


async def test_a_write_that_was_cancelled_cannot_spoil_the_next(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopping at once cancels a write whose bytes are on their way; another may follow."""
    slow = SlowStart()
    sink = await opened(kind, tmp_path, None)
    monkeypatch.setattr(os, "pwrite", slow)
    first = asyncio.create_task(sink.write(LINES[30:32]))
    await asyncio.to_thread(slow.begun.wait, 20)
    first.cancel()
    second = asyncio.create_task(sink.write(LINES[:3]))
    # A sink that does not wait for the first has written the second by then.
    await asyncio.wait({second}, timeout=0.5)
    slow.go_on.set()
    await asyncio.to_thread(slow.ended.wait, 20)
    await asyncio.gather(first, return_exceptions=True)
    mark = await second
    await sink.close()
    await (await opened(kind, tmp_path, mark)).close()
    assert kind.held(tmp_path) in (LINES[:3], LINES[30:32] + LINES[:3])


async def test_closing_waits_for_a_write_that_was_cancelled(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its bytes may go to whatever file gets the same descriptor next."""
    slow = SlowStart()
    sink = await opened(kind, tmp_path, None)
    monkeypatch.setattr(os, "pwrite", slow)
    first = asyncio.create_task(sink.write(LINES[30:32]))
    await asyncio.to_thread(slow.begun.wait, 20)
    first.cancel()
    await asyncio.wait({first}, timeout=0.5)
    asyncio.get_running_loop().call_later(0.2, slow.go_on.set)
    await sink.close()
    with (tmp_path / "other").open("wb"):
        slow.go_on.set()
        await asyncio.to_thread(slow.ended.wait, 20)
        await asyncio.gather(first, return_exceptions=True)
    assert (tmp_path / "other").read_bytes() == b""


# A whole life


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    runs=st.lists(
        st.tuples(
            st.lists(st.integers(1, 4), max_size=4),
            st.integers(0, 4),
            st.booleans(),
        ),
        max_size=6,
    )
)
async def test_whatever_crashes_come_the_safe_records_are_there_once_and_in_order(
    kind: Kind, tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[list[int], int, bool]]
) -> None:
    """Each run writes some batches, of which only the first ``kept`` are acked, and dies."""
    place = tmp_path_factory.mktemp("sink")
    mark: bytes | None = None
    safe: list[bytes] = []
    number = 0
    for batches, kept, torn in runs:
        # A crawl's first ack stores a mark; before it, what lies there is not known to be ours.
        sink = await opened(kind, place, mark, overwrite=mark is None)
        assert kind.held(place) == safe
        for position, size in enumerate(batches):
            lines = [f"{number + n}\n".encode() for n in range(size)]
            number += size
            answered = await sink.write(lines)
            if position < kept:
                mark, safe = answered, safe + lines
        await sink.close()
        if torn:
            kind.tear(place)
    sink = await opened(kind, place, mark, overwrite=mark is None)
    await sink.close()
    assert kind.held(place) == safe
