"""A page index in PostgreSQL: what is kept, what is not replaced, and what is refused."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from postgres import PASSWORD, shared_postgres

from skitter.errors import ConfigError, StoreUnavailable
from skitter.frontier.model import pointer_to
from skitter.frontier.pages import postgres as pages_postgres
from skitter.frontier.pages.base import Content, Note
from skitter.frontier.pages.postgres import NOTES_AT_ONCE, PostgresPages
from skitter.types import Fingerprint, JobNumber

JOB, OTHER = JobNumber(7), JobNumber(8)
ENDS = (0, 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, (1 << 64) - 1)
POINTER = pointer_to("https://a.test/")


def new_space() -> str:
    return f"t{secrets.token_hex(8)}"


def note(fp: int, text: bytes, order: int = 1, job: JobNumber = JOB) -> Note:
    return Note(job, Fingerprint(fp), order, text)


@asynccontextmanager
async def opened(url: str, space: str, *, to_read: bool = False) -> AsyncIterator[PostgresPages]:
    store = PostgresPages(url, space)
    await store.open(to_read=to_read)
    try:
        yield store
    finally:
        await store.close()


@pytest.fixture
async def store() -> AsyncIterator[PostgresPages]:
    async with opened(shared_postgres().url, new_space()) as made:
        yield made


async def kept(store: PostgresPages, fp: int, job: JobNumber = JOB) -> bytes:
    [found] = await store.get([(job, Fingerprint(fp))])
    return found


async def test_notes_come_back_in_the_order_they_are_asked_for(store: PostgresPages) -> None:
    notes = [note(fp, b"%d" % fp) for fp in ENDS] + [note(1, b"\x00\xff", job=OTHER)]
    await store.put(notes)
    places = [(one.job, one.fp) for one in notes]
    asked = [*places[::-1], (OTHER, Fingerprint(0)), places[0]]
    found = {place: one.note for place, one in zip(places, notes, strict=True)}
    assert await store.get(asked) == [found.get(place, b"") for place in asked]
    assert await store.get([]) == []
    await store.put([])


async def test_an_older_note_never_takes_the_place_of_a_newer_one(store: PostgresPages) -> None:
    await store.put([note(5, b"second", 20)])
    await store.put([note(5, b"first", 10)])
    assert await kept(store, 5) == b"second"
    await store.put([note(5, b"second again", 20)])
    assert await kept(store, 5) == b"second again"
    await store.put([note(5, b"third", 21)])
    assert await kept(store, 5) == b"third"


async def test_a_pointer_takes_the_place_of_pointers_alone(store: PostgresPages) -> None:
    await store.put([note(5, POINTER, 10)])
    await store.put([note(5, pointer_to("https://b.test/"), 11)])
    assert await kept(store, 5) == pointer_to("https://b.test/")
    await store.put([note(5, b"{}", 3)])
    assert await kept(store, 5) == b"{}"
    await store.put([note(5, POINTER, 99)])
    assert await kept(store, 5) == b"{}"


async def test_a_walk_meets_every_note_of_a_job_once_and_no_pointer(store: PostgresPages) -> None:
    fps = [*ENDS, *(secrets.randbits(64) for _ in range(40))]
    await store.put([note(fp, b"%d" % fp) for fp in fps])
    await store.put([note(2, POINTER), note(3, b"of another", job=OTHER)])
    met: list[tuple[Fingerprint, bytes]] = []
    after = None
    while some := await store.walk(JOB, after, 7):
        met += some
        after = some[-1][0]
    assert sorted(met) == sorted((Fingerprint(fp), b"%d" % fp) for fp in set(fps))


async def test_many_notes_are_kept_by_several_statements(store: PostgresPages) -> None:
    count = 2 * NOTES_AT_ONCE + 1
    await store.put([note(fp, b"%d" % fp) for fp in range(count)])
    found = await store.get([(JOB, Fingerprint(fp)) for fp in range(count)])
    assert found == [b"%d" % fp for fp in range(count)]


async def test_what_is_forgotten_or_dropped_is_gone(store: PostgresPages) -> None:
    await store.put([note(1, b"a"), note(2, b"b"), note(1, b"c", job=OTHER)])
    await store.forget(JOB, Fingerprint(1))
    assert [await kept(store, 1), await kept(store, 2)] == [b"", b"b"]
    await store.drop_job(JOB)
    assert [await kept(store, 2), await kept(store, 1, OTHER)] == [b"", b"c"]


async def test_a_large_job_is_dropped_some_rows_at_a_time(
    store: PostgresPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_postgres, "_ROWS_AT_ONCE", 3)
    contents = [Content(JOB, bytes([n]) * 16, f"https://a.test/{n}") for n in range(7)]
    await store.put([note(fp, b"a") for fp in (*ENDS, *range(5, 12))], contents)
    await store.put([note(5, b"b", job=OTHER)], [contents[0]._replace(job=OTHER)])
    await store.drop_job(JOB)
    assert await store.walk(JOB, None, 100) == []
    assert await store.contents(JOB, [one.digest for one in contents]) == [None] * 7
    assert await kept(store, 5, OTHER) == b"b"
    await store.drop_job(JOB)


async def test_the_first_url_with_a_content_is_remembered(store: PostgresPages) -> None:
    one, two = (
        Content(JOB, b"1" * 16, "https://a.test/"),
        Content(JOB, b"2" * 16, "https://b.test/"),
    )
    await store.put([], [one, one._replace(url="https://z.test/"), one._replace(job=OTHER)])
    await store.put([note(1, b"a")], [two, one._replace(url="https://c.test/")])
    assert await store.contents(JOB, [two.digest, b"3" * 16, one.digest]) == [
        "https://b.test/", None, "https://a.test/",
    ]  # fmt: skip
    assert await store.contents(JOB, []) == []
    await store.drop_job(JOB)
    assert await store.contents(JOB, [one.digest]) == [None]
    assert await store.contents(OTHER, [one.digest]) == ["https://a.test/"]


async def test_of_pages_that_come_together_the_first_has_their_content(
    store: PostgresPages,
) -> None:
    urls = ["http://www.h/b", "http://h/c", "http://a/"]
    await store.put([], [Content(JOB, b"digest", url) for url in urls])
    assert await store.contents(JOB, [b"digest"]) == [urls[0]]


async def test_spaces_of_a_database_do_not_meet() -> None:
    url, space = shared_postgres().url, new_space()
    async with opened(url, space) as one, opened(url, new_space()) as two:
        await one.put([note(1, b"one")])
        await two.put([note(1, b"two")])
        assert (await kept(one, 1), await kept(two, 1)) == (b"one", b"two")
        assert one.identity != two.identity
        async with opened(url, space) as again:
            assert again.identity == one.identity
            assert await kept(again, 1) == b"one"


async def test_members_that_write_the_same_urls_at_once_do_not_stand_in_each_others_way() -> None:
    url, space = shared_postgres().url, new_space()
    async with opened(url, space) as one, opened(url, space) as two:
        for turn in range(20):
            await asyncio.gather(
                one.put([note(fp, b"1", 2 * turn) for fp in range(100)]),
                two.put([note(fp, b"2", 2 * turn + 1) for fp in reversed(range(100))]),
            )
            places = [(JOB, Fingerprint(fp)) for fp in range(100)]
            assert await one.get(places) == [b"2"] * 100


async def test_tables_are_made_once_however_many_come_at_the_same_time() -> None:
    server, name = shared_postgres(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    stores = [PostgresPages(server.url_of(database=name), "skitter") for _ in range(6)]
    await asyncio.gather(*(store.open() for store in stores))
    assert len({store.identity for store in stores}) == 1
    await asyncio.gather(*(store.close() for store in stores))


async def test_records_can_be_read_with_sql() -> None:
    server, space, name = shared_postgres(), new_space(), f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {name}")
    record = {
        "job": "j", "url": "https://a.test/", "final_url": "https://a.test/x", "status": 200,
        "outcome": "ok", "title": "\u0000Ä\u0000\u0000 \\u0000\\",
        "fetched_at": "2026-01-31T09:30:00.000Z",
    }  # fmt: skip
    async with opened(server.url_of(database=name), space) as store:
        await store.put([note(1, json.dumps(record).encode()), note(2, POINTER)])
    [row] = server.sql(
        "SELECT job, url, final_url, status, outcome, fetched_at::text LIKE '2026-01-31 %', title"
        f" FROM skitter_page_records WHERE space = '{space}'",
        name,
    )
    assert row == ("j", "https://a.test/", "https://a.test/x", 200, "ok", True, "Ä \\u0000\\")


async def refused(url: str, *, to_read: bool = False) -> str:
    store = PostgresPages(url, new_space())
    with pytest.raises((ConfigError, StoreUnavailable)) as caught:
        await store.open(to_read=to_read)
    # A server that is away is waited for; what is wrong with it by its own word is not.
    assert isinstance(caught.value, ConfigError) is not ("does not answer" in str(caught.value))
    line = str(caught.value)
    assert "\n" not in line
    assert PASSWORD not in line
    return line


async def test_what_cannot_be_used_is_refused_in_one_line() -> None:
    server, name = shared_postgres(), f"r{secrets.token_hex(8)}"
    server.sql(f"CREATE ROLE {name} LOGIN PASSWORD 'word'")
    database = f"d{secrets.token_hex(8)}"
    server.sql(f"CREATE DATABASE {database}")
    server.sql("REVOKE CREATE ON SCHEMA public FROM PUBLIC", database)
    line = await refused(server.url_of(user=name, password="word", database=database))
    assert line.startswith(f"page index postgresql://{name}@127.0.0.1:")
    assert "does not let this user make and use tables" in line
    assert "does not know this user and password" in await refused(
        server.url_of(password="hunter2")
    )
    assert "does not answer (connection refused)" in await refused("postgresql://127.0.0.1:9/pages")
    assert "has nothing of this store; check the URL" in await refused(
        server.url_of(database=database), to_read=True
    )


async def test_who_reads_needs_no_other_right() -> None:
    server, name, space = shared_postgres(), f"r{secrets.token_hex(8)}", new_space()
    async with opened(server.url, space) as store:
        await store.put([note(1, b"a")])
        assert store.shown == f"postgresql://127.0.0.1:{server.port}/postgres"
    server.sql(
        f"CREATE ROLE {name} LOGIN PASSWORD 'word';"
        f" GRANT SELECT ON skitter_pages, skitter_page_contents, skitter_page_spaces TO {name}"
    )
    url = server.url_of(user=name, password="word")
    assert "GRANT SELECT, INSERT, UPDATE, DELETE ON skitter_pages" in await refused(url)
    async with opened(url, space, to_read=True) as reading:
        assert await kept(reading, 1) == b"a"
