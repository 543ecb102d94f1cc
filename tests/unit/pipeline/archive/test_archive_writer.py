"""Writing WARC files exactly once: marks, rotation, cutting, what is not ours."""

import asyncio
import errno
import json
import logging
import os
import re
import threading
from pathlib import Path

import pytest
from archiving import AT_MS, capture, every_kind, warcs_in

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.archive.format import payload_digest, warc_date
from skitter.pipeline.archive.model import Capture, Location, Original
from skitter.pipeline.archive.names import Compression
from skitter.pipeline.archive.read import damage, read_response
from skitter.pipeline.archive.writer import Archive

KINDS: list[Compression] = ["gzip", "zstd", "none"]


def page(number: int) -> Capture:
    return capture(f"https://www.example.com/{number}", b"page %d" % number, at_ms=AT_MS + number)


def pages(first: int, last: int) -> list[Capture]:
    return [page(number) for number in range(first, last)]


async def opened(place: Path, mark: bytes | None = None, **options: object) -> Archive:
    archive = Archive(place, job="job", **options)  # type: ignore[arg-type]
    await archive.open(mark)
    return archive


async def written(place: Path, captures: list[Capture]) -> tuple[list[Location], bytes]:
    """Write into a new archive, close it, and return locations and mark."""
    archive = await opened(place)
    done = await archive.write(captures)
    await archive.close()
    return done


def urls(place: Path) -> list[str]:
    """Return what a reader of the indexes finds, and check that each line leads to its record."""
    found = []
    for index in sorted(place.glob("*.cdxj*")):
        for line in index.read_text().splitlines():
            entry = json.loads(line[line.index("{") :])
            there = read_response(place / entry["filename"], int(entry["offset"]))
            assert there.url == entry["url"]
            found.append(there.url.rpartition("/")[2])
    assert [damage(warc) for warc in warcs_in(place)] == [None] * len(warcs_in(place))
    return sorted(found, key=int)


def numbers(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last)]


# Writing


@pytest.mark.parametrize("compression", KINDS)
async def test_each_capture_is_where_its_location_says_while_the_file_grows(
    tmp_path: Path, compression: Compression
) -> None:
    archive = await opened(tmp_path, compression=compression)
    captures = every_kind()
    locations, _ = await archive.write(captures)
    for taken, location in zip(captures, locations, strict=True):
        there = read_response(tmp_path / location.file, location.offset)
        assert (there.url, there.date) == (taken.url, warc_date(taken.at_ms))
        assert there.head == taken.response[: taken.head_bytes]
        assert location.payload_digest == payload_digest(taken)
    await archive.close()


async def test_an_empty_write_changes_nothing_and_makes_no_file(tmp_path: Path) -> None:
    archive = await opened(tmp_path / "new")
    mark = await archive.open(None)
    assert await archive.write([]) == ([], mark)
    await archive.sync()
    await archive.close()
    await archive.close()
    assert list((tmp_path / "new").iterdir()) == []


async def test_a_file_that_is_full_is_followed_by_the_next(tmp_path: Path) -> None:
    archive = await opened(tmp_path, max_file_bytes=4000)
    locations = [(await archive.write(pages(n, n + 3)))[0] for n in range(0, 30, 3)]
    await archive.close()
    names = [path.name for path in warcs_in(tmp_path)]
    assert len(names) > 3
    assert names == [f"job-{serial:05d}.warc.gz" for serial in range(len(names))]
    assert sorted({where.file for batch in locations for where in batch}) == names
    assert urls(tmp_path) == numbers(0, 30)
    for warc in warcs_in(tmp_path)[:-1]:
        assert warc.stat().st_size >= 4000


async def test_a_finished_index_is_sorted_and_alone(tmp_path: Path) -> None:
    await written(tmp_path, pages(0, 30)[::-1])
    assert {path.name for path in tmp_path.iterdir()} == {"job-00000.warc.gz", "job-00000.cdxj"}
    lines = (tmp_path / "job-00000.cdxj").read_bytes().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 30


def test_the_name_of_the_mark_is_that_of_the_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    plain, odd = Archive(tmp_path, job="a"), Archive(tmp_path / "sub" / "..", job="a")
    assert plain.mark_name == odd.mark_name == f"archive:{tmp_path.resolve()}"


@pytest.mark.parametrize(
    ("job", "begin"),
    [
        ("plain-1.x_y", "plain-1.x_y"),
        ("a b/c", "a_b_c~"),
        ("../up", "_up~"),
        ("ü", "_~"),
        ("...", "job~"),
        ("j" * 128, "j" * 120 + "~"),
    ],
)
async def test_a_job_of_any_name_has_files_in_the_directory(
    tmp_path: Path, job: str, begin: str
) -> None:
    archive = Archive(tmp_path / "in", job=job)
    await archive.open(None)
    [location], mark = await archive.write([page(1)])
    await archive.close()
    assert re.fullmatch(rf"{re.escape(begin)}[0-9a-f]{{0,12}}-00000\.warc\.gz", location.file)
    await archive.open(mark)
    await archive.close()


# Duplicates


async def test_a_payload_that_was_just_stored_becomes_a_revisit(tmp_path: Path) -> None:
    first, again = capture("https://a.example/1"), capture("https://a.example/2", at_ms=AT_MS + 9)
    archive = await opened(tmp_path)
    one, _ = await archive.write([first, again])
    two, _ = await archive.write([again])
    await archive.close()
    kinds = [read_response(tmp_path / at.file, at.offset) for at in (*one, *two)]
    assert [there.kind for there in kinds] == ["response", "revisit", "revisit"]
    assert {there.refers_to for there in kinds[1:]} == {(first.url, warc_date(AT_MS))}
    assert [at.revisit for at in (*one, *two)] == [False, True, True]
    assert len({at.payload_digest for at in (*one, *two)}) == 1


async def test_a_payload_of_an_earlier_run_becomes_a_revisit_when_it_is_equal(
    tmp_path: Path,
) -> None:
    old = Original("https://a.example/old", "2024-01-01T00:00:00.000Z", payload_digest(capture()))
    archive = await opened(tmp_path)
    locations, _ = await archive.write(
        [capture(original=old), capture(body=b"changed", original=old)]
    )
    await archive.close()
    same, other = (read_response(tmp_path / at.file, at.offset) for at in locations)
    assert (same.kind, same.refers_to) == ("revisit", (old.url, old.date))
    assert (other.kind, other.payload) == ("response", b"changed")


@pytest.mark.parametrize("twice", [capture(body=b""), capture(truncated="length")])
async def test_what_is_empty_or_truncated_is_never_a_revisit(
    tmp_path: Path, twice: Capture
) -> None:
    locations, _ = await written(tmp_path, [twice, twice, capture()])
    kinds = [read_response(tmp_path / at.file, at.offset).kind for at in locations]
    assert kinds == ["response"] * 3


# Opening again


@pytest.mark.parametrize("compression", KINDS)
async def test_writing_goes_on_after_the_mark(tmp_path: Path, compression: Compression) -> None:
    archive = await opened(tmp_path, compression=compression)
    _, mark = await archive.write(pages(0, 3))
    await archive.close()
    again = await opened(tmp_path, mark, compression=compression)
    await again.write(pages(3, 6))
    await again.close()
    assert urls(tmp_path) == numbers(0, 6)
    assert len(warcs_in(tmp_path)) == 1


async def test_what_came_after_the_mark_is_cut_with_its_files_and_indexes(tmp_path: Path) -> None:
    archive = await opened(tmp_path, max_file_bytes=3000)
    _, mark = await archive.write(pages(0, 2))
    for number in range(2, 20):
        await archive.write([page(number)])
    await archive.close()
    assert len(warcs_in(tmp_path)) > 2
    again = await opened(tmp_path, mark)
    assert urls(tmp_path) == numbers(0, 2)
    await again.write(pages(2, 4))
    await again.close()
    assert urls(tmp_path) == numbers(0, 4)
    assert len(list(tmp_path.iterdir())) == 2


async def test_files_before_the_marked_one_are_not_touched(tmp_path: Path) -> None:
    archive = await opened(tmp_path, max_file_bytes=1)
    for number in range(4):
        _, mark = await archive.write([page(number)])
    await archive.close()
    before = {path.name: path.stat() for path in tmp_path.glob("job-0000[0-2]*")}
    await (await opened(tmp_path, mark)).close()
    assert {path.name: path.stat() for path in tmp_path.glob("job-0000[0-2]*")} == before
    assert urls(tmp_path) == numbers(0, 4)


async def test_a_crash_before_the_first_mark_leaves_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path, job="job")
    mark = await archive.open(None)
    await archive.write(pages(0, 2))
    await archive.close()
    await (await opened(tmp_path, mark)).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lost", ["missing", "short", "zeroed"])
async def test_an_index_that_is_lost_is_made_again_from_the_records(
    tmp_path: Path, lost: str
) -> None:
    archive = await opened(tmp_path)
    await archive.write(every_kind())
    _, mark = await archive.write(pages(0, 3))
    [growing] = tmp_path.glob("*.part")
    whole = growing.read_bytes()
    await archive.close()
    (tmp_path / "job-00000.cdxj").unlink()
    if lost != "missing":
        growing.write_bytes(whole[:100] if lost == "short" else bytes(len(whole)))
    again = await opened(tmp_path, mark)
    assert growing.read_bytes() == whole
    await again.close()


@pytest.mark.parametrize("tail", [b"\x1f\x8b\x08 half a member", b"\0" * 5000])
async def test_a_torn_tail_is_cut_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, tail: bytes
) -> None:
    _, mark = await written(tmp_path, pages(0, 3))
    [warc] = warcs_in(tmp_path)
    whole = warc.read_bytes()
    warc.write_bytes(whole + tail)
    assert str(len(whole)) in str(damage(warc))
    with caplog.at_level(logging.WARNING):
        await (await opened(tmp_path, mark)).close()
    assert f"{warc}: damaged at byte {len(whole)}" in caplog.text
    assert warc.read_bytes() == whole
    assert urls(tmp_path) == numbers(0, 3)


async def test_another_compression_goes_on_in_a_file_of_its_own(tmp_path: Path) -> None:
    _, mark = await written(tmp_path, pages(0, 2))
    again = await opened(tmp_path, mark, compression="zstd")
    _, mark = await again.write(pages(2, 4))
    await again.close()
    assert [path.name for path in warcs_in(tmp_path)] == ["job-00000.warc.gz", "job-00001.warc.zst"]
    await (await opened(tmp_path, mark, compression="zstd")).close()
    assert urls(tmp_path) == numbers(0, 4)


# What is not ours, and what is gone


async def test_an_archive_of_another_crawl_is_refused_and_left_alone(tmp_path: Path) -> None:
    await written(tmp_path, pages(0, 2))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(ConfigError, match=r"--warc .*job-00000.*--fresh"):
        await opened(tmp_path, None)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


async def test_starting_over_replaces_the_own_files_only(tmp_path: Path) -> None:
    await written(tmp_path, pages(0, 2))
    others = ["job-x.warc.gz", "other-00000.warc.gz", "job-00000.txt", "job-00001.cdxj.bak"]
    for name in others:
        (tmp_path / name).write_text("mine")
    archive = await opened(tmp_path, None, overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(others)
    await archive.close()


async def test_two_crawls_cannot_write_one_archive(tmp_path: Path) -> None:
    first, second = await opened(tmp_path), await opened(tmp_path)
    _, mark = await first.write(pages(0, 1))
    await first.write(pages(1, 2))
    with pytest.raises(SinkError, match="exists"):
        await second.write(pages(5, 7))
    with pytest.raises(ConfigError, match="another crawl"):
        await opened(tmp_path, mark)
    await second.close()
    await first.close()
    assert urls(tmp_path) == numbers(0, 2)


async def test_a_file_that_is_gone_is_missed_and_nothing_else_is_touched(tmp_path: Path) -> None:
    _, mark = await written(tmp_path, pages(0, 5))
    [warc] = warcs_in(tmp_path)
    warc.unlink()
    (tmp_path / "job-00001.warc.gz").write_bytes(b"later")
    with pytest.raises(ConfigError, match=f"{warc.name} does not exist"):
        await opened(tmp_path, mark)
    assert (tmp_path / "job-00001.warc.gz").exists()


@pytest.mark.parametrize("with_index", [True, False])
async def test_damage_before_the_mark_is_named(tmp_path: Path, *, with_index: bool) -> None:
    locations, mark = await written(tmp_path, pages(0, 5))
    [warc] = warcs_in(tmp_path)
    data = bytearray(warc.read_bytes())
    data[locations[-1].offset + 40] ^= 0xFF
    warc.write_bytes(data)
    if not with_index:
        (tmp_path / "job-00000.cdxj").unlink()
    with pytest.raises(ConfigError, match=f"{warc.name}: damaged at byte {locations[-1].offset}"):
        await opened(tmp_path, mark)
    assert warc.read_bytes() == data


@pytest.mark.parametrize("mark", [b"", b"2 0 0 job-00000.warc.gz", b"1 x 0 job-00000.warc.gz"])
async def test_a_mark_of_another_version_is_refused(tmp_path: Path, mark: bytes) -> None:
    with pytest.raises(ConfigError, match="--warc"):
        await opened(tmp_path, mark)


def test_a_place_that_cannot_be_a_directory_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(ConfigError, match=f"--warc .*{place}: .*not a directory"):
            Archive(tmp_path / place, job="job").check()
    Archive(tmp_path / "new" / "deep", job="job").check()
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


async def test_a_place_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="--warc"):
        await opened(tmp_path / "file" / "below")


# Faults


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
async def test_a_write_that_fails_is_told_and_leaves_the_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    archive = await opened(tmp_path)
    await archive.write(pages(0, 3))
    real = os.pwrite
    calls = iter(range(100))

    def failing(fd: int, data: bytes, at: int) -> int:
        if next(calls) >= 2:
            raise OSError(code, os.strerror(code))
        return real(fd, bytes(data)[: len(data) // 2], at)

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", failing)
        with pytest.raises(SinkError, match=os.strerror(code)):
            await archive.write(pages(10, 20))
    _, mark = await archive.write(pages(3, 4))
    await archive.close()
    await (await opened(tmp_path, mark)).close()
    assert urls(tmp_path) == numbers(0, 4)


async def test_a_failed_write_leaves_no_original_to_refer_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = await opened(tmp_path)
    await archive.write([page(1)])

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(SinkError):
            await archive.write([page(2)])
    [location], _ = await archive.write([page(2)])
    await archive.close()
    assert read_response(tmp_path / location.file, location.offset).kind == "response"


async def test_a_first_file_that_fails_can_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = await opened(tmp_path)

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(SinkError):
            await archive.write([page(1)])
    assert list(tmp_path.iterdir()) == []
    await archive.write([page(1)])
    await archive.close()
    assert urls(tmp_path) == ["1"]


async def test_a_sync_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = await opened(tmp_path)
    await archive.write([page(1)])

    def fdatasync(_: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fdatasync)
        with pytest.raises(SinkError, match="cannot be synced"):
            await archive.sync()
    await archive.close()


async def test_nothing_is_synced_when_speed_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(_: int) -> None:
        raise AssertionError

    monkeypatch.setattr(os, "fdatasync", never)
    monkeypatch.setattr(os, "fsync", never)
    archive = await opened(tmp_path, durable=False, max_file_bytes=1)
    for number in range(3):
        await archive.write([page(number)])
        await archive.sync()
    await archive.close()


async def test_a_write_that_was_cancelled_is_overwritten_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    archive = await opened(tmp_path)
    await archive.write([page(0)])
    real = os.pwrite

    def slow(fd: int, data: bytes, at: int) -> int:
        begun.set()
        go_on.wait(20)
        return real(fd, data, at)

    monkeypatch.setattr(os, "pwrite", slow)
    monkeypatch.setattr("skitter.pipeline.archive.writer.QUICK_BYTES", 0)
    first = asyncio.create_task(archive.write(pages(100, 110)))
    await asyncio.to_thread(begun.wait, 20)
    first.cancel()
    second = asyncio.create_task(archive.write([page(1)]))
    await asyncio.wait({second}, timeout=0.2)
    go_on.set()
    await asyncio.gather(first, return_exceptions=True)
    await second
    await archive.close()
    assert urls(tmp_path) == ["0", "1"]
