"""Records in databases: each key once, the newest of it, and what a server does not take is told.

On a real PostgreSQL, and on nx-27017, which speaks MongoDB's protocol and keeps what it confirmed.
"""

import asyncio
import gc
import logging
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from databases import KINDS, Place, place
from mongo import start_mongo
from outputs import batch_of, page
from stores import HOST, free_port

from skitter.errors import ConfigError
from skitter.pipeline.record import PageRecord
from skitter.pipeline.sinks import make_table
from skitter.pipeline.upsert import Aside, DatabaseSink, read_aside

EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"


@pytest.fixture(params=list(KINDS))
def kept(request: pytest.FixtureRequest) -> Place:
    return place(request.param)


@pytest.fixture
def table() -> Place:
    """A table of PostgreSQL."""
    return place("postgresql")


def sink_at(kept: Place, name: str = "", url: str = "") -> DatabaseSink:
    name = name or kept.name
    made = make_table(kept.kind, url or kept.url, name, what="sinks[0]")
    return DatabaseSink(made, kind=kept.kind, place=f"env:DB {name}", job="job")


@asynccontextmanager
async def opened(kept: Place, name: str = "") -> AsyncIterator[DatabaseSink]:
    sink = sink_at(kept, name)
    await sink.open(None)
    yield sink
    await sink.close()


async def written(kept: Place, *batches: list[PageRecord]) -> Aside:
    """Write batches, one after the other; return what was set aside."""
    mark = b""
    async with opened(kept) as sink:
        for batch in batches:
            mark = await sink.write(batch_of(batch))
    return read_aside(mark)


def found(kept: Place, of: Callable[[PageRecord], object]) -> list[object]:
    names = set(PageRecord.__struct_fields__)
    rows = [{k: v for k, v in row.items() if k in names} for row in kept.rows()]
    return sorted(of(PageRecord(**row)) for row in rows)  # type: ignore[type-var]


def titles(kept: Place) -> list[object]:
    return found(kept, lambda record: (record.title, record.visit))


async def test_records_come_back_as_they_were_but_for_the_form_of_times(kept: Place) -> None:
    records = [page(n) for n in range(1, 30)]
    await written(kept, records)
    rows = {row["url"]: row for row in kept.rows()}
    assert len(rows) == len(records)
    for record in records:
        row = rows[record.url]
        for name in PageRecord.__struct_fields__:
            if name != "fetched_at":
                assert row[name] == getattr(record, name), name
        at = str(row["fetched_at"]).replace(" ", "T")
        assert at[:19] == record.fetched_at[:19]


async def test_each_visit_is_kept_once_and_the_newest_record_of_it(kept: Place) -> None:
    old, new = page(1, title="old", fetched_at=EARLY), page(1, title="new", fetched_at=LATE)
    await written(kept, [old], [new], [old], [new])
    assert titles(kept) == [("new", 1)]
    await written(kept, [page(1, title="again", visit=2, fetched_at=LATE), old])
    assert titles(kept) == [("again", 2), ("new", 1)]


async def test_one_batch_may_hold_a_key_twice(kept: Place) -> None:
    old, new = page(1, title="old", fetched_at=EARLY), page(1, title="new", fetched_at=LATE)
    await written(kept, [new, old, page(2, title="two")])
    assert titles(kept) == [("new", 1), ("two", 1)]


async def test_jobs_share_a_place_and_starting_over_forgets_one_of_them(kept: Place) -> None:
    other = "job2"
    await written(kept, [page(n) for n in range(3)], [page(n, job=other) for n in range(3)])
    assert len(kept.rows()) == 6
    sink = sink_at(kept)
    sink.overwrite = True
    await sink.open(b"")
    await sink.close()
    assert len(kept.rows()) == 6, "a crawl that goes on deletes nothing"
    await sink.open(None)
    await sink.close()
    assert [row["job"] for row in kept.rows()] == [other] * 3


async def test_long_urls_and_odd_texts_are_kept(kept: Place) -> None:
    url = "http://site.test/" + "".join(f"{n}/" for n in range(3_000))
    odd = 'a\0b \\u0000 \U0001f577 "quoted" \r\n%s {}'
    aside = await written(kept, [page(1, url=url, title=odd, fields={"x": [odd], odd[:1]: 1})])
    assert aside.count == 0
    [row] = kept.rows()
    assert row["url"] == url
    clean = odd if kept.kind == "mongodb" else odd.replace("\0", "")
    assert (row["title"], row["fields"]["x"]) == (clean, [clean])


async def test_a_record_that_is_refused_is_set_aside_and_the_others_are_written(
    kept: Place, caplog: pytest.LogCaptureFixture
) -> None:
    records = [page(n) for n in range(1, 9)]
    big = page(20, bytes=1 << 70)
    aside = await written(kept, [*records[:5], big, *records[5:]], [big, page(30)])
    assert len(kept.rows()) == 9
    assert (aside.count, [one.url for one in aside.latest]) == (1, [big.url])
    assert f"the record of {big.url} was refused" in caplog.text


async def test_a_document_that_is_too_long_is_set_aside() -> None:
    kept = place("mongodb")
    aside = await written(kept, [page(1), page(2, text="x" * (16 << 20)), page(3)])
    assert len(kept.rows()) == 2
    assert "MongoDB takes 16777216" in aside.latest[0].why


async def test_what_was_set_aside_is_told_by_the_mark_of_the_next_run(kept: Place) -> None:
    async with opened(kept) as sink:
        mark = await sink.write(batch_of([page(1, bytes=1 << 70)]))
    sink = sink_at(kept)
    assert await sink.open(mark) == mark
    await sink.close()


async def test_a_table_that_lacks_columns_gets_them_and_keeps_its_rows(table: Place) -> None:
    table.server.sql(
        f"CREATE TABLE {table.name} (mine text, url text, visit int);"
        f"INSERT INTO {table.name} VALUES ('kept', 'http://x/', 1)"
    )
    await written(table, [page(1), page(2)], [page(1)])
    assert sorted(row["mine"] or "" for row in table.rows()) == ["", "", "kept"]


async def test_a_table_of_a_schema_is_written_there(table: Place) -> None:
    table.server.sql(f'CREATE SCHEMA "{table.name}_S"')
    async with opened(table, f"{table.name}_S.Pages") as sink:
        await sink.write(batch_of([page(1)]))
    assert table.server.sql(f'SELECT count(*) FROM "{table.name}_S"."Pages"') == [(1,)]


async def test_a_user_who_may_only_write_needs_no_right_to_make_tables(table: Place) -> None:
    async with opened(table):
        pass
    user = f"{table.name}_user"
    table.server.sql(
        f"CREATE ROLE {user} LOGIN PASSWORD 'word';"
        f"GRANT SELECT, INSERT, UPDATE ON {table.name} TO {user}"
    )
    url = table.server.url_of(user=user, password="word")
    sink = sink_at(table, url=url)
    await sink.open(None)
    await sink.write(batch_of([page(1)]))
    await sink.close()
    assert len(table.rows()) == 1
    table.server.sql(f"REVOKE INSERT ON {table.name} FROM {user}")
    with pytest.raises(ConfigError, match=f"GRANT SELECT, INSERT, UPDATE ON {table.name}"):
        await sink.probe()


async def test_a_probe_changes_nothing(table: Place) -> None:
    await sink_at(table).probe()
    assert table.server.sql(f"SELECT to_regclass('{table.name}')") == [(None,)]


def let_go_of_refused_connections() -> None:
    """Collect sockets that the client of MongoDB leaves open when a connection is refused.

    They would be found during another test, and fail that one.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.mark.parametrize(
    ("kind", "url", "why"),
    [
        ("mongodb", "mongodb://ann:secret@{host}:{port}/x", "does not answer (connection refused)"),
        ("mongodb", "mongodb://ann:secret@{host}:{port}", "names no database"),
        ("mongodb", "mongodb://ann:sec@ret@{host}/x", "does not take this URL"),
        ("postgresql", "postgresql://ann:secret@{host}:{port}/x", "does not answer"),
        ("postgresql", "postgresql://ann:secret@{host}:{port}/", "names no database"),
    ],
)
async def test_what_cannot_be_opened_is_said_in_one_line_without_the_password(
    kind: str, url: str, why: str
) -> None:
    url = url.format(host=HOST, port=free_port())
    with pytest.raises(ConfigError) as raised:
        await sink_at(Place(kind, None, "pages"), url=url).probe()
    line = str(raised.value)
    del raised
    let_go_of_refused_connections()
    assert why in line
    assert line.startswith("sinks[0]")
    assert "\n" not in line
    assert "sec" not in line.replace("seconds", "")


async def test_a_write_waits_for_its_server_and_says_so_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with start_mongo() as server:
        kept = Place("mongodb", server)
        async with opened(kept) as sink:
            await sink.write(batch_of([page(1)]))
            server.kill()
            write = asyncio.create_task(sink.write(batch_of([page(2), page(3)])))
            while not sink.trouble:
                await asyncio.sleep(0.05)
            assert "does not answer" in sink.trouble
            await asyncio.to_thread(server.start)
            await asyncio.wait_for(write, 30)
            assert sink.trouble == ""
        assert len(kept.rows()) == 3
    warned = [one for one in caplog.records if one.levelno == logging.WARNING]
    assert [one.getMessage().rpartition(" ")[2] for one in warned] == ["it", "again"]


async def test_a_write_that_waits_can_be_given_up() -> None:
    with start_mongo() as server:
        async with opened(Place("mongodb", server)) as sink:
            server.kill()
            write = asyncio.create_task(sink.write(batch_of([page(2)])))
            while not sink.trouble:
                await asyncio.sleep(0.05)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write
