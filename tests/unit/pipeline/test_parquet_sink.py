"""Parquet as other people's readers see it, and how it comes about."""

import asyncio
import random
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import batch_of, page, read_parquet

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.columns import NAMES
from skitter.pipeline.parquet import ParquetSink
from skitter.pipeline.parquet_table import GroupSize, table_of
from skitter.pipeline.record import PageRecord

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


class SmallSink(ParquetSink):
    """Seals after ten rows."""

    GROUP = GroupSize(rows=10, bytes=1 << 20)


async def written(path: Path, records: list[PageRecord], *, per_write: int = 4) -> bytes:
    sink = SmallSink(path)
    mark = await sink.open(None)
    for n in range(0, len(records), per_write):
        mark = await sink.write(batch_of(records[n : n + per_write]))
    await sink.close()
    return mark


def parts_of(path: Path) -> list[str]:
    return sorted(part.name for part in path.with_name(f"{path.name}.parts").glob("*"))


@contextmanager
def no_room(size: int) -> Iterator[None]:
    """Let no file grow beyond ``size``, as if the disk were full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


# What readers find


async def test_the_columns_are_typed(tmp_path: Path) -> None:
    await written(tmp_path / "pages.parquet", [page(n) for n in range(30)])
    schema = pq.read_schema(tmp_path / "pages.parquet")
    assert tuple(schema.names) == NAMES
    assert schema.field("fetched_at").type == pa.timestamp("ms", "UTC")
    assert schema.field("redirects").type.value_type == pa.string()
    assert schema.field("fields").type == pa.string()
    assert schema.field("labels").type == pa.map_(pa.string(), pa.string())
    assert schema.field("bytes").type == pa.int64()
    assert schema.field("truncated").type == pa.bool_()
    assert not schema.field("url").nullable
    assert schema.field("title").nullable
    assert schema.metadata[b"written_by"].startswith(b"skitter ")


async def test_what_repeats_is_kept_in_a_dictionary_and_all_is_compressed(tmp_path: Path) -> None:
    await written(tmp_path / "pages.parquet", [page(n) for n in range(30)])
    group = pq.ParquetFile(tmp_path / "pages.parquet").metadata.row_group(0)
    columns = {group.column(n).path_in_schema: group.column(n) for n in range(group.num_columns)}
    assert {column.compression for column in columns.values()} == {"ZSTD"}
    coded = {name for name, column in columns.items() if column.has_dictionary_page}
    assert {"job", "outcome", "labels.key_value.key", "labels.key_value.value"} <= coded
    assert not {"url", "title", "text", "digest"} & coded


async def test_duckdb_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    pages = [page(n) for n in range(57)]
    await written(path, pages)
    ask = duckdb.connect().execute
    kinds = {name: kind for name, kind, *_ in ask(f"DESCRIBE SELECT * FROM '{path}'").fetchall()}
    assert kinds["fetched_at"] == "TIMESTAMP WITH TIME ZONE"
    assert kinds["redirects"] == "VARCHAR[]"
    assert kinds["fields"] == "VARCHAR"
    assert kinds["labels"] == "MAP(VARCHAR, VARCHAR)"
    assert (kinds["status"], kinds["changed"]) == ("BIGINT", "BOOLEAN")
    query = f"SELECT url, len(redirects), fields->>'code', epoch_ms(fetched_at) FROM '{path}'"
    assert ask(query).fetchall() == [
        (
            made.url,
            len(made.redirects),
            made.fields.get("code"),
            round(datetime.fromisoformat(made.fetched_at).timestamp() * 1000),
        )
        for made in pages
    ]


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    title=st.none() | TEXTS,
    redirects=st.lists(TEXTS, max_size=3),
    fields=st.dictionaries(TEXTS, TEXTS, max_size=3),
    size=st.none() | st.integers(-(2**63), 2**63 - 1),
    at_ms=st.integers(0, 7_000_000_000_000),
)
async def test_whatever_the_page_says_reads_back_exactly(
    tmp_path: Path,
    title: str | None,
    redirects: list[str],
    fields: dict[str, str],
    size: int | None,
    at_ms: int,
) -> None:
    path = tmp_path / "pages.parquet"
    path.unlink(missing_ok=True)
    at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)
    when = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    made = page(
        3,
        title=title,
        redirects=redirects,
        fields=fields,
        labels=fields,
        bytes=size,
        fetched_at=when,
    )
    await written(path, [made, made])
    assert read_parquet(path) == [made, made]


async def test_a_crawl_without_pages_leaves_a_file_with_columns(tmp_path: Path) -> None:
    await written(tmp_path / "pages.parquet", [])
    table = pq.read_table(tmp_path / "pages.parquet")
    assert (table.num_rows, tuple(table.column_names)) == (0, NAMES)


def test_no_records_make_a_table_without_rows() -> None:
    assert table_of([]).num_rows == 0


# How it comes about


async def test_full_lines_are_sealed_and_closing_leaves_the_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    pages = [page(n) for n in range(27)]
    sink = SmallSink(path)
    await sink.open(None)
    for n in range(0, 27, 3):
        await sink.write(batch_of(pages[n : n + 3]))
    assert parts_of(path) == [
        "rows-000000000000.parquet",
        "rows-000000000012.parquet",
        "rows-000000000024.jsonl",
    ]
    assert not path.exists()
    await sink.close()
    assert [found.name for found in tmp_path.iterdir()] == ["pages.parquet"]
    assert read_parquet(path) == pages


async def test_lines_are_sealed_by_their_size_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SmallSink, "GROUP", GroupSize(rows=1_000, bytes=50_000))
    path = tmp_path / "pages.parquet"
    sink = SmallSink(path)
    await sink.open(None)
    for n in range(4):
        await sink.write(batch_of([page(n, text="long " * 6_000)]))
    assert parts_of(path) == ["rows-000000000000.parquet", "rows-000000000002.jsonl"]
    await sink.close()


async def test_the_file_of_the_run_before_can_be_read_until_it_is_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.parquet"
    pages = [page(n) for n in range(40)]
    mark = await written(path, pages[:15])
    sink = SmallSink(path)
    await sink.open(mark)
    for n in range(15, 40, 5):
        await sink.write(batch_of(pages[n : n + 5]))
        assert read_parquet(path) == pages[:15]
    await sink.close()
    assert read_parquet(path) == pages


async def test_small_runs_do_not_leave_small_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    mark = await written(path, [page(0)])
    for n in range(1, 25):
        sink = SmallSink(path)
        await sink.open(mark)
        mark = await sink.write(batch_of([page(n)]))
        await sink.close()
    file = pq.ParquetFile(path)
    assert file.metadata.num_rows == 25
    assert file.num_row_groups == 3


async def test_joining_holds_a_row_group_in_memory_and_not_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = 1 << 18
    monkeypatch.setattr(SmallSink, "GROUP", GroupSize(rows=10_000, bytes=group))
    sink = SmallSink(tmp_path / "pages.parquet")
    await sink.open(None)
    for n in range(100):
        await sink.write(batch_of([page(n, text=random.Random(n).randbytes(50_000).hex())]))
    before = pa.default_memory_pool()
    counting = pa.proxy_memory_pool(before)
    pa.set_memory_pool(counting)
    try:
        await sink.close()
    finally:
        pa.set_memory_pool(before)
    whole = pq.read_table(tmp_path / "pages.parquet").nbytes
    assert whole > 20 * group
    assert counting.max_memory() < 8 * group


def cut_off(whole: bytes) -> bytes:
    return whole[:-9]


def overwritten(whole: bytes) -> bytes:
    return whole[:-400] + b"\xff" * 392 + whole[-8:]


@pytest.mark.parametrize("damage", [cut_off, overwritten])
async def test_a_damaged_part_is_named_and_nothing_is_thrown_away(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "pages.parquet"
    sink = SmallSink(path)
    await sink.open(None)
    await sink.write(batch_of([page(n) for n in range(12)]))
    mark = await sink.write(batch_of([page(12)]))
    sink._release()
    part = path.with_name("pages.parquet.parts") / "rows-000000000000.parquet"
    whole = part.read_bytes()
    part.write_bytes(damage(whole))
    with pytest.raises(ConfigError, match=r"rows-000000000000\.parquet is damaged"):
        await SmallSink(path).open(mark)
    part.write_bytes(whole)
    again = SmallSink(path)
    await again.open(mark)
    await again.close()
    assert read_parquet(path) == [page(n) for n in range(13)]


async def test_a_file_with_other_columns_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    mark = await written(path, [page(1)])
    pq.write_table(pq.read_table(path).drop_columns(["title"]), path)
    other = path.read_bytes()
    with pytest.raises(ConfigError, match="other columns"):
        await SmallSink(path).open(mark)
    assert path.read_bytes() == other


async def test_parts_of_someone_else_are_refused_unless_they_are_to_be_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.parquet"
    sink = SmallSink(path)
    await sink.open(None)
    await sink.write(batch_of([page(1)]))
    sink._release()
    with pytest.raises(ConfigError, match=r"pages\.parquet\.parts holds records"):
        await SmallSink(path).open(None)
    again = SmallSink(path, overwrite=True)
    await again.open(None)
    await again.close()
    assert read_parquet(path) == []


async def test_a_link_to_the_file_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    link = tmp_path / "pages.parquet"
    link.symlink_to(tmp_path / "disk" / "big.parquet")
    await written(link, [page(1)])
    assert link.is_symlink()
    assert read_parquet(tmp_path / "disk" / "big.parquet") == [page(1)]


# Full disks


async def test_without_room_to_join_the_parts_are_kept_and_the_next_run_completes_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.parquet"
    first = [page(n) for n in range(15)]
    more = [page(n) for n in range(15, 40)]
    mark = await written(path, first)
    sink = SmallSink(path)
    await sink.open(mark)
    for record in more:
        mark = await sink.write(batch_of([record]))
    kept = parts_of(path)
    with no_room(path.stat().st_size), pytest.raises(SinkError, match="File too large"):
        await sink.close()
    await sink.close()
    assert read_parquet(path) == first
    assert parts_of(path) == kept
    again = SmallSink(path)
    await again.open(mark)
    await again.close()
    assert read_parquet(path) == first + more
    assert [found.name for found in tmp_path.iterdir()] == ["pages.parquet"]


async def test_without_room_to_seal_nothing_is_lost_and_the_next_write_tries_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.parquet"
    pages = [page(n) for n in range(12)]
    sink = SmallSink(path)
    await sink.open(None)
    await sink.write(batch_of(pages[:10]))
    with no_room(1_000), pytest.raises(SinkError, match=r"pages\.parquet: cannot be written"):
        await sink.write(batch_of(pages[10:]))
    assert parts_of(path) == ["rows-000000000000.jsonl"]
    await sink.write(batch_of(pages[10:]))
    await sink.close()
    assert read_parquet(path) == pages


async def test_a_close_that_is_cancelled_completes_the_file_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    sink = SmallSink(path)
    await sink.open(None)
    await sink.write(batch_of([page(n) for n in range(30)]))
    closing = asyncio.create_task(sink.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)
    await sink.close()
    assert read_parquet(path) == [page(n) for n in range(30)]
