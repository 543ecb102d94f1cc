"""SQLite as others see it, and who may write it."""

import json
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import batch_of, page, read_sqlite

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.columns import NAMES
from skitter.pipeline.record import PageRecord
from skitter.pipeline.sqlite import SCHEMA_VERSION, SqliteSink

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


async def written(path: Path, records: list[PageRecord], *, overwrite: bool = False) -> bytes:
    sink = SqliteSink(path, overwrite=overwrite)
    await sink.open(None)
    mark = await sink.write(batch_of(records))
    await sink.close()
    return mark


def ask(path: Path, question: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(question).fetchall()


@contextmanager
def another(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        yield database


# What readers find


async def test_the_columns_are_typed(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    await written(path, [page(n) for n in range(9)])
    columns = {
        name: (kind, bool(always))
        for _, name, kind, always, *_ in ask(path, "PRAGMA table_info(pages)")
    }
    assert tuple(columns) == ("id", *NAMES)
    assert columns["url"] == ("TEXT", True)
    assert columns["title"] == ("TEXT", False)
    assert columns["bytes"] == ("INTEGER", False)
    assert columns["truncated"] == ("INTEGER", True)
    kinds = ask(path, "SELECT DISTINCT typeof(url), typeof(status), typeof(truncated) FROM pages")
    assert kinds == [("text", "integer", "integer")]


async def test_lists_and_maps_are_json_to_sqlite_itself(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    await written(path, [page(n) for n in range(9)])
    hops = ask(path, "SELECT pages.id, j.value FROM pages, json_each(redirects) j ORDER BY j.id")
    assert len(hops) == sum(n % 3 for n in range(9))
    codes = ask(path, "SELECT fields ->> 'code' FROM pages ORDER BY id")
    assert codes == [(str(n) if n % 2 else None,) for n in range(9)]


async def test_it_says_what_it_is_and_what_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    await written(path, [])
    meta = dict(ask(path, "SELECT key, value FROM meta"))
    assert meta["schema_version"] == str(SCHEMA_VERSION)
    assert meta["written_by"].startswith("skitter ")
    assert ask(path, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert ask(path, "PRAGMA integrity_check") == [("ok",)]


async def test_a_page_is_found_by_its_url_without_reading_all(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    await written(path, [page(1)])
    plan = ask(path, "EXPLAIN QUERY PLAN SELECT * FROM pages WHERE url = 'x'")
    assert "USING INDEX pages_key" in plan[0][-1]


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
)
async def test_whatever_the_page_says_reads_back_exactly(
    tmp_path: Path,
    title: str | None,
    redirects: list[str],
    fields: dict[str, str],
    size: int | None,
) -> None:
    path = tmp_path / "pages.sqlite"
    made = [
        page(n, title=title, redirects=redirects, fields=fields, labels=fields, bytes=size)
        for n in range(2)
    ]
    await written(path, made, overwrite=True)
    assert read_sqlite(path) == made


# Each key once


async def test_a_visit_that_comes_twice_is_there_once(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    sink = SqliteSink(path)
    await sink.open(None)
    at = "2026-01-02T00:00:00.{}Z".format
    await sink.write(batch_of([page(1, title="first", fetched_at=at(100)), page(2)]))
    mark = await sink.write(batch_of([page(1, title="second", fetched_at=at(200))]))
    await sink.write(batch_of([page(1, title="late", fetched_at=at(150)), page(1, visit=2)]))
    await sink.close()
    assert mark == b"2"
    assert [(made.title, made.visit) for made in read_sqlite(path)] == [
        ("second", 1),
        (page(2).title, 1),
        (page(1).title, 2),
    ]


async def test_a_file_that_was_vacuumed_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    await written(path, [page(n) for n in range(5)])
    with another(path) as database:
        database.execute("DELETE FROM pages WHERE id = 2")
        database.execute("VACUUM")
    sink = SqliteSink(path)
    await sink.open(b"5")
    await sink.write(batch_of([page(9)]))
    await sink.close()
    assert [row for (row,) in ask(path, "SELECT id FROM pages ORDER BY id")] == [1, 3, 4, 5, 6]


# Others at the same file


async def test_others_read_while_the_crawl_writes_and_find_one_file_after_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.sqlite"
    sink = SqliteSink(path)
    await sink.open(None)
    await sink.write(batch_of([page(1)]))
    with another(path) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (1,)
        await sink.write(batch_of([page(2)]))
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (1,)
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (2,)
    await sink.close()
    assert [found.name for found in tmp_path.iterdir()] == ["pages.sqlite"]
    assert ask(path, "PRAGMA journal_mode") == [("delete",)]


async def test_a_reader_that_stays_does_not_keep_the_crawl_from_ending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteSink, "READERS_WAIT_MS", 1)
    path = tmp_path / "pages.sqlite"
    sink = SqliteSink(path)
    await sink.open(None)
    await sink.write(batch_of([page(1)]))
    with another(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM pages").fetchone()
        await sink.write(batch_of([page(2)]))
        await sink.close()
        reader.execute("COMMIT")
        assert reader.execute("SELECT count(*) FROM pages").fetchone() == (2,)
    assert read_sqlite(path) == [page(1), page(2)]


async def test_another_writer_is_named_as_the_reason_and_nothing_is_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteSink, "LOCK_WAIT_S", 0.01)
    path = tmp_path / "pages.sqlite"
    sink = SqliteSink(path)
    await sink.open(None)
    with another(path) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(SinkError, match=r"pages\.sqlite: .*another program is writing to it"):
            await sink.write(batch_of([page(1)]))
        writer.execute("ROLLBACK")
    await sink.write(batch_of([page(2)]))
    await sink.close()
    assert read_sqlite(path) == [page(2)]


# What is not ours


async def test_a_database_of_someone_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    with another(path) as database:
        database.execute("CREATE TABLE pages (id INTEGER, title TEXT)")
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="not written by this crawl"):
        await SqliteSink(path).open(None)
    assert path.read_bytes() == before
    await written(path, [page(1)], overwrite=True)
    assert read_sqlite(path) == [page(1)]


async def test_a_table_with_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    mark = await written(path, [page(1)])
    with another(path) as database:
        database.execute("ALTER TABLE pages RENAME COLUMN title TO headline")
    with pytest.raises(ConfigError, match=r"pages\.sqlite: has other columns"):
        await SqliteSink(path).open(mark)


async def test_a_crash_before_the_first_mark_leaves_a_file_that_can_be_begun_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.sqlite"
    sink = SqliteSink(path)
    await sink.open(None)
    await sink.close()
    await written(path, [page(1)])
    assert read_sqlite(path) == [page(1)]


async def test_starting_over_leaves_nothing_of_a_crashed_run_behind(tmp_path: Path) -> None:
    path = tmp_path / "pages.sqlite"
    with another(path) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE old (n)")
        log = path.with_name("pages.sqlite-wal").read_bytes()
    path.with_name("pages.sqlite-wal").write_bytes(log)
    await written(path, [page(1)], overwrite=True)
    assert read_sqlite(path) == [page(1)]
    assert ask(path, "SELECT name FROM sqlite_master WHERE name = 'old'") == []


# Safety


async def test_without_room_to_tidy_up_nothing_is_lost_and_the_next_run_does_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "pages.sqlite"
    pages = [page(n, text="x" * 5_000) for n in range(50)]
    sink = SqliteSink(path)
    await sink.open(None)
    mark = await sink.write(batch_of(pages))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        with pytest.raises(SinkError, match=r"--out .*pages\.sqlite: cannot be written"):
            await sink.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert read_sqlite(path) == pages
    again = SqliteSink(path)
    await again.open(mark)
    await again.close()
    assert read_sqlite(path) == pages
    assert [found.name for found in tmp_path.iterdir()] == ["pages.sqlite"]


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
async def test_a_durable_sink_syncs_every_write(
    tmp_path: Path, *, durable: bool, level: int
) -> None:
    sink = SqliteSink(tmp_path / "pages.sqlite", durable=durable)
    await sink.open(None)
    assert sink._ask("PRAGMA synchronous") == level
    await sink.close()


def test_json_columns_hold_text_beyond_ascii_as_it_is(tmp_path: Path) -> None:
    from skitter.pipeline.sqlite import _row

    row = dict(zip(NAMES, _row(page(1, fields={"名": "第一"})), strict=True))
    assert "第一" in row["fields"]
    assert json.loads(row["fields"]) == {"名": "第一"}
