"""The file of a Bloom filter: what it says of itself, and what is refused without a change."""

import errno
import os
import struct
from pathlib import Path

import pytest

from skitter.errors import DataDirError, StoreUnavailable
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.embedded.seen.file import HEADER_BYTES, BloomFile, create
from skitter.frontier.embedded.seen.sizing import shape_for
from skitter.frontier.model import SeenOptions

OPTIONS = SeenOptions("bloom", expected=5_000, rate=1e-3)
SECRET = b"a secret of this store"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "seen.bloom"
    create(path, OPTIONS, SECRET)
    return path


def refusal(path: Path, options: SeenOptions = OPTIONS, secret: bytes = SECRET) -> str:
    """Open a file that is refused; return the words, after looking that nothing was changed."""
    before = path.read_bytes() if path.exists() else None
    with pytest.raises(DataDirError) as caught:
        BloomFile(path, options, secret)
    assert (path.read_bytes() if path.exists() else None) == before
    words = str(caught.value)
    assert words.startswith(f"{path}: ")
    assert words.endswith("start over with --fresh")
    return words


def test_what_is_written_is_read_after_opening_again(path: Path) -> None:
    file = BloomFile(path, OPTIONS, SECRET)
    file.array[7] = 200
    file.sync()
    file.close()
    again = BloomFile(path, OPTIONS, SECRET)
    assert again.array[7] == 200
    assert int(again.array.sum()) == 200
    again.close()


def test_all_of_its_room_is_taken_at_once(path: Path) -> None:
    assert path.stat().st_size == HEADER_BYTES + shape_for(OPTIONS).size
    assert path.stat().st_blocks * 512 >= shape_for(OPTIONS).size


def test_a_full_disk_is_met_when_the_file_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, start: int, length: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(StoreUnavailable, match="a Bloom filter of 0 MB cannot be made"):
        create(tmp_path / "seen.bloom", OPTIONS, SECRET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (SeenOptions("bloom", 6_000, 1e-3), "for 6,000 URLs at the rate 0.001"),
        (SeenOptions("bloom", 5_000, 1e-4), "for 5,000 URLs at the rate 0.0001"),
        (SeenOptions("bloom", 5_000, 1e-3, groups=3), "of 3 × 3 hashes"),
    ],
)
def test_a_filter_with_other_measures_is_named(
    path: Path, options: SeenOptions, wanted: str
) -> None:
    words = refusal(path, options)
    held, _, asked = words.partition("; wanted ")
    assert "holds a Bloom filter (version 1) for 5,000 URLs at the rate 0.001, of 2 × 5" in held
    assert wanted in asked


def test_the_filter_of_another_store_is_named(path: Path) -> None:
    assert "the Bloom filter of another store" in refusal(path, secret=b"a secret of another")


def test_a_file_of_another_size_is_named(path: Path) -> None:
    os.truncate(path, HEADER_BYTES + 100)
    words = refusal(path)
    assert "4,196 bytes long, wanted" in words


def test_a_longer_file_is_named_too(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")
    assert "bytes long, wanted" in refusal(path)


@pytest.mark.parametrize("at", [0, 17, 60, 72, 4_000])
def test_a_damaged_first_page_is_named(path: Path, at: int) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    assert "not a Bloom filter, or its first page is damaged" in refusal(path)


@pytest.mark.parametrize("text", [b"", b"short", b"x" * 9_000])
def test_something_else_is_named(path: Path, text: bytes) -> None:
    path.write_bytes(text)
    assert "not a Bloom filter" in refusal(path)


def test_a_file_of_a_later_version_is_named(path: Path) -> None:
    page = bytearray(path.read_bytes()[:HEADER_BYTES])
    page[16:20] = struct.pack("<I", 2)
    import zlib

    end = struct.calcsize("<16sIIIQ8sQdI")
    page[end - 4 : end] = bytes(4)
    page[end - 4 : end] = struct.pack("<I", zlib.crc32(bytes(page)))
    with path.open("r+b") as file:
        file.write(page)
    assert "holds a Bloom filter (version 2)" in refusal(path)


def test_a_missing_file_is_named(path: Path) -> None:
    path.unlink()
    assert "cannot be opened (No such file or directory)" in refusal(path)


# In a store


async def opened(folder: Path, seen: SeenOptions | None) -> EmbeddedFrontier:
    store = EmbeddedFrontier(folder, durable=False, seen=seen)
    await store.open()
    return store


async def test_a_store_refuses_the_other_kind_and_goes_on_as_it_was(tmp_path: Path) -> None:
    for kept, wanted in ((OPTIONS, SeenOptions()), (SeenOptions(), OPTIONS)):
        folder = tmp_path / kept.kind
        await (await opened(folder, kept)).close()
        with pytest.raises(DataDirError, match=f"with seen = {kept.kind}; wanted seen ="):
            await opened(folder, wanted)
        await (await opened(folder, kept)).close()


async def test_who_asks_for_nothing_gets_what_the_store_has(tmp_path: Path) -> None:
    await (await opened(tmp_path / "b", OPTIONS)).close()
    store = await opened(tmp_path / "b", None)
    assert (store.seen_facts.kind, store.seen_facts.expected) == ("bloom", 5_000)
    await store.close()
    store = await opened(tmp_path / "e", None)
    assert store.seen_facts.kind == "exact"
    await store.close()


async def test_a_refused_filter_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    await (await opened(tmp_path, OPTIONS)).close()
    with pytest.raises(DataDirError, match="holds a Bloom filter"):
        await opened(tmp_path, SeenOptions("bloom", expected=7))
    store = await opened(tmp_path, None)
    assert store._core.leases.fence == 2
    await store.close()


async def test_a_store_that_died_before_it_was_made_is_made_anew(tmp_path: Path) -> None:
    """Killed between making the file and writing the first row, it left a stranger's file."""
    create(tmp_path / "seen.bloom", OPTIONS, b"a secret that was never kept")
    store = await opened(tmp_path, OPTIONS)
    await store.close()
