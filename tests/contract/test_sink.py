"""What every sink promises: safe when it says so, whole when it opens, each record once.

A new sink is one class in ``sink_kinds.py`` and one entry in its ``KINDS``.
"""

import asyncio
import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import batch_of, page
from sink_kinds import BY_ITSELF, FAULTS, KINDS, Kind

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.base import Sink
from skitter.pipeline.record import PageRecord

PAGES = [page(n) for n in range(40)]


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]()


@pytest.fixture(params=BY_ITSELF)
def file_kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]()


async def opened(kind: Kind, place: Path, mark: bytes | None, *, overwrite: bool = False) -> Sink:
    sink = kind.make(place, overwrite=overwrite)
    await sink.open(mark)
    return sink


async def written(kind: Kind, place: Path, records: Sequence[PageRecord]) -> bytes:
    """Write into a new sink, close it and return its mark."""
    sink = await opened(kind, place, None)
    mark = await sink.write(batch_of(records))
    await sink.close()
    return mark


# Writing


async def test_what_was_written_is_there_when_write_returns(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    await sink.write(batch_of(PAGES[:2]))
    assert kind.held(tmp_path) == PAGES[:2]
    await sink.write(batch_of(PAGES[2:5]))
    assert kind.held(tmp_path) == PAGES[:5]
    await sink.close()


async def test_each_write_answers_a_new_mark(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    marks = [await sink.write(batch_of([record])) for record in PAGES[:5]]
    assert len(set(marks)) == 5
    await sink.close()


async def test_an_empty_write_changes_nothing(kind: Kind, tmp_path: Path) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(batch_of(PAGES[:3]))
    assert await sink.write(batch_of([])) == mark
    assert kind.held(tmp_path) == PAGES[:3]
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
    mark = await written(kind, tmp_path, PAGES[:3])
    sink = await opened(kind, tmp_path, mark)
    await sink.write(batch_of(PAGES[3:5]))
    await sink.close()
    assert kind.held(tmp_path) == PAGES[:5]


async def test_what_came_after_the_mark_is_cut_and_never_there_twice(
    kind: Kind, tmp_path: Path
) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(batch_of(PAGES[:2]))
    await sink.write(batch_of(PAGES[2:4]))
    await sink.close()
    again = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == PAGES[:2]
    await again.write(batch_of(PAGES[2:4]))
    await again.close()
    assert kind.held(tmp_path) == PAGES[:4]


async def test_a_torn_tail_is_cut_on_opening(kind: Kind, tmp_path: Path) -> None:
    mark = await written(kind, tmp_path, PAGES[:3])
    kind.tear(tmp_path)
    sink = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == PAGES[:3]
    await sink.close()


async def test_a_crash_before_the_first_mark_leaves_nothing(kind: Kind, tmp_path: Path) -> None:
    """A new crawl whose mark says that nothing is safe yet owns what it wrote."""
    sink = await opened(kind, tmp_path, None)
    empty = await sink.write(batch_of([]))
    await sink.write(batch_of(PAGES[:2]))
    await sink.close()
    again = await opened(kind, tmp_path, empty)
    assert kind.held(tmp_path) == []
    await again.close()


@pytest.mark.parametrize("marked", [True, False])
async def test_opening_changes_nothing_that_is_safe(
    kind: Kind, tmp_path: Path, *, marked: bool
) -> None:
    mark = await written(kind, tmp_path, PAGES[:3])
    for _ in range(3):
        if marked:
            await (await opened(kind, tmp_path, mark)).close()
        else:
            with pytest.raises(ConfigError):
                await opened(kind, tmp_path, None)
    assert kind.held(tmp_path) == PAGES[:3]


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
    await sink.write(batch_of(PAGES[:1]))
    await sink.close()
    assert kind.held(tmp_path) == PAGES[:1]


async def test_starting_over_replaces_what_is_there(kind: Kind, tmp_path: Path) -> None:
    (tmp_path / kind.name).write_bytes(b"my diary\n")
    sink = await opened(kind, tmp_path, None, overwrite=True)
    assert kind.held(tmp_path) == []
    await sink.write(batch_of(PAGES[:1]))
    await sink.close()
    assert kind.held(tmp_path) == PAGES[:1]


@pytest.mark.parametrize("left", [0, 1, 10])
async def test_results_that_lost_their_end_are_refused_until_they_are_put_back(
    kind: Kind, tmp_path: Path, left: int
) -> None:
    mark = await written(kind, tmp_path, PAGES[:5])
    whole = (tmp_path / kind.name).read_bytes()
    (tmp_path / kind.name).write_bytes(whole[:left])
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=kind.name) as caught:
        await sink.open(mark)
    await sink.close()
    assert f"written {mark.decode()}" in str(caught.value)
    assert "--fresh" in str(caught.value)
    (tmp_path / kind.name).write_bytes(whole)
    await (await opened(kind, tmp_path, mark)).close()


async def test_results_that_were_deleted_are_missed(kind: Kind, tmp_path: Path) -> None:
    mark = await written(kind, tmp_path, PAGES[:5])
    (tmp_path / kind.name).unlink()
    sink = kind.make(tmp_path)
    with pytest.raises(ConfigError, match=kind.name):
        await sink.open(mark)
    await sink.close()


async def test_other_contents_of_the_right_length_are_noticed_by_their_line_ends(
    kind: Kind, tmp_path: Path
) -> None:
    mark = await written(kind, tmp_path, PAGES[:5])
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


@pytest.mark.parametrize("code", FAULTS)
async def test_a_write_that_fails_is_told_and_what_opens_next_is_whole(
    kind: Kind, tmp_path: Path, code: int
) -> None:
    sink = await opened(kind, tmp_path, None)
    mark = await sink.write(batch_of(PAGES[:3]))
    with kind.breaking(tmp_path, code) as words:
        with pytest.raises(SinkError, match=f"--out .*{kind.name}") as caught:
            await sink.write(batch_of(PAGES[20:30]))
        assert words in str(caught.value)
    assert kind.held(tmp_path) == PAGES[:3]
    await sink.close()
    again = await opened(kind, tmp_path, mark)
    assert kind.held(tmp_path) == PAGES[:3]
    await again.write(batch_of(PAGES[20:30]))
    await again.close()
    assert kind.held(tmp_path) == PAGES[:3] + PAGES[20:30]


async def test_a_write_after_one_that_failed_begins_where_the_safe_ones_end(
    kind: Kind, tmp_path: Path
) -> None:
    sink = await opened(kind, tmp_path, None)
    await sink.write(batch_of(PAGES[:3]))
    with kind.breaking(tmp_path, errno.ENOSPC), pytest.raises(SinkError):
        await sink.write(batch_of(PAGES[5:30]))
    mark = await sink.write(batch_of(PAGES[20:30]))
    await sink.close()
    await (await opened(kind, tmp_path, mark)).close()
    assert kind.held(tmp_path) == PAGES[:3] + PAGES[20:30]


async def test_a_sync_that_fails_means_that_nothing_is_safe(
    file_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = await opened(file_kind, tmp_path, None)
    mark = await sink.write(batch_of(PAGES[:1]))

    def fdatasync(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fdatasync)
        with pytest.raises(SinkError):
            await sink.write(batch_of(PAGES[1:2]))
    await sink.close()
    await (await opened(file_kind, tmp_path, mark)).close()
    assert file_kind.held(tmp_path) == PAGES[:1]


async def test_writes_of_a_few_bytes_at_a_time_make_whole_records(
    file_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda fd, data, at: real(fd, bytes(data)[:7], at))
    sink = await opened(file_kind, tmp_path, None)
    await sink.write(batch_of(PAGES[:10]))
    await sink.close()
    assert file_kind.held(tmp_path) == PAGES[:10]


async def test_a_write_that_was_cancelled_cannot_spoil_the_next(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopping at once cancels a write whose bytes are on their way; another may follow."""
    sink = await opened(kind, tmp_path, None)
    slow = kind.stalling(tmp_path, monkeypatch)
    first = asyncio.create_task(sink.write(batch_of(PAGES[30:32])))
    await asyncio.to_thread(slow.begun.wait, 20)
    first.cancel()
    second = asyncio.create_task(sink.write(batch_of(PAGES[:3])))
    # A sink that does not wait for the first has written the second by then.
    await asyncio.wait({second}, timeout=0.5)
    slow.go_on()
    await asyncio.to_thread(slow.ended.wait, 20)
    await asyncio.gather(first, return_exceptions=True)
    mark = await second
    await sink.close()
    await (await opened(kind, tmp_path, mark)).close()
    assert kind.held(tmp_path) in (PAGES[:3], PAGES[30:32] + PAGES[:3])


async def test_closing_waits_for_a_write_that_was_cancelled(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its bytes may go to whatever file gets the same descriptor next."""
    sink = await opened(kind, tmp_path, None)
    slow = kind.stalling(tmp_path, monkeypatch)
    first = asyncio.create_task(sink.write(batch_of(PAGES[30:32])))
    await asyncio.to_thread(slow.begun.wait, 20)
    first.cancel()
    await asyncio.wait({first}, timeout=0.5)
    asyncio.get_running_loop().call_later(0.2, slow.go_on)
    await sink.close()
    with (tmp_path / "other").open("wb"):
        slow.go_on()
        await asyncio.to_thread(slow.ended.wait, 20)
        await asyncio.gather(first, return_exceptions=True)
    assert (tmp_path / "other").read_bytes() == b""


# A whole life


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
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
    safe: list[PageRecord] = []
    number = 0
    for batches, kept, torn in runs:
        # A crawl's first ack stores a mark; before it, what lies there is not known to be ours.
        sink = await opened(kind, place, mark, overwrite=mark is None)
        assert kind.held(place) == safe
        for position, size in enumerate(batches):
            records = [page(number + n) for n in range(size)]
            number += size
            answered = await sink.write(batch_of(records))
            if position < kept:
                mark, safe = answered, safe + records
        await sink.close()
        if torn:
            kind.tear(place)
    sink = await opened(kind, place, mark, overwrite=mark is None)
    await sink.close()
    assert kind.held(place) == safe
